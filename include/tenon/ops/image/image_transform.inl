#pragma once

#include <algorithm>

#include <tenon/op/kernel.hpp>
#include <tenon/op/widened.hpp>
#include <tenon/ops/image/images_kernel.hpp>

/// The CPU kernels of ops/image/image_transform.hpp.

namespace tenon::detail {

/// What both directions share: visit() calls for each pixel of an image those that it is made of.
template <class T> class transform_kernel : public kernel {
public:
    double cost() const override { return 30 + ns_each() * static_cast<double>(sizes.batch); }

protected:
    explicit transform_kernel(const kernel_setup& s) :
        sizes(s.inputs[0].extents), how(decode<transform_attributes>(s.attrs)) {}
    double ns_each() const {
        return static_cast<double>(sizes.height * sizes.width) * (4 + static_cast<double>(sizes.channels));
    }

    /// tap(pixel, source, weight) for each source pixel that lies in the image, with offsets of their first elements;
    /// around(pixel, weight) for the weight of what lies around it.
    template <class C, class Tap, class Around>
    void visit(const float* matrix, C channels, Tap&& tap, Around&& around) const {
        const T a = matrix[0], b = matrix[1], c = matrix[2], d = matrix[3], e = matrix[4], f = matrix[5];
        const T middle_x = static_cast<T>(sizes.width - 1) / 2, middle_y = static_cast<T>(sizes.height - 1) / 2;
        const auto width = static_cast<T>(sizes.width), height = static_cast<T>(sizes.height);
        const bool nearest = how.method == interpolation::nearest;
        std::int64_t pixel = 0;
        for (std::int64_t row = 0; row < sizes.height; ++row) {
            const T y = static_cast<T>(row) - middle_y;
            const T of_row_x = b * y + c + middle_x, of_row_y = e * y + f + middle_y;
            for (std::int64_t column = 0; column < sizes.width; ++column, pixel += channels) {
                const T x = static_cast<T>(column) - middle_x;
                T at_x = a * x + of_row_x, at_y = d * x + of_row_y;
                if (nearest) {
                    at_x += T(0.5);
                    at_y += T(0.5);
                    if (at_x >= 0 && at_x < width && at_y >= 0 && at_y < height)
                        tap(pixel, offset(static_cast<std::int64_t>(at_y), static_cast<std::int64_t>(at_x), channels),
                            T(1));
                    else around(pixel, T(1));
                    continue;
                }
                // Written so that NaN lies around the image.
                if (!(at_x > -1 && at_x < width && at_y > -1 && at_y < height)) {
                    around(pixel, T(1));
                    continue;
                }
                // Both are above -1: + 1 lets the conversion round down.
                const auto left = static_cast<std::int64_t>(at_x + 1) - 1,
                           top = static_cast<std::int64_t>(at_y + 1) - 1;
                const T right_part = at_x - static_cast<T>(left), low_part = at_y - static_cast<T>(top);
                T outside = 0;
                const auto part = [&](std::int64_t from_row, std::int64_t from_column, T weight) {
                    if (from_row < 0 || from_row >= sizes.height || from_column < 0 || from_column >= sizes.width)
                        outside += weight;
                    else tap(pixel, offset(from_row, from_column, channels), weight);
                };
                part(top, left, (1 - low_part) * (1 - right_part));
                part(top, left + 1, (1 - low_part) * right_part);
                part(top + 1, left, low_part * (1 - right_part));
                part(top + 1, left + 1, low_part * right_part);
                if (outside > 0) around(pixel, outside);
            }
        }
    }
    /// each(image) for the images, with their number of channels.
    template <class F> void for_each_image(const kernel_run& r, F&& each) const {
        if (!r.out[0] || sizes.elements() == 0) return;
        with_size(sizes.channels, [&](auto channels) {
            for_images(r.pool, sizes.batch, ns_each(), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t b = begin; b < end; ++b)
                    each(r.input<T>(0) + b * sizes.image(), r.output<T>(0) + b * sizes.image(),
                         r.input<float>(1) + 6 * b, channels);
            });
        });
    }
    image_sizes sizes;
    transform_attributes how;

private:
    std::int64_t offset(std::int64_t row, std::int64_t column, std::int64_t channels) const {
        return (row * sizes.width + column) * channels;
    }
};

template <class T> struct affine_transform_kernel final : transform_kernel<T> {
    explicit affine_transform_kernel(const kernel_setup& s) : transform_kernel<T>(s) {}
    void run(const kernel_run& r) override {
        const T value = static_cast<T>(this->how.value);
        this->for_each_image(r, [&](const T* x, T* y, const float* matrix, auto channels) {
            std::fill_n(y, this->sizes.image(), T(0));
            this->visit(
                matrix, channels,
                [&](std::int64_t to, std::int64_t from, T weight) {
                    for (std::int64_t c = 0; c < channels; ++c) y[to + c] += weight * x[from + c];
                },
                [&](std::int64_t to, T weight) {
                    for (std::int64_t c = 0; c < channels; ++c) y[to + c] += weight * value;
                });
        });
    }
};

template <class T> struct affine_transform_gradient_kernel final : transform_kernel<T> {
    explicit affine_transform_gradient_kernel(const kernel_setup& s) : transform_kernel<T>(s) {}
    void run(const kernel_run& r) override {
        this->for_each_image(r, [&](const T* g, T* x, const float* matrix, auto channels) {
            std::fill_n(x, this->sizes.image(), T(0));
            this->visit(
                matrix, channels,
                [&](std::int64_t of, std::int64_t to, T weight) {
                    for (std::int64_t c = 0; c < channels; ++c) x[to + c] += weight * g[of + c];
                },
                [](std::int64_t, T) {});
        });
    }
};

} // namespace tenon::detail
