#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <tuple>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/train/ensemble.hpp>
#include <tenon/train/session/coordinator.hpp>

namespace tenon::detail {

inline std::string ensemble_text(const ensemble_options& o) { return "ensemble \"" + o.name + "\""; }

TENON_INLINE void check_ensemble(const ensemble_options& o) {
    const auto require = [&](bool good, const std::string& what) {
        if (!good) throw invalid_argument_error(ensemble_text(o) + ": " + what);
    };
    require(!o.name.empty(), "it has no name; members find its queues by it");
    require(o.members >= 1, "members is " + std::to_string(o.members) + "; give 1 or more");
    require(o.quorum >= 1 && o.quorum <= o.members, "quorum is " + std::to_string(o.quorum) + " of " +
                                                        std::to_string(o.members) + " members; give 1 up to that");
    require(o.timeout > 0 && o.timeout <= 1e9, "timeout is " + text_of_number(o.timeout) + "; give seconds");
    require(o.capacity >= 1, "capacity is " + std::to_string(o.capacity) + "; give 1 or more");
}
TENON_INLINE void check_member(const ensemble_options& o, int member) {
    if (member < 0 || member >= o.members)
        throw invalid_argument_error(ensemble_text(o) + ": there is no member " + std::to_string(member) +
                                     "; there are 0 to " + std::to_string(o.members - 1));
}

TENON_INLINE std::string text_of_answer(const std::vector<int>& members, const std::vector<int>& missing) {
    std::string text =
        std::to_string(members.size()) + " of " + std::to_string(members.size() + missing.size()) + " members";
    for (std::size_t i = 0; i < missing.size(); ++i)
        text += (i == 0 ? "; missing: member " : ", member ") + std::to_string(missing[i]);
    return text;
}

// The mean of arrays of float or double of equal sizes, added up in double.
template <class T> any_array mean_of_arrays(const std::vector<any_array>& all) {
    any_array mean(all.front().element(), all.front().extents());
    T* const to = mean.data<T>();
    for (std::int64_t i = 0; i < mean.elements(); ++i) {
        double sum = 0;
        for (const any_array& a : all) sum += static_cast<double>(a.data<T>()[i]);
        to[i] = static_cast<T>(sum / static_cast<double>(all.size()));
    }
    return mean;
}

struct aggregator_core::state {
    using clock = std::chrono::steady_clock;
    using put_request = callable<feed_list<any_tensor, any_tensor, any_tensor>, fetch_list<operation>>;
    using take_answer = callable<feed_list<>, fetch_list<any_tensor, any_tensor, any_tensor>>;
    using taking = pending_step<any_tensor, any_tensor, any_tensor>;
    struct answer {
        std::int64_t run, number;
        any_array value;
    };
    struct member {
        put_request ask;
        take_answer take;
        std::optional<answer> came{}; // under the guard, and so what follows
        std::optional<taking> waits{};
        std::exception_ptr lost{}; // why nothing is to be had of it any more
        ensemble_statistics::member counts{};
    };

    state(ensemble_options o, const std::vector<untyped::queue>& requests, const std::vector<untyped::queue>& answers,
          session& s);
    void collect_from(member& m);
    bool is_early(const answer& a) const {
        // 0: members that were not asked. Other runs are of aggregators before this one.
        return a.run == 0 ? a.number >= wanted_unasked : a.run == run && a.number >= wanted;
    }
    // Under the guard, and so the next.
    int left() const {
        return static_cast<int>(std::count_if(members.begin(), members.end(), [](const member& m) { return !m.lost; }));
    }
    void require_quorum() const;
    void wait_for_answers(clock::time_point until);
    untyped_answer taken(std::int64_t of, std::int64_t number, double seconds, const std::exception_ptr& refused);
    double seconds_of(double timeout) const {
        if (timeout == 0) return options.timeout;
        if (!(timeout > 0 && timeout <= 1e9))
            throw invalid_argument_error(ensemble_text(options) + ": the time to wait is " + text_of_number(timeout) +
                                         "; give seconds, or 0 for the ensemble's");
        return timeout;
    }
    static clock::time_point after(double seconds) {
        return clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
    }

    const ensemble_options options;
    std::vector<member> members;
    untyped_callable closing{nullptr};
    std::int64_t run = 0; // of this aggregator's requests

