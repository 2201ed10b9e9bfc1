#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/runtime/session/session.hpp>
#include <tenon/search/median_stopping.hpp>
#include <tenon/train/checkpoint/checkpoint.hpp>

/// One network of a search (search/grid_search.hpp): what its training is told, and tells; and what has become of it.

namespace tenon {

namespace detail {
// What a trial asks of the search that it is one of.
class running_trial {
public:
    virtual ~running_trial() = default;
    virtual tenon::session& session() = 0;
    virtual bool report(std::int64_t step, double score) = 0;
    virtual bool should_stop() const noexcept = 0;
    int point = 0, attempt = 1;
    std::uint64_t seed = 0;
    device_name device{};
    score_history history{};
    std::vector<any_tensor> weights{}; // empty: all variables
};
} // namespace detail

/// A training under way. Its nodes are made in a graph of their own, on the trial's device, with a seed and a container of its own. Used by
/// the thread that trains.
class trial {
public:
    explicit trial(detail::running_trial& state) : state_(state) {}
    trial(trial&&) = delete;

    /// The number of the point, from 0.
    int point() const noexcept { return state_.point; }
    /// 1, or more where the point was begun before on a task that was lost.
    int attempt() const noexcept { return state_.attempt; }
    /// The point's, whatever the device: of its settings and the search's seed. The graph has it; data sets may take it, too.
    std::uint64_t seed() const noexcept { return state_.seed; }
    const device_name& device() const noexcept { return state_.device; }
    /// A session of this graph on the device, opened when it is first asked for.
    tenon::session& session() { return state_.session(); }

    /// Tells how good the network is after a step; steps do not go back (invalid_argument_error). False: the training is to end, since
    /// it is worse than the median, or a stop was requested. Where the score is the best so far, the weights are taken as they are now.
    [[nodiscard]] bool report(std::int64_t step, double score) { return state_.report(step, score); }
    /// What report() said last, or a stop was requested since.
    bool should_stop() const noexcept { return state_.should_stop(); }
    const score_history& history() const noexcept { return state_.history; }
    /// The weights are these variables; else all of global_variables.
    void weights_are(std::vector<any_tensor> variables) { state_.weights = std::move(variables); }

private:
    detail::running_trial& state_;
};

/// The variables' values that a trial had at its best score. A copy is of the same.
class trial_weights {
public:
    trial_weights() = default;
    explicit trial_weights(std::string path) : path_(std::move(path)) {}
    explicit trial_weights(std::shared_ptr<const safetensors_file> read) : file_(std::move(read)) {}

    /// False: they were not kept, since others were better, or the trial never opened its session.
    explicit operator bool() const noexcept { return file_ || !path_.empty(); }
    /// Gives variables of a session their values, as load_variables does: weights.load(sess, {.prefix = "member_0/"}). Where they were not
    /// kept, failed_precondition_error.
    load_report load(tenon::session& s, const load_options& o = {}) const;
    /// The file of them.
    std::shared_ptr<const safetensors_file> open() const;
    /// Where they are; empty: in memory.
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
    std::shared_ptr<const safetensors_file> file_;
};

enum class trial_end {
    done,    ///< the training came to its end
    stopped, ///< by the median
    failed,  ///< with an error, which trial_outcome::message has
};
constexpr const char* name_of(trial_end e) noexcept {
    return e == trial_end::done ? "done" : e == trial_end::stopped ? "stopped" : "failed";
}

/// What has become of a point.
struct trial_outcome {
    int point = 0;
    std::string text{}; ///< "rate=0.1, hidden=50"
    std::uint64_t seed = 0;
    trial_end end = trial_end::done;
    std::string message{};
    double score = 0;            ///< the best that is a number; NaN where none is
    std::int64_t best_step = -1; ///< when it was told; -1 where none was
    score_history history{};
    double seconds = 0;                 ///< of the attempt that came to its end
    std::string device{};               ///< where that was
    std::vector<std::string> lost_on{}; ///< devices that were lost while they trained it
    trial_weights weights{};
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/search/trial.ipp>
#endif
