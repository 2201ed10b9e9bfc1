#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda/kernels/shape/strided_copy.hpp>

namespace tenon::cuda {

/// A dimension of a tensor into which another is put: of its `size` indices begin, begin + step, .. (`count` of them, step > 0)
/// hold those of the other, which are from_step elements apart. from_step may be negative.
struct framed_dimension {
    std::int64_t size, begin, count, step, from_step;
};

/// One tensor put into another, with one value in the rest, in one pass: what padding and gradients of slices have in common.
class framed_copy {
public:
    framed_copy() = default;
    /// Up to 8 dimensions of the dense destination, outermost first. Elements are 1, 2, 4 or 8 bytes long, `around` their lower
    /// bytes. `most` is what one launch writes at most, in elements; more is written in two passes; for tests.
    framed_copy(const framed_dimension* dims, int rank, std::size_t element_bytes, std::uint64_t around,
                std::int64_t most = strided_copy::most_in_a_launch);

    /// `from` points to the element of index 0, .., 0. Given to `stream`, a cudaStream_t.
    void run(const void* from, void* to, void* stream) const;

private:
    static constexpr int most_dimensions = 8;
    void run_in_two(const void* from, void* to, void* stream) const;

    framed_dimension dims_[most_dimensions]{};
    int rank_ = 0;
    std::size_t element_bytes_ = 1;
    std::uint64_t around_ = 0;
    std::int64_t elements_ = 0;
    std::int64_t most_ = strided_copy::most_in_a_launch;
};

} // namespace tenon::cuda
