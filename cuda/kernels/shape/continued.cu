#include <cuda/kernels/shape/continued.hpp>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

__device__ std::int64_t place(std::int64_t i, const continued_sizes& of) {
    if (of.how == continued::edge || of.n == 1) return i < 0 ? 0 : i < of.n ? i : of.n - 1;
    const std::int64_t period = of.how == continued::wrap ? of.n : 2 * (of.n - 1), k = (i % period + period) % period;
    return k < of.n ? k : period - k;
}

template <class U> __global__ void copy_places(const U* x, U* out, continued_sizes of) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x, total = of.outer * of.padded * of.inner;
    for (std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < total; t += all) {
        const std::int64_t row = t / of.inner, o = row / of.padded;
        out[t] = x[(o * of.n + place(row % of.padded - of.before, of)) * of.inner + t % of.inner];
    }
}

// A thread has an element of x. Of the places beyond the ends those that are it are looked for; it is at `before` + i itself.
template <class T> __global__ void sum_places(const T* g, T* out, continued_sizes of) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x, total = of.outer * of.n * of.inner;
    for (std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < total; t += all) {
        const std::int64_t row = t / of.inner, i = row % of.n;
        const T* const from = g + row / of.n * of.padded * of.inner + t % of.inner;
        compute_t<T> sum{};
        const auto add = [&](std::int64_t p) {
            const compute_t<T> v = widen(from[p * of.inner]);
            if constexpr (std::is_integral_v<T>) {
                using W = std::make_unsigned_t<T>;
                sum = static_cast<T>(static_cast<W>(static_cast<W>(sum) + static_cast<W>(v)));
            } else sum += v;
        };
        for (std::int64_t p = 0; p < of.before; ++p)
            if (place(p - of.before, of) == i) add(p);
        add(of.before + i);
        for (std::int64_t p = of.before + of.n; p < of.padded; ++p)
            if (place(p - of.before, of) == i) add(p);
        out[t] = narrow<T>(sum);
    }
}

} // namespace

void continue_axis(const void* x, void* out, std::size_t element_bytes, const continued_sizes& of, void* stream) {
    const std::int64_t total = of.outer * of.padded * of.inner;
    if (total == 0) return;
    const auto run = [&]<class U>(U) {
        launch(copy_places<U>, blocks_for(total), block_threads, 0, stream, static_cast<const U*>(x),
               static_cast<U*>(out), of);
    };
    switch (element_bytes) {
    case 1: return run(std::uint8_t{});
    case 2: return run(std::uint16_t{});
    case 4: return run(std::uint32_t{});
    default: return run(std::uint64_t{});
    }
}

void sum_continued(tenon::element_type e, const void* g, void* out, const continued_sizes& of, void* stream) {
    const std::int64_t total = of.outer * of.n * of.inner;
    if (total == 0) return;
    with_type(e, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            launch(sum_places<T>, blocks_for(total), block_threads, 0, stream, static_cast<const T*>(g),
                   static_cast<T*>(out), of);
    });
}

} // namespace tenon::cuda
