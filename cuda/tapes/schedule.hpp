#pragma once

#include <cstdint>

#include <cuda/tapes/form.hpp>

/// How a pass is shared out among the blocks of a GPU, and what it needs of its memory.

namespace tenon::cuda::tapes {

/// The terms are those of kernels/tape/loops.hpp.
struct schedule {
    unsigned blocks = 1;
    std::int64_t lanes = 1, chunks = 1;

    /// Doubles in which parts of sums are kept: of a sum in a pass that has `kept` elements, 0 where no parts are needed; of a total.
    std::int64_t parts_of_sum(std::int64_t kept) const noexcept { return chunks > 1 ? chunks * kept : 0; }
    std::int64_t parts_of_total() const noexcept { return blocks; }
};
schedule schedule_of(const pass& p, int multiprocessors);

} // namespace tenon::cuda::tapes
