#include <algorithm>
#include <cctype>
#include <charconv>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <asio.hpp>

#include <fcntl.h>
#include <netinet/tcp.h>

#include <net/transport/service.hpp>

namespace tenon::net {

using asio::ip::tcp;

bool is_loopback_address(const std::string& address) {
    const std::string host = address.substr(0, address.rfind(':'));
    return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

host_and_port parse_address(const std::string& address) {
    const auto wrong = [&](const char* why) {
        return invalid_argument_error("'" + address + "' is no address, " + why +
                                      ": write host:port, as in localhost:2222 or [::1]:2222");
    };
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) throw wrong("it has no port");
    host_and_port a{address.substr(0, colon), address.substr(colon + 1)};
    if (!a.host.empty() && a.host.front() == '[') {
        if (a.host.size() < 3 || a.host.back() != ']') throw wrong("its brackets do not match");
        a.host = a.host.substr(1, a.host.size() - 2);
        asio::error_code ec;
        asio::ip::make_address_v6(a.host, ec);
        if (ec) throw wrong("what stands in brackets is no IPv6 address");
    } else if (a.host.find_first_of(":[] \t\n/") != std::string::npos || a.host.find('\0') != std::string::npos)
        throw wrong("its host is none");
    int port = -1;
    const char* const end = a.port.data() + a.port.size();
    const auto [stopped, error] = std::from_chars(a.port.data(), end, port);
    if (error != std::errc() || stopped != end || port < 0 || port > 65535)
        throw wrong("its port is no number up to 65535");
    return a;
}

namespace {

std::string text_of(const tcp::endpoint& e) {
    const std::string host = e.address().to_string();
    return (e.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(e.port());
}

// ::ffff:127.0.0.1, as a socket for both families has it, is 127.0.0.1.
tcp::endpoint plain(const tcp::endpoint& e) {
    if (e.address().is_v6() && e.address().to_v6().is_v4_mapped())
        return {asio::ip::make_address_v4(asio::ip::v4_mapped, e.address().to_v6()), e.port()};
    return e;
}

std::string words_of(const asio::error_code& ec) {
    std::string words = ec.message();
    if (words.size() > 1 && !std::isupper(static_cast<unsigned char>(words[1])))
        words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
    return words;
}

// Has no socket where the other side has reset the connection meanwhile: there is no peer of which anything could be said.
connected_socket taken_from(tcp::socket& s) {
    connected_socket c;
    asio::error_code ec;
    const tcp::endpoint peer = plain(s.remote_endpoint(ec));
    if (ec) return c;
    const tcp::endpoint here = plain(s.local_endpoint(ec));
    if (ec) return c;
    c.peer = text_of(peer);
    c.is_loopback = peer.address().is_loopback() && here.address().is_loopback();
    c.is_one_host = c.is_loopback || peer.address() == here.address();
    s.set_option(tcp::no_delay(true), ec);
    s.set_option(asio::socket_base::keep_alive(true), ec);
    s.native_non_blocking(true, ec);
    c.socket = s.release(ec);
    ::fcntl(c.socket, F_SETFD, FD_CLOEXEC);
    return c;
}

} // namespace

struct socket_service::state {
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
    std::thread thread;

    std::mutex guard; // of the timers
    std::map<std::pair<time_point, std::uint64_t>, std::function<void()>> timers;
    std::unordered_map<std::uint64_t, time_point> times;
    std::uint64_t last_timer = 0;
    asio::steady_timer alarm{context}; // for the first of them; the thread's

    bool is_here() const { return std::this_thread::get_id() == thread.get_id(); }

