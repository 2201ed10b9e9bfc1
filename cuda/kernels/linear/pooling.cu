// A thread has some channels that lie side by side: as many as are read at once, where they can be.

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/linear/pooling.hpp>
#include <cuda/kernels/shape/division.hpp>

#include <initializer_list>
#include <limits>
#include <type_traits>

namespace tenon::cuda {

namespace {

// What `divider` is to small numbers.
struct large_divider {
    large_divider() = default;
    explicit large_divider(std::int64_t n) : by(n) {}
    __host__ __device__ std::int64_t quotient(std::int64_t x) const { return x / by; }
    __host__ __device__ std::int64_t divide(std::int64_t& x) const {
        const std::int64_t q = x / by;
        x -= q * by;
        return q;
    }

    std::int64_t by = 1;
};

// The sizes in the type I, and what threads go through: `rows` x `columns` of each image, of each place `units` of channels.
template <class I> struct pooling {
    using divides = std::conditional_t<sizeof(I) == 4, divider, large_divider>;
    using flat = decltype(divides::by);

    pooling(const pooling_sizes& s, std::int64_t through_rows, std::int64_t through_columns, std::int64_t lanes) :
        units(static_cast<flat>(s.channels / lanes)),
        columns(static_cast<flat>(through_columns)),
        rows(static_cast<flat>(through_rows)),
        stride_h(static_cast<flat>(s.stride_h)),
        stride_w(static_cast<flat>(s.stride_w)),
        places(static_cast<flat>(s.batch * through_rows * through_columns * (s.channels / lanes))),
        height(static_cast<I>(s.height)),
        width(static_cast<I>(s.width)),
        out_height(static_cast<I>(s.out_height)),
        out_width(static_cast<I>(s.out_width)),
        channels(static_cast<I>(s.channels)),
        dilation_h(static_cast<I>(s.dilation_h)),
        dilation_w(static_cast<I>(s.dilation_w)),
        reach_h(static_cast<I>((s.window_h - 1) * s.dilation_h + 1)),
        reach_w(static_cast<I>((s.window_w - 1) * s.dilation_w + 1)),
        pad_top(static_cast<I>(s.pad_top)),
        pad_left(static_cast<I>(s.pad_left)),
        average(s.average) {}

    divides units, columns, rows, stride_h, stride_w;
    flat places;
    I height, width, out_height, out_width, channels, dilation_h, dilation_w, reach_h, reach_w, pad_top, pad_left;
    bool average;

    struct place {
        I image, row, column, unit;
    };
    __device__ place place_of(flat i) const {
        flat column = units.divide(i), row = columns.divide(column);
        const flat image = rows.divide(row);
        return {static_cast<I>(image), static_cast<I>(row), static_cast<I>(column), static_cast<I>(i)};
    }
    // Of elements of x and of y.
    __device__ I at(I image, I row, I column, I channel) const {
        return ((image * height + row) * width + column) * channels + channel;
    }
    __device__ I out_at(I image, I row, I column, I channel) const {
        return ((image * out_height + row) * out_width + column) * channels + channel;
    }

    // One window, cut to the image: its pixels are dilation_h and dilation_w apart.
    struct window {
        I top, bottom, left, right;
    };
    static __device__ I first_inside(I at, I dilation) {
        return at >= 0 ? at : dilation == 1 ? 0 : at + (dilation - 1 - at) / dilation * dilation;
    }
    static __device__ I count(I first, I end, I dilation) {
        return first >= end ? 0 : dilation == 1 ? end - first : (end - first - 1) / dilation + 1;
    }
    __device__ window window_at(I row, I column) const {
        const I u = row * static_cast<I>(stride_h.by) - pad_top, v = column * static_cast<I>(stride_w.by) - pad_left;
        return {first_inside(u, dilation_h), u + reach_h < height ? u + reach_h : height, first_inside(v, dilation_w),
                v + reach_w < width ? v + reach_w : width};
    }
    __device__ I count(const window& w) const {
        return count(w.top, w.bottom, dilation_h) * count(w.left, w.right, dilation_w);
    }
    // Whether a window, one of those that windows_of gives, sees a pixel.
    static __device__ bool sees(I first, I pixel, I dilation) {
        return dilation == 1 || (pixel - first) % dilation == 0;
    }
    // The first and the last but one of the windows along an axis that see pixel u.
    static __device__ void windows_of(I u, I padding, I reach, const divides& stride, I count, I& first, I& end) {
        const I at = u + padding;
        first = at < reach ? 0 : static_cast<I>(stride.quotient(static_cast<flat>(at - reach))) + 1;
        end = static_cast<I>(stride.quotient(static_cast<flat>(at))) + 1;
        if (end > count) end = count;
    }
};

template <class N> __device__ inline bool is_largest(N element, N largest) {
    return element == largest || element != element;
}

template <int N, class T> __device__ inline packed<T, N> load(const T* from) {
    return *reinterpret_cast<const packed<T, N>*>(from);
}

template <int N, class I, class T> __global__ void pool_forward(pooling<I> s, const T* x, T* y) {
    using number = compute_t<T>;
    using flat = typename pooling<I>::flat;
    const auto threads = static_cast<flat>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<flat>(blockIdx.x) * blockDim.x + threadIdx.x; i < s.places; i += threads) {
        const auto p = s.place_of(i);
        const auto w = s.window_at(p.row, p.column);
        number result[N];
        for (number& r : result) r = s.average ? number(0) : -std::numeric_limits<number>::infinity();
        for (I u = w.top; u < w.bottom; u += s.dilation_h)
            for (I v = w.left; v < w.right; v += s.dilation_w) {
                const packed<T, N> element = load<N>(x + s.at(p.image, u, v, p.unit * N));
                for (int k = 0; k < N; ++k) {
                    const number value = widen(element.at[k]);
                    if (s.average) result[k] += value;
                    else if (value > result[k] || value != value) result[k] = value;
                }
            }
        const number share = number(1) / static_cast<number>(s.count(w));
        packed<T, N> out;
        for (int k = 0; k < N; ++k) out.at[k] = narrow<T>(s.average ? result[k] * share : result[k]);
        reinterpret_cast<packed<T, N>*>(y)[i] = out;
    }
}

template <int N, class I, class T>
__global__ void pool_gradient(pooling<I> s, const T* x, const T* y, const T* dy, T* dx) {
    using number = compute_t<T>;
    using flat = typename pooling<I>::flat;
    const auto threads = static_cast<flat>(gridDim.x) * blockDim.x;
    for (auto at = static_cast<flat>(blockIdx.x) * blockDim.x + threadIdx.x; at < s.places; at += threads) {
        const auto p = s.place_of(at);
        I i0, i1, j0, j1;
        s.windows_of(p.row, s.pad_top, s.reach_h, s.stride_h, s.out_height, i0, i1);
        s.windows_of(p.column, s.pad_left, s.reach_w, s.stride_w, s.out_width, j0, j1);
        packed<T, N> here{};
        if (!s.average) here = reinterpret_cast<const packed<T, N>*>(x)[at];
        number sum[N] = {};
        for (I i = i0; i < i1; ++i)
            for (I j = j0; j < j1; ++j) {
                const I from = s.out_at(p.image, i, j, p.unit * N);
                const auto w = s.window_at(i, j);
                if (!s.sees(w.top, p.row, s.dilation_h) || !s.sees(w.left, p.column, s.dilation_w)) continue;
                const packed<T, N> gradient = load<N>(dy + from);
                if (s.average) {
                    const number share = number(1) / static_cast<number>(s.count(w));
                    for (int k = 0; k < N; ++k) sum[k] += widen(gradient.at[k]) * share;
                    continue;
                }
                const packed<T, N> largest = load<N>(y + from);
                unsigned mine = 0; // a bit for each channel
                for (int k = 0; k < N; ++k) mine |= unsigned{is_largest(widen(here.at[k]), widen(largest.at[k]))} << k;
                // The first of equal ones has it: one that lies before this one ends the search.
                for (I u = w.top; mine && u <= p.row; u += s.dilation_h) {
                    const I end = u == p.row ? p.column : w.right;
                    for (I v = w.left; mine && v < end; v += s.dilation_w) {
                        const packed<T, N> before = load<N>(x + s.at(p.image, u, v, p.unit * N));
                        for (int k = 0; k < N; ++k)
                            mine &= ~(unsigned{is_largest(widen(before.at[k]), widen(largest.at[k]))} << k);
                    }
                }
                for (int k = 0; k < N; ++k)
                    if (mine >> k & 1) sum[k] += widen(gradient.at[k]);
            }
        packed<T, N> out;
        for (int k = 0; k < N; ++k) out.at[k] = narrow<T>(sum[k]);
        reinterpret_cast<packed<T, N>*>(dx)[at] = out;
    }
}

template <class I, class T> __global__ void pick_largest(pooling<I> s, const T* x, const T* y, const T* h, T* out) {
    using flat = typename pooling<I>::flat;
    const auto threads = static_cast<flat>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<flat>(blockIdx.x) * blockDim.x + threadIdx.x; i < s.places; i += threads) {
        const auto p = s.place_of(i);
        const auto w = s.window_at(p.row, p.column);
        const compute_t<T> largest = widen(y[i]);
        T result = narrow<T>(compute_t<T>(0));
        bool found = false;
        for (I u = w.top; !found && u < w.bottom; u += s.dilation_h)
            for (I v = w.left; !found && v < w.right; v += s.dilation_w) {
                const I at = s.at(p.image, u, v, p.unit);
                if (is_largest(widen(x[at]), largest)) {
                    result = h[at];
                    found = true;
                }
            }
        out[i] = result;
    }
}

