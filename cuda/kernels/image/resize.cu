#include <cuda/kernels/image/resize.hpp>

#include <algorithm>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

// What a pixel along one dimension is made of: `count` pixels from `first` on.
struct pixel_part {
    std::int64_t first, count;
};
// Of all pixels along it, `most` weights each. Firsts and ends do not fall.
template <class C> struct pixel_parts {
    std::int64_t from, to, most;
    pixel_part* parts;
    C* weights;
};

__device__ double smaller(double a, double b) { return b < a ? b : a; }
__device__ double larger(double a, double b) { return a < b ? b : a; }

template <class C> __device__ void find_part(pixel_parts<C> p, std::int64_t i, sampling method) {
    C* const weights = p.weights + i * p.most;
    const double scale = static_cast<double>(p.from) / static_cast<double>(p.to);
    const auto last = static_cast<double>(p.from - 1);
    if (method == sampling::nearest) {
        const std::int64_t at = (2 * i + 1) * p.from / (2 * p.to);
        weights[0] = 1;
        p.parts[i] = {at < p.from ? at : p.from - 1, 1};
    } else if (method == sampling::bilinear) {
        const double at = smaller(larger(__dsub_rn(__dmul_rn(static_cast<double>(i) + 0.5, scale), 0.5), 0), last);
        const auto first = static_cast<std::int64_t>(at);
        weights[0] = static_cast<C>(1 - (at - static_cast<double>(first)));
        if (first + 1 < p.from) weights[1] = static_cast<C>(at - static_cast<double>(first));
        p.parts[i] = {first, first + 1 < p.from ? 2 : 1};
    } else {
        const double low = static_cast<double>(i) * scale;
        const double high = smaller(static_cast<double>(i + 1) * scale, static_cast<double>(p.from));
        std::int64_t pixel = static_cast<std::int64_t>(smaller(low, last));
        pixel_part part{pixel, 0};
        do {
            const double covered =
                smaller(high, static_cast<double>(pixel + 1)) - larger(low, static_cast<double>(pixel));
            weights[part.count++] = static_cast<C>(larger(covered, 0.0) / scale);
        } while (static_cast<double>(++pixel) < high && pixel < p.from && part.count < p.most);
        p.parts[i] = part;
    }
}

template <class C> __global__ void find_parts(pixel_parts<C> rows, pixel_parts<C> columns, sampling method) {
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows.to + columns.to; i += all)
        if (i < rows.to) find_part(rows, i, method);
        else find_part(columns, i - rows.to, method);
}

template <class T, class C, class Count>
__global__ void resize_elements(const T* __restrict__ from, image_sizes from_sizes, T* __restrict__ to,
                                image_sizes to_sizes, pixel_parts<C> rows, pixel_parts<C> columns) {
    const auto n = static_cast<Count>(to_sizes.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        const image_place<Count> at(i, to_sizes);
        const pixel_part row = rows.parts[at.row], column = columns.parts[at.column];
        const C* const row_weights = rows.weights + at.row * rows.most;
        const C* const column_weights = columns.weights + at.column * columns.most;
        const T* const first = from + at.batch * from_sizes.image() + row.first * from_sizes.row() +
                               column.first * from_sizes.channels + at.channel;
        C sum = 0;
        for (std::int64_t x = 0; x < column.count; ++x) {
            C along = 0; // first of rows, then of columns, as the host adds up
            for (std::int64_t y = 0; y < row.count; ++y)
                along += row_weights[y] * widen(first[y * from_sizes.row() + x * from_sizes.channels]);
            sum += column_weights[x] * along;
        }
        to[i] = narrow<T>(sum);
    }
}

// The pixels that are made of pixel `of` among others: from the first whose part ends behind it to the last whose part begins
// before it.
template <class C> __device__ pixel_part made_of(const pixel_parts<C>& p, std::int64_t of) {
    std::int64_t low = 0, high = p.to;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (p.parts[middle].first + p.parts[middle].count <= of) low = middle + 1;
        else high = middle;
    }
    const std::int64_t first = low;
    high = p.to;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (p.parts[middle].first <= of) low = middle + 1;
        else high = middle;
    }
    return {first, low - first};
}

