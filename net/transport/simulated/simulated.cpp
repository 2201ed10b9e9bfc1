#include <net/transport/simulated/simulated.hpp>

#include <sstream>
#include <utility>

#include <net/transport/simulated/simulated_state.hpp>

namespace tenon::net {

using state = simulated_network::state;

const char* name_of(message_type type) noexcept {
    constexpr const char* names[] = {"hello",  "challenge", "proof", "ready", "acknowledge", "ping",         "pong",
                                     "cancel", "goodbye",   "call",  "reply", "note",        "shared_memory"};
    static_assert(std::size(names) == static_cast<std::size_t>(message_type::count));
    const auto i = static_cast<std::size_t>(type);
    return i < std::size(names) ? names[i] : "unknown";
}

simulated_network::simulated_network(std::uint64_t seed, simulated_direction line) : state_(std::make_shared<state>()) {
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

void simulated_network::set_line(const std::string& from, const std::string& to, simulated_direction line) {
    const std::lock_guard lock(state_->mutex);
    state_->between(&state_->host(from), &state_->host(to)).line = line;
}

void simulated_network::set_card(const std::string& host, simulated_card card) {
    const std::lock_guard lock(state_->mutex);
    simulated_host& h = state_->host(host);
    h.card = card;
    h.has_card = true;
}

void simulated_network::share_arrays(bool shared) {
    const std::lock_guard lock(state_->mutex);
    state_->shares_arrays = shared;
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

void simulated_network::set_clock(const std::string& host, duration ahead) {
    const std::lock_guard lock(state_->mutex);
    state_->host(host).ahead = ahead;
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
        for (auto& [a, from] : state_->hosts)
            for (auto& [b, to] : state_->hosts)
                if (std::exchange(state_->between(from.get(), to.get()).cut, false))
                    state_->deliver_held(from.get(), to.get());
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

void simulated_network::wake() noexcept { state_->wake(); }

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
