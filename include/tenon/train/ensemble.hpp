#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/ops/queue/queue.hpp>
#include <tenon/runtime/session/session.hpp>

/// Networks of several processes that answer together, through queues (SEMANTICS 45). In one graph: nn/ensemble.hpp.
///
///     using images  = tn::component<float, tn::shape<batch, 784>>;
///     using classes = tn::component<float, tn::shape<batch, 10>>;
///     const tn::ensemble_queues<images, classes> queues({.name = "digits", .device = "/job:ps/task:0", .members = 3, .quorum = 2});
///
///     // each member, a process of its own; the network is where its scopes say
///     const tn::operation serve = queues.serve(number, [&](auto x) { return softmax(model(x)); });
///     while (!coord.should_stop()) coord.stop_on_exception([&] { sess.run(serve); });      // until the aggregator closes the queues
///
///     // who asks
///     tn::ensemble_aggregator aggregator(queues, sess);
///     const auto answer = aggregator.ask(pixels, 0.5);     // within half a second
///     answer.mean                                           // of the probabilities of the members that have answered
///     answer.text()                                         // "2 of 3 members; missing: member 1"
///
/// A request has a number, which goes with it and with its answers: what comes for an earlier one is dropped, and counted as late. Each
/// member has a queue of requests and one of answers, so one that has crashed, or stands still, keeps nobody else waiting; a member
/// that comes back answers what it had taken, which is late, and then what is asked. One whose queue of answers is closed, or fails, is
/// lost: it is missing from then on, and not waited for.

