#include <cuda/kernels/shape/strided_copy.hpp>

#include <algorithm>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/shape/index_walk.hpp>
#include <cuda/kernels/units.hpp>

namespace tenon::cuda {

namespace {

template <class U>
__global__ void copy_units(const U* __restrict__ from, U* __restrict__ to, std::uint32_t n, index_walk w) {
    const std::uint32_t all = gridDim.x * blockDim.x; // n + all stays below 2^32
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += all) {
        std::int64_t f = 0, t = 0;
        w.find(i, f, t);
        to[t] = from[f];
    }
}

// Elements that fill a unit each.
template <class T, class U>
__global__ void repeat_elements(const T* __restrict__ from, U* __restrict__ to, std::uint32_t n, index_walk w) {
    const std::uint32_t all = gridDim.x * blockDim.x;
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += all) {
        std::int64_t f = 0, t = 0;
        w.find(i, f, t);
        const std::uint64_t bits = repeated_bits(from[f], sizeof(T));
        to[t] = U{bits, bits};
    }
}

// A matrix of `rows` dense rows of the source that become columns of the destination, for each index of w.
struct crossing {
    std::uint32_t rows, columns;     // of the source
    std::int64_t from_step, to_step; // from row to row: of the source, of the destination
    divider row_tiles, column_tiles;
    std::uint32_t tiles; // of all matrices
    index_walk w;
};
constexpr int tile = 32, tile_threads_down = 8;

template <class T> __global__ void copy_crossed(const T* __restrict__ from, T* __restrict__ to, crossing c) {
    __shared__ T held[tile][tile + 1]; // the column more keeps threads of a warp off each other's banks
    const std::uint32_t x = threadIdx.x % tile, y = threadIdx.x / tile;
    for (std::uint32_t k = blockIdx.x; k < c.tiles; k += gridDim.x) {
        std::uint32_t at = k, row_tile;
        std::int64_t f = 0, t = 0;
        std::uint32_t column_tile = at;
        at = c.column_tiles.divide(column_tile);
        row_tile = at;
        at = c.row_tiles.divide(row_tile);
        c.w.find(at, f, t);
        const std::uint32_t row = row_tile * tile, column = column_tile * tile;
        for (std::uint32_t j = y; j < tile; j += tile_threads_down)
            if (row + j < c.rows && column + x < c.columns) held[j][x] = from[f + (row + j) * c.from_step + column + x];
        __syncthreads();
        for (std::uint32_t j = y; j < tile; j += tile_threads_down)
            if (column + j < c.columns && row + x < c.rows) to[t + (column + j) * c.to_step + row + x] = held[x][j];
        __syncthreads();
    }
}

template <class T>
void cross(const copied_dimension* dims, int rank, int across, const char* from, char* to, void* stream) {
    const auto tiles_of = [](std::int64_t n) { return static_cast<std::uint32_t>((n + tile - 1) / tile); };
    const copied_dimension &columns = dims[across], &rows = dims[rank - 1];
    crossing c{static_cast<std::uint32_t>(rows.size),
               static_cast<std::uint32_t>(columns.size),
               rows.from_step,
               columns.to_step,
               divider(tiles_of(rows.size)),
               divider(tiles_of(columns.size)),
               0,
               {}};
    std::int64_t matrices = 1;
    for (int i = rank - 1; i-- > 0;)
        if (i != across) {
            c.w.add(dims[i].size, dims[i].from_step, dims[i].to_step);
            matrices *= dims[i].size;
        }
    c.tiles = static_cast<std::uint32_t>(matrices) * c.row_tiles.by * c.column_tiles.by; // at most as many as elements
    launch(copy_crossed<T>, std::min<std::uint32_t>(c.tiles, 1 << 20), tile * tile_threads_down, 0, stream,
           reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), c);
}

template <class U>
void copy_in_units(const copied_dimension* dims, int rank, std::int64_t element_bytes, const char* from, char* to,
                   void* stream) {
    const std::int64_t in_unit = static_cast<std::int64_t>(sizeof(U)) / element_bytes;
    index_walk w;
    std::int64_t n = 1;
    for (int i = rank; i-- > 0;) {
        const bool last = i == rank - 1;
        const copied_dimension& d = dims[i];
        w.add(last ? d.size / in_unit : d.size, last ? d.from_step : d.from_step / in_unit,
              last ? d.to_step : d.to_step / in_unit);
        n *= w.sizes[w.rank - 1].by;
    }
    launch(copy_units<U>, blocks_for(n), block_threads, 0, stream, reinterpret_cast<const U*>(from),
           reinterpret_cast<U*>(to), static_cast<std::uint32_t>(n), w);
}

