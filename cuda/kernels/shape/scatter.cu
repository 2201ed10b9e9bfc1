#include <cuda/kernels/shape/scatter.hpp>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/shape/row_places.hpp>

namespace tenon::cuda {

namespace {

// All threads of a block ask.
__device__ bool is_refused(const refusals& r) {
    return __syncthreads_or(static_cast<int>(threadIdx.x) < r.parts && r.of_parts[threadIdx.x] != 0) != 0;
}

template <class T> __device__ T quotient(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b == 0) return 0;
        if constexpr (std::is_signed_v<T>)
            if (b == -1) return static_cast<T>(std::make_unsigned_t<T>{} - static_cast<std::make_unsigned_t<T>>(a));
        return static_cast<T>(a / b);
    } else return a / b;
}

template <class T> __device__ T wrapped(row_update how, T a, T b) {
    using W = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>; // of 16 bits a product would be an int
    const W x = static_cast<W>(a), y = static_cast<W>(b);
    return static_cast<T>(how == row_update::add ? x + y : how == row_update::subtract ? x - y : x * y);
}

template <class T> __device__ T updated(row_update how, T value, T update) {
    const compute_t<T> a = widen(value), b = widen(update);
    switch (how) {
    case row_update::divide: return narrow<T>(quotient(a, b));
    // NaN on either side gives NaN.
    case row_update::minimum: return a < b || a != a ? value : update;
    case row_update::maximum: return a > b || a != a ? value : update;
    default: break;
    }
    if constexpr (std::is_integral_v<T>) return wrapped(how, value, update);
    else return narrow<T>(how == row_update::add ? a + b : how == row_update::subtract ? a - b : a * b);
}

// A thread has a column of the rows of one key: those whose place in the list is not the first of its key have none.
template <class T, class K>
__global__ void update_rows(row_update how, T* to, const K* keys, const std::int64_t* places, std::int64_t count,
                            const T* updates, bool one, std::int64_t inner, refusals refused) {
    if (is_refused(refused)) return;
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x, total = count * inner;
    for (std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < total; t += all) {
        const std::int64_t first = t / inner, column = t % inner;
        const K key = keys[first];
        if (first > 0 && keys[first - 1] == key) continue;
        const std::int64_t end = end_of_equal(keys, first, count);
        T* const at = to + static_cast<std::int64_t>(key) * inner + column;
        T value = *at;
        for (std::int64_t i = first; i < end; ++i)
            value = updated<T>(how, value, one ? *updates : updates[places[i] * inner + column]);
        *at = value;
    }
}

// The last of a key's stays. U is an element's size, or more elements.
template <class U, class K>
__global__ void assign_rows(U* to, const K* keys, const std::int64_t* places, std::int64_t count, const U* updates,
                            bool one, std::int64_t row_units, refusals refused) {
    if (is_refused(refused)) return;
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x, total = count * row_units;
    for (std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < total; t += all) {
        const std::int64_t last = t / row_units, unit = t % row_units;
        const K key = keys[last];
        if (last + 1 < count && keys[last + 1] == key) continue;
        to[static_cast<std::int64_t>(key) * row_units + unit] =
            one ? *updates : updates[places[last] * row_units + unit];
    }
}

template <class F> void with_keys(const sorted_rows& rows, F&& f) {
    if (rows.key_bytes == 8) f(static_cast<const std::uint64_t*>(rows.keys));
    else f(static_cast<const std::uint32_t*>(rows.keys));
}

void assign(std::size_t element_bytes, void* to, const sorted_rows& rows, const void* updates, bool one,
            std::int64_t inner, const refusals& refused, void* stream) {
    const std::size_t row_bytes = static_cast<std::size_t>(inner) * element_bytes;
    const std::size_t common =
        one ? element_bytes
            : reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(updates) | row_bytes;
    const auto with_unit = [&]<class U>(U) {
        with_keys(rows, [&]<class K>(const K* keys) {
            const std::int64_t units = static_cast<std::int64_t>(row_bytes / sizeof(U));
            launch(assign_rows<U, K>, blocks_for(rows.count * units), block_threads, 0, stream, static_cast<U*>(to),
                   keys, rows.places, rows.count, static_cast<const U*>(updates), one, units, refused);
        });
    };
    if (common % 16 == 0) with_unit(uint4{});
    else if (common % 8 == 0) with_unit(std::uint64_t{});
    else if (common % 4 == 0) with_unit(std::uint32_t{});
    else if (common % 2 == 0) with_unit(std::uint16_t{});
    else with_unit(std::uint8_t{});
}

} // namespace

void scatter_rows(row_update how, tenon::element_type e, void* to, const sorted_rows& rows, const void* updates,
                  bool one, std::int64_t inner, const refusals& refused, void* stream) {
    if (rows.count * inner == 0) return;
    if (how == row_update::assign) return assign(size_of(e), to, rows, updates, one, inner, refused, stream);
    with_type(e, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            with_keys(rows, [&]<class K>(const K* keys) {
                launch(update_rows<T, K>, blocks_for(rows.count * inner), block_threads, 0, stream, how,
                       static_cast<T*>(to), keys, rows.places, rows.count, static_cast<const T*>(updates), one, inner,
                       refused);
            });
    });
}

} // namespace tenon::cuda
