#include "random_cluster/world.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "random_cluster/client.hpp"

#include <net/rpc/asking.hpp>

namespace random_cluster {

using namespace std::chrono_literals;
using net::duration;

duration about(random_numbers& r, duration mean) {
    return duration(
        static_cast<duration::rep>(static_cast<double>(mean.count()) * std::min(-std::log(uniform(r) + 1e-12), 4.0)));
}

struct world::server {
    std::string job, host, address;
    int index = 0;
    bool alive = false;
    std::unique_ptr<net::server_core> core;
};

struct world::client {
    std::string host;
    std::size_t actor = 0;
    bool begun = false;
};

world::world(std::uint64_t seed, const settings& s) :
    settings_(s),
    random_(seed),
    net_(seed ^ 0x9e3779b97f4a7c15u),
    books_([this](const std::string& what) { wrong(what); }),
    actors_(net_) {
    link_.heartbeat = 500ms;
    link_.lease = 2s;
    link_.handshake = 1500ms;
    if (any(2)) link_.acknowledge_messages = 1 + any(8);
    ps_ = 1 + static_cast<int>(any(3));
    workers_ = 1 + static_cast<int>(any(3));
    if (any(2)) token_ = "secret";
    std::vector<std::string> at[2];
    for (int i = 0; i < ps_ + workers_; ++i) {
        auto n = std::make_unique<server>();
        n->job = i < ps_ ? "ps" : "worker";
        n->index = i < ps_ ? i : i - ps_;
        n->host = n->job + std::to_string(n->index);
        n->address = n->host + ":1000";
        at[i < ps_ ? 0 : 1].push_back(n->address);
        if (i < ps_) (void)books_.add_task();
        servers_.push_back(std::move(n));
    }
    cluster_ = tn::cluster({{"ps", at[0]}, {"worker", at[1]}});
    for (int v = 0; v < 2 * ps_; ++v) (void)books_.add_variable(v % ps_, v < ps_ ? "" : "extra");
    const std::size_t clients = 1 + any(3);
    for (std::size_t c = 0; c < clients; ++c) {
        clients_.push_back(std::make_unique<client>());
        clients_.back()->host = "client" + std::to_string(c);
    }
    calm_ = seed % 6 == 0;
}

world::~world() {
    for (std::size_t i = 0; i < clients_.size(); ++i)
        if (clients_[i]->begun) actors_.kill(clients_[i]->actor, true);
    if (to_stray_) to_stray_->close();
    if (stray_) net_.kill(stray_->host, true);
    for (auto& s : servers_)
        if (s->alive) kill(*s, true);
}

void world::wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
    note("WRONG", what);
}

void world::note(const std::string& who, const std::string& what) {
    char at[32];
    std::snprintf(at, sizeof at, "%.6f s  ", seconds(net_.now().time_since_epoch()) - 3600);
    std::string line = at + who + ": " + what;
    for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
    notes_.push_back(std::move(line));
    if (notes_.size() > 20000) notes_.pop_front();
}

std::uint64_t world::trace_hash() const {
    std::uint64_t h = hash_ ^ net_.events();
    for (const char c : net_.history(4096)) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
}

std::string world::history(std::size_t lines) const {
    std::string text;
    for (const std::string& line : notes_) text += line + "\n";
    return text + "The network, at last:\n" + net_.history(lines);
}

const std::string& world::address(std::size_t task) const { return servers_[task]->address; }

net::peer_options world::dial(net::transport& t, std::size_t task) const {
    net::peer_options o{.address = address(task)};
    o.self.incarnation = t.random_number();
    o.self.token = token_;
    o.link = link_;
    net::speak_calls(o);
    return o;
}

