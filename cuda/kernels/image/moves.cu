#include <cuda/kernels/image/moves.hpp>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/units.hpp>

namespace tenon::cuda {

namespace {

template <class U, class Count>
__global__ void flip_elements(const U* __restrict__ from, U* __restrict__ to, image_sizes sizes,
                              const bool* __restrict__ which, bool upside_down) {
    const auto n = static_cast<Count>(sizes.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        image_place<Count> at(i, sizes);
        if (which[at.batch]) {
            if (upside_down) at.row = sizes.height - 1 - at.row;
            else at.column = sizes.width - 1 - at.column;
        }
        to[i] = from[at.batch * sizes.image() + at.row * sizes.row() + at.column * sizes.channels + at.channel];
    }
}

// floor((i + 1/2) * from / to)
__device__ std::int64_t nearest_pixel(std::int64_t i, std::int64_t from, std::int64_t to) {
    const std::int64_t at = (2 * i + 1) * from / (2 * to);
    return at < from ? at : from - 1;
}

template <class U, class Count>
__global__ void take_nearest(const U* __restrict__ from, image_sizes from_sizes, U* __restrict__ to,
                             image_sizes to_sizes) {
    const auto n = static_cast<Count>(to_sizes.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        const image_place<Count> at(i, to_sizes);
        const std::int64_t row = nearest_pixel(at.row, from_sizes.height, to_sizes.height);
        const std::int64_t column = nearest_pixel(at.column, from_sizes.width, to_sizes.width);
        to[i] =
            from[at.batch * from_sizes.image() + row * from_sizes.row() + column * from_sizes.channels + at.channel];
    }
}

struct stretch {
    std::int64_t begin, end; // begin <= end
};
// Parts of a size in pixels; NaN: none.
__device__ std::int64_t pixels_of(float part, std::int64_t n) {
    if (!(part > 0)) return 0;
    return part >= 1 ? n : static_cast<std::int64_t>(part * static_cast<double>(n) + 0.5);
}
__device__ std::int64_t index_of(float place, std::int64_t n) { // of n, at least 1
    if (!(place > 0)) return 0;
    return place >= 1 ? n - 1 : static_cast<std::int64_t>(place * static_cast<double>(n));
}
__device__ stretch stretch_of(float place, std::int64_t size, std::int64_t n, bool inside) {
    if (inside) {
        if (size > n) size = n;
        const std::int64_t first = index_of(place, n - size + 1);
        return {first, first + size};
    }
    // Half of a size that is far larger than the image covers what all of it does.
    const std::int64_t first = index_of(place, n) - size / 2;
    const std::int64_t end = size > 4 * n || first + size > n ? n : first + size;
    return {first < 0 ? 0 : first > n ? n : first, end < 0 ? 0 : end};
}
__device__ bool in_box(std::int64_t image, std::int64_t row, std::int64_t column, const image_sizes& sizes,
                       const box_options& o) {
    const float* const box = o.boxes + o.numbers * image;
    const stretch rows =
        stretch_of(box[0], o.numbers == 2 ? o.height : pixels_of(box[2], sizes.height), sizes.height, o.inside);
    if (row < rows.begin || row >= rows.end) return false;
    const stretch columns =
        stretch_of(box[1], o.numbers == 2 ? o.width : pixels_of(box[3], sizes.width), sizes.width, o.inside);
    return column >= columns.begin && column < columns.end;
}

template <class Count> __global__ void mask_pixels(bool* to, image_sizes sizes, box_options o) {
    const auto n = static_cast<Count>(sizes.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        const image_place<Count> at(i, sizes);
        to[i] = in_box(at.batch, at.row, at.column, sizes, o);
    }
}

template <class U, class Count>
__global__ void fill_pixels(const U* from, U* to, image_sizes sizes, box_options o, U value) {
    const auto n = static_cast<Count>(sizes.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        const image_place<Count> at(i, sizes);
        to[i] = in_box(at.batch, at.row, at.column, sizes, o) ? value : from[i];
    }
}

} // namespace

void flip_images(const void* from, void* to, std::size_t element_bytes, const image_sizes& sizes, const bool* which,
                 bool upside_down, void* stream) {
    const std::int64_t n = sizes.elements();
    if (n == 0) return;
    with_element_unit(element_bytes, [&]<class U>(U) {
        with_count(n, [&]<class Count>(Count) {
            launch(flip_elements<U, Count>, blocks_for(n), block_threads, 0, stream, static_cast<const U*>(from),
                   static_cast<U*>(to), sizes, which, upside_down);
        });
    });
}

void resize_nearest(const void* from, const image_sizes& from_sizes, void* to, const image_sizes& to_sizes,
                    std::size_t element_bytes, void* stream) {
    const std::int64_t n = to_sizes.elements();
    if (n == 0) return;
    with_element_unit(element_bytes, [&]<class U>(U) {
        with_count(n, [&]<class Count>(Count) {
            launch(take_nearest<U, Count>, blocks_for(n), block_threads, 0, stream, static_cast<const U*>(from),
                   from_sizes, static_cast<U*>(to), to_sizes);
        });
    });
}

void mask_boxes(bool* to, const image_sizes& sizes, const box_options& o, void* stream) {
    const std::int64_t n = sizes.elements();
    if (n == 0) return;
    with_count(n, [&]<class Count>(Count) {
        launch(mask_pixels<Count>, blocks_for(n), block_threads, 0, stream, to, sizes, o);
    });
}

void fill_boxes(const void* from, void* to, std::size_t element_bytes, const image_sizes& sizes, const box_options& o,
                std::uint64_t value, void* stream) {
    const std::int64_t n = sizes.elements();
    if (n == 0) return;
    with_element_unit(element_bytes, [&]<class U>(U) {
        with_count(n, [&]<class Count>(Count) {
            launch(fill_pixels<U, Count>, blocks_for(n), block_threads, 0, stream, static_cast<const U*>(from),
                   static_cast<U*>(to), sizes, o, static_cast<U>(value));
        });
    });
}

} // namespace tenon::cuda
