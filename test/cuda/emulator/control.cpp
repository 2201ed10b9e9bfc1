
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "machine.hpp"

namespace tenon::emulator {

namespace {
void set_cards(machine& m, const std::vector<card>& all) {
    if (all.size() > most_cards) {
        std::fprintf(stderr, "emulated GPU: %zu cards are asked for, %d is the most\n", all.size(), most_cards);
        std::abort();
    }
    m.cards = static_cast<int>(all.size());
    for (std::size_t c = 0; c < all.size(); ++c) m.all[c].is = all[c];
}
} // namespace

void seed(std::uint64_t n) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    m.random.seed(n);
    m.favourite.reset();
}

void reset() {
    machine& m = the_machine();
    lock_type lock(m.guard);
    m.wait(lock, [&] {
        return std::all_of(m.streams.begin(), m.streams.end(), [](const auto& s) { return s->queue.empty(); });
    });
    m.forget_free_memory();
    for (card_state& card : m.all) {
        card.has_context = false;
        card.lost = cudaSuccess;
        card.lost_after.reset();
        card.reaches.fill(false);
    }
    set_cards(m, {card{}});
    m.driver = cudaSuccess;
    for (const auto& s : m.streams) { // what a fault has kept from ending
        s->recording.reset();
        s->last.clear();
    }
    m.captures.clear();
    m.faults.clear();
    m.log.clear();
    m.call_counts.clear();
    m.violations.clear();
    m.others_wait = 0;
    m.random.seed(1);
    m.favourite.reset();
    last_error = cudaSuccess;
    current_card = 0;
}

void cards(const std::vector<card>& all) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    set_cards(m, all);
}

void fail(const std::string& name, cudaError_t error, const fault& when) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    m.faults[name] = {error, when};
}

void lose_card(int card, std::uint64_t after, cudaError_t error) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    m.all[static_cast<std::size_t>(card)].lost_after = after;
    m.all[static_cast<std::size_t>(card)].lost_as = error;
}

bool has_context(int card) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    return m.all[static_cast<std::size_t>(card)].has_context;
}

void driver(cudaError_t error) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    m.driver = error;
}

void others_wait(unsigned calls) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    m.others_wait = calls;
}

void protect(bool on) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    m.protects = on;
    ++m.activity;
    m.wake_worker.notify_all();
}

std::vector<call> calls() {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    return {m.log.begin(), m.log.end()};
}

std::size_t count_calls(const std::string& name) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    const auto found = m.call_counts.find(name);
    return found == m.call_counts.end() ? 0 : found->second;
}

std::vector<std::string> violations() {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    return m.violations;
}

counts count() {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    counts c{};
    for (const card_state& card : m.all) {
        c.device_bytes += card.used;
        c.device_allocations += card.allocations.size();
    }
    c.host_allocations = m.host_allocations.size();
    c.streams = m.streams.size() - 2 * most_cards;
    c.events = m.events.size();
    c.graphs = m.graphs.size();
    c.executables = m.executables.size();
    c.pools = m.pools.size();
    c.libraries = m.libraries;
    c.commands = m.commands;
    return c;
}

cudaError_t enqueue(cudaStream_t in, const std::string& name, std::function<bool()> run) {
    return api(name.c_str(), in, "", [&](machine& m, lock_type&) {
        const auto s = m.find_stream(in);
        if (!s) return cudaErrorInvalidResourceHandle;
        m.put(*s, {name, work::library, s->card, std::move(run)});
        return cudaSuccess;
    });
}

void ask_again() {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    ++m.progress;
    ++m.activity;
    m.wake_worker.notify_all();
}

void report(const std::string& what) {
    machine& m = the_machine();
    const lock_type lock(m.guard);
    m.lose(m.running_card, cudaErrorIllegalAddress, what);
}

} // namespace tenon::emulator
