#include <net/transport/simulated.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <thread>

#include <net/transport/simulated_state.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

using state = simulated_network::state;

const char* name_of(message_type type) noexcept {
    constexpr const char* names[] = {"hello", "challenge", "proof",   "ready", "acknowledge", "ping",
                                     "pong",  "cancel",    "goodbye", "call",  "reply",       "note"};
    static_assert(std::size(names) == static_cast<std::size_t>(message_type::count));
    const auto i = static_cast<std::size_t>(type);
    return i < std::size(names) ? names[i] : "unknown";
}

// ---- what a state can do, the mutex held

std::uint64_t state::at(time_point when, simulated_process* owner, std::function<void()> what) {
    const std::uint64_t number = ++made;
    queue.emplace(key{std::max(when, now.load()), number}, event{owner, std::move(what)});
    return number;
}

simulated_host& state::host(const std::string& name) {
    auto& h = hosts[name];
    if (!h) {
        h = std::make_unique<simulated_host>();
        h->name = name;
    }
    return *h;
}

state::direction& state::between(const simulated_host* from, const simulated_host* to) {
    return directions.try_emplace({from, to}, direction{usual, false}).first->second;
}

duration state::way(const simulated_host* from, const simulated_host* to) {
    const simulated_line& line = between(from, to).line;
    const auto most = static_cast<std::size_t>(line.jitter.count());
    return line.latency + duration(most ? static_cast<duration::rep>(below(most)) : 0);
}

bool state::chance(double p) { return p > 0 && static_cast<double>(random() >> 11) * 0x1p-53 < p; }

duration state::about(duration mean) {
    const double u = (static_cast<double>(random() >> 11) + 1) * 0x1p-53;
    return duration(static_cast<duration::rep>(static_cast<double>(mean.count()) * std::min(-std::log(u), 10.0)));
}

simulated_memory& state::remember(const char* what, const simulated_host* from, const simulated_host* to,
                                  std::uint64_t connection) {
    constexpr std::size_t most = 4096;
    if (memories.size() >= most) memories.pop_front();
    auto& kept = memories.emplace_back();
    kept.at = now.load();
    kept.what = what;
    kept.from = from;
    kept.to = to;
    kept.connection = connection;
    return kept;
}

void state::deliver_held(const simulated_host* from, const simulated_host* to) {
    for (auto& [id, wire] : wires)
        for (const auto& side : wire.side) {
            if (!side || &side->owner.where != from || !side->other || &side->other->owner.where != to) continue;
            auto waiting = std::move(side->held);
            side->held.clear();
            side->held_bytes = 0;
            for (message& m : waiting) side->carry(std::move(m), true);
        }
}

void state::lose(std::uint64_t id, int hears) {
    const auto found = wires.find(id);
    if (found == wires.end()) return;
    simulated_wire both = found->second;
    remember("lost", both.side[0] ? &both.side[0]->owner.where : nullptr,
             both.side[1] ? &both.side[1]->owner.where : nullptr, id);
    for (int i = 0; i < 2; ++i) {
        const auto& side = both.side[i];
        if (!side || !side->open) continue;
        side->on_the_way.clear();
        side->held.clear();
        side->other_is_gone = true;
        side->other.reset();
        if (hears == i || hears == 2) side->begin_end("connection reset");
    }
}

void state::kill(simulated_host& h, bool silently, std::vector<std::function<void()>>& dead) {
    simulated_process* p = h.running;
    if (!p) return;
    remember(silently ? "lost power" : "was killed", &h);
    p->alive = false;
    h.running = nullptr;
    h.paused = false;
    for (auto& [number, e] : h.deferred) {
        timers.erase(number);
        dead.push_back(std::move(e.what));
    }
    h.deferred.clear();
    for (auto i = queue.begin(); i != queue.end();) {
        if (i->second.owner != p) {
            ++i;
            continue;
        }
        timers.erase(i->first.second);
        dead.push_back(std::move(i->second.what));
        i = queue.erase(i);
    }
    for (auto& listening : p->listeners) dead.push_back([each = std::move(listening.second)] {});
    p->listeners.clear();
    std::vector<std::uint64_t> over;
    for (auto& [id, wire] : wires)
        for (auto& side : wire.side) {
            if (!side || &side->owner != p) continue;
            const auto other = side->other;
            dead.push_back([user = std::move(side->user), side] {});
            side->user = nullptr;
            side->open = false;
            side->on_the_way.clear();
            side->other.reset();
            side.reset();
            if (other && other->open) {
                other->other.reset();
                other->other_is_gone = true;
                if (!silently) other->hear_end_of(h, {});
            }
            if (!wire.side[0] && !wire.side[1]) over.push_back(id);
        }
    for (const std::uint64_t id : over) wires.erase(id);
}

