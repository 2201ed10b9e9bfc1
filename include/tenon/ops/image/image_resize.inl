#pragma once

#include <algorithm>
#include <cstring>

#include <tenon/memory/paid_memory.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/op/widened.hpp>
#include <tenon/ops/image/images_kernel.hpp>

/// The CPU kernels of ops/image/image_resize.hpp. What a pixel is made of is found once for each row and each column: resizing is
/// first a sum of rows, then of the pixels of that sum.

namespace tenon::detail {

/// The pixel of `from` in whose area the centre of pixel i of `to` lies: floor((i + 1/2) * from / to). The product is exact
/// below 2^53, so that a centre on a border is always of the later pixel.
inline std::int64_t nearest_pixel(std::int64_t i, std::int64_t from, std::int64_t to) noexcept {
    const double at = static_cast<double>(2 * i + 1) * static_cast<double>(from) / static_cast<double>(2 * to);
    return std::min(static_cast<std::int64_t>(at), from - 1);
}

/// What each pixel along one dimension is made of: pixels from `first` on with the weights from `weight` on.
template <class T> struct resize_weights {
    struct part {
        std::int64_t first = 0, count = 0, weight = 0;
    };
    resize_weights(interpolation method, std::int64_t from, std::int64_t to, memory_payer* payer) :
        parts(payer), weights(payer) {
        parts.reserve(static_cast<std::size_t>(to));
        // At most: pixels of an area overlap their neighbours', each at both its ends.
        weights.reserve(static_cast<std::size_t>(to) * (method == interpolation::nearest ? 1 : 2) +
                        static_cast<std::size_t>(method == interpolation::area && to > 0 ? from : 0));
        for (std::int64_t i = 0; i < to; ++i) {
            const double scale = static_cast<double>(from) / static_cast<double>(to);
            if (method == interpolation::nearest) {
                begin(nearest_pixel(i, from, to));
                add(1);
            } else if (method == interpolation::bilinear) {
                const double at =
                    std::clamp((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0, static_cast<double>(from - 1));
                const auto first = static_cast<std::int64_t>(at);
                begin(first);
                add(1 - (at - static_cast<double>(first)));
                if (first + 1 < from) add(at - static_cast<double>(first));
            } else {
                const double low = static_cast<double>(i) * scale;
                const double high = std::min(static_cast<double>(i + 1) * scale, static_cast<double>(from));
                std::int64_t pixel = std::min(static_cast<std::int64_t>(low), from - 1);
                begin(pixel);
                do {
                    const double covered =
                        std::min(high, static_cast<double>(pixel + 1)) - std::max(low, static_cast<double>(pixel));
                    add(std::max(covered, 0.0) / scale);
                } while (static_cast<double>(++pixel) < high && pixel < from);
            }
        }
    }
    paid_vector<part> parts;
    paid_vector<T> weights;

private:
    void begin(std::int64_t pixel) { parts.push_back({pixel, 0, static_cast<std::int64_t>(weights.size())}); }
    void add(double weight) {
        weights.push_back(static_cast<T>(weight));
        ++parts.back().count;
    }
};

struct resize_nearest_kernel final : kernel {
    explicit resize_nearest_kernel(const kernel_setup& s) :
        from(s.inputs[0].extents),
        to(s.outputs[0].extents),
        pixel(to.channels * static_cast<std::int64_t>(size_of(s.outputs[0].element))),
        rows(s.memory),
        columns(s.memory) {
        if (to.elements() == 0) return;
        rows.reserve(static_cast<std::size_t>(to.height));
        columns.reserve(static_cast<std::size_t>(to.width));
        for (std::int64_t y = 0; y < to.height; ++y) rows.push_back(nearest_pixel(y, from.height, to.height));
        for (std::int64_t x = 0; x < to.width; ++x) columns.push_back(pixel * nearest_pixel(x, from.width, to.width));
    }
    void run(const kernel_run& r) override {
        if (!r.out[0] || to.elements() == 0) return;
        with_size(pixel, [&](auto bytes) {
            for_images(r.pool, to.batch, ns_each(), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t b = begin; b < end; ++b)
                    resize_one(r.input<std::byte>(0) + b * from.height * from.width * pixel,
                               r.output<std::byte>(0) + b * to.height * to.width * pixel, bytes);
            });
        });
    }
    double cost() const override { return 30 + ns_each() * static_cast<double>(to.batch); }

private:
    double ns_each() const {
        return static_cast<double>(to.height * to.width) * (1 + 0.05 * static_cast<double>(pixel));
    }
    template <class Bytes> void resize_one(const std::byte* x, std::byte* y, Bytes bytes) const {
        const std::int64_t line = to.width * bytes;
        for (std::size_t i = 0; i < rows.size(); ++i, y += line) {
            if (i > 0 && rows[i] == rows[i - 1]) {
                std::memcpy(y, y - line, static_cast<std::size_t>(line));
                continue;
            }
            const std::byte* row = x + rows[i] * from.width * bytes;
            std::byte* at = y;
            for (const std::int64_t column : columns) {
                std::memcpy(at, row + column, static_cast<std::size_t>(bytes));
                at += bytes;
            }
        }
    }
    image_sizes from, to;
    std::int64_t pixel;
    paid_vector<std::int64_t> rows, columns; // columns in bytes
};

