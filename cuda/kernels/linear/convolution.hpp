#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

/// Convolutions of images by kernels of this library: for every element type, every size and on every GPU.

namespace tenon::cuda {

/// The sizes of a convolution, as dense::convolution_description has them: x [batch, height, width, in_channels], w [kernel_h,
/// kernel_w, in_channels / groups, out_channels], y [batch, out_height, out_width, out_channels]. Any size may be 0.
struct convolution_sizes {
    std::int64_t batch = 0, height = 0, width = 0, in_channels = 0;
    std::int64_t kernel_h = 1, kernel_w = 1, out_channels = 0;
    std::int64_t out_height = 0, out_width = 0;
    std::int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
    std::int64_t pad_top = 0, pad_left = 0;
    std::int64_t groups = 1;

    constexpr std::int64_t group_in() const noexcept { return in_channels / groups; }
    constexpr std::int64_t group_out() const noexcept { return out_channels / groups; }
    constexpr std::int64_t x_elements() const noexcept { return batch * height * width * in_channels; }
    constexpr std::int64_t w_elements() const noexcept { return kernel_h * kernel_w * group_in() * out_channels; }
    constexpr std::int64_t pixels() const noexcept { return batch * out_height * out_width; }
    constexpr std::int64_t y_elements() const noexcept { return pixels() * out_channels; }
};

/// y = f(x * w + bias). float, double; half and bfloat16 computed in float. `bias` [out_channels] may be null; with `relu` what is not
/// above 0 becomes 0.
void convolve(const convolution_sizes& s, element_type e, const void* x, const void* w, const void* bias, bool relu,
              void* y, void* stream);

/// dx from dy and w. Each element is one sum in a fixed order.
void convolve_backward_input(const convolution_sizes& s, element_type e, const void* dy, const void* w, void* dx,
                             void* stream);

/// dw from x and dy. The pixels are divided into parts, whose sums lie in `scratch` and are added in order, in double.
void convolve_backward_filter(const convolution_sizes& s, element_type e, const void* x, const void* dy, void* dw,
                              void* scratch, void* stream);
std::size_t convolve_backward_filter_scratch(const convolution_sizes& s, element_type e);

/// to[o] = sum of rows [rows, channels] over the rows, in double: the gradient of a bias.
void sum_pixels(const void* rows, std::int64_t count, std::int64_t channels, element_type e, void* to, void* scratch,
                void* stream);
std::size_t sum_pixels_scratch(std::int64_t count, std::int64_t channels);

/// y [rows, channels] = f(y + bias), where y lies.
void add_bias(void* y, const void* bias, bool relu, std::int64_t rows, std::int64_t channels, element_type e,
              void* stream);

/// Filters [pixels, seen, outputs] as [outputs, pixels, seen], and back.
void filters_by_output(const void* w, void* to, std::int64_t pixels, std::int64_t seen, std::int64_t outputs,
                       std::size_t element_bytes, void* stream);
void filters_by_pixel(const void* by_output, void* w, std::int64_t pixels, std::int64_t seen, std::int64_t outputs,
                      std::size_t element_bytes, void* stream);

} // namespace tenon::cuda
