#include <cuda/kernels/reduce/sort.hpp>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/ordered.hpp>
#include <tenon/core/ordered_key.hpp>

namespace tenon::cuda {

namespace {

template <class F> __device__ void each(std::int64_t n, const F& f) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) f(i);
}

template <class T, class K>
__global__ void write_keys(const T* x, sorted_lines of, bool descending, K* keys, std::int64_t* places) {
    each(of.elements(), [&](std::int64_t i) {
        K key = static_cast<K>(ordered_key(x[of.at(i)], descending));
        if constexpr (sizeof(K) > sizeof(ordered_key_t<T>)) key |= static_cast<K>(i / of.n) << 32;
        keys[i] = key;
        places[i] = i;
    });
}

__global__ void write_lines(const std::int64_t* places, sorted_lines of, std::uint32_t* keys) {
    each(of.elements(), [&](std::int64_t i) { keys[i] = static_cast<std::uint32_t>(places[i] / of.n); });
}

template <class U>
__global__ void take(const U* x, sorted_lines of, const std::int64_t* places, U* values, std::int64_t* out) {
    each(of.elements(), [&](std::int64_t i) {
        const std::int64_t to = of.at(i);
        if (values) values[to] = x[of.at(places[i])];
        if (out) out[to] = places[i] % of.n;
    });
}

template <class T>
__global__ void search(const T* rows, std::int64_t n, const T* values, std::int64_t count, std::int64_t per_row,
                       bool right, std::int64_t* out) {
    using V = ordered_t<T>;
    each(count, [&](std::int64_t i) {
        const T* const row = rows + i / per_row * n;
        const V value = static_cast<V>(widen(values[i]));
        std::int64_t first = 0;
        for (std::int64_t left = n; left > 0;) {
            const std::int64_t half = left / 2;
            const V there = static_cast<V>(widen(row[first + half]));
            const bool is_before = right ? !is_larger(there, value) : is_larger(value, there);
            if (is_before) first += half + 1;
            left = is_before ? left - half - 1 : half;
        }
        out[i] = first;
    });
}

} // namespace

void list_sort_keys(tenon::element_type e, const void* x, const sorted_lines& of, bool descending, bool wide,
                    void* keys, std::int64_t* places, void* stream) {
    with_type(e, [&]<class T>(T) {
        const auto run = [&]<class K>(K) {
            launch(write_keys<T, K>, blocks_for(of.elements()), block_threads, 0, stream, static_cast<const T*>(x), of,
                   descending, static_cast<K*>(keys), places);
        };
        if constexpr (sizeof(T) == 8) run(std::uint64_t{});
        else if (wide) run(std::uint64_t{});
        else run(std::uint32_t{});
    });
}

void list_line_keys(const std::int64_t* places, const sorted_lines& of, std::uint32_t* keys, void* stream) {
    launch(write_lines, blocks_for(of.elements()), block_threads, 0, stream, places, of, keys);
}

void take_sorted(tenon::element_type e, const void* x, const sorted_lines& of, const std::int64_t* places, void* values,
                 std::int64_t* out, void* stream) {
    const auto run = [&]<class U>(U) {
        launch(take<U>, blocks_for(of.elements()), block_threads, 0, stream, static_cast<const U*>(x), of, places,
               static_cast<U*>(values), out);
    };
    switch (size_of(e)) {
    case 1: return run(std::uint8_t{});
    case 2: return run(std::uint16_t{});
    case 4: return run(std::uint32_t{});
    default: return run(std::uint64_t{});
    }
}

void search_sorted(tenon::element_type e, const void* rows, std::int64_t n, const void* values, std::int64_t count,
                   std::int64_t per_row, bool right, std::int64_t* out, void* stream) {
    if (count == 0) return;
    with_type(e, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            launch(search<T>, blocks_for(count), block_threads, 0, stream, static_cast<const T*>(rows), n,
                   static_cast<const T*>(values), count, per_row, right, out);
    });
}

} // namespace tenon::cuda
