#pragma once

#include <algorithm>
#include <string>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/dense/pooling/pooling.hpp>
#include <tenon/simd/pack.hpp>

#define TENON_SIMD_FILE <tenon/dense/pooling/pooling.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::dense {
namespace detail {

/// One kind of pooling on elements of one type, compiled for each instruction set.
template <class T, bool Maximum> struct pooling_kernels {
    static void forward(const pooling_description& d, const T* x, T* y, std::int64_t begin, std::int64_t end) {
        TENON_SIMD_BEST(pool_rows<T, Maximum>(d, x, y, begin, end));
    }
    static void pick(const pooling_description& d, const T* x, const T* y, const T* h, T* out, std::int64_t begin,
                     std::int64_t end) {
        TENON_SIMD_BEST(pick_rows<T>(d, x, y, h, out, begin, end));
    }
    template <bool Add>
    static void backward(const pooling_description& d, const T* x, const T* y, const T* dy, T* dx, std::int64_t begin,
                         std::int64_t end) {
        TENON_SIMD_BEST(unpool_rows<T, Maximum, Add>(d, x, y, dy, dx, begin, end));
    }
};

/// Calls body(first, end) for parts of `count` things of `elements` elements each, on the pool if that pays.
template <class Body> void in_parts(thread_pool* pool, std::int64_t count, std::int64_t elements, const Body& body) {
    if (pool == nullptr) {
        body(0, count);
    } else {
        pool->parallel_for(count, std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, elements)), body);
    }
}

template <class Kernels, class T> void pool_forward(const pooling_description& d, const T* x, T* y, thread_pool* pool) {
    in_parts(pool, d.batch * d.out_height(), d.out_width() * d.channels * d.window_h * d.window_w,
             [&](std::int64_t begin, std::int64_t end) { Kernels::forward(d, x, y, begin, end); });
}

template <class Kernels, class T>
void pool_backward(const pooling_description& d, const T* x, const T* y, const T* dy, T* dx, thread_pool* pool) {
    const std::int64_t row = d.out_width() * d.channels * d.window_h * d.window_w;
    if (d.stride_h >= d.reach_h() && d.stride_w >= d.reach_w()) {
        in_parts(pool, d.batch * d.out_height(), row, [&](std::int64_t begin, std::int64_t end) {
            Kernels::template backward<false>(d, x, y, dy, dx, begin, end);
        });
        return;
    }
    // Windows overlap: one thread an image.
    in_parts(pool, d.batch, row * d.out_height(), [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t image = d.height * d.width * d.channels;
        std::fill(dx + begin * image, dx + end * image, T(0));
        Kernels::template backward<true>(d, x, y, dy, dx, begin * d.out_height(), end * d.out_height());
    });
}

} // namespace detail

TENON_INLINE void check(const pooling_description& d) {
    const auto refuse = [&](const char* what) {
        const auto list = [](auto... sizes) {
            std::string text;
            ((text += (text.empty() ? "[" : ", ") + std::to_string(sizes)), ...);
            return text + "]";
        };
        throw invalid_argument_error("pooling of " + list(d.batch, d.height, d.width, d.channels) + " in windows " +
                                     list(d.window_h, d.window_w) + ", strides " + list(d.stride_h, d.stride_w) +
                                     ", dilations " + list(d.dilation_h, d.dilation_w) + ", padding " +
                                     list(d.pad_top, d.pad_bottom, d.pad_left, d.pad_right) + ": " + what);
    };
    if (d.batch < 0 || d.channels < 0) refuse("a size is negative");
    if (d.height < 1 || d.width < 1) refuse("height and width must be at least 1");
    if (std::min({d.window_h, d.window_w, d.stride_h, d.stride_w, d.dilation_h, d.dilation_w}) < 1) {
        refuse("windows, strides and dilations must be at least 1");
    }
    if (d.pad_top < 0 || d.pad_bottom < 0 || d.pad_left < 0 || d.pad_right < 0) refuse("a padding is negative");
    if (std::max(d.pad_top, d.pad_bottom) >= d.reach_h() || std::max(d.pad_left, d.pad_right) >= d.reach_w()) {
        refuse("padding must be smaller than the window, so that each window meets the image");
    }
    if (d.height + d.pad_top + d.pad_bottom < d.reach_h() || d.width + d.pad_left + d.pad_right < d.reach_w()) {
        refuse("the window is larger than the padded image");
    }
    if (d.element != element_type::float32 && d.element != element_type::float64) {
        refuse("elements must be float or double");
    }
}

TENON_INLINE void pooling(const pooling_description& d, const void* x, void* y, thread_pool* pool) {
    const auto run = [&]<class T>(T) {
        const auto* from = static_cast<const T*>(x);
        auto* to = static_cast<T*>(y);
        if (d.kind == pooling_kind::maximum) {
            detail::pool_forward<detail::pooling_kernels<T, true>>(d, from, to, pool);
        } else {
            detail::pool_forward<detail::pooling_kernels<T, false>>(d, from, to, pool);
        }
    };
    d.element == element_type::float32 ? run(float{}) : run(double{});
}

TENON_INLINE void pooling_backward(const pooling_description& d, const void* x, const void* y, const void* dy, void* dx,
                                   thread_pool* pool) {
    const auto run = [&]<class T>(T) {
        const auto *px = static_cast<const T*>(x), *py = static_cast<const T*>(y), *pdy = static_cast<const T*>(dy);
        auto* to = static_cast<T*>(dx);
        if (d.kind == pooling_kind::maximum) {
            detail::pool_backward<detail::pooling_kernels<T, true>>(d, px, py, pdy, to, pool);
        } else {
            detail::pool_backward<detail::pooling_kernels<T, false>>(d, px, py, pdy, to, pool);
        }
    };
    d.element == element_type::float32 ? run(float{}) : run(double{});
}

TENON_INLINE void pooling_pick(const pooling_description& d, const void* x, const void* y, const void* h, void* out,
                               thread_pool* pool) {
    const auto run = [&]<class T>(T) {
        const auto *px = static_cast<const T*>(x), *py = static_cast<const T*>(y), *ph = static_cast<const T*>(h);
        auto* to = static_cast<T*>(out);
        detail::in_parts(pool, d.batch * d.out_height(), d.out_width() * d.channels * d.window_h * d.window_w,
                         [&](std::int64_t begin, std::int64_t end) {
                             detail::pooling_kernels<T, true>::pick(d, px, py, ph, to, begin, end);
                         });
    };
    d.element == element_type::float32 ? run(float{}) : run(double{});
}

} // namespace tenon::dense
