#pragma once

#include <algorithm>
#include <cstring>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/dense/convolution_implementation.hpp>
#include <tenon/dense/eigen_product.hpp>
#include <tenon/dense/scratch.hpp>

namespace tenon::dense::detail {

// A convolution as products of matrices: the window under each output pixel is laid out as a row ("im2col"), an
// image at a time, and multiplied by the weights; backward the same in reverse. Images are divided among the
// threads.
template <class T> class eigen_convolution final : public convolution_implementation {
public:
    eigen_convolution(convolution_product which, const convolution_description& d) :
        convolution_implementation(backend::eigen),
        which_(which),
        d_(d),
        pixels_(d.out_height() * d.out_width()),
        group_in_(d.in_channels / d.groups),
        group_out_(d.out_channels / d.groups),
        window_(d.kernel_h * d.kernel_w * group_in_),
        weights_(window_ * d.out_channels),
        pieces_(std::max<std::int64_t>(1, std::min<std::int64_t>(d.threads, d.batch))) {
        constexpr double most = 4e18; // bytes that can be counted
        if (static_cast<double>(pixels_) * static_cast<double>(window_) * static_cast<double>(pieces_) *
                static_cast<double>(sizeof(T)) >
            most)
            throw std::bad_array_new_length();
        std::size_t elements = static_cast<std::size_t>(pixels_ * window_);
        if (which == convolution_product::backward_weights)
            elements += static_cast<std::size_t>(weights_ + d.out_channels);
        bytes_ = (elements * sizeof(T) + 63) / 64 * 64;
        scratch_.resize(bytes_ * static_cast<std::size_t>(pieces_), 1, d.memory);
    }

    void run(const void* first, const void* second, void* third, void* result, thread_pool* pool) const override {
        const auto lease = scratch_.borrow();
        const auto piece = [&](std::int64_t p) {
            T* columns =
                reinterpret_cast<T*>(static_cast<std::byte*>(lease.memory()) + static_cast<std::size_t>(p) * bytes_);
            images(static_cast<const T*>(first), static_cast<const T*>(second), static_cast<T*>(third),
                   static_cast<T*>(result), columns, d_.batch * p / pieces_, d_.batch * (p + 1) / pieces_);
        };
        const auto pieces = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t p = begin; p < end; ++p) piece(p);
        };
        if (pool == nullptr) pieces(0, pieces_);
        else pool->parallel_for(pieces_, 1, pieces);
        if (which_ == convolution_product::backward_weights)
            add_up(lease.memory(), static_cast<T*>(third), static_cast<T*>(result));
    }
    std::size_t scratch_bytes() const noexcept override { return scratch_.bytes(); }

private:
    // Calls f(offset in the columns, offset in the image or -1) for each run of channels of a group's windows.
    template <class F> void each_window(std::int64_t group, F&& f) const {
        std::int64_t at = 0;
        for (std::int64_t i = 0; i < d_.out_height(); ++i)
            for (std::int64_t j = 0; j < d_.out_width(); ++j)
                for (std::int64_t p = 0; p < d_.kernel_h; ++p)
                    for (std::int64_t q = 0; q < d_.kernel_w; ++q, at += group_in_) {
                        const std::int64_t y = i * d_.stride_h + p * d_.dilation_h - d_.pad_top;
                        const std::int64_t x = j * d_.stride_w + q * d_.dilation_w - d_.pad_left;
                        const bool inside = y >= 0 && y < d_.height && x >= 0 && x < d_.width;
                        f(at, inside ? (y * d_.width + x) * d_.in_channels + group * group_in_ : std::int64_t{-1});
                    }
    }
    void gather(const T* image, std::int64_t group, T* columns) const {
        const auto bytes = static_cast<std::size_t>(group_in_) * sizeof(T);
        each_window(group, [&](std::int64_t to, std::int64_t from) {
            if (from >= 0) std::memcpy(columns + to, image + from, bytes);
            else std::memset(columns + to, 0, bytes);
        });
    }
    void scatter(const T* columns, std::int64_t group, T* image) const {
        each_window(group, [&](std::int64_t from, std::int64_t to) {
            if (to >= 0)
                for (std::int64_t c = 0; c < group_in_; ++c) image[to + c] += columns[from + c];
        });
    }

    void images(const T* first, const T* second, T* third, T* result, T* columns, std::int64_t begin,
                std::int64_t end) const {
        const std::int64_t channels = d_.out_channels;
        const std::int64_t in = d_.height * d_.width * d_.in_channels, out = pixels_ * channels;
        T* const sums = columns + pixels_ * window_;
        if (which_ == convolution_product::backward_weights) std::fill(sums, sums + weights_ + channels, T(0));
        for (std::int64_t b = begin; b < end; ++b) {
            if (which_ == convolution_product::backward_data) std::fill(result + b * in, result + (b + 1) * in, T(0));
            for (std::int64_t g = 0; g < d_.groups; ++g) {
                const std::int64_t o = g * group_out_;
                switch (which_) {
                case convolution_product::forward: {
                    gather(first + b * in, g, columns);
                    T* y = result + b * out + o;
                    eigen_product({columns, window_}, {second + o, channels}, y, channels, pixels_, group_out_, window_,
                                  T(1), false);
                    if (d_.after != epilogue::none)
                        eigen_epilogue(y, channels, pixels_, group_out_, adds_bias(d_.after) ? third + o : nullptr,
                                       clips(d_.after));
                    break;
                }
                case convolution_product::backward_data:
                    eigen_product({first + b * out + o, channels}, {second + o, channels, true}, columns, window_,
                                  pixels_, window_, group_out_, T(1), false);
                    scatter(columns, g, result + b * in);
                    break;
                case convolution_product::backward_weights: {
                    gather(first + b * in, g, columns);
                    const T* dy = second + b * out + o;
                    eigen_product({columns, window_, true}, {dy, channels}, sums + o, channels, window_, group_out_,
                                  pixels_, T(1), true);
                    if (third) add_rows(dy, sums + weights_ + o);
                    break;
                }
                }
            }
        }
    }

    // The pixels of dy, channels of one group, added to `sums`.
    void add_rows(const T* dy, T* sums) const {
        for (std::int64_t i = 0; i < pixels_; ++i, dy += d_.out_channels)
            for (std::int64_t c = 0; c < group_out_; ++c) sums[c] += dy[c];
    }
    void add_up(void* memory, T* dbias, T* dw) const {
        std::fill(dw, dw + weights_, T(0));
        if (dbias) std::fill(dbias, dbias + d_.out_channels, T(0));
        for (std::int64_t p = 0; p < pieces_; ++p) {
            const T* sums =
                reinterpret_cast<const T*>(static_cast<std::byte*>(memory) + static_cast<std::size_t>(p) * bytes_) +
                pixels_ * window_;
            for (std::int64_t i = 0; i < weights_; ++i) dw[i] += sums[i];
            if (dbias)
                for (std::int64_t i = 0; i < d_.out_channels; ++i) dbias[i] += sums[weights_ + i];
        }
    }

    convolution_product which_;
    convolution_description d_;
    std::int64_t pixels_, group_in_, group_out_, window_, weights_, pieces_;
    std::size_t bytes_ = 0;
    mutable scratch_memory scratch_;
};

TENON_INLINE std::unique_ptr<convolution_implementation> make_eigen_convolution(convolution_product which,
                                                                                const convolution_description& d) {
    if (d.element == element_type::float32) return std::make_unique<eigen_convolution<float>>(which, d);
    return std::make_unique<eigen_convolution<double>>(which, d);
}

} // namespace tenon::dense::detail
