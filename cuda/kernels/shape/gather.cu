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

// The sum of the elements x[at(begin)] .. x[at(end-1)], in that order; several are read before they are added.
template <class T, class From, class At>
__device__ compute_t<T> add_in_order(const From* x, std::int64_t begin, std::int64_t end, const At& at) {
    constexpr int some = 8;
    compute_t<T> sum = widen(x[at(begin++)]);
    for (; begin + some <= end; begin += some) {
        From values[some];
        for (int k = 0; k < some; ++k) values[k] = x[at(begin + k)];
        for (int k = 0; k < some; ++k) sum = added<From>(sum, values[k]);
    }
    for (; begin < end; ++begin) sum = added<From>(sum, x[at(begin)]);
    return sum;
}

// Where the sums of whole keys go.
template <class T, class K> struct gradient_rows {
    T* out;
    std::int64_t size, inner;
    __device__ bool has(K key) const { return static_cast<std::int64_t>(key) < size; }
    __device__ void put(const key_runs<K>& runs, const key_run& r, std::int64_t o, std::int64_t column,
                        compute_t<T> sum) const {
        out[(o * size + static_cast<std::int64_t>(runs.key(r.begin))) * inner + column] =
            narrow<T>(added<compute_t<T>>(0, sum)); // the host begins with 0: no sum is -0
    }
};

template <class T, class K> struct equal_rows {
    const T* x;
    T* out;
    const std::int64_t* places;
    std::int64_t inner;
    bool once;
    __device__ bool has(K) const { return true; }
    // Of a key that was summed in runs its first row alone; put_others() does the rest.
    __device__ void put(const key_runs<K>& runs, const key_run& r, std::int64_t, std::int64_t column,
                        compute_t<T> sum) const {
        const std::int64_t begin = runs.stride == 1 ? r.begin : begin_of_equal(runs.keys, r.begin * runs.stride);
        const std::int64_t at = places[begin] * inner + column;
        out[at] = runs.stride == 1 && r.end == r.begin + 1 ? x[at] : narrow<T>(sum);
        if (runs.stride == 1) put_others(r.begin + 1, r.end, column, narrow<T>(sum));
    }
    __device__ void put_others(std::int64_t begin, std::int64_t end, std::int64_t column, T sum) const {
        for (std::int64_t i = begin; i < end; ++i) out[places[i] * inner + column] = once ? narrow<T>(0) : sum;
    }
};

// Threads side by side have columns of a row: f(i, o, column) for each row i of n and each column of the `outer` rows that it is.
struct row_columns {
    std::int64_t n, outer, inner;
    int across; // threads, a power of two

    row_columns(std::int64_t rows, std::int64_t outer_rows, std::int64_t elements) :
        n(rows), outer(outer_rows), inner(elements), across(1) {
        while (across < static_cast<int>(block_threads) && across < inner) across *= 2;
    }
    // Of rows an odd number at a time, so that those that have the work, a power of two apart, are not the same blocks'.
    dim3 grid() const {
        const std::int64_t tiles = outer * ((inner + across - 1) / across);
        return dim3(blocks_for(n * across, 1, 65535), static_cast<unsigned>(tiles < 65535 ? tiles : 65535));
    }
    template <class Run, class F> __device__ void visit(const Run& run, const F& f) const {
        const int row = static_cast<int>(threadIdx.x) / across, rows = static_cast<int>(blockDim.x) / across,
                  own = static_cast<int>(threadIdx.x) % across;
        const std::int64_t tiles = (inner + across - 1) / across;
        for (std::int64_t i = std::int64_t{blockIdx.x} * rows + row; i < n; i += std::int64_t{gridDim.x} * rows) {
            const key_run r = run(i);
            if (r.begin == r.end) continue;
            for (std::int64_t t = blockIdx.y; t < outer * tiles; t += gridDim.y) {
                const std::int64_t column = t % tiles * across + own;
                if (column < inner) f(r, i, t / tiles, column);
            }
        }
    }
};