void state::go_on(simulated_host& h) {
    if (!h.paused) return;
    h.paused = false;
    h.went_on = now.load();
    remember("goes on", &h);
    for (auto& [number, e] : h.deferred) {
        if (const auto t = timers.find(number); t != timers.end()) t->second = now.load();
        queue.emplace(key{now.load(), number}, std::move(e));
    }
    h.deferred.clear();
}

void state::plan_fault(duration mean, std::function<void()> what) {
    if (mean <= duration{}) return;
    after(about(mean), nullptr, [this, mean, what, epoch = fault_epoch] {
        const std::lock_guard lock(mutex);
        if (epoch != fault_epoch) return;
        what();
        plan_fault(mean, what);
    });
}

void state::begin_faults() {
    ++fault_epoch;
    const auto any_host = [this]() -> simulated_host* {
        if (hosts.empty()) return nullptr;
        return std::next(hosts.begin(), static_cast<std::ptrdiff_t>(below(hosts.size())))->second.get();
    };
    plan_fault(faults.partition_every, [this, any_host] {
        simulated_host *a = any_host(), *b = any_host();
        if (!a || a == b) return;
        const bool one_way = chance(faults.one_way);
        between(a, b).cut = true;
        if (!one_way) between(b, a).cut = true;
        remember(one_way ? "is cut off in one direction from" : "is cut off from", a, b);
        after(about(faults.partition_for), nullptr, [this, a, b, one_way] {
            const std::lock_guard lock(mutex);
            remember("is mended to", a, b);
            between(a, b).cut = false;
            deliver_held(a, b);
            if (one_way) return;
            between(b, a).cut = false;
            deliver_held(b, a);
        });
    });
    plan_fault(faults.pause_every, [this, any_host] {
        simulated_host* h = any_host();
        if (!h || h->paused) return;
        h->paused = true;
        remember("pauses", h);
        after(about(faults.pause_for), nullptr, [this, h] {
            const std::lock_guard lock(mutex);
            go_on(*h);
        });
    });
    plan_fault(faults.clock_jump_every, [this, any_host] {
        simulated_host* h = any_host();
        if (!h) return;
        h->wall_clock = std::chrono::minutes(static_cast<int>(below(2880)) - 1440);
        remember("'s wall clock jumps", h);
    });
}

bool state::work_until(function_ref<bool()> done, time_point limit, const simulated_process* of) {
    const auto self = std::this_thread::get_id();
    for (;;) {
        std::uint64_t seen;
        {
            const std::lock_guard lock(mutex);
            seen = wakes;
        }
        if (done()) return true;
        std::unique_lock lock(mutex);
        if (of && !of->alive) return false;
        if (workers > 0 && worker != self) { // one thread works at a time
            changed.wait_for(lock, std::chrono::milliseconds(1));
            continue;
        }
        const auto next = queue.begin();
        if (next == queue.end() || next->first.first > now.load()) {
            if (busy) {
                const auto ask = busy;
                lock.unlock();
                const bool wait = ask();
                lock.lock();
                if (wait || seen != wakes) {
                    if (wait && seen == wakes) changed.wait_for(lock, std::chrono::milliseconds(1));
                    continue;
                }
            }
            const auto upcoming = queue.begin();
            if (now.load() >= limit) return false;
            if (upcoming == queue.end() && limit == time_point::max()) return false;
            now = upcoming == queue.end() ? limit : std::max(now.load(), std::min(upcoming->first.first, limit));
            continue;
        }
        event e = std::move(next->second);
        const auto number = next->first.second;
        queue.erase(next);
        if (e.owner && e.owner->where.paused && e.owner->alive) {
            e.owner->where.deferred.emplace_back(number, std::move(e));
            continue;
        }
        timers.erase(number);
        ++happened;
        ++workers;
        worker = self;
        lock.unlock();
        if (!e.owner || e.owner->alive) e.what();
        e.what = nullptr;
        lock.lock();
        if (--workers == 0) changed.notify_all();
    }
}

// ---- processes

namespace {

struct simulated_listener final : listener {
    simulated_listener(std::weak_ptr<state> n, simulated_process& p, std::string a) :
        net(std::move(n)), owner(p), at(std::move(a)) {}
    ~simulated_listener() override {
        const auto n = net.lock();
        if (!n) return;
        std::shared_ptr<transport::accept> last;
        const std::lock_guard lock(n->mutex);
        if (const auto found = owner.listeners.find(at); found != owner.listeners.end()) {
            last = std::move(found->second);
            owner.listeners.erase(found);
        }
    }
    const std::string& address() const noexcept override { return at; }