    std::mutex asking; // one request after another
    mutable std::mutex guard;
    std::condition_variable changed;
    std::int64_t wanted = 1, wanted_unasked = 0; // what is before them is late
    std::int64_t requests = 0;
    bool ending = false;
    coordinator threads; // ends first
};

TENON_INLINE aggregator_core::state::state(ensemble_options o, const std::vector<untyped::queue>& requested,
                                           const std::vector<untyped::queue>& answered, session& s) :
    options(std::move(o)) {
    std::random_device random;
    while (run == 0) run = static_cast<std::int64_t>((static_cast<std::uint64_t>(random()) << 32 | random()) >> 1);
    const graph_scope there(s.bound_graph());
    const no_controls apart;
    std::vector<operation> closes;
    for (std::size_t m = 0; m < requested.size(); ++m) {
        std::vector<any_tensor> tuple;
        for (const tensor_type& t : requested[m].components())
            tuple.push_back(untyped::placeholder(t.element, t.extents, requested[m].name() + "/asked"));
        const operation enqueue = requested[m].enqueue(tuple);
        const std::vector<any_tensor> given = answered[m].dequeue();
        closes.push_back(requested[m].close());
        members.push_back({s.callable(tenon::feeds(tuple[0], tuple[1], tuple[2]), tenon::fetches(enqueue)),
                           s.callable(tenon::feeds(), tenon::fetches(given[0], given[1], given[2]))});
    }
    closing = s.callable_untyped({}, {}, closes);
    for (std::size_t m = 0; m < members.size(); ++m)
        threads.start(ensemble_text(options) + ": answers of member " + std::to_string(m),
                      [this, m] { collect_from(members[m]); });
}

// Holds one answer that has not been asked for; then its member's queue fills, and the member waits.
TENON_INLINE void aggregator_core::state::collect_from(member& m) {
    constexpr double without_limit = 1e9; // seconds: the session's own limit is not for who waits for members
    try {
        while (true) {
            std::optional<taking> step;
            {
                std::unique_lock lock(guard);
                changed.wait(lock, [&] { return ending || !m.came || !is_early(*m.came); });
                if (ending) return;
                m.came.reset();
                m.waits = step = m.take.start_for(without_limit);
            }
            auto [run_of, number, value] = step->get();
            const std::lock_guard lock(guard);
            m.waits.reset();
            answer a{run_of.template data<std::int64_t>()[0], number.template data<std::int64_t>()[0],
                     std::move(value)};
            if (is_early(a)) m.came = std::move(a);
            else ++m.counts.late;
            changed.notify_all();
        }
    } catch (const std::exception& e) {
        const std::lock_guard lock(guard);
        m.waits.reset();
        if (ending) return;
        m.lost = std::current_exception();
        m.counts.lost = e.what();
        changed.notify_all();
    }
}

// Throws what became of those that are lost where too few are left.
TENON_INLINE void aggregator_core::state::require_quorum() const {
    if (left() >= options.quorum) return;
    const auto first = std::find_if(members.begin(), members.end(), [](const member& m) { return m.lost != nullptr; });
    try {
        std::rethrow_exception(first->lost);
    } catch (const error& e) {
        throw_error(e, ensemble_text(options) + ": " + std::to_string(left()) + " of " +
                           std::to_string(options.members) + " members are left, and " +
                           std::to_string(options.quorum) + " are needed; member " +
                           std::to_string(first - members.begin()) + " is lost: " + e.what());
    }
}

// Of what has come none is late, and there is none of an earlier number behind it.
TENON_INLINE void aggregator_core::state::wait_for_answers(clock::time_point until) {
    std::unique_lock lock(guard);
    changed.wait_until(lock, until, [&] {
        return left() < options.quorum ||
               std::all_of(members.begin(), members.end(), [](const member& m) { return m.came || m.lost; });
    });
}

// What has come by now. Later it is late, also where this throws. `refused`: by a queue of requests; thrown where there are too few.
TENON_INLINE untyped_answer aggregator_core::state::taken(std::int64_t of, std::int64_t number, double seconds,
                                                          const std::exception_ptr& refused) {
    untyped_answer a;
    a.number = number;
    {
        const std::lock_guard lock(guard);
        ++requests;
        (of == 0 ? wanted_unasked : wanted) = number + 1;
        for (std::size_t i = 0; i < members.size(); ++i) {
            member& m = members[i];
            const bool is = m.came && m.came->run == of && m.came->number == number;
            ++(is ? m.counts.answered : m.counts.missed);
            (is ? a.members : a.missing).push_back(static_cast<int>(i));
            if (!is) continue;
            a.answers.push_back(std::move(m.came->value));
            m.came.reset();
        }
        changed.notify_all();
        if (static_cast<int>(a.members.size()) < options.quorum) {
            if (refused) std::rethrow_exception(refused);
            require_quorum();
        }
    }
    if (static_cast<int>(a.members.size()) < options.quorum)
        throw deadline_exceeded_error(ensemble_text(options) + ": request " + std::to_string(number) +
                                      " was answered within " + text_of_number(seconds) + " s by " +
                                      text_of_answer(a.members, a.missing) + "; " + std::to_string(options.quorum) +
                                      " are needed");
    for (std::size_t i = 1; i < a.answers.size(); ++i)
        if (!(a.answers[i].type() == a.answers[0].type()))
            throw invalid_argument_error(ensemble_text(options) + ": to request " + std::to_string(number) +
                                         " member " + std::to_string(a.members[0]) + " has answered " +
                                         to_string(a.answers[0].type()) + ", and member " +
                                         std::to_string(a.members[i]) + " " + to_string(a.answers[i].type()));
    a.mean = a.answers[0].element() == element_type::float32 ? mean_of_arrays<float>(a.answers)
                                                             : mean_of_arrays<double>(a.answers);
    return a;
}

TENON_INLINE aggregator_core::aggregator_core(ensemble_options o, const std::vector<untyped::queue>& requests,
                                              const std::vector<untyped::queue>& answers, session& s) :
    state_(std::make_unique<state>(std::move(o), requests, answers, s)) {}

TENON_INLINE aggregator_core::~aggregator_core() {
    const std::lock_guard lock(state_->guard);
    state_->ending = true;
    for (state::member& m : state_->members)
        if (m.waits) m.waits->stop(); // the queue is as if it had not come
    state_->changed.notify_all();
}

TENON_INLINE untyped_answer aggregator_core::ask(const any_array& x, double timeout) {
    const double seconds = state_->seconds_of(timeout);
    const std::lock_guard turn(state_->asking);
    const auto until = state::after(seconds);
    std::int64_t number = 0;
    {
        const std::lock_guard lock(state_->guard);
        state_->require_quorum();
        number = state_->wanted;
    }
    any_array run(element_type::int64, {}), which(element_type::int64, {});
    run.data<std::int64_t>()[0] = state_->run;
    which.data<std::int64_t>()[0] = number;
    std::exception_ptr refused;
    const auto noting = [&](const auto& f) {
        try {
            f();
        } catch (const cancelled_error&) { // of a member that has not taken the one before, or whose queue is closed
        } catch (const deadline_exceeded_error&) {
        } catch (...) {
            refused = std::current_exception();
        }
    };
    std::vector<pending_step<operation>> asked;
    for (const state::member& m : state_->members)
        noting([&] { asked.push_back(m.ask.start_for(seconds, run, which, x)); });
    if (static_cast<int>(asked.size()) >= state_->options.quorum) state_->wait_for_answers(until);
    for (const auto& step : asked) step.stop();
    for (const auto& step : asked) noting([&] { step.get(); });
    return state_->taken(state_->run, number, seconds, refused);
}

TENON_INLINE untyped_answer aggregator_core::collect(std::int64_t number, double timeout) {
    const double seconds = state_->seconds_of(timeout);
    const std::lock_guard turn(state_->asking);
    const auto until = state::after(seconds);
    {
        const std::lock_guard lock(state_->guard);
        state_->require_quorum();
        if (number < state_->wanted_unasked)
            throw invalid_argument_error(ensemble_text(state_->options) + ": request " + std::to_string(number) +
                                         " is collected after request " + std::to_string(state_->wanted_unasked - 1) +
                                         "; numbers grow");
        state_->wanted_unasked = number;
        for (state::member& m : state_->members)
            if (m.came && !state_->is_early(*m.came)) {
                ++m.counts.late;
                m.came.reset();
            }
        state_->changed.notify_all();
    }
    state_->wait_for_answers(until);
    return state_->taken(0, number, seconds, nullptr);
}

TENON_INLINE ensemble_statistics aggregator_core::statistics() const {
    const std::lock_guard lock(state_->guard);
    ensemble_statistics s;
    s.requests = state_->requests;
    for (const state::member& m : state_->members) s.members.push_back(m.counts);
    return s;
}

TENON_INLINE void aggregator_core::close() {
    try {
        (void)state_->closing({});
    } catch (const aborted_error& e) {
        if (e.reason() == error_reason::lost_task) throw; // else somebody has closed them before
    }
}

} // namespace tenon::detail
