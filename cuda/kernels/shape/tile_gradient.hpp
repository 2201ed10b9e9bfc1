#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

namespace tenon::cuda {

/// A tensor of these sizes that is repeated counts[i] times along dimension i.
struct tiled_sizes {
    static constexpr int most = 8;
    int rank = 0;
    std::int64_t sizes[most]{}, counts[most]{};
};

/// Each element's sum over its repetitions in `from`, in their order; half and bfloat16 are added up in float and rounded once,
/// integers wrap around. The sum of none is 0.
void sum_repetitions(element_type e, const void* from, void* to, const tiled_sizes& t, void* stream);

} // namespace tenon::cuda
