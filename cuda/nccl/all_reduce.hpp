#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/resources/collective/participants.hpp>

/// Sums over the GPUs of this process.

namespace tenon::cuda {

/// Why there is no NCCL; empty where it can be used.
const std::string& why_no_nccl();

/// Puts on the streams of all what makes each tensor of each the sum of that of all: the same bits for all. NCCL has all tensors, of these
/// numbers of elements, in one call. Of several that are parts of one card, which it cannot have, the first one sums for the others. The order of sums of one process is the same on all cards. The first
/// time, NCCL makes itself known to the cards, which takes some time. Throws unavailable_error where there is no NCCL, and what check()
/// and NCCL have to say.
void all_reduce(element_type element, const std::vector<std::int64_t>& elements, const std::vector<participant>& all);

} // namespace tenon::cuda
