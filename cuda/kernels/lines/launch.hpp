#pragma once

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/lines/blocks.hpp>

namespace tenon::cuda {

/// Launches a kernel whose blocks take a layout's lines, in strides of the grid.
template <class... P, class... A>
void launch_lines(void (*kernel)(P...), const line_layout& l, void* stream, A&&... arguments) {
    constexpr std::int64_t most_blocks = 1 << 20;
    const std::int64_t blocks = (l.count() + l.lines - 1) / l.lines;
    launch(kernel, static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), l.block(), 0, stream,
           std::forward<A>(arguments)...);
}

} // namespace tenon::cuda
