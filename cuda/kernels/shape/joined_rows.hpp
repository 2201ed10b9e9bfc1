#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <cuda/kernels/shape/strided_copy.hpp>

namespace tenon::cuda {

/// A tensor seen as rows, each of which holds a row of every part, one after the other: what joining tensors and taking them apart
/// have in common. Many parts are moved by one launch.
class joined_rows {
public:
    joined_rows() = default;
    /// The parts' rows are `widths` elements of `element_bytes` bytes (1, 2, 4 or 8) long. `most` is what one launch moves at
    /// most, in elements, for tests.
    joined_rows(std::int64_t rows, std::vector<std::int64_t> widths, std::size_t element_bytes,
                std::int64_t most = strided_copy::most_in_a_launch);

    /// Given to `stream`, a cudaStream_t. A part whose pointer is null is left out.
    void join(const void* const* parts, void* whole, void* stream) const;
    void take_apart(const void* whole, void* const* parts, void* stream) const;

private:
    template <bool Joins> void move(const void* const* parts, const void* whole, void* stream) const;

    std::int64_t rows_ = 0, row_ = 0; // how many, and the length of one of the whole
    std::vector<std::int64_t> widths_;
    std::size_t element_bytes_ = 1;
    std::int64_t most_ = strided_copy::most_in_a_launch;
};

} // namespace tenon::cuda
