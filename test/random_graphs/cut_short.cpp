#include "random_graphs/cut_short.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "random_graphs/callables.hpp"
#include "reference/trip.hpp"

namespace tn = tenon;

namespace random_graphs {

namespace {

using clock = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

} // namespace

cutter::cutter(tn::session& s, const reference::request& r, step::cut_short how) :
    session_(s), request_(r), stops_(how == step::cut_short::stopped && can_call(r)) {}

std::vector<tn::any_array> cutter::run_for(double limit) {
    if (!made_) {
        std::vector<tn::any_tensor> fed;
        for (const tn::fed_value& f : request_.feeds) fed.push_back(f.tensor);
        made_ = session_.callable_untyped(fed, request_.fetches, request_.targets);
    }
    std::vector<tn::any_array> values;
    for (const tn::fed_value& f : request_.feeds) values.push_back(f.value.share());
    return made_->run_for(limit, values);
}

std::vector<tn::any_array> cutter::in_place(int n, bool& reached) {
    reference::trip_wire& wire = reference::trip_wire::get();
    struct clears {
        reference::trip_wire& wire;
        bool& reached;
        ~clears() { reached = wire.clear(); }
    } const at_the_end{wire, reached};
    if (!stops_) {
        constexpr double limit = 1e-3;
        const auto end = clock::now() + seconds(limit + 2e-4);
        wire.set(n, [end] { std::this_thread::sleep_until(end); });
        return run_for(limit);
    }
    // The kernel goes on when the step was stopped; what runs on the thread that starts it cannot be.
    std::atomic<bool> is_there = false, is_stopped = false;
    wire.set(n, [&, starter = std::this_thread::get_id()] {
        if (std::this_thread::get_id() == starter) return;
        is_there = true;
        is_there.notify_one();
        is_stopped.wait(false);
    });
    return start(session_, request_, [&](const started_step& s) {
        while (!is_there && !s.has_ended()) std::this_thread::yield();
        s.stop();
        is_stopped = true;
        is_stopped.notify_one();
    });
}

std::vector<tn::any_array> cutter::after(double limit) {
    if (!stops_) return run_for(limit);
    return start(session_, request_, [&](const started_step& s) {
        const auto end = clock::now() + seconds(limit);
        while (clock::now() < end && !s.has_ended()) std::this_thread::yield();
        s.stop();
    });
}

} // namespace random_graphs
