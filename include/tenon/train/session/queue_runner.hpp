#pragma once

#include <vector>

#include <tenon/core/options.hpp>
#include <tenon/ops/queue/queue.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/session/coordinator.hpp>

/// Threads that keep queues filled.
///
///     tn::add_queue_runner(tn::queue_runner(samples, samples.enqueue(image, label), 4));
///     tn::session sess;
///     tn::coordinator coord;
///     tn::start_queue_runners(sess, coord);
///     while (!coord.should_stop()) coord.stop_on_exception([&] { sess.run(train); });   // until the data end
///     coord.join();

namespace tenon {

struct queue_runner_options {
    /// Run once in a session, before the others: an end_of_data_error of it says that it has been run. It must not wait.
    operation first = {};
    /// Queues in which the operations wait for room, and from which others take. Once a stop is asked for they are closed, too, as
    /// the one that is filled is: who waits there is cancelled, and what they hold can still be taken.
    std::vector<untyped::queue> waited_for = {};
};

/// What fills a queue: a thread for each of these operations, which runs it again and again (SEMANTICS 37). One that meets
/// the end of what it reads (end_of_data_error), or finds the queue closed, ends; the last of them closes the queue, so that
/// who dequeues comes to the end, too. Another error stops them all, by way of the coordinator. Once a stop is asked for the
/// queue is closed, and what waits to be enqueued is cancelled.
class queue_runner {
public:
    /// invalid_argument_error where there is no operation, or one is of another graph than the queue.
    queue_runner(const untyped::queue& filled, std::vector<operation> enqueue, const queue_runner_options& o = {});
    TENON_OTHER_BRACES(queue_runner(const untyped::queue&, std::vector<operation>,
                                    detail::other_braces_than<queue_runner_options, N>&));
    /// n times the same.
    queue_runner(const untyped::queue& filled, const operation& enqueue, int threads);
    queue_runner(const queue_runner&) = default; // and so none that moves, which compilers would list
    queue_runner& operator=(const queue_runner&) = default;
    /// Starts the threads, which belong to the coordinator. They run steps of this session, without a time limit, and may
    /// outlive the object; once the session is closed they end.
    void start(session& s, coordinator& c) const;
    const untyped::queue& filled() const noexcept { return queue_; }
    const std::vector<operation>& enqueue_operations() const noexcept { return enqueue_; }
    const queue_runner_options& options() const noexcept { return options_; }

private:
    untyped::queue queue_;
    std::vector<operation> enqueue_;
    queue_runner_options options_;
    operation close_;
    std::vector<operation> cancel_; // of the one that is filled, and of those that are waited for
};

/// Enters a runner into its graph, so that start_queue_runners finds it, also in a graph that was read from a file.
void add_queue_runner(const queue_runner& r);
/// Starts all runners of the session's graph; how many operations are run again and again thereby.
int start_queue_runners(session& s, coordinator& c);
namespace detail {
struct first_the_session_then_the_coordinator {};
} // namespace detail
int start_queue_runners(coordinator&, session&, detail::first_the_session_then_the_coordinator = {}) = delete;

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/session/queue_runner.ipp>
#endif