namespace tenon {

struct ensemble_options {
    /// Of the queues, in the container (container_scope) in which they are made; and in messages.
    std::string name = "ensemble";
    /// Where the queues are; not set: as queues are that ask for no device.
    device_name device{};
    int members = 1;
    /// With fewer answers there is none: deadline_exceeded_error.
    int quorum = 1;
    /// Seconds in which members must answer, where ask() and collect() do not say it.
    double timeout = 1;
    /// Answers of a member that wait to be taken; then it waits.
    std::int64_t capacity = 8;
};

namespace detail {
void check_ensemble(const ensemble_options& o);
void check_member(const ensemble_options& o, int member);
} // namespace detail

/// The queues of an ensemble, in the current graph: In is what is asked, a component<T, S>, and Out what each member answers. Members and
/// the aggregator, who are in different graphs, make them with the same options.
template <class In, class Out> class ensemble_queues {
    using scalar = tensor<std::int64_t, shape<>>;

public:
    using request_queue = fifo_queue<std::int64_t, std::int64_t, In>; // whose request, its number, what is asked
    using answer_queue = fifo_queue<std::int64_t, std::int64_t, Out>;
    using in = detail::component_t<In>;
    using out = detail::component_t<Out>;
    static_assert(std::is_same_v<typename out::element, float> || std::is_same_v<typename out::element, double>,
                  "tenon::ensemble_queues: members answer with floats or doubles, whose mean is taken");

    /// invalid_argument_error where an option makes no sense, naming it.
    explicit ensemble_queues(ensemble_options o) : options_(std::move(o)) {
        detail::check_ensemble(options_);
        const device_scope there(options_.device);
        for (int m = 0; m < options_.members; ++m) {
            const std::string number = std::to_string(m);
            // One that waits: what a member has not taken is asked of it no more.
            requests_.emplace_back(1, queue_options{.shared_name = options_.name + "/requests_" + number});
            answers_.emplace_back(options_.capacity,
                                  queue_options{.shared_name = options_.name + "/answers_" + number});
        }
    }

    /// An operation that takes a request of this member's, waits for one where there is none, and answers with f(x), of the type Out.
    /// Once the aggregator has closed the queues it is an end_of_data_error. What a step that failed has taken is asked again.
    template <class F> operation serve(int member, F&& f) const {
        const auto [run, number, x] = requests(member).dequeue();
        return answers(member).enqueue(run, number, f(x));
    }
    /// An operation that answers without having been asked: of its own inputs, request `number`, which ensemble_aggregator::collect takes.
    /// Numbers grow.
    template <class N, class X> operation answer(int member, const N& number, const X& probabilities) const {
        return answers(member).enqueue(std::int64_t{0}, number, probabilities);
    }

    const request_queue& requests(int member) const {
        detail::check_member(options_, member);
        return requests_[static_cast<std::size_t>(member)];
    }
    const answer_queue& answers(int member) const {
        detail::check_member(options_, member);
        return answers_[static_cast<std::size_t>(member)];
    }
    const ensemble_options& options() const noexcept { return options_; }

private:
    ensemble_options options_;
    std::vector<request_queue> requests_;
    std::vector<answer_queue> answers_;
};

namespace detail {

struct untyped_answer {
    std::int64_t number = 0;
    any_array mean{};
    std::vector<any_array> answers{};
    std::vector<int> members{}, missing{};
};

} // namespace detail

/// What an ensemble has answered. Array: array<T, S>.
template <class Array> struct ensemble_answer {
    std::int64_t number = 0;    ///< of the request
    Array mean;                 ///< of the members' that have answered in time
    std::vector<Array> answers; ///< theirs
    std::vector<int> members;   ///< whose these are
    std::vector<int> missing;   ///< the others
    /// How many members there are.
    int of() const noexcept { return static_cast<int>(members.size() + missing.size()); }
    /// "2 of 3 members; missing: member 1"
    std::string text() const;
};

struct ensemble_statistics {
    struct member {
        std::int64_t answered = 0; ///< requests, in time
        std::int64_t missed = 0;   ///< requests that were answered without it, or not at all
        std::int64_t late = 0;     ///< answers of it that were dropped
        std::string
            lost{}; ///< why no answer of it will come: its queue of answers is closed, or has failed; empty: one may
    };
    std::int64_t requests = 0;
    std::vector<member> members{};
};

namespace detail {

std::string text_of_answer(const std::vector<int>& members, const std::vector<int>& missing);

// All of an aggregator but its types.
class aggregator_core {
public:
    aggregator_core(ensemble_options o, const std::vector<untyped::queue>& requests,
                    const std::vector<untyped::queue>& answers, session& s);
    ~aggregator_core();
    untyped_answer ask(const any_array& x, double timeout);
    untyped_answer collect(std::int64_t number, double timeout);
    ensemble_statistics statistics() const;
    void close();

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace detail

/// Asks the members and takes the mean of what they answer in time. A thread a member waits for answers. Its functions may be called by
/// several threads: one request after another. The session must outlive it, and be of the queues' graph, to which it adds what it runs.
template <class In, class Out> class ensemble_aggregator {
    using in = typename ensemble_queues<In, Out>::in;
    using out = typename ensemble_queues<In, Out>::out;

public:
    using input = array<typename in::element, typename in::shape>;
    using output = array<typename out::element, typename out::shape>;

    ensemble_aggregator(const ensemble_queues<In, Out>& q, session& s) :
        core_(q.options(), all(q, [](const auto& of, int m) { return of.requests(m).untyped(); }),
              all(q, [](const auto& of, int m) { return of.answers(m).untyped(); }), s) {}

    /// Asks all members, and waits until all have answered, but no longer than `timeout` seconds, 0: the ensemble's. Throws
    /// deadline_exceeded_error, naming who is missing, where fewer than the quorum have; invalid_argument_error, naming two, where
    /// answers have different sizes; and, where fewer than the quorum are not lost, at once what became of the first that is: of its
    /// queue, the session or the task of the queues. Each request has another number, also after one that was not answered.
    ensemble_answer<output> ask(const input& x, double timeout = 0) { return typed(core_.ask(x.untyped(), timeout)); }
    /// The same of what members answer without being asked (ensemble_queues::answer). Numbers grow. An ensemble is asked or collected from,
    /// not both.
    ensemble_answer<output> collect(std::int64_t number, double timeout = 0) {
        return typed(core_.collect(number, timeout));
    }
    ensemble_statistics statistics() const { return core_.statistics(); }
    /// Closes the queues of requests: members that serve them end.
    void close() { core_.close(); }

private:
    template <class F> static std::vector<untyped::queue> all(const ensemble_queues<In, Out>& q, F of) {
        std::vector<untyped::queue> queues;
        for (int m = 0; m < q.options().members; ++m) queues.push_back(of(q, m));
        return queues;
    }
    static ensemble_answer<output> typed(detail::untyped_answer&& a) {
        std::vector<output> answers;
        for (any_array& one : a.answers) answers.push_back(output(std::move(one)));
        return {a.number, output(std::move(a.mean)), std::move(answers), std::move(a.members), std::move(a.missing)};
    }
    detail::aggregator_core core_;
};

template <class Array> std::string ensemble_answer<Array>::text() const {
    return detail::text_of_answer(members, missing);
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/ensemble.ipp>
#endif
