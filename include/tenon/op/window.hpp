#pragma once

#include <cstdint>

#include <tenon/core/fault.hpp>

/// The arithmetic of windows that move over images, for convolutions and pooling.

namespace tenon {

/// A number for the height and one for the width of an image; one number alone stands for both.
struct height_width {
    int height = 1, width = 1;

    constexpr height_width(int both) : height(both), width(both) {} // NOLINT: a number is a pair of equal ones
    constexpr height_width(int h, int w) : height(h), width(w) {}
    friend constexpr bool operator==(const height_width&, const height_width&) = default;
};

/// How an image is extended with zeros before a window moves over it: `valid` (not at all), `same` (so that the
/// result has the image's size divided by the stride, rounded up; what is odd goes to the bottom and the right), or by
/// given numbers of rows and columns. `rounded_up` is `given`, and as much more at the bottom and the right as a last window takes that
/// begins before the image's end (pool2d_options::ceil_mode).
struct padding {
    enum class rule : int { valid, same, given, rounded_up };
    rule kind = rule::valid;
    int top = 0, bottom = 0, left = 0, right = 0;

    friend constexpr bool operator==(const padding&, const padding&) = default;
};
inline constexpr padding valid{};
inline constexpr padding same{padding::rule::same, 0, 0, 0, 0};
constexpr padding pad(int rows, int columns) { return {padding::rule::given, rows, rows, columns, columns}; }
constexpr padding pad(int all) { return pad(all, all); }
constexpr padding pad(int top, int bottom, int left, int right) {
    return {padding::rule::given, top, bottom, left, right};
}

namespace detail {

/// One dimension of a window: how it moves over an image. `before` and `after` count when the padding is given.
struct window_axis {
    padding::rule kind = padding::rule::valid;
    std::int64_t stride = 1, dilation = 1, before = 0, after = 0;

    /// Above it, sizes could not be multiplied.
    static constexpr std::int64_t most = std::int64_t{1} << 30;
    static constexpr bool beyond(const extent& n) noexcept { return n.is_number() && n.size > most; }

    constexpr bool possible() const noexcept {
        return stride >= 1 && dilation >= 1 && before >= 0 && after >= 0 && stride <= most && dilation <= most &&
               before <= most && after <= most;
    }
    /// Pixels from the first to the last that a window of `size` sees.
    constexpr checked_size reach(std::int64_t size) const noexcept {
        return checked_size(dilation) * (checked_size(size) - 1) + 1;
    }
    /// Of an image of n pixels: as many as begin before its end, where there is room for one.
    constexpr checked_size rounded_up_windows(std::int64_t n, std::int64_t size) const noexcept {
        const checked_size room = checked_size(n) + before + after - reach(size);
        const checked_size all = divide_up(room, stride) + 1, inside = divide_up(checked_size(n) + before, stride);
        return !all.fits() || !inside.fits() || all.value() < inside.value() ? all : inside;
    }
    /// The padding before and after an image of n pixels.
    struct amounts {
        std::int64_t before = 0, after = 0;
    };
    constexpr amounts padding_of(std::int64_t n, std::int64_t size) const noexcept {
        if (kind == padding::rule::valid) return {};
        if (kind == padding::rule::given) return {before, after};
        if (kind == padding::rule::rounded_up) {
            const checked_size more = (rounded_up_windows(n, size) - 1) * stride + reach(size) - n - before;
            return {before, more.saturated() > after ? more.saturated() : after};
        }
        const checked_size more = (divide_up(n, stride) - 1) * stride + reach(size) - n;
        const std::int64_t total = more.saturated() > 0 ? more.saturated() : 0;
        return {total / 2, total - total / 2};
    }

    /// The number of windows of `size` over an image of n pixels.
    constexpr merged_extent windows(const extent& n, const extent& size) const noexcept {
        if ((size.is_number() && size.size < 1) || beyond(size) || beyond(n)) return {fault::window_not_possible, {}};
        if (kind == padding::rule::same) {
            if (stride == 1) return {fault::none, n};
            if (!n.is_number()) return {fault::none, dynamic_extent};
            return extent_of_size(divide_up(n.size, stride));
        }
        if (stride == 1 && size == extent(1) && (kind == padding::rule::valid || before + after == 0))
            return {fault::none, n};
        if (!n.is_number() || !size.is_number()) return {fault::none, dynamic_extent};
        const bool rounds_up = kind == padding::rule::rounded_up;
        const amounts p = rounds_up ? amounts{before, after} : padding_of(n.size, size.size);
        const checked_size room = checked_size(n.size) + p.before + p.after - reach(size.size);
        if (room.fits() && room.value() < 0) return {fault::window_larger_than_input, {}};
        return extent_of_size(rounds_up ? rounded_up_windows(n.size, size.size) : divide_down(room, stride) + 1);
    }

    /// The size of an image over which n windows move: the reverse.
    constexpr merged_extent image(const extent& n, const extent& size) const noexcept {
        if ((size.is_number() && size.size < 1) || beyond(size) || beyond(n)) return {fault::window_not_possible, {}};
        if (kind == padding::rule::same) {
            if (stride == 1) return {fault::none, n};
            return multiply_size(n, stride);
        }
        if (!n.is_number() || !size.is_number()) return {fault::none, dynamic_extent};
        if (n.size == 0) return {fault::image_without_pixels, {}}; // no image has no windows
        const checked_size rows = (checked_size(n.size) - 1) * stride + reach(size.size) -
                                  (kind == padding::rule::valid ? checked_size(0) : checked_size(before) + after);
        if (rows.fits() && rows.value() < 1) return {fault::window_larger_than_input, {}};
        return extent_of_size(rows);
    }
};

} // namespace detail
} // namespace tenon