// Whether all places in the images, and in what windows see around them, are numbers of 32 bits.
bool is_small(const pooling_sizes& s) {
    const std::int64_t most = std::int64_t{1} << 30, n = s.batch * s.channels;
    for (const std::int64_t size :
         {n * s.height * s.width, n * s.out_height * s.out_width, s.height, s.width, (s.window_h - 1) * s.dilation_h,
          (s.window_w - 1) * s.dilation_w, s.stride_h, s.stride_w, s.pad_top, s.pad_left})
        if (size >= most) return false;
    return true;
}

// f(number, index) in the number of channels and in the type of index that serve these sizes and pointers.
template <class T, class F>
void with_lanes(const pooling_sizes& s, std::initializer_list<const void*> pointers, const F& f) {
    constexpr int most = 16 / static_cast<int>(sizeof(T));
    bool is_wide = s.channels % most == 0;
    for (const void* p : pointers) is_wide = is_wide && reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
    const auto with_index = [&](auto lanes) {
        if (is_small(s)) f(lanes, std::int32_t{});
        else f(lanes, std::int64_t{});
    };
    if (is_wide) with_index(std::integral_constant<int, most>{});
    else with_index(std::integral_constant<int, 1>{});
}

} // namespace

void pool(const pooling_sizes& s, element_type e, const void* x, void* y, void* stream) {
    if (s.batch * s.out_height * s.out_width * s.channels == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        with_lanes<T>(s, {x, y}, [&]<int N, class I>(std::integral_constant<int, N>, I) {
            const pooling<I> p(s, s.out_height, s.out_width, N);
            launch(pool_forward<N, I, T>, blocks_for(static_cast<std::int64_t>(p.places)), block_threads, 0, stream, p,
                   static_cast<const T*>(x), static_cast<T*>(y));
        });
    });
}