    std::weak_ptr<state> net;
    simulated_process& owner;
    std::string at;
};

} // namespace

std::unique_ptr<listener> simulated_process::listen(const std::string& address, accept each) {
    const std::lock_guard lock(net.mutex);
    const auto colon = address.rfind(':');
    unsigned port = 0;
    if (colon != std::string::npos) {
        const char* end = address.data() + address.size();
        const auto read = std::from_chars(address.data() + colon + 1, end, port);
        if (read.ec != std::errc() || read.ptr != end || port > 65535)
            throw invalid_argument_error("listen: " + address + " is no address: write \"host:port\"");
    }
    if (colon == std::string::npos || address.substr(0, colon) != where.name)
        throw invalid_argument_error("listen: " + address + " is no address of host " + where.name + ": write \"" +
                                     where.name + ":port\"");
    std::string at = address;
    if (port == 0) at = where.name + ":" + std::to_string(where.next_port++);
    if (alive && !listeners.emplace(at, std::make_shared<accept>(std::move(each))).second)
        throw unavailable_error("listen: " + at + " is in use");
    return std::make_unique<simulated_listener>(net.weak_from_this(), *this, at);
}

std::uint64_t simulated_process::call_at(time_point at, std::function<void()> what) {
    const std::lock_guard lock(net.mutex);
    if (!alive) return ++net.made;
    const std::uint64_t number = net.at(at, this, std::move(what));
    net.timers[number] = std::max(at, net.now.load());
    ++net.wakes;
    net.changed.notify_all();
    return number;
}

bool simulated_process::cancel(std::uint64_t timer) noexcept {
    std::function<void()> last; // ends after the mutex is free
    const std::lock_guard lock(net.mutex);
    const auto found = net.timers.find(timer);
    if (found == net.timers.end()) return false;
    if (const auto queued = net.queue.find({found->second, timer}); queued != net.queue.end()) {
        last = std::move(queued->second.what);
        net.queue.erase(queued);
    } else {
        const auto i =
            std::find_if(where.deferred.begin(), where.deferred.end(), [&](const auto& d) { return d.first == timer; });
        if (i == where.deferred.end()) return false;
        last = std::move(i->second.what);
        where.deferred.erase(i);
    }
    net.timers.erase(found);
    return true;
}

void simulated_process::wake() noexcept {
    const std::lock_guard lock(net.mutex);
    ++net.wakes;
    net.changed.notify_all();
}

// ---- the network

simulated_network::simulated_network(std::uint64_t seed, simulated_line line) : state_(std::make_shared<state>()) {
    state_->random.seed(seed);
    state_->usual = line;
}

simulated_network::~simulated_network() {
    std::vector<std::function<void()>> dead;
    {
        const std::lock_guard lock(state_->mutex);
        for (auto& [name, h] : state_->hosts) state_->kill(*h, true, dead);
        for (auto& [key, e] : state_->queue) dead.push_back(std::move(e.what));
        state_->queue.clear();
        state_->wires.clear();
    }
    dead.clear();
}

transport& simulated_network::start(const std::string& name) {
    std::vector<std::function<void()>> dead;
    const std::lock_guard lock(state_->mutex);
    simulated_host& h = state_->host(name);
    state_->kill(h, false, dead);
    state_->processes.push_back(std::make_unique<simulated_process>(*state_, h));
    h.running = state_->processes.back().get();
    state_->remember("starts a process", &h);
    return *h.running;
}

void simulated_network::kill(const std::string& host, bool silently) {
    std::vector<std::function<void()>> dead; // ends after the mutex is free
    const std::lock_guard lock(state_->mutex);
    state_->kill(state_->host(host), silently, dead);
}

void simulated_network::pause(const std::string& host) {
    const std::lock_guard lock(state_->mutex);
    state_->host(host).paused = true;
    state_->remember("pauses", &state_->host(host));
}

void simulated_network::go_on(const std::string& host) {
    const std::lock_guard lock(state_->mutex);
    state_->go_on(state_->host(host));
}

time_point simulated_network::went_on(const std::string& host) const {
    const std::lock_guard lock(state_->mutex);
    return state_->host(host).went_on;
}

void simulated_network::cut(const std::string& from, const std::string& to) {
    const std::lock_guard lock(state_->mutex);
    auto &a = state_->host(from), &b = state_->host(to);
    state_->between(&a, &b).cut = true;
    state_->remember("is cut off in one direction from", &a, &b);
}

void simulated_network::mend(const std::string& from, const std::string& to) {
    const std::lock_guard lock(state_->mutex);
    auto &a = state_->host(from), &b = state_->host(to);
    state_->between(&a, &b).cut = false;
    state_->remember("is mended to", &a, &b);
    state_->deliver_held(&a, &b);
}

