#pragma once

#include <cstdint>

/// How many threads and blocks kernels are launched with.

namespace tenon::cuda {

/// Threads of a block, where a kernel asks for nothing else.
inline constexpr unsigned block_threads = 256;

/// Blocks for `items` items of which a thread takes `each`, at most `most`: kernels go on in strides of the grid.
constexpr unsigned blocks_for(std::int64_t items, std::int64_t each = 1, std::int64_t most = 65536) {
    const std::int64_t per_block = each * block_threads, blocks = (items + per_block - 1) / per_block;
    return static_cast<unsigned>(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

} // namespace tenon::cuda
