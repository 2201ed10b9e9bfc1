#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/dense/pooling.hpp>

#include <limits>

namespace tenon::cuda {

namespace {

struct place {
    std::int64_t image, row, column, channel;
};
__device__ inline std::int64_t divide(std::int64_t n, std::int64_t by, std::int64_t& rest) { // neither is negative
    if (((n | by) >> 32) == 0) {
        const auto a = static_cast<std::uint32_t>(n), b = static_cast<std::uint32_t>(by);
        rest = a % b;
        return a / b;
    }
    rest = n % by;
    return n / by;
}
__device__ inline place place_of(std::int64_t i, std::int64_t height, std::int64_t width, std::int64_t channels) {
    place p;
    std::int64_t q = divide(i, channels, p.channel);
    q = divide(q, width, p.column);
    p.image = divide(q, height, p.row);
    return p;
}

// One window, cut to the image.
struct window {
    std::int64_t top, bottom, left, right;
    __device__ std::int64_t count() const { return (bottom - top) * (right - left); }
};
__device__ inline window window_at(const pooling_sizes& s, std::int64_t i, std::int64_t j) {
    const std::int64_t u = i * s.stride_h - s.pad_top, v = j * s.stride_w - s.pad_left;
    return {u < 0 ? 0 : u, u + s.window_h < s.height ? u + s.window_h : s.height, v < 0 ? 0 : v,
            v + s.window_w < s.width ? v + s.window_w : s.width};
}

template <class N> __device__ inline bool is_largest(N element, N largest) {
    return element == largest || element != element;
}

template <class T> __global__ void pool_forward(pooling_sizes s, const T* x, T* y, std::int64_t n) {
    using number = compute_t<T>;
    const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
        const place p = place_of(i, s.out_height, s.out_width, s.channels);
        const window w = window_at(s, p.row, p.column);
        number result = s.average ? number(0) : -std::numeric_limits<number>::infinity();
        for (std::int64_t u = w.top; u < w.bottom; ++u) {
            const T* from = x + ((p.image * s.height + u) * s.width + w.left) * s.channels + p.channel;
            for (std::int64_t v = w.left; v < w.right; ++v, from += s.channels) {
                const number value = widen(*from);
                if (s.average) result += value;
                else if (value > result || value != value) result = value;
            }
        }
        if (s.average) result *= number(1) / static_cast<number>(w.count());
        y[i] = narrow<T>(result);
    }
}

// The first and the last but one of the windows along an axis that see pixel u.
__device__ inline void windows_of(std::int64_t u, std::int64_t padding, std::int64_t size, std::int64_t stride,
                                  std::int64_t count, std::int64_t& first, std::int64_t& end) {
    std::int64_t rest;
    const std::int64_t at = u + padding;
    first = at < size ? 0 : divide(at - size, stride, rest) + 1;
    end = divide(at, stride, rest) + 1;
    if (end > count) end = count;
}

template <class T>
__global__ void pool_gradient(pooling_sizes s, const T* x, const T* y, const T* dy, T* dx, std::int64_t n) {
    using number = compute_t<T>;
    const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += threads) {
        const place p = place_of(at, s.height, s.width, s.channels);
        std::int64_t i0, i1, j0, j1;
        windows_of(p.row, s.pad_top, s.window_h, s.stride_h, s.out_height, i0, i1);
        windows_of(p.column, s.pad_left, s.window_w, s.stride_w, s.out_width, j0, j1);
        const number here = s.average ? number(0) : widen(x[at]);
        number sum = 0;
        for (std::int64_t i = i0; i < i1; ++i)
            for (std::int64_t j = j0; j < j1; ++j) {
                const std::int64_t from = ((p.image * s.out_height + i) * s.out_width + j) * s.channels + p.channel;
                const window w = window_at(s, i, j);
                if (s.average) {
                    sum += widen(dy[from]) * (number(1) / static_cast<number>(w.count()));
                    continue;
                }
                const number largest = widen(y[from]);
                bool mine = is_largest(here, largest);
                // The first of equal ones has it: one that lies before this one ends the search.
                for (std::int64_t u = w.top; mine && u <= p.row; ++u) {
                    const std::int64_t end = u == p.row ? p.column : w.right;
                    const T* q = x + ((p.image * s.height + u) * s.width + w.left) * s.channels + p.channel;
                    for (std::int64_t v = w.left; mine && v < end; ++v, q += s.channels)
                        mine = !is_largest(widen(*q), largest);
                }
                if (mine) sum += widen(dy[from]);
            }
        dx[at] = narrow<T>(sum);
    }
}

template <class T>
__global__ void pick_largest(pooling_sizes s, const T* x, const T* y, const T* h, T* out, std::int64_t n) {
    const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
        const place p = place_of(i, s.out_height, s.out_width, s.channels);
        const window w = window_at(s, p.row, p.column);
        const compute_t<T> largest = widen(y[i]);
        T result = narrow<T>(compute_t<T>(0));
        bool found = false;
        for (std::int64_t u = w.top; !found && u < w.bottom; ++u)
            for (std::int64_t v = w.left; !found && v < w.right; ++v) {
                const std::int64_t at = ((p.image * s.height + u) * s.width + v) * s.channels + p.channel;
                if (is_largest(widen(x[at]), largest)) {
                    result = h[at];
                    found = true;
                }
            }
        out[i] = result;
    }
}

std::int64_t pooled_elements(const pooling_sizes& s) { return s.batch * s.out_height * s.out_width * s.channels; }

} // namespace

void pool(const pooling_sizes& s, element_type e, const void* x, void* y, void* stream) {
    const std::int64_t n = pooled_elements(s);
    if (n == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        launch(pool_forward<T>, blocks_for(n), block_threads, 0, stream, s, static_cast<const T*>(x),
               static_cast<T*>(y), n);
    });
}

void pool_backward(const pooling_sizes& s, element_type e, const void* x, const void* y, const void* dy, void* dx,
                   void* stream) {
    const std::int64_t n = s.batch * s.height * s.width * s.channels;
    if (n == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        launch(pool_gradient<T>, blocks_for(n), block_threads, 0, stream, s, static_cast<const T*>(x),
               static_cast<const T*>(y), static_cast<const T*>(dy), static_cast<T*>(dx), n);
    });
}

void pool_pick(const pooling_sizes& s, element_type e, const void* x, const void* y, const void* h, void* out,
               void* stream) {
    const std::int64_t n = pooled_elements(s);
    if (n == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        launch(pick_largest<T>, blocks_for(n), block_threads, 0, stream, s, static_cast<const T*>(x),
               static_cast<const T*>(y), static_cast<const T*>(h), static_cast<T*>(out), n);
    });
}

} // namespace tenon::cuda
