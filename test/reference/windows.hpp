#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Convolutions and pools in the plainest way: which elements meet in them.

namespace reference {

/// What windows see along one dimension of n: `out` of them, the first of which begins `before` elements ahead.
struct along {
    std::int64_t n = 1, size = 1, stride = 1, dilation = 1, before = 0, out = 1;
    /// f(place in the window, place in the dimension) for what is inside.
    template <class F> void each(std::int64_t window, const F& f) const {
        for (std::int64_t p = 0; p < size; ++p)
            if (const std::int64_t at = window * stride + p * dilation - before; at >= 0 && at < n) f(p, at);
    }
};

struct windows {
    std::int64_t images;
    along rows, columns, planes = {};

    std::int64_t count() const { return images * planes.out * rows.out * columns.out; }
    /// f(place in the window, pixel) for each pixel that the window of this number sees, in their order.
    template <class F> void each_pixel(std::int64_t window, const F& f) const {
        const std::int64_t column = window % columns.out, row = window / columns.out % rows.out,
                           plane = window / columns.out / rows.out % planes.out,
                           image = window / columns.out / rows.out / planes.out;
        planes.each(plane, [&](std::int64_t p, std::int64_t z) {
            rows.each(row, [&](std::int64_t q, std::int64_t y) {
                columns.each(column, [&](std::int64_t r, std::int64_t x) {
                    f((p * rows.size + q) * columns.size + r, ((image * planes.n + z) * rows.n + y) * columns.n + x);
                });
            });
        });
    }
    /// f(index in the result, indices in the images) for each window of each channel.
    template <class F> void each_pool(std::int64_t channels, const F& f) const {
        for (std::int64_t w = 0; w < count(); ++w)
            for (std::int64_t c = 0; c < channels; ++c) {
                std::vector<std::size_t> inside;
                each_pixel(w, [&](std::int64_t, std::int64_t pixel) {
                    inside.push_back(static_cast<std::size_t>(pixel * channels + c));
                });
                f(static_cast<std::size_t>(w * channels + c), inside);
            }
    }
};

/// Each of `groups` gives its part of the outputs, and sees `seen` channels.
struct convolution {
    windows of;
    std::int64_t seen, outputs, groups = 1;

    /// f(index in the images, in the weights, in the result) for each product of the sums.
    template <class F> void products(const F& f) const {
        for (std::int64_t w = 0; w < of.count(); ++w)
            of.each_pixel(w, [&](std::int64_t place, std::int64_t pixel) {
                for (std::int64_t k = 0; k < outputs; ++k)
                    for (std::int64_t c = 0; c < seen; ++c)
                        f(static_cast<std::size_t>((pixel * groups + k / (outputs / groups)) * seen + c),
                          static_cast<std::size_t>((place * seen + c) * outputs + k),
                          static_cast<std::size_t>(w * outputs + k));
            });
    }
};

} // namespace reference
