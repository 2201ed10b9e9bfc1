#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

/// Many elements combined into one, over any axes.
///
/// A reduction is a few passes. Each takes [outer, n, inner] to [outer, parts, inner]: the first reads elements, the others what
/// the one before it left in scratch memory, the last writes results. Rows are passes of inner = 1, columns all others. Axes that
/// do not lie together take a pass each; lines that are few and long are cut into parts, which one more pass combines.
///
/// Floats, halves and bfloat16s are added up pairwise in float, 8 to 32 neighbours of what a thread reads, and these sums in double: about
/// as exact as doubles throughout, at a double addition for every 8 elements or more. Products are taken in double, integers wrap
/// around. Every order depends on the sizes alone: nothing is added atomically.

namespace tenon::cuda {

enum class reduction {
    sum,
    mean,
    sum_of_magnitudes,
    root_of_squares,
    product,
    least,
    largest,
    largest_magnitude,
    position_of_least,
    position_of_largest,
    any,
    all,
    count_nonzero,
    log_sum_exp,
    variance,
    deviation,
};

/// One pass.
struct reduction_pass {
    std::int64_t outer = 1, n = 1, inner = 1;
    std::int64_t parts = 1, part = 1; ///< part: elements in each but the last
    std::int64_t position_step = 0;   ///< what one element further adds to a position
    int across = 1;                   ///< columns side by side in a block; the block's other threads share these
    int together = 1;                 ///< of rows: threads that share one
    std::size_t bytes = 0;            ///< of what it leaves for the next
    bool is_rows() const { return inner == 1; }
    std::int64_t outputs() const { return outer * parts * inner; }
};

/// Neighbouring columns that a thread reads at once.
inline constexpr int most_columns_together = 4;

/// How a reduction of fixed sizes runs.
struct reduction_plan {
    static constexpr int most_passes = 16;
    reduction how = reduction::sum;
    element_type element = element_type::float32;
    double divisor = 1; ///< of a mean, or a variance
    reduction_pass passes[most_passes];
    int count = 0; ///< 0: there is nothing to write
    std::size_t scratch_bytes = 0;
};

/// Of a tensor of `rank` sizes, the axes whose bits are set in `axes`. `ddof`: of variance and deviation alone.
reduction_plan plan_reduction(reduction how, element_type element, const std::int64_t* sizes, int rank, unsigned axes,
                              std::int64_t ddof = 0);

/// x and out on the device; scratch: plan.scratch_bytes there. Results are of x's type; positions and counts int64; any and all bool.
void reduce(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream);

/// The same of some reductions each: they are compiled in files of their own.
void reduce_by_adding(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream);
void reduce_by_multiplying(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream);
void reduce_by_choosing(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream);
void reduce_by_searching(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream);
void reduce_by_counting(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream);
void reduce_moments(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream);

} // namespace tenon::cuda
