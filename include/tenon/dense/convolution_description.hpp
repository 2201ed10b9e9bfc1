#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>
#include <tenon/dense/backend.hpp>

namespace tenon {
class thread_pool;
class memory_payer;
} // namespace tenon

namespace tenon::dense {

/// A 2-D convolution (cross-correlation, as in all of deep learning) of fixed sizes:
///
///     y[b, i, j, o] = f(sum over p, q, c of x[b, u, v, c] * w[p, q, c, o] + bias[o])
///     u = i * stride_h + p * dilation_h - pad_top,  v = j * stride_w + q * dilation_w - pad_left
///
/// x: [batch, height, width, in_channels], zero outside; w: [kernel_h, kernel_w, in_channels / groups,
/// out_channels]; y: [batch, out_height(), out_width(), out_channels]; bias: [out_channels]. With groups > 1
/// output channel o sees the in_channels / groups channels of its group, o / (out_channels / groups). All are
/// dense and in that order.
struct convolution_description {
    std::int64_t batch = 1;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t in_channels = 0;
    std::int64_t kernel_h = 1;
    std::int64_t kernel_w = 1;
    std::int64_t out_channels = 0;
    std::int64_t stride_h = 1;
    std::int64_t stride_w = 1;
    std::int64_t dilation_h = 1;
    std::int64_t dilation_w = 1;
    std::int64_t pad_top = 0;
    std::int64_t pad_bottom = 0;
    std::int64_t pad_left = 0;
    std::int64_t pad_right = 0;
    std::int64_t groups = 1;
    /// Of the forward product; none for the other two.
    epilogue after = epilogue::none;
    /// float32 or float64.
    element_type element = element_type::float32;
    /// The most threads to divide one product among.
    int threads = 1;
    backend with = backend::best;
    /// Is asked for what the product holds; outlives it. nullptr: nobody.
    memory_payer* memory = nullptr;

    constexpr std::int64_t out_height() const noexcept {
        return (height + pad_top + pad_bottom - dilation_h * (kernel_h - 1) - 1) / stride_h + 1;
    }
    constexpr std::int64_t out_width() const noexcept {
        return (width + pad_left + pad_right - dilation_w * (kernel_w - 1) - 1) / stride_w + 1;
    }
};

} // namespace tenon::dense
