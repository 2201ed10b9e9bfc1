#pragma once

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/train/pipeline/pipeline_schedule.hpp>

namespace tenon {

TENON_INLINE const char* name_of(pipeline_schedule s) noexcept {
    return s == all_forward_then_backward ? "all forward, then backward" : "one forward, one backward";
}

TENON_INLINE std::string to_string(const pipeline_slot& s) {
    return (s.backward ? "B" : "F") + std::to_string(s.micro_batch);
}
TENON_INLINE std::string to_string(const std::vector<pipeline_slot>& slots) {
    std::string text;
    for (const pipeline_slot& s : slots) text += (text.empty() ? "" : " ") + to_string(s);
    return text;
}

TENON_INLINE std::vector<pipeline_slot> pipeline_order(pipeline_schedule s, int stages, int micro_batches, int stage) {
    if (stages < 1 || micro_batches < 1 || stage < 0 || stage >= stages)
        throw invalid_argument_error(
            "pipeline_order: there is no stage " + std::to_string(stage) + " of " + std::to_string(stages) + " with " +
            std::to_string(micro_batches) +
            " micro-batches; stages are counted from 0, and there is one micro-batch at least");
    const int ahead = s == all_forward_then_backward ? micro_batches : std::min(micro_batches, stages - stage);
    std::vector<pipeline_slot> order;
    for (int f = 0; f < ahead; ++f) order.push_back({f, false});
    for (int b = 0; b < micro_batches; ++b) {
        order.push_back({b, true});
        if (ahead + b < micro_batches) order.push_back({ahead + b, false});
    }
    return order;
}

TENON_INLINE double pipeline_bound(int stages, int micro_batches) {
    if (stages < 1 || micro_batches < 1)
        throw invalid_argument_error("pipeline_bound: there is no pipeline of " + std::to_string(stages) +
                                     " stages and " + std::to_string(micro_batches) +
                                     " micro-batches; give 1 at least");
    return static_cast<double>(micro_batches + stages - 1) / micro_batches;
}

} // namespace tenon
