#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

/// Derivatives of products, of every order: prod_gradient_op in tenon/ops/reduce/reduction.hpp. For each element the product of those before it in
/// its group times the product of those after it, so that no zero is divided by: of numbers x + h1 t1 + .. + hn tn where no power of a t
/// counts, held as 2^n coefficients, one for each set of ts.

namespace tenon::cuda {

struct prod_gradient_plan {
    struct dimension {
        std::int64_t size = 1, stride = 0;
    };
    static constexpr int most_dimensions = 8, most_directions = 20;
    element_type element = element_type::float32;
    int directions = 0;
    dimension group[most_dimensions], outer[most_dimensions]; ///< reduced and kept ones, the innermost first
    int group_rank = 0, outer_rank = 0;
    std::int64_t group_count = 1, outer_count = 1;
    std::int64_t chunks = 1, chunk = 0; ///< of a group: chunk elements each but the last; a thread takes one
    std::size_t before_bytes = 0, chunk_bytes = 0, scratch_bytes = 0;
};

/// Of a tensor x of `rank` sizes, the axes whose bits are set reduced, in at most most_directions directions.
prod_gradient_plan plan_prod_gradient(element_type element, const std::int64_t* sizes, int rank, unsigned axes,
                                      int directions);

/// All on the device but the list of directions; scratch: plan.scratch_bytes there.
void prod_gradient(const prod_gradient_plan& plan, const void* g, const void* x, const void* const* directions,
                   void* out, std::byte* scratch, void* stream);

} // namespace tenon::cuda
