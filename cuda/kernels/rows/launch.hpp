#pragma once

#include <initializer_list>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/rows/blocks.hpp>

namespace tenon::cuda {

/// f.operator()<kind>() of the kind in which these rows are read and written: packed ones where all tensors allow it (a null pointer
/// does).
template <class F> void with_row_kind(const line_layout& l, std::initializer_list<const void*> tensors, const F& f) {
    bool packed = l.is_wide;
    for (const void* t : tensors) packed = packed && reinterpret_cast<std::uintptr_t>(t) % 16 == 0;
    if (packed) f.template operator()<line_kind::packed_rows>();
    else f.template operator()<line_kind::rows>();
}
/// The same of any lines.
template <class F> void with_line_kind(const line_layout& l, std::initializer_list<const void*> tensors, const F& f) {
    if (l.is_rows()) with_row_kind(l, tensors, f);
    else f.template operator()<line_kind::columns>();
}

/// Launches a kernel whose blocks take a layout's lines, in strides of the grid.
template <class... P, class... A>
void launch_lines(void (*kernel)(P...), const line_layout& l, void* stream, A&&... arguments) {
    constexpr std::int64_t most_blocks = 1 << 20;
    const std::int64_t blocks = (l.count() + l.lines - 1) / l.lines;
    launch(kernel, static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), l.block(), 0, stream,
           std::forward<A>(arguments)...);
}

} // namespace tenon::cuda
