#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "signals.hpp"

namespace tenon::emulator {

thread_local int current_card = 0;
thread_local cudaError_t last_error = cudaSuccess;
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

namespace {
thread_local bool is_worker = false;
/// How long nobody may ask for anything before work goes on by itself.
constexpr std::chrono::milliseconds quiet(2);
constexpr std::chrono::seconds too_long(60);
} // namespace

bool on_worker() { return is_worker; }

machine& the_machine() {
    static machine* const m = new machine; // what ends after main() may still call
    return *m;
}

machine::machine() {
    if (const char* calls = std::getenv("TENON_EMULATOR_OTHERS_WAIT"))
        others_wait = static_cast<unsigned>(std::strtoul(calls, nullptr, 10));
    if (const char* many = std::getenv("TENON_EMULATOR_CARDS")) cards = std::clamp(std::atoi(many), 1, most_cards);
    for (int c = 0; c < most_cards; ++c) {
        card_state& card = all[static_cast<std::size_t>(c)];
        card.legacy = std::make_shared<stream>(stream{c, 0});
        card.per_thread = std::make_shared<stream>(stream{c, 0});
        streams.push_back(card.legacy);
        streams.push_back(card.per_thread);
    }
    std::thread([this] {
        is_worker = true;
        make_signal_stack();
        work_on();
    }).detach();
}

void machine::work_on() {
    lock_type lock(guard);
    const auto waited_for = [&] { return std::any_of(waits.begin(), waits.end(), [](auto* w) { return !(*w)(); }); };
    for (;;) {
        if (waited_for() || nudges) {
            if (nudges) --nudges;
            if (run_one(lock)) continue;
            nudges = 0;
            progressed.notify_all();
            const std::uint64_t then = activity;
            if (!waited_for()) continue;
            if (!wake_worker.wait_for(lock, too_long, [&] { return activity != then || !waited_for(); })) {
                std::fprintf(stderr, "emulated GPU: the host waits for work that cannot go on:\n");
                for (const auto& s : streams)
                    if (!s->queue.empty())
                        std::fprintf(stderr, "  stream %p of card %d: %s\n", static_cast<void*>(s.get()), s->card,
                                     s->queue.front().what.name.c_str());
                std::abort();
            }
            continue;
        }
        progressed.notify_all();
        close_memory();
        const std::uint64_t then = activity;
        const auto asked = [&] { return activity != then || waited_for() || nudges; };
        if (std::all_of(streams.begin(), streams.end(), [](const auto& s) { return s->queue.empty(); })) {
            wake_worker.wait(lock, asked);
        } else if (!wake_worker.wait_for(lock, quiet, asked)) {
            // A host that looks at memory or waits for a host function gets there too.
            while (activity == then && run_one(lock)) progressed.notify_all();
            if (activity == then) {
                close_memory();
                wake_worker.wait(lock, asked);
            }
        }
    }
}

bool machine::run_one(lock_type& lock) {
    struct candidate {
        std::shared_ptr<stream> in;
        std::size_t node; // of the graph at its front
    };
    std::vector<candidate> candidates;
    for (const auto& s : streams) {
        if (s->queue.empty() || s->busy) continue;
        stream::entry& front = s->queue.front();
        if (!front.graph) {
            if (front.what.tried != progress) candidates.push_back({s, 0});
            continue;
        }
        replay& g = *front.graph;
        if (g.from->running && g.left == g.nodes.size() && !g.nodes.empty() && front.what.tried == 0) continue;
        for (std::size_t n = 0; n < g.nodes.size(); ++n)
            if (!g.done[n] && g.nodes[n].what.tried != progress &&
                std::all_of(g.nodes[n].after.begin(), g.nodes[n].after.end(), [&](std::size_t b) { return g.done[b]; }))
                candidates.push_back({s, n});
        if (g.nodes.empty()) candidates.push_back({s, 0});
    }
    if (candidates.empty()) return false;
    // Some streams run far ahead of others for a while.
    if (!favourite || draw(8) == 0) favourite = candidates[draw(candidates.size())].in;
    std::size_t chosen = draw(candidates.size());
    if (draw(4))
        for (std::size_t tries = 0; tries < candidates.size() && candidates[chosen].in != favourite; ++tries)
            chosen = (chosen + 1) % candidates.size();
    const std::shared_ptr<stream> s = candidates[chosen].in;
    const std::size_t n = candidates[chosen].node;
    stream::entry& front = s->queue.front();

    do_chores();
    const std::shared_ptr<replay> graph = front.graph;
    command* const c = !graph ? &front.what : graph->nodes.empty() ? nullptr : &graph->nodes[n].what;
    if (graph && !graph->from->running) {
        graph->from->running = true;
        front.what.tried = 1; // it is this one that runs
    }
    if (c && c->kind == work::branch && enter_branch(*graph, n)) {
        ++progress;
        return true;
    }
    bool done = true;
    const auto lost = [&](int card) { return all[static_cast<std::size_t>(card)].lost != cudaSuccess; };
    if (c && !lost(c->card)) {
        card_state& card = all[static_cast<std::size_t>(c->card)];
        if (card.lost_after && (*card.lost_after)-- == 0) {
            card.lost_after.reset();
            lose(c->card, card.lost_as, "");
        } else {
            open_memory(c->card);
            if (c->kind == work::kernel) catch_signals();
            s->busy = true;
            running_card = c->card;
            lock.unlock();
            done = c->run();
            lock.lock();
            s->busy = false;
            ++commands;
            if (c->kind == work::kernel || c->kind == work::library) {
                do_chores();
                const std::string broken = broken_red_zones();
                if (!broken.empty()) lose(c->card, cudaErrorIllegalAddress, c->name + " " + broken);
            }
        }
    } else if (c && c->kind == work::event) {
        c->run(); // who waits for it learns of the error elsewhere
    }
    if (!done) {
        if (c->tried == 0) ++progress; // it has come: others may have waited for that
        c->tried = progress;
        return true;
    }
    ++progress;
    if (graph) {
        if (c) {
            graph->done[n] = true;
            --graph->left;
        }
        if (graph->left == 0) {
            graph->from->running = false;
            s->queue.pop_front();
        }
    } else {
        s->queue.pop_front();
    }
    if (s->queue.empty() && s->destroyed) streams.remove(s);
    if (favourite == s && s->queue.empty()) favourite.reset();
    return true;
}

// True where the condition has its part run now, after which the node is asked again.
bool machine::enter_branch(replay& g, std::size_t node) {
    const std::shared_ptr<branch> of = g.nodes[node].parts;
    if (all[static_cast<std::size_t>(g.nodes[node].what.card)].lost != cudaSuccess) return false;
    const bool again = g.nodes[node].entered;
    if (again) { // what it did is done
        const std::size_t first = g.nodes[node].first;
        bool unused = true; // by others at work, from there on
        for (std::size_t n = 0; n < g.nodes.size(); ++n)
            unused =
                unused && (g.done[n] || n == node || (n < first && !(g.nodes[n].entered && g.nodes[n].first > first)));
        if (unused) {
            g.nodes.erase(g.nodes.begin() + static_cast<std::ptrdiff_t>(first), g.nodes.end());
            g.done.resize(first);
        }
        g.nodes[node].after.resize(g.nodes[node].own_after);
        if (of->type == cudaGraphCondTypeIf) return false;
    }
    const unsigned value = conditions[of->condition];
    const std::size_t part = of->type == cudaGraphCondTypeSwitch ? value : value ? 0 : 1;
    if (part >= of->parts.size() || of->parts[part]->nodes.empty()) return false;
    const std::size_t first = g.nodes.size();
    if (!again) g.nodes[node].own_after = g.nodes[node].after.size();
    g.nodes[node].entered = true;
    g.nodes[node].first = first;
    for (const graph_node& n : of->parts[part]->nodes) {
        g.nodes[node].after.push_back(g.nodes.size());
        graph_node& copy = g.nodes.emplace_back(n);
        for (std::size_t& b : copy.after) b += first;
        copy.what.tried = 0;
    }
    g.done.resize(g.nodes.size());
    g.left += g.nodes.size() - first;
    return true;
}

void machine::do_chores() {
    if (chores.empty()) return;
    open_memory(-1);
    for (const auto& chore : chores) chore();
    chores.clear();
    forget_tails(std::size_t{1} << 20);
}

void machine::wait(lock_type& lock, const std::function<bool()>& until) {
    if (until()) return;
    waits.push_back(&until);
    ++activity;
    wake_worker.notify_all();
    progressed.wait(lock, until);
    waits.remove(&until);
    ++activity;
    wake_worker.notify_all();
}

void machine::nudge(lock_type& lock) {
    nudges += draw(4);
    if (!nudges) {
        nudges = draw(2); // a host that only asks gets there, but not at once
        if (!nudges) return;
    }
    ++activity;
    wake_worker.notify_all();
    progressed.wait(lock, [&] { return nudges == 0; });
}

void machine::put(stream& s, command c) {
    ++activity;
    if (const auto& r = s.recording) {
        r->nodes.push_back({std::move(c), s.last});
        s.last = {r->nodes.size() - 1};
        return;
    }
    s.queue.push_back({std::move(c), nullptr});
    wake_worker.notify_all();
}

void machine::lose(int card, cudaError_t error, const std::string& why) {
    if (!why.empty()) {
        violations.push_back(why);
        std::fprintf(stderr, "emulated GPU: %s\n", why.c_str());
    }
    all[static_cast<std::size_t>(card)].lost = error;
}

std::shared_ptr<stream> machine::find_stream(cudaStream_t handle) {
    card_state& card = all[static_cast<std::size_t>(current_card)];
    if (handle == nullptr || handle == cudaStreamLegacy) return card.legacy;
    if (handle == cudaStreamPerThread) return card.per_thread;
    for (const auto& s : streams)
        if (static_cast<void*>(s.get()) == static_cast<void*>(handle)) return s->destroyed ? nullptr : s;
    return nullptr;
}

bool machine::has_work(int card) const {
    return std::any_of(streams.begin(), streams.end(),
                       [&](const auto& s) { return s->card == card && !s->queue.empty(); });
}

namespace {

cudaError_t invalidate(capture& c, cudaError_t answer) {
    c.invalid = cudaErrorStreamCaptureInvalidated;
    return answer;
}

// The legacy stream would wait for all blocking ones. A capture that is invalid already is only ended.
cudaError_t refused_to_stream(machine& m, const std::string& name, cudaStream_t handle) {
    const auto s = m.find_stream(handle);
    if (!s || name == "cudaStreamEndCapture" || name == "cudaStreamDestroy") return cudaSuccess;
    const bool only_asks = name == "cudaStreamIsCapturing";
    if (s->recording && s->recording->invalid != cudaSuccess && !only_asks) return s->recording->invalid;
    if (s != m.all[static_cast<std::size_t>(s->card)].legacy) return cudaSuccess;
    cudaError_t answer = cudaSuccess;
    for (const auto& other : m.streams) {
        if (!other->recording || other->card != s->card || other->flags == cudaStreamNonBlocking) continue;
        answer = cudaErrorStreamCaptureImplicit;
        if (!only_asks) (void)invalidate(*other->recording, answer);
    }
    return answer;
}

// What CUDA answers without a context of the card.
bool needs_context(const std::string& name) {
    static const std::set<std::string> others{"cudaGetDeviceCount",      "cudaGetDevice",
                                              "cudaSetDevice",           "cudaDeviceGetAttribute",
                                              "cudaGetDeviceProperties", "cudaDeviceGetPCIBusId",
                                              "cudaDeviceCanAccessPeer", "cudaThreadExchangeStreamCaptureMode"};
    return others.count(name) == 0;
}

} // namespace

cudaError_t enter(machine& m, const char* name, const std::string& detail, cudaStream_t stream, int card) {
    if (on_worker()) return cudaErrorNotPermitted; // a host function may not call CUDA
    m.log.push_back({name, detail, stream});
    if (m.log.size() > 100000) m.log.pop_front();
    ++m.call_counts[name];
    if (m.driver != cudaSuccess) return m.driver;
    if (needs_context(name)) m.all[static_cast<std::size_t>(card)].has_context = true;
    if (const auto f = m.faults.find(name); f != m.faults.end() && !f->second.when.above) {
        const std::uint64_t n = f->second.calls++, after = f->second.when.after;
        if (n >= after && n - after < f->second.when.times) return f->second.error;
    }
    if (m.others_wait && !m.captures.empty() && m.draw(m.others_wait) == 0)
        (void)refused_by_captures_of(m, static_cast<int>(m.draw(static_cast<std::uint64_t>(m.cards))));
    if (const cudaError_t e = m.all[static_cast<std::size_t>(card)].lost) return e;
    return stream == no_stream ? cudaSuccess : refused_to_stream(m, name, stream);
}

cudaError_t refused_bytes(machine& m, const char* call, std::size_t used, std::size_t more) {
    const auto f = m.faults.find(call);
    if (f == m.faults.end() || !f->second.when.above || used + more <= *f->second.when.above) return cudaSuccess;
    const std::uint64_t n = f->second.calls++, after = f->second.when.after;
    return n >= after && n - after < f->second.when.times ? f->second.error : cudaSuccess;
}

cudaError_t refused_by_capture(machine& m) {
    if (capture_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
    cudaError_t answer = cudaSuccess;
    for (const auto& c : m.captures) {
        const bool mine = c->thread == std::this_thread::get_id() && c->mode != cudaStreamCaptureModeRelaxed;
        const bool others = c->mode == cudaStreamCaptureModeGlobal && capture_mode == cudaStreamCaptureModeGlobal;
        if (mine || others) answer = invalidate(*c, cudaErrorStreamCaptureUnsupported);
    }
    return answer;
}

cudaError_t refused_by_captures_of(machine& m, int card) {
    cudaError_t answer = cudaSuccess;
    for (const auto& s : m.streams)
        if (s->recording && s->card == card) answer = invalidate(*s->recording, cudaErrorStreamCaptureUnsupported);
    return answer;
}

} // namespace tenon::emulator
