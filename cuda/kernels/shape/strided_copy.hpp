#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/sizes/copied_dimension.hpp>

/// Copies between two views of a GPU's memory: what transposing, slicing, broadcasting, tiling, padding, joining and splitting have
/// in common. The host's are in tenon/dense/strided_copy.hpp.

namespace tenon::cuda {

using tenon::detail::copied_dimension;

/// A copy planned once and run many times.
class strided_copy {
public:
    static constexpr int most_dimensions = 16;
    /// Of a kernel's numbers of elements, which are counted in 32 bits. What is more is copied in parts.
    static constexpr std::int64_t most_in_a_launch = (std::int64_t{1} << 31) - 1;

    strided_copy() = default;
    /// Up to 16 dimensions in the order of the destination, outermost first. Elements are 1, 2, 4 or 8 bytes long.
    /// `most` is what one launch copies at most, for tests.
    strided_copy(const copied_dimension* dims, int rank, std::size_t element_bytes,
                 std::int64_t most = most_in_a_launch);

    /// `from` and `to` point to the elements of index 0, .., 0, aligned as elements are; the views must not overlap. Given to
    /// `stream`, a cudaStream_t.
    void run(const void* from, void* to, void* stream) const;

    std::int64_t elements() const noexcept { return elements_; }
    /// True when all it does is copy one stretch of memory.
    bool is_plain() const noexcept { return rank_ == 1 && dims_[0].from_step == 1 && dims_[0].to_step == 1; }

private:
    void run_part(const copied_dimension* dims, const char* from, char* to, void* stream) const;

    copied_dimension dims_[most_dimensions]{};
    int rank_ = 0;
    std::size_t element_bytes_ = 1;
    std::int64_t elements_ = 0;
    std::int64_t most_ = most_in_a_launch;
};

} // namespace tenon::cuda
