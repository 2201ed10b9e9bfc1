#include <cuda/kernels/shape/gather.hpp>

#include <cuda/device/error.hpp>
#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/shape/row_places.hpp>

namespace tenon::cuda {

namespace {

// ---- gather: U is what a thread moves, N holds the number of all of them ----

template <class U, class I, class N>
__global__ void take_rows(const U* x, const I* indices, U* out, N total, N count, std::int64_t size, N row_units) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < std::int64_t{total}; t += all) {
        const N at = static_cast<N>(t), row = at / row_units, unit = at % row_units;
        const N o = row / count, i = row % count;
        const std::int64_t index = indices[i];
        U value{};
        if (index >= 0 && index < size)
            value = x[(std::int64_t{o} * size + index) * std::int64_t{row_units} + std::int64_t{unit}];
        out[t] = value;
    }
}

template <class U, class I>
void take_as(const void* x, const index_list& of, void* out, std::int64_t outer, std::int64_t size,
             std::int64_t row_units, void* stream) {
    const std::int64_t total = outer * of.count * row_units;
    const auto run = [&]<class N>(N) {
        launch(take_rows<U, I, N>, blocks_for(total), block_threads, 0, stream, static_cast<const U*>(x),
               static_cast<const I*>(of.data), static_cast<U*>(out), static_cast<N>(total), static_cast<N>(of.count),
               size, static_cast<N>(row_units));
    };
    if (total <= 0x7FFFFFFF) run(std::uint32_t{});
    else run(std::int64_t{});
}

// ---- sums ----

template <class T> __device__ compute_t<T> added(compute_t<T> a, T b) {
    if constexpr (std::is_integral_v<T>) { // they wrap around
        using W = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<W>(static_cast<W>(a) + static_cast<W>(b)));
    } else return a + widen(b);
}

// sum + the elements of rows places[begin .. end-1], in that order; several are read before they are added.
template <class T>
__device__ compute_t<T> add_in_order(compute_t<T> sum, const T* x, const std::int64_t* places, std::int64_t begin,
                                     std::int64_t end, std::int64_t inner) {
    constexpr int some = 8;
    for (; begin + some <= end; begin += some) {
        T values[some];
        for (int k = 0; k < some; ++k) values[k] = x[places[begin + k] * inner];
        for (int k = 0; k < some; ++k) sum = added<T>(sum, values[k]);
    }
    for (; begin < end; ++begin) sum = added<T>(sum, x[places[begin] * inner]);
    return sum;
}

// A thread has a column of the rows of one key: those whose place in the list is not the first of its key have none.
template <class T, class K>
__global__ void add_rows_of(const T* g, const K* keys, const std::int64_t* places, std::int64_t count, T* out,
                            std::int64_t outer, std::int64_t size, std::int64_t inner) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x, total = outer * count * inner;
    for (std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < total; t += all) {
        const std::int64_t row = t / inner, column = t % inner, o = row / count, first = row % count;
        const K key = keys[first];
        if (static_cast<std::int64_t>(key) >= size || (first > 0 && keys[first - 1] == key)) continue;
        const std::int64_t end = end_of_equal(keys, first, count);
        const compute_t<T> sum =
            add_in_order<T>(compute_t<T>{}, g + o * count * inner + column, places, first, end, inner);
        out[(o * size + static_cast<std::int64_t>(key)) * inner + column] = narrow<T>(sum);
    }
}

template <class T, class K>
__global__ void sum_rows_of(const T* x, const K* keys, const std::int64_t* places, std::int64_t count, T* out,
                            std::int64_t inner, bool once) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x, total = count * inner;
    for (std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < total; t += all) {
        const std::int64_t first = t / inner, column = t % inner;
        if (first > 0 && keys[first - 1] == keys[first]) continue;
        const std::int64_t end = end_of_equal(keys, first, count), at = places[first] * inner + column;
        if (end == first + 1) {
            out[at] = x[at];
            continue;
        }
        const T sum = narrow<T>(add_in_order<T>(widen(x[at]), x + column, places, first + 1, end, inner));
        out[at] = sum;
        for (std::int64_t i = first + 1; i < end; ++i) out[places[i] * inner + column] = once ? narrow<T>(0) : sum;
    }
}

// What is added alike with sign and without is one kernel.
template <class F> void with_added_type(tenon::element_type e, F&& f) {
    switch (e) {
    case element_type::float32: return f(float{});
    case element_type::float64: return f(double{});
    case element_type::float16: return f(half{});
    case element_type::bfloat16: return f(bfloat16{});
    case element_type::int8:
    case element_type::uint8: return f(std::uint8_t{});
    case element_type::int16:
    case element_type::uint16: return f(std::uint16_t{});
    case element_type::int32:
    case element_type::uint32: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
    }
}

template <class F> void with_keys(const sorted_rows& rows, F&& f) {
    if (rows.key_bytes == 8) f(static_cast<const std::uint64_t*>(rows.keys));
    else f(static_cast<const std::uint32_t*>(rows.keys));
}

} // namespace

void gather_rows(const void* x, const index_list& indices, void* out, std::int64_t outer, std::int64_t size,
                 std::size_t row_bytes, void* stream) {
    if (outer * indices.count == 0 || row_bytes == 0) return;
    // The widest that all rows begin and end with.
    const std::size_t common = reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(out) | row_bytes;
    const auto with_unit = [&]<class U>(U) {
        const std::int64_t units = static_cast<std::int64_t>(row_bytes / sizeof(U));
        if (indices.wide) take_as<U, std::int64_t>(x, indices, out, outer, size, units, stream);
        else take_as<U, std::int32_t>(x, indices, out, outer, size, units, stream);
    };
    if (common % 16 == 0) with_unit(uint4{});
    else if (common % 8 == 0) with_unit(std::uint64_t{});
    else if (common % 4 == 0) with_unit(std::uint32_t{});
    else if (common % 2 == 0) with_unit(std::uint16_t{});
    else with_unit(std::uint8_t{});
}

void add_rows(tenon::element_type e, const void* g, const sorted_rows& rows, void* out, std::int64_t outer,
              std::int64_t size, std::int64_t inner, void* stream) {
    if (outer * size * inner == 0) return;
    check(cudaMemsetAsync(out, 0, static_cast<std::size_t>(outer * size * inner) * size_of(e),
                          static_cast<cudaStream_t>(stream)),
          "cudaMemsetAsync");
    if (rows.count == 0) return;
    with_added_type(e, [&]<class T>(T) {
        with_keys(rows, [&]<class K>(const K* keys) {
            launch(add_rows_of<T, K>, blocks_for(outer * rows.count * inner), block_threads, 0, stream,
                   static_cast<const T*>(g), keys, rows.places, rows.count, static_cast<T*>(out), outer, size, inner);
        });
    });
}

void sum_equal_rows(tenon::element_type e, const void* x, const sorted_rows& rows, void* out, std::int64_t inner,
                    bool once, void* stream) {
    if (rows.count * inner == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        with_keys(rows, [&]<class K>(const K* keys) {
            launch(sum_rows_of<T, K>, blocks_for(rows.count * inner), block_threads, 0, stream,
                   static_cast<const T*>(x), keys, rows.places, rows.count, static_cast<T*>(out), inner, once);
        });
    });
}

} // namespace tenon::cuda
