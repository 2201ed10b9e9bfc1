#pragma once

#include <cstdint>
#include <vector>

#include <tenon/op/step.hpp>

/// Where kernels of one step, of several devices, find each other to do something together.

namespace tenon {

class gpu_context;

/// One of them.
struct participant {
    std::vector<void*> memory{}; ///< of each tensor that they have together
    void* stream = nullptr;      ///< of a GPU
    gpu_context* gpu = nullptr;
};

/// Number `number` of `all` has come to a meeting of the step. The last one is given all, in the order of their numbers, the others
/// nothing. Throws internal_error where the kernel runs outside of a step, or a number comes twice. Thread-safe.
std::vector<participant> join_participants(const step* in, std::int64_t meeting, int number, int all,
                                           const participant& p);
/// Throws internal_error where some have come to the meeting, and not all.
void require_all_joined(const step* in, std::int64_t meeting);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/resources/collective/participants.ipp>
#endif