void world::start(server& s) {
    net::server_settings o{
        .tasks = cluster_, .job = s.job, .task = s.index, .token = token_, .link = link_, .pool = &pool_};
    o.log = [this, &s](const std::string& line) { note(s.host, line); };
    s.core = std::make_unique<net::server_core>(net_.start(s.host), std::move(o));
    s.alive = true;
    note(s.host, "has begun");
    if (s.job == "ps") books_.task_begins(s.index, net_.now());
}

void world::kill(server& s, bool silently) {
    broken_ = net_.now();
    paused_.erase(s.host);
    note(s.host, silently ? "loses power" : "is killed");
    net_.kill(s.host, silently);
    s.core.reset();
    s.alive = false;
    if (s.job == "ps") books_.task_ends(s.index, net_.now());
}

void world::start(client& c) {
    c.begun = true;
    c.actor = actors_.start(c.host, [this, host = c.host, seed = random_()](net::transport& t) {
        note(host, "has begun");
        run_client(*this, t, host, seed);
        note(host, "has ended");
    });
}

void world::later(duration d, std::function<void()> what) { net_.call_at(net_.now() + d, std::move(what)); }

void world::again(duration mean, std::function<void()> what) {
    if (any(2)) return; // a kind of fault that this seed has not
    const auto next = std::make_shared<std::function<void()>>();
    *next = [this, mean, what = std::move(what), weak = std::weak_ptr(next)] {
        if (!faulty()) return;
        what();
        ++sums.faults;
        if (const auto self = weak.lock()) later(about(random_, mean) + 50ms, [self] { (*self)(); });
    };
    later(about(random_, mean), [next] { (*next)(); });
}

std::string world::any_host() {
    const std::size_t h = any(servers_.size() + clients_.size());
    return h < servers_.size() ? servers_[h]->host : clients_[h - servers_.size()]->host;
}

void world::pause(const std::string& host, bool paused) {
    note(host, paused ? "pauses" : "goes on");
    if (paused) paused_.try_emplace(host, net_.now());
    else paused_.erase(host);
    if (paused) net_.pause(host);
    else net_.go_on(host);
    for (const auto& c : clients_)
        if (c->host == host && c->begun) actors_.pause(c->actor, paused);
}

bool world::stands_still_since(std::size_t task, net::time_point t) const {
    const auto since = paused_.find(servers_[task]->host);
    return since != paused_.end() && since->second <= t;
}

void world::plan_faults() {
    net::simulated_faults f;
    const auto some = [&](double most) { return any(2) ? uniform(random_) * most : 0; };
    f.duplicate = some(0.05);
    f.reorder = some(0.2);
    f.slow = some(0.05);
    f.slow_by = about(random_, 200ms);
    f.refuse = some(0.2);
    net_.inject(f);
    prompt_ = f.slow == 0;
    for (const auto& a : servers_)
        for (const auto& b : servers_)
            if (a != b && any(5) == 0) {
                net_.set_line(a->host, b->host, {10ms, 20ms, 1e6});
                prompt_ = false;
            }

    again(4s, [this] {
        server& s = *servers_[any(servers_.size())];
        if (!s.alive) return;
        if (any(4) == 0) {
            note(s.host, "is told to stop");
            const bool drained = s.core->stop(any(2) ? 300ms : 0ms);
            note(s.host, drained ? "has drained" : "has stopped");
        }
        kill(s, any(3) == 0);
        later(about(random_, any(2) ? 300ms : 3s), [this, &s] {
            if (!s.alive) start(s);
        });
    });
    again(4s, [this] {
        client& c = *clients_[any(clients_.size())];
        if (actors_.has_ended(c.actor)) return;
        note(c.host, "is killed");
        actors_.kill(c.actor, any(3) == 0);
        later(about(random_, 1s), [this, &c] {
            if (faulty()) start(c);
        });
    });
    again(4s, [this] {
        const std::string host = any_host();
        pause(host, true);
        later(about(random_, any(2) ? 500ms : 4s), [this, host] { pause(host, false); });
    });
    again(3s, [this] {
        const std::string a = any_host(), b = any_host();
        if (a == b) return;
        const bool one_way = any(2);
        note(a, (one_way ? "does not reach " : "does not reach, and is not reached by ") + b);
        net_.cut(a, b);
        if (!one_way) net_.cut(b, a);
        ++cuts_;
        later(about(random_, any(2) ? 500ms : 4s), [this, a, b, one_way] {
            --cuts_;
            broken_ = net_.now();
            note(a, "reaches " + b);
            net_.mend(a, b);
            if (!one_way) net_.mend(b, a);
        });
    });
    again(700ms, [this] {
        const std::string a = any_host(), b = any_host();
        if (a == b) return;
        note(a, "loses its connections to " + b);
        net_.lose_connections(a, b, any(2) == 0);
        broken_ = net_.now();
    });
    again(3s, [this] {
        const std::string host = any_host();
        note(host, "its clock jumps");
        net_.jump_wall_clock(host, std::chrono::minutes(static_cast<int>(any(2880)) - 1440));
    });
}