void simulated_network::set_line(const std::string& from, const std::string& to, simulated_line line) {
    const std::lock_guard lock(state_->mutex);
    state_->between(&state_->host(from), &state_->host(to)).line = line;
}

void simulated_network::lose_connections(const std::string& a, const std::string& b, bool both_hear) {
    const std::lock_guard lock(state_->mutex);
    const simulated_host *first = &state_->host(a), *second = &state_->host(b);
    std::vector<std::pair<std::uint64_t, int>> found;
    for (const auto& [id, wire] : state_->wires) {
        if (!wire.side[0] || !wire.side[1]) continue;
        const simulated_host *x = &wire.side[0]->owner.where, *y = &wire.side[1]->owner.where;
        if ((x == first && y == second) || (x == second && y == first)) found.emplace_back(id, x == first ? 0 : 1);
    }
    for (const auto& [id, side] : found) state_->lose(id, both_hear ? 2 : side);
}

void simulated_network::refuse_dials(const std::string& host, bool refused) {
    const std::lock_guard lock(state_->mutex);
    state_->host(host).refuses = refused;
}

void simulated_network::set_private(bool is_private) {
    const std::lock_guard lock(state_->mutex);
    state_->is_private = is_private;
}

void simulated_network::jump_wall_clock(const std::string& host, duration by) {
    const std::lock_guard lock(state_->mutex);
    state_->host(host).wall_clock += by;
}

std::chrono::system_clock::time_point simulated_network::wall_clock(const std::string& host) const {
    const std::lock_guard lock(state_->mutex);
    using clock = std::chrono::system_clock;
    const auto jumped = state_->now.load().time_since_epoch() + state_->host(host).wall_clock;
    return clock::time_point(std::chrono::hours(24 * 365 * 50)) + std::chrono::duration_cast<clock::duration>(jumped);
}

void simulated_network::inject(const simulated_faults& faults) {
    const std::lock_guard lock(state_->mutex);
    state_->faults = faults;
    state_->begin_faults();
    if (faults.partition_every == duration{})
        for (auto& [hosts, d] : state_->directions)
            if (std::exchange(d.cut, false)) state_->deliver_held(hosts.first, hosts.second);
    if (faults.pause_every == duration{})
        for (auto& [name, h] : state_->hosts) state_->go_on(*h);
}

time_point simulated_network::now() const noexcept { return state_->now.load(); }

void simulated_network::call_at(time_point at, std::function<void()> what) {
    const std::lock_guard lock(state_->mutex);
    state_->at(at, nullptr, std::move(what));
}

bool simulated_network::work_until(function_ref<bool()> done, time_point limit) {
    return state_->work_until(done, limit, nullptr);
}

void simulated_network::work_for(duration d) {
    state_->work_until([] { return false; }, now() + d, nullptr);
}

void simulated_network::set_busy(std::function<bool()> busy) {
    const std::lock_guard lock(state_->mutex);
    state_->busy = std::move(busy);
}

void simulated_network::wake() noexcept {
    const std::lock_guard lock(state_->mutex);
    ++state_->wakes;
    state_->changed.notify_all();
}

std::size_t simulated_network::connections() const {
    const std::lock_guard lock(state_->mutex);
    return state_->wires.size();
}

std::uint64_t simulated_network::events() const {
    const std::lock_guard lock(state_->mutex);
    return state_->happened;
}

void simulated_network::remember(std::string what) {
    const std::lock_guard lock(state_->mutex);
    state_->remember("").words = std::move(what);
}

std::string simulated_network::history(std::size_t lines) const {
    const std::lock_guard lock(state_->mutex);
    std::ostringstream out;
    out.precision(6);
    out << std::fixed;
    const std::size_t all = state_->memories.size();
    for (std::size_t i = all > lines ? all - lines : 0; i < all; ++i) {
        const simulated_memory& m = state_->memories[i];
        out << std::chrono::duration<double>(m.at.time_since_epoch()).count() - 3600 << " s  ";
        if (m.from) out << m.from->name << ' ';
        out << m.what;
        if (m.to) out << ' ' << m.to->name;
        if (m.connection) out << " on connection " << m.connection;
        if (m.has_message) {
            out << ": " << name_of(m.head.type) << ", " << m.size << " bytes";
            if (m.head.sequence) out << ", sequence " << m.head.sequence;
            if (m.head.acknowledged) out << ", acknowledges " << m.head.acknowledged;
            if (m.head.request) out << ", request " << m.head.request;
        }
        if (!m.words.empty()) out << (m.what[0] ? ": " : "") << m.words;
        out << '\n';
    }
    return out.str();
}

} // namespace tenon::net
