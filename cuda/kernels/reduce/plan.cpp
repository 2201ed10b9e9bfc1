// How reductions are cut into passes, and passes into blocks: arithmetic on the host.

#include <algorithm>

#include <cuda/kernels/grid.hpp>
#include <cuda/kernels/reduce/reduce.hpp>

namespace tenon::cuda {

namespace {

// Enough threads for a large GPU; more would only add to what the next pass reads.
constexpr std::int64_t enough_threads = 1 << 18;
constexpr std::int64_t most_parts = 1024;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t power_of_two_from(std::int64_t n) {
    std::int64_t p = 1;
    while (p < n) p *= 2;
    return p;
}

std::size_t state_bytes(reduction how) {
    switch (how) {
    case reduction::variance:
    case reduction::deviation: return 24;
    case reduction::log_sum_exp:
    case reduction::position_of_least:
    case reduction::position_of_largest: return 16;
    default: return 8;
    }
}

// Cuts p.n into at most `wanted` parts of whole multiples of `grain`.
void cut(reduction_pass& p, std::int64_t wanted, std::int64_t grain) {
    wanted = std::clamp<std::int64_t>(wanted, 1, most_parts);
    p.part = std::max<std::int64_t>(divide_up(divide_up(p.n, wanted), grain) * grain, 1);
    p.parts = std::max<std::int64_t>(divide_up(p.n, p.part), 1);
}

// Threads to rows or columns. `width`: elements that a thread reads at once, or 1 state of what another pass left.
void divide(reduction_pass& p, std::int64_t width, bool of_states) {
    if (p.is_rows()) {
        const std::int64_t reads = divide_up(p.n, width);
        const bool is_long = reads > 1024 || (reads > 128 && p.outer * 32 < enough_threads);
        p.together = static_cast<int>(is_long ? block_threads : std::min<std::int64_t>(power_of_two_from(reads), 32));
        const std::int64_t grain = block_threads * width * 8;
        cut(p, p.together == block_threads && p.outer > 0 ? enough_threads / (p.outer * block_threads) : 1, grain);
        return;
    }
    const std::int64_t columns = divide_up(p.outer * p.inner, width),
                       least_across = std::min<std::int64_t>(power_of_two_from(columns), of_states ? 8 : 32);
    constexpr std::int64_t rows_each = 16;
    std::int64_t across = block_threads;
    while (across > least_across && columns * (block_threads / across) < enough_threads &&
           p.n > block_threads / across * rows_each)
        across /= 2;
    p.across = static_cast<int>(across);
    const std::int64_t down = block_threads / across;
    cut(p, columns > 0 ? enough_threads / (columns * down) : 1, down * rows_each);
}

} // namespace

reduction_plan plan_reduction(reduction how, element_type element, const std::int64_t* sizes, int rank, unsigned axes,
                              std::int64_t ddof) {
    reduction_plan plan;
    plan.how = how;
    plan.element = element;

    // Sizes of 1 dropped, neighbours of one kind merged: kept and reduced ones take turns.
    struct dimension {
        std::int64_t size = 1;
        bool reduced = false;
        std::int64_t position_step = 1;
    };
    dimension dims[32];
    int count = 0;
    std::int64_t reduced = 1, outputs = 1;
    for (int i = 0; i < rank; ++i) {
        const bool is_reduced = (axes >> i & 1U) != 0;
        (is_reduced ? reduced : outputs) *= sizes[i];
        if (sizes[i] == 1) continue;
        if (count > 0 && dims[count - 1].reduced == is_reduced) dims[count - 1].size *= sizes[i];
        else dims[count++] = {sizes[i], is_reduced, 1};
    }
    std::int64_t step = 1;
    for (int i = count; i-- > 0;)
        if (dims[i].reduced) {
            dims[i].position_step = step;
            step *= dims[i].size;
        }
    plan.divisor = static_cast<double>(how == reduction::mean ? reduced : std::max<std::int64_t>(reduced - ddof, 0));
    if (outputs == 0) return plan;

    const auto add = [&](reduction_pass p) {
        std::int64_t width = plan.count == 0 ? 16 / static_cast<std::int64_t>(size_of(element)) : 1;
        if (!p.is_rows()) {
            width = std::min<std::int64_t>(width, most_columns_together);
            if (p.inner % width != 0) width = 1;
        }
        divide(p, width, plan.count > 0);
        plan.passes[plan.count++] = p;
        if (p.parts == 1) return;
        reduction_pass rest{.outer = p.outer, .n = p.parts, .inner = p.inner};
        divide(rest, 1, true);
        rest.parts = 1;
        rest.part = rest.n;
        plan.passes[plan.count++] = rest;
    };
    if (reduced == 0) {
        reduction_pass p; // of nothing, for each result
        p.n = 0;
        p.inner = outputs;
        add(p);
    } else if (std::none_of(dims, dims + count, [](const dimension& d) { return d.reduced; })) {
        reduction_pass p{.inner = outputs};
        add(p);
    } else {
        // The longest dimension first: what it leaves is least.
        for (;;) {
            int longest = -1;
            for (int i = 0; i < count; ++i)
                if (dims[i].reduced && (longest < 0 || dims[i].size >= dims[longest].size)) longest = i;
            if (longest < 0) break;
            reduction_pass p;
            for (int i = 0; i < count; ++i) (i < longest ? p.outer : i == longest ? p.n : p.inner) *= dims[i].size;
            p.position_step = dims[longest].position_step;
            add(p);
            dims[longest] = {};
        }
    }
    for (int i = 0; i + 1 < plan.count; ++i) {
        plan.passes[i].bytes =
            (static_cast<std::size_t>(plan.passes[i].outputs()) * state_bytes(how) + 255) / 256 * 256;
        plan.scratch_bytes += plan.passes[i].bytes;
    }
    return plan;
}

void reduce(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream) {
    if (plan.count == 0) return;
    switch (plan.how) {
    case reduction::sum:
    case reduction::mean:
    case reduction::sum_of_magnitudes:
    case reduction::root_of_squares: return reduce_by_adding(plan, x, out, scratch, stream);
    case reduction::product: return reduce_by_multiplying(plan, x, out, scratch, stream);
    case reduction::least:
    case reduction::largest:
    case reduction::largest_magnitude: return reduce_by_choosing(plan, x, out, scratch, stream);
    case reduction::position_of_least:
    case reduction::position_of_largest: return reduce_by_searching(plan, x, out, scratch, stream);
    case reduction::any:
    case reduction::all:
    case reduction::count_nonzero: return reduce_by_counting(plan, x, out, scratch, stream);
    default: return reduce_moments(plan, x, out, scratch, stream);
    }
}

} // namespace tenon::cuda
