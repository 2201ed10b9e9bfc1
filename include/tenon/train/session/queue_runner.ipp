#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/train/session/queue_runner.hpp>

namespace tenon {

namespace detail {

// The operations of a runner, in its graph: a collection beside that of the queues. Collections hold tensors, so for each
// operation there is one that runs after it.
inline std::string collection_of(const node& queue) { return std::string(queue_runners) + "/" + queue.name; }
inline std::string collection_of_first(const node& queue) { return collection_of(queue) + "/first"; }
inline std::string collection_of_waited_for(const node& queue) { return collection_of(queue) + "/waited_for"; }
inline any_tensor tensor_after(const operation& o) {
    const control_dependencies after(o);
    return constant(true);
}
inline operation operation_before(const any_tensor& t) { return operation(t.node()->controls.front()); }

// Runs an operation that closes a queue, which somebody else may have closed, or forgotten.
inline void run_close(const untyped_callable& close) {
    try {
        (void)close({});
    } catch (const aborted_error&) {
    } catch (const cancelled_error&) {
    } catch (const failed_precondition_error&) { // the session is closed
    }
}

} // namespace detail

TENON_INLINE queue_runner::queue_runner(const untyped::queue& filled, std::vector<operation> enqueue,
                                        const queue_runner_options& o) :
    queue_(filled), enqueue_(std::move(enqueue)), options_(o) {
    if (enqueue_.empty())
        throw invalid_argument_error("queue_runner of \"" + queue_.name() +
                                     "\": it has no operation to run; give one that enqueues");
    for (const operation& e : enqueue_)
        if (!e || e.node()->graph != queue_.handle().node()->graph)
            throw invalid_argument_error("queue_runner of \"" + queue_.name() + "\": " +
                                         (e ? e.name() + " belongs to another graph" : "an operation is empty"));
    const graph_scope there(graph(enqueue_.front().node()->graph));
    close_ = queue_.close();
    cancel_.push_back(queue_.close(true));
    for (const untyped::queue& q : options_.waited_for) cancel_.push_back(q.close(true));
}
TENON_INLINE queue_runner::queue_runner(const untyped::queue& filled, const operation& enqueue, int threads) :
    queue_runner(filled, std::vector<operation>(threads > 0 ? static_cast<std::size_t>(threads) : 0, enqueue)) {}

TENON_INLINE void queue_runner::start(session& s, coordinator& c) const {
    s.note_started_runner(queue_.handle());
    constexpr double without_limit = 1e9; // seconds: a session's own limit is not for those who wait for room
    const auto running = std::make_shared<std::atomic<std::size_t>>(enqueue_.size());
    const untyped_callable close = s.callable_untyped({}, {}, {close_});
    std::vector<untyped_callable> cancel;
    for (const operation& o : cancel_) cancel.push_back(s.callable_untyped({}, {}, {o}));
    std::function<void()> begin = [] {};
    if (options_.first)
        begin = [first = s.callable_untyped({}, {}, {options_.first}), one = std::make_shared<std::mutex>()] {
            const std::lock_guard lock(*one); // the others wait until it has been run
            try {
                (void)first.run_for(without_limit, {});
            } catch (const end_of_data_error&) { // it has been
            }
        };
    for (std::size_t n = 0; n < enqueue_.size(); ++n)
        c.start("queue runner " + std::to_string(n + 1) + " of " + queue_.name(),
                [&c, running, close, begin, step = s.callable_untyped({}, {}, {enqueue_[n]})] {
                    std::exception_ptr failure;
                    try {
                        begin();
                        while (!c.should_stop()) (void)step.run_for(without_limit, {});
                    } catch (const end_of_data_error&) {
                    } catch (const cancelled_error&) { // somebody has closed the queue, or the session
                    } catch (...) {
                        failure = std::current_exception();
                    }
                    if (failure) std::rethrow_exception(failure); // it counts as running: who closes waits for the stop
                    if (running->fetch_sub(1) == 1) detail::run_close(close);
                });
    c.start("queue runner of " + queue_.name() + ", which closes it", [&c, running, cancel] {
        if (c.wait_for_stop_or([&] { return running->load() == 0; }))
            for (const untyped_callable& q : cancel) detail::run_close(q);
    });
}

TENON_INLINE void add_queue_runner(const queue_runner& r) {
    const any_tensor queue = r.filled().handle();
    graph g(queue.node()->graph);
    const graph_scope there(g);
    g.add_to_collection(queue_runners, queue);
    for (const operation& o : r.enqueue_operations())
        g.add_to_collection(detail::collection_of(*queue.node()), detail::tensor_after(o));
    if (const operation& first = r.options().first)
        g.add_to_collection(detail::collection_of_first(*queue.node()), detail::tensor_after(first));
    for (const untyped::queue& q : r.options().waited_for)
        g.add_to_collection(detail::collection_of_waited_for(*queue.node()), q.handle());
}

TENON_INLINE int start_queue_runners(session& s, coordinator& c) {
    const graph& g = s.bound_graph();
    int threads = 0;
    std::vector<const node*> started;
    for (const any_tensor& queue : g.collection(queue_runners)) {
        if (std::find(started.begin(), started.end(), queue.node()) != started.end()) continue;
        started.push_back(queue.node());
        std::vector<operation> all;
        for (const any_tensor& t : g.collection(detail::collection_of(*queue.node())))
            all.push_back(detail::operation_before(t));
        queue_runner_options o;
        for (const any_tensor& t : g.collection(detail::collection_of_first(*queue.node())))
            o.first = detail::operation_before(t);
        for (const any_tensor& q : g.collection(detail::collection_of_waited_for(*queue.node())))
            o.waited_for.emplace_back(q);
        queue_runner(untyped::queue(queue), all, o).start(s, c);
        threads += static_cast<int>(all.size());
    }
    return threads;
}

} // namespace tenon
