#include <condition_variable>
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

#include <net/client/client.hpp>
#include <net/client/credentials.hpp>
#include <net/http/http_server.hpp>
#include <net/server/http_source.hpp>
#include <net/server/server_core.hpp>
#include <net/transport/service.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/net/server.hpp>
#include <tenon/net/serving.hpp>
#include <tenon/input.hpp> // a server knows all ops of the library

namespace tenon {

namespace {

// One reads while the other runs a step.
net::tcp_options transport_of(const server_options& o) {
    net::tcp_options t = net::tcp_options_of(o.tls, o.shared_memory, o.log, o.log_verbose);
    t.io_threads = 2;
    return t;
}

// What the program does not say.
server_options with_variables(server_options o) {
    net::credentials shown = net::completed({o.token, o.tls, o.insecure});
    o.token = std::move(shown.token);
    o.tls = std::move(shown.tls);
    o.insecure = shown.insecure;
    if (const char* run = std::getenv("TENON_RUN"); run && o.run.empty()) o.run = run;
    return o;
}

// Of this process.
struct living_servers {
    std::mutex guard;
    std::vector<net::server_core*> all;
    static living_servers& get() {
        static auto& l = *new living_servers;
        return l;
    }
    void enter(net::server_core* s) {
        const std::lock_guard lock(guard);
        all.push_back(s);
    }
    void leave(net::server_core* s) {
        const std::lock_guard lock(guard);
        std::erase(all, s);
    }
};

} // namespace

struct server::state {
    state(const tenon::cluster& c, const std::string& job, int task, server_options o) :
        net_(net::make_tcp_transport(transport_of(o))) {
        net::server_settings s;
        s.tasks = c;
        s.job = job;
        s.task = task;
        s.listen = o.listen;
        s.token = o.token;
        s.run = o.run;
        s.insecure = o.insecure;
        s.link = net::link_options_of("server_options", o.heartbeat, o.lease);
        s.of_task.intra_op_threads = o.intra_op_threads;
        s.of_task.memory_limit = o.memory_limit;
        s.of_task.cpu_devices = o.cpu_devices;
        s.of_task.gpus = o.gpus;
        s.of_task.gpu_memory = o.gpu_memory;
        s.of_task.gpu_devices = o.gpu_devices;
        s.of_task.files = o.files.empty() ? file_access::none() : file_access::below(o.files);
        s.of_master.sessions = o.sessions;
        s.of_master.sessions_of_client = o.client.sessions;
        s.of_master.callables = o.client.callables;
        s.of_master.data_sets = o.client.data_sets;
        s.of_master.nodes = o.client.nodes;
        s.of_master.steps = s.of_worker.steps = o.client.steps;
        s.of_master.graph_bytes = o.client.graph_bytes;
        s.of_service.links = o.clients;
        s.of_service.limits.calls = o.client.calls;
        s.of_service.limits.bytes = s.of_service.limits.payload_bytes = s.of_service.kept_bytes = o.client.bytes;
        s.log = o.log;
        s.log_verbose = o.log_verbose;
        s.asked_to_stop = [this](double seconds) {
            const std::lock_guard lock(guard);
            asked = true;
            grace = seconds;
            changed.notify_all();
        };
        const std::string& where = o.listen.empty() ? c.address(job, task) : o.listen;
        if (!net::is_loopback_address(where) && !o.insecure && (o.tls.empty() || o.token.empty()))
            throw permission_denied_error(
                "server: " + where + " may be reached from other machines, and " +
                (o.tls.empty() ? "connections to it are not encrypted" : "nobody has to prove who it is") +
                "; give it a certificate and a token (server_options::tls and token; tenon serve --certificate, --key "
                "and --token), "
                "or say that it may be insecure (server_options::insecure; tenon serve --insecure)");
        core = std::make_unique<net::server_core>(*net_, std::move(s));
        living_servers::get().enter(core.get());
        serve_http(o);
    }

    void serve_http(const server_options& o) {
        const char* const variable = std::getenv("TENON_HTTP");
        net::http_options h{.where = o.http, .token = o.token, .insecure = o.insecure};
        if (h.where.empty() && variable) {
            h.where = variable;
            h.said_by = "TENON_HTTP";
        }
        if (h.where.empty()) return;
        h.tls = {o.tls.certificate_chain, o.tls.private_key, {}};
        facts.emplace(*net_, *core);
        http = std::make_unique<net::http_server>(*facts, h);
        if (o.log) o.log(core->name() + " tells how it is at " + http->url());
    }
    ~state() { living_servers::get().leave(core.get()); }

    std::shared_ptr<net::transport> net_;
    std::mutex guard; // of what follows
    std::condition_variable changed;
    bool asked = false, stopped = false, drained = true;
    double grace = 0; // that a client has given
    std::unique_ptr<net::server_core> core;
    std::optional<net::http_source> facts;
    std::unique_ptr<net::http_server> http; // taken out under the guard
};

server::server(const tenon::cluster& c, const std::string& job, int task, server_options options) :
    state_(std::make_unique<state>(c, job, task, with_variables(std::move(options)))) {}
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
std::shared_ptr<collective_group> server::processes(const std::vector<std::string>& jobs, double seconds,
                                                    const std::string& name) {
    return live().core->processes(jobs, name, seconds);
}

void server::join() {
    state& s = live();
    double grace = 0;
    {
        std::unique_lock lock(s.guard);
        s.changed.wait(lock, [&] { return s.asked || s.stopped; });
        if (s.stopped) return;
        grace = s.grace;
    }
    (void)stop(grace);
}

bool server::stop(double seconds) {
    state& s = live();
    if (!(seconds >= 0))
        throw invalid_argument_error("server::stop: it is given " + tenon::detail::text_of_number(seconds) + " s");
    const bool drained = s.core->stop(net::seconds_of(seconds));
    std::unique_ptr<net::http_server> last; // its port is free when this returns
    const std::lock_guard lock(s.guard);
    last = std::move(s.http);
    s.stopped = true;
    s.drained = s.drained && drained;
    s.changed.notify_all();
    return s.drained;
}

void net::serve_model(server& s, const any_served_model& m) { core_of(s).models().add(m); }
void net::withdraw_model(server& s, const std::string& model) { core_of(s).models().remove(model); }

net::server_core& net::core_of(const server& s) { return *s.live().core; }

std::vector<net::server_core*> net::living_cores() {
    living_servers& l = living_servers::get();
    const std::lock_guard lock(l.guard);
    return l.all;
}

} // namespace tenon