template <class T, class C, class Count>
__global__ void spread_elements(const T* __restrict__ gradient, image_sizes resized, T* __restrict__ images,
                                image_sizes sizes, pixel_parts<C> rows, pixel_parts<C> columns) {
    const auto n = static_cast<Count>(sizes.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        const image_place<Count> at(i, sizes);
        const pixel_part row = made_of(rows, at.row), column = made_of(columns, at.column);
        const T* const image = gradient + at.batch * resized.image() + at.channel;
        C sum = 0;
        for (std::int64_t y = row.first; y < row.first + row.count; ++y) {
            C line = 0;
            for (std::int64_t x = column.first; x < column.first + column.count; ++x)
                line += columns.weights[x * columns.most + at.column - columns.parts[x].first] *
                        widen(image[y * resized.row() + x * resized.channels]);
            sum += rows.weights[y * rows.most + at.row - rows.parts[y].first] * line;
        }
        images[i] = narrow<T>(sum);
    }
}

std::int64_t most_of(sampling method, std::int64_t from, std::int64_t to) {
    if (method == sampling::nearest) return 1;
    return std::min(from, method == sampling::bilinear ? 2 : from / to + 3);
}

} // namespace

image_resizing::image_resizing(sampling method, element_type e, const image_sizes& images, const image_sizes& resized) :
    method_(method),
    element_(e),
    images_(images),
    resized_(resized),
    most_rows_(most_of(method, images.height, resized.height)),
    most_columns_(most_of(method, images.width, resized.width)) {}

std::size_t image_resizing::scratch_bytes() const noexcept {
    const std::int64_t parts = resized_.height + resized_.width;
    const std::int64_t weights = resized_.height * most_rows_ + resized_.width * most_columns_;
    return static_cast<std::size_t>(parts) * sizeof(pixel_part) +
           static_cast<std::size_t>(weights) * size_of(compute_type(element_));
}

template <class T>
void image_resizing::run_as(const void* from, void* to, bool spreads, std::byte* scratch, void* stream) const {
    using C = compute_t<T>;
    auto* const parts = reinterpret_cast<pixel_part*>(scratch);
    auto* const weights = reinterpret_cast<C*>(parts + resized_.height + resized_.width);
    const pixel_parts<C> rows{images_.height, resized_.height, most_rows_, parts, weights};
    const pixel_parts<C> columns{images_.width, resized_.width, most_columns_, parts + resized_.height,
                                 weights + resized_.height * most_rows_};
    launch(find_parts<C>, blocks_for(rows.to + columns.to), block_threads, 0, stream, rows, columns, method_);
    const auto* const x = static_cast<const T*>(from);
    auto* const y = static_cast<T*>(to);
    const std::int64_t n = spreads ? images_.elements() : resized_.elements();
    with_count(n, [&]<class Count>(Count) {
        if (spreads)
            launch(spread_elements<T, C, Count>, blocks_for(n), block_threads, 0, stream, x, resized_, y, images_, rows,
                   columns);
        else
            launch(resize_elements<T, C, Count>, blocks_for(n), block_threads, 0, stream, x, images_, y, resized_, rows,
                   columns);
    });
}

void image_resizing::run(const void* from, void* to, bool spreads, std::byte* scratch, void* stream) const {
    with_floating_type(element_, [&]<class T>(T) { run_as<T>(from, to, spreads, scratch, stream); });
}
void image_resizing::resize(const void* images, void* resized, std::byte* scratch, void* stream) const {
    run(images, resized, false, scratch, stream);
}
void image_resizing::spread(const void* gradient, void* images, std::byte* scratch, void* stream) const {
    run(gradient, images, true, scratch, stream);
}

} // namespace tenon::cuda