// A thread sums a column of a run: of x, in the rows that `places` says, or of the sums of the level before.
template <class T, class From, class K, class To>
__global__ void __launch_bounds__(block_threads) add_runs(const From* x, const std::int64_t* places, key_runs<K> runs,
                                                          compute_t<T>* sums, To to, row_columns columns) {
    const std::int64_t inner = columns.inner, next_rows = runs.next_rows();
    columns.visit([&](std::int64_t i) { return to.has(runs.key(i)) ? runs.at(i) : key_run{}; },
                  [&](const key_run& r, std::int64_t i, std::int64_t o, std::int64_t column) {
                      const From* const from = x + o * runs.n * inner + column;
                      const compute_t<T> sum = add_in_order<T>(
                          from, r.begin, r.end, [&](std::int64_t k) { return (places ? places[k] : k) * inner; });
                      if (r.is_whole) to.put(runs, r, o, column, sum);
                      else sums[(o * next_rows + i / run_rows) * inner + column] = sum;
                  });
}

// What equal_rows has left of keys that were summed in runs.
template <class T, class K>
__global__ void __launch_bounds__(block_threads) put_sums(key_runs<K> runs, equal_rows<T, K> to, row_columns columns) {
    columns.visit([&](std::int64_t i) { return runs.at(i * run_rows); },
                  [&](const key_run& r, std::int64_t, std::int64_t, std::int64_t column) {
                      if (r.is_whole) return;
                      const std::int64_t first = begin_of_equal(runs.keys, r.begin);
                      to.put_others(r.begin == first ? first + 1 : r.begin, r.end, column,
                                    to.out[to.places[first] * to.inner + column]);
                  });
}

template <class T, class K, class To>
void add_levels(const T* x, const sorted_rows& rows, const To& to, std::int64_t outer, std::int64_t inner,
                std::byte* scratch, void* stream) {
    using C = compute_t<T>;
    auto* sums = reinterpret_cast<C*>(scratch);
    key_runs<K> level{static_cast<const K*>(rows.keys), rows.count, 1};
    row_columns columns(level.n, outer, inner);
    launch(add_runs<T, T, K, To>, columns.grid(), block_threads, 0, stream, x, rows.places, level, sums, to, columns);
    while (!level.is_last()) {
        level = level.next();
        columns = row_columns(level.n, outer, inner);
        C* const next = sums + outer * level.n * inner;
        launch(add_runs<T, C, K, To>, columns.grid(), block_threads, 0, stream, sums, nullptr, level, next, to,
               columns);
        sums = next;
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
    if (rows.key_bytes == 8) f(std::uint64_t{});
    else f(std::uint32_t{});
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

std::size_t row_sums_scratch_bytes(tenon::element_type e, std::int64_t count, std::int64_t inner) {
    const std::size_t element = e == element_type::float16 || e == element_type::bfloat16 ? sizeof(float) : size_of(e);
    return static_cast<std::size_t>(rows_of_sums(count) * inner) * element;
}

void add_rows(tenon::element_type e, const void* g, const sorted_rows& rows, void* out, std::int64_t outer,
              std::int64_t size, std::int64_t inner, std::byte* scratch, void* stream) {
    if (outer * size * inner == 0) return;
    check(cudaMemsetAsync(out, 0, static_cast<std::size_t>(outer * size * inner) * size_of(e),
                          static_cast<cudaStream_t>(stream)),
          "cudaMemsetAsync");
    if (rows.count == 0) return;
    with_added_type(e, [&]<class T>(T) {
        with_keys(rows, [&]<class K>(K) {
            add_levels<T, K>(static_cast<const T*>(g), rows, gradient_rows<T, K>{static_cast<T*>(out), size, inner},
                             outer, inner, scratch, stream);
        });
    });
}

void sum_equal_rows(tenon::element_type e, const void* x, const sorted_rows& rows, void* out, std::int64_t inner,
                    bool once, std::byte* scratch, void* stream) {
    if (rows.count * inner == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        with_keys(rows, [&]<class K>(K) {
            const equal_rows<T, K> to{static_cast<const T*>(x), static_cast<T*>(out), rows.places, inner, once};
            add_levels<T, K>(to.x, rows, to, 1, inner, scratch, stream);
            const key_runs<K> runs{static_cast<const K*>(rows.keys), rows.count, 1};
            if (runs.is_last()) return;
            const row_columns columns(runs.next_rows(), 1, inner);
            launch(put_sums<T, K>, columns.grid(), block_threads, 0, stream, runs, to, columns);
        });
    });
}

} // namespace tenon::cuda