    void set_alarm() {
        const std::lock_guard lock(guard);
        if (timers.empty()) return;
        alarm.expires_at(timers.begin()->first.first);
        alarm.async_wait([this](asio::error_code ec) {
            if (!ec) call_timers();
        });
    }
    void call_timers() {
        for (;;) {
            std::function<void()> what;
            {
                const std::lock_guard lock(guard);
                const auto first = timers.begin();
                if (first == timers.end() || first->first.first > std::chrono::steady_clock::now()) break;
                what = std::move(first->second);
                times.erase(first->first.second);
                timers.erase(first);
            }
            what();
        }
        set_alarm();
    }
};

socket_service::socket_service() : state_(std::make_shared<state>()) {
    state_->thread = std::thread([s = state_] { s->context.run(); });
}

socket_service::~socket_service() {
    state_->context.stop();
    if (state_->is_here()) state_->thread.detach();
    else state_->thread.join();
    std::map<std::pair<time_point, std::uint64_t>, std::function<void()>> rest;
    const std::lock_guard lock(state_->guard);
    rest.swap(state_->timers);
    state_->times.clear();
}

std::uint64_t socket_service::call_at(time_point at, std::function<void()> what) {
    std::uint64_t id = 0;
    bool is_first = false;
    {
        const std::lock_guard lock(state_->guard);
        id = ++state_->last_timer;
        const auto place = state_->timers.emplace(std::pair(at, id), std::move(what)).first;
        state_->times.emplace(id, at);
        is_first = place == state_->timers.begin();
    }
    if (is_first) asio::post(state_->context, [s = state_.get()] { s->set_alarm(); });
    return id;
}

bool socket_service::cancel(std::uint64_t timer) noexcept {
    std::function<void()> what; // ends outside of the lock
    const std::lock_guard lock(state_->guard);
    const auto at = state_->times.find(timer);
    if (at == state_->times.end()) return false;
    const auto place = state_->timers.find({at->second, timer});
    what = std::move(place->second);
    state_->timers.erase(place);
    state_->times.erase(at);
    return true;
}

namespace {

// One dial: tries the addresses of a name, one after another. Its functions run on the service's thread.
class attempt : public std::enable_shared_from_this<attempt> {
public:
    attempt(asio::io_context& context, std::string address, duration limit, socket_service::connected then) :
        resolver_(context),
        socket_(context),
        timer_(context),
        address_(std::move(address)),
        limit_(limit),
        then_(std::move(then)) {}
    attempt(attempt&&) = delete;
    ~attempt() {
        if (then_) then_({}, "the transport has ended");
    }

    void start() {
        host_and_port a;
        try {
            a = parse_address(address_);
            if (a.host.empty()) throw invalid_argument_error("'" + address_ + "' names no host to connect to");
        } catch (const error& e) {
            return end({}, e.what());
        }
        timer_.expires_after(limit_);
        timer_.async_wait([self = shared_from_this()](asio::error_code ec) {
            if (!ec) self->end({}, self->too_late());
        });
        asio::error_code ec;
        const auto number = asio::ip::make_address(a.host, ec);
        if (!ec) {
            endpoints_ = {{number, static_cast<std::uint16_t>(std::stoi(a.port))}};
            return next();
        }
        resolver_.async_resolve(a.host, a.port,
                                [self = shared_from_this(), host = a.host](asio::error_code failure,
                                                                           const tcp::resolver::results_type& found) {
                                    if (self->ended()) return;
                                    if (failure)
                                        return self->end({}, "cannot find the host '" + host + "' (" +
                                                                 words_of(failure) + "); is its name right?");
                                    for (const auto& f : found) self->endpoints_.push_back(f.endpoint());
                                    self->next();
                                });
    }

private:
    bool ended() const { return !then_; }

    void next() {
        if (next_ == endpoints_.size())
            return end({}, "tried " + tried_ +
                               (refused_ ? "; is the server running?"
                                         : "; is the address right, and is it reached from here?"));
        asio::error_code ignored;
        socket_.close(ignored);
        socket_.async_connect(endpoints_[next_], [self = shared_from_this()](asio::error_code ec) {
            if (self->ended()) return;
            if (!ec) {
                connected_socket c = taken_from(self->socket_);
                if (c.socket >= 0) return self->end(std::move(c), {});
                ec = asio::error::connection_reset;
            }
            self->refused_ = ec == asio::error::connection_refused || ec == asio::error::connection_reset;
            self->tried_ += (self->next_ ? ", " : "") + text_of(self->endpoints_[self->next_]) + ": " + words_of(ec);
            ++self->next_;
            self->next();
        });
    }

    std::string too_late() const {
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.3g s", std::chrono::duration<double>(limit_).count());
        if (endpoints_.empty())
            return "the host of " + address_ + " was not found within " + seconds + "; do names work here?";
        return "tried " + tried_ + (next_ ? ", " : "") + text_of(endpoints_[std::min(next_, endpoints_.size() - 1)]) +
               ": no answer within " + seconds + "; is the address right, and does a firewall let it through?";
    }

    void end(connected_socket c, const std::string& why) {
        if (ended()) return;
        const socket_service::connected then = std::exchange(then_, nullptr);
        timer_.cancel();
        resolver_.cancel();
        asio::error_code ignored;
        socket_.close(ignored);
        then(std::move(c), why);
    }

    tcp::resolver resolver_;
    tcp::socket socket_;
    asio::steady_timer timer_;
    const std::string address_;
    const duration limit_;
    socket_service::connected then_;
    std::vector<tcp::endpoint> endpoints_;
    std::size_t next_ = 0;
    std::string tried_;
    bool refused_ = false;
};

// Accepts until it is closed. Its functions run on the service's thread, but for the constructor's.
class acceptor : public std::enable_shared_from_this<acceptor> {
public:
    acceptor(asio::io_context& context, const tcp::endpoint& at, bool both_families, socket_service::accepted each) :
        acceptor_(context), pause_(context), each_(std::move(each)) {
        acceptor_.open(at.protocol());
        ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
        acceptor_.set_option(tcp::acceptor::reuse_address(true));
        if (at.protocol() == tcp::v6()) acceptor_.set_option(asio::ip::v6_only(!both_families));
        acceptor_.bind(at);
        acceptor_.listen(1024);
        address_ = text_of(acceptor_.local_endpoint());
    }
    const std::string& address() const noexcept { return address_; }