template <class T> void repeat(const copied_dimension* dims, int rank, const char* from, char* to, void* stream) {
    constexpr std::int64_t in_unit = 16 / sizeof(T);
    index_walk w;
    std::int64_t n = 1;
    for (int i = rank; i-- > 0;) {
        const bool last = i == rank - 1;
        w.add(last ? dims[i].size / in_unit : dims[i].size, dims[i].from_step,
              last ? dims[i].to_step : dims[i].to_step / in_unit);
        n *= w.sizes[w.rank - 1].by;
    }
    launch(repeat_elements<T, sixteen_bytes>, blocks_for(n), block_threads, 0, stream, reinterpret_cast<const T*>(from),
           reinterpret_cast<sixteen_bytes*>(to), static_cast<std::uint32_t>(n), w);
}

bool aligned(const void* p, std::int64_t bytes) {
    return reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes) == 0;
}

} // namespace

strided_copy::strided_copy(const copied_dimension* dims, int rank, std::size_t element_bytes, std::int64_t most) :
    element_bytes_(element_bytes), elements_(1), most_(most) {
    for (int i = 0; i < rank; ++i) {
        const copied_dimension& d = dims[i];
        elements_ *= d.size;
        if (d.size == 1) continue;
        if (rank_ > 0 && dims_[rank_ - 1].from_step == d.from_step * d.size &&
            dims_[rank_ - 1].to_step == d.to_step * d.size) {
            const std::int64_t outer = dims_[rank_ - 1].size;
            dims_[rank_ - 1] = {outer * d.size, d.from_step, d.to_step};
        } else dims_[rank_++] = d;
    }
    if (rank_ == 0) dims_[rank_++] = {1, 1, 1};
}

void strided_copy::run(const void* from, void* to, void* stream) const {
    if (elements_ == 0) return;
    const auto* f = static_cast<const char*>(from);
    auto* t = static_cast<char*>(to);
    if (is_plain()) {
        check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(elements_) * element_bytes_, cudaMemcpyDeviceToDevice,
                              static_cast<cudaStream_t>(stream)),
              "cudaMemcpyAsync");
        return;
    }
    if (elements_ <= most_) return run_part(dims_, f, t, stream);
    // In parts of the outermost dimensions: all indices of the first `whole`, and of the next one as many as fit.
    copied_dimension part[most_dimensions];
    std::copy(dims_, dims_ + rank_, part);
    int split = 0;
    std::int64_t inner = elements_;
    while (inner > most_) inner /= dims_[split++].size;
    const copied_dimension along = dims_[--split];
    const std::int64_t each = most_ / inner;
    std::int64_t outer = 1;
    for (int i = 0; i < split; ++i) {
        outer *= dims_[i].size;
        part[i].size = 1;
    }
    const auto bytes = static_cast<std::int64_t>(element_bytes_);
    for (std::int64_t o = 0; o < outer; ++o) {
        std::int64_t f_at = 0, t_at = 0, rest = o;
        for (int i = split; i-- > 0; rest /= dims_[i].size) {
            f_at += rest % dims_[i].size * dims_[i].from_step;
            t_at += rest % dims_[i].size * dims_[i].to_step;
        }
        for (std::int64_t k = 0; k < along.size; k += each) {
            part[split].size = std::min(each, along.size - k);
            run_part(part, f + (f_at + k * along.from_step) * bytes, t + (t_at + k * along.to_step) * bytes, stream);
        }
    }
}

void strided_copy::run_part(const copied_dimension* dims, const char* from, char* to, void* stream) const {
    const auto bytes = static_cast<std::int64_t>(element_bytes_);
    const copied_dimension& last = dims[rank_ - 1];
    // All that lies beside the rows along the last dimension begins at multiples of this many bytes.
    const auto divides = [&](std::int64_t unit_bytes, bool of_source) {
        if (!aligned(to, unit_bytes) || (of_source && !aligned(from, unit_bytes))) return false;
        if (last.size * bytes % unit_bytes != 0) return false;
        for (int i = 0; i + 1 < rank_; ++i)
            if (dims[i].to_step * bytes % unit_bytes != 0 || (of_source && dims[i].from_step * bytes % unit_bytes != 0))
                return false;
        return true;
    };
    std::int64_t unit = bytes;
    if (last.to_step == 1 && last.from_step == 1) {
        while (unit < 16 && divides(2 * unit, true)) unit *= 2;
    } else if (last.to_step == 1 && last.from_step == 0) {
        if (divides(16, false))
            return with_element_unit(element_bytes_, [&]<class T>(T) { repeat<T>(dims, rank_, from, to, stream); });
    } else if (last.to_step == 1 && last.size >= tile / 4) {
        for (int i = 0; i + 1 < rank_; ++i)
            if (dims[i].from_step == 1 && dims[i].size >= tile / 4)
                return with_element_unit(element_bytes_,
                                         [&]<class T>(T) { cross<T>(dims, rank_, i, from, to, stream); });
    }
    with_unit(unit, [&]<class U>(U) { copy_in_units<U>(dims, rank_, bytes, from, to, stream); });
}

} // namespace tenon::cuda
