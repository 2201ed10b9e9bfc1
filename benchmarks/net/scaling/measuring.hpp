#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "recording.hpp"
#include "simulation.hpp"
#include "timing.hpp"

/// What this machine's steps cost, as the simulation takes it.

namespace scaling {

namespace tn = tenon;
using timing::core_seconds;

/// Of one call.
struct taken {
    double seconds = 0, cores = 0;
};
/// Medians of the rounds.
inline taken time_of(int rounds, int calls, const std::function<void()>& call) {
    std::vector<double> seconds, cores;
    call();
    for (int r = 0; r < rounds; ++r) {
        const double before = core_seconds();
        seconds.push_back(cluster_training::seconds_of([&] {
                              for (int i = 0; i < calls; ++i) call();
                          }) /
                          calls);
        cores.push_back((core_seconds() - before) / calls);
    }
    return {cluster_training::median(seconds), cluster_training::median(cores)};
}

/// The messages of a step of two workers on two parameter servers are those that the simulation sends; ends the program where the
/// values' bytes are not. Returns how many there are for each that is simulated.
inline double check_messages(recorded_cluster& c) {
    constexpr int steps = 50;
    cluster_training::mlp_worker first(&c.tasks, 0, c.target(0)), second(&c.tasks, 1, c.target(1));
    for (int i = 0; i < 5; ++i) first.step(), second.step();
    (void)c.counts.take();
    for (int i = 0; i < steps; ++i) first.step(), second.step();
    const auto counts = c.counts.take();
    const auto of = [&](const std::string& from, const std::string& to, const char* what) {
        const auto at = counts.find({from, to, what});
        return at == counts.end() ? recorder::count{} : at->second;
    };
    const auto pieces = place(mlp(), 2, placing::round_robin);
    const int counter = counter_of(pieces, 2, placing::round_robin);
    double recorded = 0, simulated = 0;
    std::printf("messages of a step, recorded over TCP (and as simulated); bytes of values and gradients\n");
    for (const bool to_ps : {true, false})
        for (int w = 0; w < 2; ++w)
            for (int p = 0; p < 2; ++p) {
                const std::string worker = "worker" + std::to_string(w), ps = "ps" + std::to_string(p);
                const std::string &from = to_ps ? worker : ps, &to = to_ps ? ps : worker;
                const auto values = of(from, to, "step_values"), calls = of(from, to, to_ps ? "run_part" : "reply");
                const step_messages expected = to_and_from(pieces, p, p == counter, to_ps);
                const double is = static_cast<double>(values.messages + calls.messages) / steps;
                const double bytes = static_cast<double>(values.payload) / steps;
                recorded += is;
                simulated += expected.messages;
                std::printf("  %-7s -> %-7s %5.1f (%2.0f) messages  %9.0f (%7.0f) bytes\n", from.c_str(), to.c_str(),
                            is, expected.messages, bytes, expected.bytes);
                // The smallest values lie in the bodies.
                const double with_bodies = bytes + static_cast<double>(values.body) / steps;
                if (bytes > expected.bytes || with_bodies < expected.bytes) {
                    std::printf("net_scaling: a step sends other values than it simulates\n");
                    std::exit(1);
                }
            }
    return recorded / simulated;
}

/// What was measured, or is assumed.
struct measured_costs {
    costs small = {}, large = {}; ///< of variables of about 1 MB, which stay in caches; of 64 MB
    double mlp_step = 1 / 2e3;    ///< seconds of a step in one process
    double operations = 150e9;    ///< a second, of a product of 1024 squared on all cores
    double message_factor = 1;    ///< messages for each that is simulated
};

namespace detail {

/// Seconds of a core for each byte of a variable that is so large: read from a parameter server, updated there by a gradient, and
/// updated in one process.
inline void measure_transfers(costs& c, const cluster_training::tasks& t, std::int64_t elements, int rounds,
                              const taken& empty) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const tn::tensor_type type{tn::element_type::float32, {elements}};
    const std::string size = std::to_string(elements);
    const auto bytes = static_cast<double>(elements) * 4;
    const int calls = static_cast<int>(std::max<std::int64_t>(1, 20'000'000 / elements));
    tn::any_tensor there, here, sum;
    {
        const tn::device_scope ps("/job:ps/task:0");
        there = tn::untyped::variable("there" + size, type, tn::zeros());
    }
    {
        const tn::device_scope worker("/job:worker/task:0");
        here = tn::untyped::variable("here" + size, type, tn::ones());
        sum = tn::untyped::sum(there);
    }
    const tn::any_tensor pushed = tn::untyped::assign_sub(there, here);
    tn::session far(t.all.at({"worker", 0}).target(), g);
    far.run(tn::initialize_variables());
    const auto pull = far.callable_untyped({}, {sum}), push = far.callable_untyped({}, {}, {pushed.operation()});

