#include <net/client/client.hpp>

#include <mutex>

#include <net/client/credentials.hpp>
#include <net/client/remote_session.hpp>
#include <net/rpc/asking.hpp>
#include <net/transport/service.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/core/text/process_name.hpp>
#include <tenon/runtime/session/scheme.hpp>

namespace tenon::net {

namespace {

// What sessions of this process use. Transports live for ever, as sessions in static objects may.
struct client_state {
    std::mutex guard; // of what follows
    client_options options;
    std::string token_of_run;
    transport* over = nullptr;

    static client_state& get() {
        static auto& s = *new client_state;
        return s;
    }
};

class tenon_scheme final : public tenon::detail::session_scheme {
public:
    std::shared_ptr<tenon::detail::session_state> make(const std::string& address, const graph& g,
                                                       const session_options& o) const override {
        dialed_server s = dial_as_client(address);
        return std::make_shared<remote_session>(*s.over, std::move(s.to), tenon::detail::process_name(), g, o);
    }
    void reset(const std::string& address, const std::vector<std::string>& containers) const override {
        dialed_server s = dial_as_client(address);
        const auto to = peer::make(*s.over, std::move(s.to));
        message m = message_of(reset_containers{containers, 0});
        const answer a = to->ask(m.verb, std::move(m.body), {}, s.over->now() + std::chrono::seconds(12));
        to->close();
        a.check();
    }
};

} // namespace

tcp_options tcp_options_of(const tls_files& files, bool shared_memory, std::function<void(const std::string&)> log,
                           std::function<void(const std::string&)> log_verbose) {
    tcp_options o{.shared_memory = shared_memory, .log = std::move(log), .log_verbose = std::move(log_verbose)};
    if (!files.empty()) o.tls = tls_options{files.certificate_chain, files.private_key, files.authorities};
    return o;
}

link_options link_options_of(const char* whose, double heartbeat, double lease) {
    if (!(heartbeat > 0) || !(lease >= 2 * heartbeat) || !(lease < 1e6))
        throw invalid_argument_error(std::string(whose) + ": heartbeat is " + tenon::detail::text_of_number(heartbeat) +
                                     " s and lease " + tenon::detail::text_of_number(lease) +
                                     " s; give a positive heartbeat and a lease of two of them at least");
    return link_options{.heartbeat = seconds_of(heartbeat), .lease = seconds_of(lease)};
}

dialed_server dial_as_client(const std::string& address) {
    if (parse_address(address).host.empty())
        throw invalid_argument_error("'" + address + "' is no address of a server, it has no host: write host:port");
    client_state& s = client_state::get();
    const std::lock_guard lock(s.guard);
    const credentials shown = completed({s.options.token, s.options.tls, s.options.insecure});
    if (!s.over) {
        const tcp_options o = tcp_options_of(shown.tls, s.options.shared_memory);
        s.over = (new std::shared_ptr<transport>(make_tcp_transport(o)))->get();
    }
    dialed_server d{.over = s.over};
    d.to.address = address;
    d.to.self.incarnation = d.over->random_number();
    d.to.self.token = shown.token.empty() ? s.token_of_run : shown.token;
    d.to.self.insecure = shown.insecure;
    d.to.link = link_options_of("client_options", s.options.heartbeat, s.options.lease);
    speak_calls(d.to);
    return d;
}

void set_token_of_run(std::string token) {
    client_state& s = client_state::get();
    const std::lock_guard lock(s.guard);
    s.token_of_run = std::move(token);
}

/// What has a program that links this library linked with it: sessions on targets "tenon://host:port".
extern "C" int tenon_server_linked;
int tenon_server_linked = [] {
    static const auto& scheme = *new tenon_scheme;
    tenon::detail::register_session_scheme("tenon", scheme);
    return 1;
}();

} // namespace tenon::net

namespace tenon {

void set_client_options(client_options o) {
    (void)net::link_options_of("client_options", o.heartbeat, o.lease);
    net::client_state& s = net::client_state::get();
    const std::lock_guard lock(s.guard);
    s.options = std::move(o);
    s.over = nullptr; // sessions that are open keep theirs
}

} // namespace tenon
