#pragma once

#include <cstdint>
#include <limits>

#include <cuda_runtime_api.h>

/// What kernels of images share.

namespace tenon::cuda {

/// The sizes of a batch of images [batch, height, width, channels].
struct image_sizes {
    std::int64_t batch = 1, height = 0, width = 0, channels = 0;

    __host__ __device__ std::int64_t row() const { return width * channels; }
    __host__ __device__ std::int64_t image() const { return height * row(); }
    __host__ __device__ std::int64_t elements() const { return batch * image(); }
};

/// How a pixel is found between others: tenon::interpolation.
enum class sampling { nearest, bilinear, area };

/// Where element i of images lies. Count: in which elements are counted, unsigned.
template <class Count> struct image_place {
    __device__ image_place(Count i, const image_sizes& s) {
        const auto channels = static_cast<Count>(s.channels), width = static_cast<Count>(s.width),
                   height = static_cast<Count>(s.height);
        const Count pixel = i / channels, line = pixel / width, image = line / height;
        channel = i - pixel * channels;
        column = pixel - line * width;
        row = line - image * height;
        batch = image;
    }
    std::int64_t batch, row, column, channel;
};

/// f(Count()) for a type that counts so many elements, and those of a grid more.
template <class F> void with_count(std::int64_t n, F&& f) {
    if (n <= std::numeric_limits<std::int32_t>::max()) f(std::uint32_t());
    else f(std::uint64_t());
}

} // namespace tenon::cuda