    const tn::graph own;
    const tn::graph_scope within(own);
    const tn::any_tensor a = tn::untyped::variable("a", type, tn::zeros()),
                         b = tn::untyped::variable("b", type, tn::ones());
    const tn::any_tensor summed = tn::untyped::sum(a), updated = tn::untyped::assign_sub(a, b);
    tn::session near(own);
    near.run(tn::initialize_variables());
    const auto add = near.callable_untyped({}, {summed}), update = near.callable_untyped({}, {}, {updated.operation()});

    const taken update_taken = time_of(rounds, calls, [&] { (void)update({}); });
    const taken summing = time_of(rounds, calls, [&] { (void)add({}); });
    const auto per_byte = [&](double cores) { return std::max(0.0, cores - empty.cores) / bytes; };
    c.update_byte = update_taken.cores / bytes;
    const taken pulled = time_of(rounds, calls, [&] { (void)pull({}); });
    const taken pushed_by = time_of(rounds, calls, [&] { (void)push({}); });
    c.pull_byte = per_byte(pulled.cores - summing.cores);
    c.push_byte = per_byte(pushed_by.cores - c.update_byte * bytes);
    c.pull_stream = bytes / std::max(1e-9, pulled.seconds - summing.seconds - empty.seconds);
    c.push_stream = bytes / std::max(1e-9, pushed_by.seconds - update_taken.seconds - empty.seconds);
}

inline double messages_of(const std::map<recorder::edge, recorder::count>& counts) {
    double sum = 0;
    for (const auto& [edge, n] : counts) sum += static_cast<double>(n.messages);
    return sum;
}

} // namespace detail

inline measured_costs measure(recorded_cluster& recorded, const cluster_training::tasks& t, int rounds) {
    measured_costs all{.message_factor = check_messages(recorded)};
    costs c{.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))};

    // A step on a worker, and one through it on a parameter server: the difference is messages, which are counted.
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, tn::shape<>>("x");
    const auto on_worker = tn::on("/job:worker/task:0", [&] { return x + 1.0f; });
    const auto on_ps = tn::on("/job:ps/task:0", [&] { return x + 2.0f; });
    taken near, far;
    double near_messages = 0, far_messages = 0;
    {
        tn::session s(t.all.at({"worker", 0}).target(), g);
        auto one = s.callable(tn::feeds(x), tn::fetches(on_worker));
        auto other = s.callable(tn::feeds(x), tn::fetches(on_ps));
        near = time_of(rounds, 500, [&] { (void)one(1.0f); });
        far = time_of(rounds, 500, [&] { (void)other(1.0f); });
    }
    {
        tn::session s(recorded.target(0), g);
        auto one = s.callable(tn::feeds(x), tn::fetches(on_worker));
        auto other = s.callable(tn::feeds(x), tn::fetches(on_ps));
        const auto count = [&](auto& step) {
            step(1.0f);
            (void)recorded.counts.take();
            for (int i = 0; i < 500; ++i) (void)step(1.0f);
            return detail::messages_of(recorded.counts.take()) / 500;
        };
        near_messages = count(one);
        far_messages = count(other);
    }
    c.message = (far.cores - near.cores) / (far_messages - near_messages);
    c.step = std::max(0.0, near.cores - near_messages * c.message);
    c.wake = std::max(0.0, (far.seconds - near.seconds - (far.cores - near.cores)) / 2); // there and back
    std::printf(
        "run x + 1 on a worker: %.1f us, %.1f us of cores, %.2f messages; on a parameter server: %.1f us, %.1f us, "
        "%.2f messages\n",
        near.seconds * 1e6, near.cores * 1e6, near_messages, far.seconds * 1e6, far.cores * 1e6, far_messages);
    all.small = all.large = c;
    detail::measure_transfers(all.small, t, 250'000, rounds, far);
    detail::measure_transfers(all.large, t, 16'000'000, rounds, far);
    {
        const tn::graph own;
        const tn::graph_scope within(own);
        using square = tn::shape<1024, 1024>;
        const auto a = tn::placeholder<float, square>("a"), b = tn::placeholder<float, square>("b");
        tn::session s(own);
        tn::array<float, square> va, vb;
        for (std::int64_t i = 0; i < 1024 * 1024; ++i) va.data()[i] = vb.data()[i] = static_cast<float>(i % 251) / 251;
        const auto product = s.callable(tn::feeds(a, b), tn::fetches(tn::matmul(a, b)));
        all.operations = 2.0 * 1024 * 1024 * 1024 / time_of(rounds, 5, [&] { (void)product(va, vb); }).seconds;
    }
    return all;
}

} // namespace scaling