// The lease is lost with its task, and only then may two be chiefs at a time. Terms are each one's.
void world::leads(const std::string& who, std::int64_t term, net::time_point asked, net::time_point from,
                  net::time_point until) {
    for (const reign& other : reigns_) {
        if (other.who == who || books_.was_lost_since(0, std::min(asked, other.asked))) continue;
        if (std::max(from, other.from) < std::min(until, other.until))
            wrong(who + " and " + other.who + " are chiefs at the same time");
        if (other.term == term) wrong(who + " and " + other.who + " have the same term");
        if (other.until <= asked && other.term > term) wrong(who + " has a term before that of " + other.who);
    }
    reigns_.push_back({who, term, asked, from, until});
}

// A process is started by mistake: as a task that there is, on another host, or with another description of the cluster. Sessions
// are asked of it, for which it calls the others; none can be opened, and nobody else is to notice.
void world::start_stray() {
    net::server_settings o;
    std::map<std::string, std::vector<std::string>> all;
    for (const auto& s : servers_) all[s->job].push_back(s->address);
    const bool is_second = any(2);
    if (!is_second) {
        if (any(2)) all["worker"].push_back("elsewhere:1000");
        else std::swap(all["ps"][0], all["worker"][0]);
    }
    const server& as = *servers_[any(servers_.size())];
    o.tasks = is_second ? cluster_ : tn::cluster({{"ps", all["ps"]}, {"worker", all["worker"]}});
    o.job = as.job;
    o.task = as.index;
    o.listen = "stray:1000";
    o.token = token_;
    o.link = link_;
    o.pool = &pool_;
    o.log = [this](const std::string& line) { note("stray", line); };
    stray_ = std::make_unique<server>();
    stray_->host = "stray";
    note("stray", std::string("is started as ") + as.job + std::to_string(as.index) +
                      (is_second ? ", which there is" : ", of another cluster"));
    stray_->core = std::make_unique<net::server_core>(net_.start("stray"), std::move(o));
    net::transport& t = net_.start("passer-by");
    net::peer_options to = dial(t, 0);
    to.address = "stray:1000";
    to_stray_ = net::peer::make(t, std::move(to));
    for (int i = 0; i < 3; ++i) {
        net::open_session c{.limit = 1 + static_cast<double>(any(3))};
        (void)net::call(*to_stray_, c, net_.now() + 10s, [this](const net::answer& a) {
            if (!a.failed) wrong("a session was opened on a process that is no task of the cluster");
        });
    }
}

void world::plan_strays() {
    again(5s, [this] {
        if (stray_) return;
        start_stray();
        later(500ms + about(random_, 2s), [this] {
            note("stray", "is killed");
            to_stray_->close();
            to_stray_.reset();
            net_.kill("passer-by");
            net_.kill("stray", any(3) == 0);
            stray_.reset();
        });
    });
}