    void next() {
        acceptor_.async_accept([self = shared_from_this()](asio::error_code ec, tcp::socket s) {
            if (!self->acceptor_.is_open()) return;
            if (!ec) {
                connected_socket c = taken_from(s);
                if (c.socket >= 0) {
                    self->is_told_ = false;
                    self->each_(std::move(c), {});
                }
                return self->next();
            }
            // Out of files, or of memory: others may give some back.
            if (!std::exchange(self->is_told_, true))
                self->each_({}, "nobody more can connect to " + self->address_ + ": " + words_of(ec) +
                                    "; those who try wait until others have gone (more may be open at a time after "
                                    "ulimit -n)");
            self->pause_.expires_after(std::chrono::milliseconds(100));
            self->pause_.async_wait([self](asio::error_code stopped) {
                if (!stopped && self->acceptor_.is_open()) self->next();
            });
        });
    }
    void close() {
        asio::error_code ignored;
        acceptor_.close(ignored);
        pause_.cancel();
    }

private:
    tcp::acceptor acceptor_;
    asio::steady_timer pause_;
    const socket_service::accepted each_;
    std::string address_;
    bool is_told_ = false; // that nobody can be taken
};

// A number, or a name that is never anything else.
bool is_name_of_loopback(const std::string& host) {
    asio::error_code none;
    (void)asio::ip::make_address(host, none);
    return !none || host == "localhost" || host.ends_with(".localhost") || host.starts_with("localhost.") ||
           host == "ip6-localhost" || host == "ip6-loopback";
}

} // namespace

void socket_service::connect(const std::string& address, duration limit, connected then) {
    const auto a = std::make_shared<attempt>(state_->context, address, limit, std::move(then));
    asio::post(state_->context, [a] { a->start(); });
}

std::unique_ptr<listener> socket_service::listen(const std::string& address, accepted each) {
    class listening final : public listener {
    public:
        listening(std::shared_ptr<acceptor> a, std::weak_ptr<state> s, std::string address) :
            acceptor_(std::move(a)), state_(std::move(s)), address_(std::move(address)) {}
        ~listening() override {
            const auto s = state_.lock();
            if (!s || s->context.stopped() || s->is_here()) {
                acceptor_->close();
                return;
            }
            // The port is free when this returns.
            std::promise<void> closed;
            asio::post(s->context, [&] {
                acceptor_->close();
                closed.set_value();
            });
            closed.get_future().wait();
        }
        const std::string& address() const noexcept override { return address_; }

    private:
        std::shared_ptr<acceptor> acceptor_;
        std::weak_ptr<state> state_;
        const std::string address_;
    };

    const host_and_port a = parse_address(address);
    std::vector<tcp::endpoint> candidates;
    asio::error_code ec;
    if (!a.host.empty()) {
        tcp::resolver names(state_->context);
        for (const auto& found : names.resolve(a.host, a.port, tcp::resolver::passive, ec))
            candidates.push_back(found.endpoint());
    }
    // Debian's installer has a machine's own name mean 127.0.1.1, by which nobody else reaches it: who serves under a name serves on
    // all addresses then.
    const bool is_own_name = !candidates.empty() && !is_name_of_loopback(a.host) &&
                             std::all_of(candidates.begin(), candidates.end(),
                                         [](const tcp::endpoint& at) { return at.address().is_loopback(); });
    const bool on_all = a.host.empty() || is_own_name;
    if (on_all) {
        const auto port = static_cast<std::uint16_t>(std::stoi(a.port));
        candidates = {{asio::ip::address_v6::any(), port}, {asio::ip::address_v4::any(), port}};
    }
    std::string why = ec ? words_of(ec) + "; is the host's name right?" : "it has no address here";
    for (const tcp::endpoint& at : candidates) {
        try {
            const auto made = std::make_shared<acceptor>(state_->context, at, on_all, each);
            asio::post(state_->context, [made] { made->next(); });
            const std::string& bound = made->address();
            return std::make_unique<listening>(made, state_,
                                               is_own_name ? a.host + bound.substr(bound.rfind(':')) : bound);
        } catch (const std::system_error& e) {
            why = words_of(e.code()) + (e.code() == asio::error::address_in_use  ? "; is another server using the port?"
                                        : e.code() == asio::error::access_denied ? "; ports below 1024 need a privilege"
                                        : e.code().value() == EADDRNOTAVAIL      ? "; the address is not this machine's"
                                                                                 : "");
        }
    }
    throw unavailable_error("cannot listen on " + address + ": " + why);
}

} // namespace tenon::net
