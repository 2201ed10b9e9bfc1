#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>
#include <tenon/dense/backend.hpp>

namespace tenon {
class thread_pool;
}

namespace tenon::dense {

enum class pooling_kind : std::uint8_t { maximum, average };

/// The largest or the mean element of each window of an image, channel by channel. x: [batch, height, width,
/// channels], y: [batch, out_height(), out_width(), channels], dense. What lies outside x takes no part:
/// neither in the largest nor in the count of a mean. A window that sees nothing, as a dilated one may, gives -infinity or NaN.
struct pooling_description {
    pooling_kind kind = pooling_kind::maximum;
    std::int64_t batch = 1;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t channels = 0;
    std::int64_t window_h = 1;
    std::int64_t window_w = 1;
    std::int64_t stride_h = 1;
    std::int64_t stride_w = 1;
    std::int64_t dilation_h = 1;
    std::int64_t dilation_w = 1;
    std::int64_t pad_top = 0;
    std::int64_t pad_bottom = 0;
    std::int64_t pad_left = 0;
    std::int64_t pad_right = 0;
    /// float32 or float64.
    element_type element = element_type::float32;

    /// From the first to the last pixel that a window sees.
    constexpr std::int64_t reach_h() const noexcept { return (window_h - 1) * dilation_h + 1; }
    constexpr std::int64_t reach_w() const noexcept { return (window_w - 1) * dilation_w + 1; }
    constexpr std::int64_t out_height() const noexcept {
        return (height + pad_top + pad_bottom - reach_h()) / stride_h + 1;
    }
    constexpr std::int64_t out_width() const noexcept {
        return (width + pad_left + pad_right - reach_w()) / stride_w + 1;
    }
};

/// @throws invalid_argument_error for sizes that make no pooling: among them a padding as large as a window's reach
TENON_INLINE void check(const pooling_description& description);

/// y from x. A NaN in a window of `maximum` is its largest. The description must have passed check(). Takes
/// no memory.
TENON_INLINE void pooling(const pooling_description& description, const void* x, void* y, thread_pool* pool);

/// dx from dy. For `maximum` each element of dy goes to the first element of its window (in row-major order)
/// that equals the largest; x and y are what the forward pass read and gave, and are not looked at for
/// `average`.
TENON_INLINE void pooling_backward(const pooling_description& description, const void* x, const void* y, const void* dy,
                                   void* dx, thread_pool* pool);

/// For `maximum`, the reverse of that: for each window the element of h, of x's sizes, that lies where dy's goes.
TENON_INLINE void pooling_pick(const pooling_description& description, const void* x, const void* y, const void* h,
                               void* out, thread_pool* pool);

} // namespace tenon::dense

#if TENON_HEADER_ONLY
#include <tenon/dense/pooling/pooling.ipp>
#endif
