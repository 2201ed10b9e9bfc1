#include <net/transport/simulated/simulated_state.hpp>

#include <cmath>
#include <iterator>

/// What a simulated network does by itself: the queue of events, faults, and the hosts' processes.

namespace tenon::net {

using state = simulated_network::state;

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
        h->number = hosts.size();
    }
    return *h;
}

state::direction& state::between(const simulated_host* from, const simulated_host* to) {
    return directions.try_emplace({from->number, to->number}, direction{usual, false}).first->second;
}

duration state::way(const simulated_host* from, const simulated_host* to) {
    const simulated_direction& line = between(from, to).line;
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

} // namespace tenon::net
