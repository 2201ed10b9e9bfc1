#include <cuda/tapes/schedule.hpp>

#include <algorithm>

namespace tenon::cuda::tapes {

namespace {
constexpr std::int64_t threads = 256;

std::int64_t over(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }
std::int64_t power_of_two_from(std::int64_t n) {
    std::int64_t p = 1;
    while (p < n && p < threads) p *= 2;
    return p;
}
} // namespace

schedule schedule_of(const pass& p, int multiprocessors) {
    const std::int64_t resident = std::int64_t{8} * std::max(multiprocessors, 1); // blocks of 256 threads
    const std::int64_t width = p.whole_packs ? p.shape.width : 1;
    schedule s;
    if (!p.sums()) {
        // Some rounds of blocks, so that little is left to the last ones.
        const std::int64_t each = width > 1 ? threads * width * p.shape.packs : threads;
        s.blocks = static_cast<unsigned>(std::clamp<std::int64_t>(over(p.kept, each), 1, 32 * resident));
        return s;
    }
    const std::int64_t kept_steps = p.shape.columns ? p.kept / width : p.kept;
    const std::int64_t sum_steps = p.shape.columns ? p.summed : p.summed / width;
    if (p.shape.columns) {
        // A warp reads 32 packs in a row; where there is much to sum, the other threads take other rows.
        s.lanes = power_of_two_from(kept_steps);
        if (sum_steps >= 64) s.lanes = std::min<std::int64_t>(s.lanes, 32);
    } else {
        s.lanes = threads / power_of_two_from(over(sum_steps, 4));
    }
    const std::int64_t tiles = over(kept_steps, s.lanes), sum_lanes = threads / s.lanes;
    // Chunks that fill the GPU some times over, whatever blocks it has room for, of which each thread has some steps; then a second
    // kernel adds their sums.
    s.chunks =
        std::clamp<std::int64_t>(4 * resident / tiles, 1, std::max<std::int64_t>(1, sum_steps / (8 * sum_lanes)));
    s.blocks = static_cast<unsigned>(std::clamp<std::int64_t>(tiles * s.chunks, 1, 4 * resident));
    return s;
}

} // namespace tenon::cuda::tapes
