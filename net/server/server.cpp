#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include <net/client/remote_session.hpp>
#include <net/server/server_core.hpp>
#include <net/transport/tcp.hpp>
#include <tenon/core/error.hpp>
#include <tenon/net/server.hpp>
#include <tenon/runtime/session/scheme.hpp>

namespace tenon {

namespace {

net::tcp_options tcp_options_of(const tls_files& files) {
    net::tcp_options o;
    if (!files.empty()) o.tls = net::tls_options{files.certificate_chain, files.private_key, files.authorities};
    return o;
}

net::link_options link_options_of(const char* whose, double heartbeat, double lease) {
    if (!(heartbeat > 0) || !(lease >= 2 * heartbeat) || !(lease < 1e6))
        throw invalid_argument_error(std::string(whose) + ": heartbeat is " + std::to_string(heartbeat) +
                                     " s and lease " + std::to_string(lease) +
                                     " s; give a positive heartbeat and a lease of two of them at least");
    net::link_options o;
    o.heartbeat = std::chrono::duration_cast<net::duration>(std::chrono::duration<double>(heartbeat));
    o.lease = std::chrono::duration_cast<net::duration>(std::chrono::duration<double>(lease));
    return o;
}

bool is_loopback(const std::string& address) {
    const std::string host = address.substr(0, address.rfind(':'));
    return host == "localhost" || host == "[::1]" || host.rfind("127.", 0) == 0;
}

} // namespace

struct server::state {
    state(const tenon::cluster& c, const std::string& job, int task, server_options o) :
        net_(net::make_tcp_transport(tcp_options_of(o.tls))) {
        net::server_settings s;
        s.tasks = c;
        s.job = job;
        s.task = task;
        s.listen = o.listen;
        s.token = o.token;
        s.insecure = o.insecure;
        s.link = link_options_of("server_options", o.heartbeat, o.lease);
        s.of_task.intra_op_threads = o.intra_op_threads;
        s.of_task.memory_limit = o.memory_limit;
        s.of_task.cpu_devices = o.cpu_devices;
        s.of_task.gpus = o.gpus;
        s.of_task.gpu_memory = o.gpu_memory;
        s.of_master.sessions = o.sessions;
        s.log = o.log;
        s.asked_to_stop = [this] {
            const std::lock_guard lock(guard);
            asked = true;
            changed.notify_all();
        };
        const std::string& where = o.listen.empty() ? c.address(job, task) : o.listen;
        if (!is_loopback(where) && !o.insecure && (o.tls.empty() || o.token.empty()))
            throw permission_denied_error(
                "server: " + where + " may be reached from other machines, and " +
                (o.tls.empty() ? "connections to it are not encrypted" : "nobody has to prove who it is") +
                "; give server_options::tls and a token, or say that it may be insecure (tenon serve --insecure)");
        core = std::make_unique<net::server_core>(*net_, std::move(s));
    }

    std::shared_ptr<net::transport> net_;
    std::mutex guard; // of what follows
    std::condition_variable changed;
    bool asked = false, stopped = false;
    std::unique_ptr<net::server_core> core;
};

server::server(const tenon::cluster& c, const std::string& job, int task, server_options options) :
    state_(std::make_unique<state>(c, job, task, std::move(options))) {}
server::server(std::unique_ptr<state> s) : state_(std::move(s)) {}
server::~server() = default;
server::server(server&&) noexcept = default;
server& server::operator=(server&&) noexcept = default;

server::state& server::live() const {
    if (!state_) detail::moved_from("server");
    return *state_;
}

server server::create_local_server(server_options options) {
    if (options.listen.empty()) options.listen = "127.0.0.1:0";
    return server(tenon::cluster({{"local", {"localhost:1"}}}), "local", 0, std::move(options));
}

std::string server::target() const { return "tenon://" + address(); }
const std::string& server::address() const { return live().core->address(); }
const tenon::cluster& server::cluster() const { return live().core->tasks(); }

void server::join() {
    state& s = live();
    {
        std::unique_lock lock(s.guard);
        s.changed.wait(lock, [&] { return s.asked || s.stopped; });
        if (s.stopped) return;
    }
    (void)stop();
}

bool server::stop(double seconds) {
    state& s = live();
    if (!(seconds >= 0)) throw invalid_argument_error("server::stop: it is given " + std::to_string(seconds) + " s");
    const bool drained =
        s.core->stop(std::chrono::duration_cast<net::duration>(std::chrono::duration<double>(std::min(seconds, 1e9))));
    const std::lock_guard lock(s.guard);
    s.stopped = true;
    s.changed.notify_all();
    return drained;
}

namespace net {

namespace {

// What sessions of this process use. The transport lives for ever, as sessions in static objects may.
struct client_state {
    std::mutex guard; // of what follows
    client_options options;
    std::shared_ptr<transport> over;

    static client_state& get() {
        static auto& s = *new client_state;
        return s;
    }
    peer_options to(const std::string& address, transport*& t) {
        const std::lock_guard lock(guard);
        if (!over) over = *new std::shared_ptr<transport>(make_tcp_transport(tcp_options_of(options.tls)));
        t = over.get();
        peer_options o;
        o.address = address;
        o.self.incarnation = random_incarnation();
        o.self.token = options.token;
        if (const char* token = std::getenv("TENON_TOKEN"); token && o.self.token.empty()) o.self.token = token;
        o.self.insecure = options.insecure;
        o.link = link_options_of("client_options", options.heartbeat, options.lease);
        o.name_of_verb = [](std::uint8_t v) { return name_of(static_cast<verb>(v)); };
        return o;
    }
};

class tenon_scheme final : public tenon::detail::session_scheme {
public:
    std::shared_ptr<tenon::detail::session_state> make(const std::string& address, const graph& g,
                                                       const session_options& o) const override {
        transport* t = nullptr;
        peer_options to = client_state::get().to(address, t);
        return std::make_shared<remote_session>(*t, std::move(to), g, o);
    }
    void reset(const std::string& address, const std::vector<std::string>& containers) const override {
        transport* t = nullptr;
        peer_options options = client_state::get().to(address, t);
        const auto to = peer::make(*t, std::move(options));
        message m = message_of(reset_containers{containers, 0});
        to->ask(m.verb, std::move(m.body), {}, t->now() + std::chrono::seconds(12)).check();
        to->close();
    }
};

struct registering {
    registering() {
        static const tenon_scheme scheme;
        tenon::detail::register_session_scheme("tenon", scheme);
    }
} registered;

} // namespace

} // namespace net

void set_client_options(client_options o) {
    (void)link_options_of("client_options", o.heartbeat, o.lease);
    net::client_state& s = net::client_state::get();
    const std::lock_guard lock(s.guard);
    s.options = std::move(o);
    s.over.reset(); // sessions that are open keep theirs
}

} // namespace tenon