// Clients go on where they can after each event.
bool world::work(duration d, bool until_all_have_ended) {
    return net_.work_until(
        [&] {
            if (net_.events() > 3'000'000) wrong("things happen without end");
            actors_.run_ready();
            if (actors_.has_waited_in_callback()) wrong("a client waits in what its transport calls");
            return !wrong_.empty() || (until_all_have_ended && actors_.all_have_ended());
        },
        net_.now() + d);
}

void world::mend() {
    faulty_ = false;
    note("world", "all is mended");
    for (const auto& a : servers_) {
        pause(a->host, false);
        for (const auto& b : servers_)
            if (a != b) net_.mend(a->host, b->host);
        for (const auto& c : clients_) net_.mend(a->host, c->host), net_.mend(c->host, a->host);
    }
    for (const auto& c : clients_) pause(c->host, false);
    net_.inject({});
    for (const auto& s : servers_)
        if (!s->alive) start(*s);
}

std::string world::run() {
    for (const auto& s : servers_) start(*s);
    for (const auto& c : clients_) start(*c);
    if (!calm_) plan_faults();
    plan_strays();
    (void)work(std::chrono::duration_cast<duration>(std::chrono::duration<double>(settings_.seconds)), false);
    if (wrong_.empty()) {
        mend();
        (void)work(40s, true);
        if (wrong_.empty() && !actors_.all_have_ended()) wrong("a client still waits 40 s after all was mended");
    }
    if (wrong_.empty()) (void)work(2 * link_.lease, false); // links to lives that are over end
    if (wrong_.empty()) {
        (void)actors_.start("late", [this](net::transport& t) { run_last_client(*this, t, "late"); });
        (void)work(60s, true);
        if (wrong_.empty() && !actors_.all_have_ended()) wrong("the last client has not ended after 60 s");
    }
    if (wrong_.empty()) (void)work(3 * link_.lease, false);
    if (wrong_.empty()) check_end();
    sums.events += net_.events();
    return wrong_;
}

void world::check_end() {
    for (const auto& s : servers_) {
        const auto c = s->core->count();
        const auto none = [&](std::size_t n, const char* what) {
            if (n) wrong(s->host + " still holds " + std::to_string(n) + " " + what);
        };
        none(c.sessions, "sessions of clients");
        none(c.steps, "steps of clients");
        none(c.of_masters.sessions, "sessions of masters");
        none(c.of_masters.parts, "parts");
        none(c.of_masters.steps, "steps of masters");
        none(c.of_masters.requests, "requests of masters");
        none(c.of_masters.exchanged.sessions, "sessions of values");
        none(c.of_masters.exchanged.open, "meetings");
        none(c.of_masters.exchanged.early_bytes, "bytes that came early");
        none(c.called.calls, "calls in flight");
        none(c.called.kept_bytes, "bytes of replies");
        none(c.called.handshakes, "handshakes");
        none(c.calling.calls, "calls to others");
        none(c.calling.waiting, "messages that wait");
        none(c.calling.kept_messages, "messages that are not acknowledged");
        if (c.called.links >= servers_.size()) none(c.called.links, "links");
        const net::task_row row = s->core->status();
        std::size_t resources = 0, variables = 0, in_use = 0;
        for (const auto& r : row.resources) {
            if (r.kind == "variable") ++variables, resources += r.bytes;
            else if (r.name != "tokens" && r.kind != "lease")
                wrong(s->host + " still holds the " + r.kind + " " + r.container + "/" + r.name);
        }
        for (const auto& d : row.devices) in_use += d.memory.in_use;
        // A variable that was updated beside its readers keeps room for the next such update. Who pays lies before each array.
        constexpr std::size_t header = 64;
        if (in_use < resources || in_use > 2 * (resources + header * variables))
            wrong(s->host + " has " + std::to_string(in_use) + " bytes in use, where its variables take " +
                  std::to_string(resources));
    }
}

} // namespace random_cluster
