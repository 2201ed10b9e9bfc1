#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/shape/indices.hpp>

namespace tenon::cuda {

namespace {

constexpr unsigned long long nowhere = ~0ULL;

// Rows that are an index each.
template <class I> struct plain_indices {
    const I* indices;
    std::int64_t size;
    // The row of number i, or a bad index.
    __device__ std::int64_t find(std::int64_t i, bad_index& bad) const {
        const auto index = static_cast<std::int64_t>(indices[i]);
        if (size != any_index && (index < 0 || index >= size)) bad = {i, index};
        return index;
    }
};
template <class I> struct indexed {
    const I* indices;
    indexed_rows rows;
    __device__ std::int64_t find(std::int64_t i, bad_index& bad) const {
        const std::int64_t row = rows.find(indices, i);
        if (row >= 0) return row;
        const std::int64_t at = i * rows.depth + (-1 - row);
        bad = {at, static_cast<std::int64_t>(indices[at])};
        return row;
    }
};

// Keys and places are written where they are asked for; `size` is the key of a bad one.
template <class Rows, class K>
__global__ void list_indices(Rows of, std::int64_t n, std::int64_t size, K* keys, std::int64_t* places,
                             bad_index* found, unsigned* refused) {
    __shared__ unsigned long long first;
    if (threadIdx.x == 0) first = nowhere;
    __syncthreads();
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    bad_index own{-1, 0};
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) {
        bad_index bad{-1, 0};
        const std::int64_t row = of.find(i, bad);
        if (bad.place >= 0 && own.place < 0) own = bad;
        if (!keys) continue;
        keys[i] = bad.place >= 0 ? static_cast<K>(size) : static_cast<K>(row);
        places[i] = i;
    }
    if (!found) return;
    if (own.place >= 0) atomicMin(&first, static_cast<unsigned long long>(own.place));
    __syncthreads();
    if (refused && threadIdx.x == 0) refused[blockIdx.x] = first != nowhere ? 1 : 0;
    if (own.place >= 0 && static_cast<unsigned long long>(own.place) == first) found[blockIdx.x] = own;
}

template <class Rows>
void list_as(const Rows& of, std::int64_t n, std::int64_t size, bool wide_keys, void* keys, std::int64_t* places,
             bad_index* found, unsigned* refused, void* stream) {
    const unsigned blocks = found ? static_cast<unsigned>(index_parts_of(n)) : blocks_for(n);
    const auto run = [&]<class K>(K) {
        launch(list_indices<Rows, K>, blocks, block_threads, 0, stream, of, n, size, static_cast<K*>(keys), places,
               found, refused);
    };
    if (wide_keys) run(std::uint64_t{});
    else run(std::uint32_t{});
}

template <class F> void with_indices(const index_list& of, F&& f) {
    if (of.wide) f(static_cast<const std::int64_t*>(of.data));
    else f(static_cast<const std::int32_t*>(of.data));
}

// ---- rows that tuples name: U is what a thread moves ----

template <class U, class I>
__global__ void take_rows(const U* x, const I* indices, U* out, indexed_rows rows, std::int64_t row_units) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x, total = rows.count * row_units;
    for (std::int64_t t = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < total; t += all) {
        const std::int64_t row = rows.find(indices, t / row_units);
        out[t] = row < 0 ? U{} : x[row * row_units + t % row_units];
    }
}

} // namespace

void list_keys(const index_list& of, std::int64_t size, void* keys, std::int64_t* places, bad_index* found,
               unsigned* refused, void* stream) {
    if (of.count == 0) return;
    with_indices(of, [&]<class I>(const I* indices) {
        list_as(plain_indices<I>{indices, size}, of.count, size, key_bytes_of(size, of.wide) == 8, keys, places, found,
                refused, stream);
    });
}

void check_indices(const index_list& of, std::int64_t size, bad_index* found, unsigned* refused, void* stream) {
    list_keys(of, size, nullptr, nullptr, found, refused, stream);
}

void list_keys(const index_list& of, const indexed_rows& rows, void* keys, std::int64_t* places, bad_index* found,
               unsigned* refused, void* stream) {
    if (rows.count == 0) return;
    with_indices(of, [&]<class I>(const I* indices) {
        list_as(indexed<I>{indices, rows}, rows.count, rows.rows, key_bytes_of(rows.rows, of.wide) == 8, keys, places,
                found, refused, stream);
    });
}

void take_indexed(const void* x, const index_list& of, const indexed_rows& rows, void* out, std::size_t element_bytes,
                  void* stream) {
    const std::size_t row_bytes = static_cast<std::size_t>(rows.elements) * element_bytes;
    if (rows.count == 0 || row_bytes == 0) return;
    // The widest that all rows begin and end with.
    const std::size_t common = reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(out) | row_bytes;
    const auto with_unit = [&]<class U>(U) {
        const auto units = static_cast<std::int64_t>(row_bytes / sizeof(U));
        with_indices(of, [&]<class I>(const I* indices) {
            launch(take_rows<U, I>, blocks_for(rows.count * units), block_threads, 0, stream, static_cast<const U*>(x),
                   indices, static_cast<U*>(out), rows, units);
        });
    };
    if (common % 16 == 0) with_unit(uint4{});
    else if (common % 8 == 0) with_unit(std::uint64_t{});
    else if (common % 4 == 0) with_unit(std::uint32_t{});
    else if (common % 2 == 0) with_unit(std::uint16_t{});
    else with_unit(std::uint8_t{});
}

} // namespace tenon::cuda
