#pragma once

#include <string>
#include <vector>

#include <tenon/core/config.hpp>

/// In which order a stage of a pipeline works on micro-batches, forward and backward.
///
///     tn::pipeline_order(tn::one_forward_one_backward, 4, 8, 1)   // the second of four stages, eight micro-batches:
///         // F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7

namespace tenon {

enum class pipeline_schedule {
    /// All micro-batches forward, then all backward. A stage keeps what the backward pass needs of all of them.
    /// Y. Huang et al., GPipe, NeurIPS 2019.
    all_forward_then_backward,
    /// A stage begins with as many forward passes as there are stages from it to the last, then does a backward and a
    /// forward one in turn. The i-th of s stages keeps what the backward pass needs of s - i micro-batches at most, and
    /// none is idle for longer. D. Narayanan et al., PipeDream-flush, ICML 2021.
    one_forward_one_backward,
};
inline constexpr pipeline_schedule all_forward_then_backward = pipeline_schedule::all_forward_then_backward;
inline constexpr pipeline_schedule one_forward_one_backward = pipeline_schedule::one_forward_one_backward;
const char* name_of(pipeline_schedule s) noexcept;

/// What a stage does at a time.
struct pipeline_slot {
    int micro_batch = 0;
    bool backward = false;
    friend bool operator==(const pipeline_slot&, const pipeline_slot&) = default;
};
/// "F3", "B3"; of several, with spaces between them.
std::string to_string(const pipeline_slot& s);
std::string to_string(const std::vector<pipeline_slot>& slots);

/// What stage `stage` of `stages`, counted from 0, does, first to last. invalid_argument_error for numbers that make no
/// sense.
std::vector<pipeline_slot> pipeline_order(pipeline_schedule s, int stages, int micro_batches, int stage);
/// How much longer than its share of the work a stage takes where all take equally long, at best: (m + s - 1) / m for m
/// micro-batches on s stages, since stages wait for the first micro-batch and for the last.
double pipeline_bound(int stages, int micro_batches);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/pipeline/pipeline_schedule.ipp>
#endif
