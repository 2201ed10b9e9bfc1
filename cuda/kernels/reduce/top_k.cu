#include <cuda/kernels/reduce/top_k.hpp>

#include <cuda/kernels/each.hpp>
#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/ordered.hpp>

namespace tenon::cuda {

namespace {

constexpr unsigned row_threads = 128;

template <class V> struct placed {
    V value;
    std::int32_t place; // -1: none
    __device__ bool comes_before(const placed& other) const {
        if (place < 0 || other.place < 0) return place >= 0;
        return is_larger(value, other.value) || (!is_larger(other.value, value) && place < other.place);
    }
};

// A block a row: the first of those that come after the last one that was found.
template <class T>
__global__ void find(const T* x, std::int64_t rows, std::int64_t n, std::int64_t k, T* values, std::int32_t* places) {
    using V = ordered_t<T>;
    __shared__ placed<V> shared[row_threads / 32];
    for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        placed<V> last{V{}, -1};
        for (std::int64_t j = 0; j < k; ++j) {
            placed<V> best{V{}, -1};
            for (std::int64_t i = threadIdx.x; i < n; i += row_threads) {
                const placed<V> one{static_cast<V>(widen(x[row * n + i])), static_cast<std::int32_t>(i)};
                if ((j == 0 || last.comes_before(one)) && one.comes_before(best)) best = one;
            }
            __syncthreads(); // the last has been read
            last = combine_threads(best, row_threads, shared,
                                   [](const placed<V>& a, const placed<V>& b) { return b.comes_before(a) ? b : a; });
            if (threadIdx.x != 0) continue;
            if (values) values[row * k + j] = x[row * n + last.place];
            if (places) places[row * k + j] = last.place;
        }
    }
}

template <class U>
__global__ void take_sorted_rows(const U* x, std::int64_t rows, std::int64_t n, std::int64_t k,
                                 const std::int64_t* sorted, U* values, std::int32_t* places) {
    each_in_grid(rows * k, [&](std::int64_t i) {
        const std::int64_t at = sorted[i / k * n + i % k];
        if (values) values[i] = x[at];
        if (places) places[i] = static_cast<std::int32_t>(at % n);
    });
}

template <class U>
__global__ void take(const U* x, const std::int32_t* places, std::int64_t rows, std::int64_t n, std::int64_t count,
                     U* out) {
    each_in_grid(rows * count, [&](std::int64_t i) {
        const std::int32_t place = places[i];
        out[i] = place >= 0 && place < n ? x[i / count * n + place] : U{};
    });
}

// A thread a value: the first of those with its place adds the others.
template <class T>
__global__ void put(const T* values, const std::int32_t* places, std::int64_t rows, std::int64_t n, std::int64_t count,
                    T* out) {
    each_in_grid(rows * count, [&](std::int64_t i) {
        const std::int64_t row = i / count, own = i % count;
        const std::int32_t* const of_row = places + row * count;
        const std::int32_t place = of_row[own];
        if (place < 0 || place >= n) return;
        for (std::int64_t j = 0; j < own; ++j)
            if (of_row[j] == place) return;
        T sum = values[i];
        for (std::int64_t j = own + 1; j < count; ++j) {
            if (of_row[j] != place) continue;
            const T other = values[row * count + j];
            if constexpr (std::is_integral_v<T>)
                sum =
                    static_cast<T>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(other)); // wraps around
            else sum = narrow<T>(widen(sum) + widen(other));
        }
        out[row * n + place] = sum;
    });
}

template <class F> void with_size(tenon::element_type e, const F& f) {
    switch (size_of(e)) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
    }
}

} // namespace

void find_largest(tenon::element_type e, const void* x, std::int64_t rows, std::int64_t n, std::int64_t k, void* values,
                  std::int32_t* places, void* stream) {
    if (rows == 0) return;
    with_type(e, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            launch(find<T>, static_cast<unsigned>(rows < 65536 ? rows : 65536), row_threads, 0, stream,
                   static_cast<const T*>(x), rows, n, k, static_cast<T*>(values), places);
    });
}

void take_largest(tenon::element_type e, const void* x, std::int64_t rows, std::int64_t n, std::int64_t k,
                  const std::int64_t* sorted, void* values, std::int32_t* places, void* stream) {
    if (rows == 0) return;
    with_size(e, [&]<class U>(U) {
        launch(take_sorted_rows<U>, blocks_for(rows * k), block_threads, 0, stream, static_cast<const U*>(x), rows, n,
               k, sorted, static_cast<U*>(values), places);
    });
}

void take_places(tenon::element_type e, const void* x, const std::int32_t* places, std::int64_t rows, std::int64_t n,
                 std::int64_t count, void* out, void* stream) {
    if (rows * count == 0) return;
    with_size(e, [&]<class U>(U) {
        launch(take<U>, blocks_for(rows * count), block_threads, 0, stream, static_cast<const U*>(x), places, rows, n,
               count, static_cast<U*>(out));
    });
}

void put_places(tenon::element_type e, const void* values, const std::int32_t* places, std::int64_t rows,
                std::int64_t n, std::int64_t count, void* out, void* stream) {
    if (rows * n > 0)
        check(
            cudaMemsetAsync(out, 0, static_cast<std::size_t>(rows * n) * size_of(e), static_cast<cudaStream_t>(stream)),
            "cudaMemsetAsync");
    if (rows * count == 0) return;
    with_type(e, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            launch(put<T>, blocks_for(rows * count), block_threads, 0, stream, static_cast<const T*>(values), places,
                   rows, n, count, static_cast<T*>(out));
    });
}

} // namespace tenon::cuda