void pool_backward(const pooling_sizes& s, element_type e, const void* x, const void* y, const void* dy, void* dx,
                   void* stream) {
    if (s.batch * s.height * s.width * s.channels == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        with_lanes<T>(s, {s.average ? dy : x, s.average ? dy : y, dy, dx},
                      [&]<int N, class I>(std::integral_constant<int, N>, I) {
                          const pooling<I> p(s, s.height, s.width, N);
                          launch(pool_gradient<N, I, T>, blocks_for(static_cast<std::int64_t>(p.places)), block_threads,
                                 0, stream, p, static_cast<const T*>(x), static_cast<const T*>(y),
                                 static_cast<const T*>(dy), static_cast<T*>(dx));
                      });
    });
}

void pool_pick(const pooling_sizes& s, element_type e, const void* x, const void* y, const void* h, void* out,
               void* stream) {
    if (s.batch * s.out_height * s.out_width * s.channels == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        const auto give = [&]<class I>(I) {
            const pooling<I> p(s, s.out_height, s.out_width, 1);
            launch(pick_largest<I, T>, blocks_for(static_cast<std::int64_t>(p.places)), block_threads, 0, stream, p,
                   static_cast<const T*>(x), static_cast<const T*>(y), static_cast<const T*>(h), static_cast<T*>(out));
        };
        if (is_small(s)) give(std::int32_t{});
        else give(std::int64_t{});
    });
}

} // namespace tenon::cuda