/// Both ways between images and resized ones; the working memory is a row of the images for each of them.
template <class T> class resizing_kernel : public kernel {
public:
    std::size_t scratch_bytes() const override {
        return static_cast<std::size_t>(large.batch * line()) * (empty ? 0 : sizeof(T));
    }
    double cost() const override { return 30 + ns_each() * static_cast<double>(large.batch); }

protected:
    resizing_kernel(const kernel_setup& s, const extents& images, const extents& resized) :
        large(images),
        small(resized),
        empty(large.elements() == 0 || small.elements() == 0),
        rows(method_of(s), large.height, empty ? 0 : small.height, s.memory),
        columns(method_of(s), large.width, empty ? 0 : small.width, s.memory) {}
    static interpolation method_of(const kernel_setup& s) { return decode<resize_attributes>(s.attrs).method; }
    double ns_each() const {
        return 0.3 * static_cast<double>(small.height) * static_cast<double>(large.row() + 2 * small.row());
    }
    /// Of a row, with room to the next one so that two threads never write one line of the cache.
    std::int64_t line() const { return (large.row() + 31) / 16 * 16; }

    image_sizes large, small; // the images, and what they are resized to, whichever is larger
    bool empty;
    resize_weights<T> rows, columns;
};

template <class T> struct resize_kernel final : resizing_kernel<T> {
    explicit resize_kernel(const kernel_setup& s) : resizing_kernel<T>(s, s.inputs[0].extents, s.outputs[0].extents) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || this->empty) return;
        for_images(r.pool, this->large.batch, this->ns_each(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b)
                with_size(this->large.channels, [&](auto channels) {
                    resize_one(r.input<T>(0) + b * this->large.image(), r.output<T>(0) + b * this->small.image(),
                               reinterpret_cast<T*>(r.scratch) + b * this->line(), channels);
                });
        });
    }

private:
    template <class C> void resize_one(const T* x, T* y, T* sum, C channels) const {
        const std::int64_t width = this->large.row();
        for (const auto& part : this->rows.parts) {
            const T* weight = &this->rows.weights[static_cast<std::size_t>(part.weight)];
            const T* row = x + part.first * width;
            const T* line = sum;
            if (part.count == 1 && weight[0] == 1) line = row;
            else if (part.count == 2) {
                const T a = weight[0], c = weight[1];
                const T* next = row + width;
                for (std::int64_t i = 0; i < width; ++i) sum[i] = a * row[i] + c * next[i];
            } else {
                for (std::int64_t i = 0; i < width; ++i) sum[i] = weight[0] * row[i];
                for (std::int64_t k = 1; k < part.count; ++k) {
                    row += width;
                    for (std::int64_t i = 0; i < width; ++i) sum[i] += weight[k] * row[i];
                }
            }
            for (const auto& of : this->columns.parts) {
                const T* w = &this->columns.weights[static_cast<std::size_t>(of.weight)];
                const T* pixel = line + of.first * channels;
                if (of.count == 2) {
                    for (std::int64_t c = 0; c < channels; ++c) y[c] = w[0] * pixel[c] + w[1] * pixel[c + channels];
                } else {
                    for (std::int64_t c = 0; c < channels; ++c) y[c] = w[0] * pixel[c];
                    for (std::int64_t k = 1; k < of.count; ++k)
                        for (std::int64_t c = 0; c < channels; ++c) y[c] += w[k] * pixel[k * channels + c];
                }
                y += channels;
            }
        }
    }
};

template <class T> struct resize_gradient_kernel final : resizing_kernel<T> {
    explicit resize_gradient_kernel(const kernel_setup& s) :
        resizing_kernel<T>(s, s.outputs[0].extents, s.inputs[0].extents) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        if (this->empty) {
            std::fill_n(r.output<T>(0), this->large.elements(), T(0));
            return;
        }
        for_images(r.pool, this->large.batch, 2 * this->ns_each(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b)
                with_size(this->large.channels, [&](auto channels) {
                    spread_one(r.input<T>(0) + b * this->small.image(), r.output<T>(0) + b * this->large.image(),
                               reinterpret_cast<T*>(r.scratch) + b * this->line(), channels);
                });
        });
    }

private:
    template <class C> void spread_one(const T* g, T* x, T* line, C channels) const {
        const std::int64_t width = this->large.row();
        std::fill_n(x, this->large.image(), T(0));
        for (const auto& part : this->rows.parts) {
            std::fill_n(line, width, T(0));
            for (const auto& of : this->columns.parts) {
                const T* w = &this->columns.weights[static_cast<std::size_t>(of.weight)];
                for (std::int64_t k = 0; k < of.count; ++k)
                    for (std::int64_t c = 0; c < channels; ++c) line[(of.first + k) * channels + c] += w[k] * g[c];
                g += channels;
            }
            for (std::int64_t k = 0; k < part.count; ++k) {
                const T weight = this->rows.weights[static_cast<std::size_t>(part.weight + k)];
                T* row = x + (part.first + k) * width;
                for (std::int64_t i = 0; i < width; ++i) row[i] += weight * line[i];
            }
        }
    }
};

} // namespace tenon::detail
