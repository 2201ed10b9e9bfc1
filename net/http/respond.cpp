#include <net/http/respond.hpp>

#include <algorithm>
#include <csignal>
#include <cstring>

#include <httplib.h>

namespace tenon::net {

namespace {

// A request that is there, and a response that is written. Of all versions' functions there is one here: none says override.
class memory_stream final : public httplib::Stream {
public:
    explicit memory_stream(const std::string& request) : request_(request) {}

    bool is_readable() const { return true; }
    bool is_writable() const { return true; }
    bool wait_readable() const { return true; }
    bool wait_writable() const { return true; }
    ssize_t read(char* to, std::size_t size) {
        const std::size_t n = std::min(size, request_.size() - read_);
        std::memcpy(to, request_.data() + read_, n);
        read_ += n;
        return static_cast<ssize_t>(n);
    }
    ssize_t write(const char* from, std::size_t size) {
        response.append(from, size);
        return static_cast<ssize_t>(size);
    }
    void get_remote_ip_and_port(std::string& ip, int& port) const { ip.clear(), port = 0; }
    void get_local_ip_and_port(std::string& ip, int& port) const { ip.clear(), port = 0; }
    socket_t socket() const { return INVALID_SOCKET; }
    time_t duration() const { return 0; }

    std::string response;

private:
    const std::string& request_;
    std::size_t read_ = 0;
};

http_request request_of(const httplib::Request& r) {
    const auto header = [&](const char* name) {
        return r.get_header_value_count(name) == 1 ? r.get_header_value(name) : std::string();
    };
    return {r.method,
            r.path,
            header("Host"),
            header("Authorization"),
            header("Cookie"),
            r.get_param_value("token"),
            r.has_param("token"),
            header("Content-Type"),
            header("Content-Encoding"),
            header("Inference-Header-Content-Length")};
}

class by_httplib final : public responder, private httplib::Server {
public:
    explicit by_httplib(handler h) : handler_(std::move(h)) {
        set_pre_routing_handler([this](const httplib::Request& r, httplib::Response& to) {
            is_request_ = true;
            const http_reply reply = handler_(request_of(r));
            to.status = reply.status;
            for (const auto& [name, value] : reply.headers) to.set_header(name.c_str(), value);
            to.set_content(reply.body, reply.type.c_str());
            return HandlerResponse::Handled;
        });
        set_exception_handler([](const httplib::Request&, httplib::Response& to, auto&&) {
            to.status = 500;
            to.set_content("it could not be told\n", "text/plain");
        });
    }

    std::string respond(const std::string& head, bool* goes_on) override {
        memory_stream stream(head);
        is_request_ = false;
        const bool ends = process(*this, stream, goes_on == nullptr);
        if (!goes_on) return std::move(stream.response);
        *goes_on = !ends && is_request_;
        return is_request_ ? std::move(stream.response) : respond(head, nullptr); // which says that it ends
    }

private:
    // Its versions differ in whether they are told addresses.
    template <class S> static bool process(S& self, memory_stream& stream, bool is_last) {
        bool closed = is_last;
        bool read = false;
        const std::function<void(httplib::Request&)> all_of_it = [](httplib::Request& r) { r.ranges.clear(); };
        if constexpr (requires { self.process_request(stream, true, closed, all_of_it); })
            read = self.process_request(stream, is_last, closed, all_of_it);
        else read = self.process_request(stream, std::string(), 0, std::string(), 0, is_last, closed, all_of_it);
        return closed || !read;
    }

    const handler handler_;
    bool is_request_ = false; // what is being answered
};

std::unique_ptr<responder> make_by_httplib(responder::handler h) {
    // Its constructor has the process ignore SIGPIPE, which is the program's to say.
    struct sigaction before {};
    const bool known = ::sigaction(SIGPIPE, nullptr, &before) == 0;
    auto made = std::make_unique<by_httplib>(std::move(h));
    if (known) ::sigaction(SIGPIPE, &before, nullptr);
    return made;
}

} // namespace

/// What has a program linked with cpp-httplib.
extern "C" int tenon_http_linked;
int tenon_http_linked = [] {
    register_responder(make_by_httplib);
    return 1;
}();

} // namespace tenon::net
