#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// The largest or the mean element of each window of an image, as tenon/dense/pooling/pooling.hpp has it.

namespace tenon::cuda {

/// x: [batch, height, width, channels], y: [batch, out_height, out_width, channels]. A window that sees nothing of the image gives -infinity or NaN.
struct pooling_sizes {
    bool average = false;
    std::int64_t batch = 0, height = 0, width = 0, channels = 0;
    std::int64_t window_h = 1, window_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
    std::int64_t pad_top = 0, pad_left = 0;
    std::int64_t out_height = 0, out_width = 0;
};

/// y from x. A NaN in a window is its largest.
void pool(const pooling_sizes& s, element_type e, const void* x, void* y, void* stream);
/// dx from dy, each element in a fixed order. x and y are not looked at for a mean.
void pool_backward(const pooling_sizes& s, element_type e, const void* x, const void* y, const void* dy, void* dx,
                   void* stream);
/// For each window the element of h that lies where its first largest does.
void pool_pick(const pooling_sizes& s, element_type e, const void* x, const void* y, const void* h, void* out,
               void* stream);

} // namespace tenon::cuda
