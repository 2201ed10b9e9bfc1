#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/config.hpp>
#include <tenon/core/sizes/copied_dimension.hpp>
#include <tenon/core/sizes/extents.hpp>

/// Copies between two views of memory: what transposing, slicing, broadcasting, tiling, padding, joining and
/// splitting have in common.

namespace tenon {

class thread_pool;

namespace detail {

/// Steps from index to index of each dimension where elements lie in row-major order.
struct row_major_steps {
    explicit row_major_steps(const extents& sizes) {
        std::int64_t step = 1;
        for (int i = sizes.rank(); i-- > 0; step *= sizes[i].size) steps[i] = step;
    }
    std::int64_t operator[](int i) const noexcept { return steps[i]; }
    std::int64_t steps[max_rank]{};
};

/// A copy planned once and run many times.
class strided_copy {
public:
    strided_copy() = default;
    /// Up to 2 * max_rank dimensions in the order of the destination, outermost first. Elements are 1, 2, 4
    /// or 8 bytes long, or texts.
    strided_copy(const copied_dimension* dims, int rank, std::size_t element_bytes);

    /// `from` and `to` point to the elements of index 0, .., 0; the views must not overlap.
    void run(const void* from, void* to, thread_pool* pool) const;

    std::int64_t elements() const noexcept { return elements_; }
    /// True when all it does is copy one stretch of memory.
    bool is_plain() const noexcept { return kind_ == kind::rows && rank_ == 1; }

private:
    // rows: both views are dense along the last dimension; fill: the source repeats along it; crossed: the
    // source is dense along dimension `across_`, the destination along the last; stepped: anything else.
    enum class kind { rows, fill, crossed, stepped };

    template <class T> void run_as(const T* from, T* to, thread_pool* pool) const;
    template <class T> void unit(const T* from, T* to, std::int64_t index) const;

    copied_dimension dims_[2 * max_rank]{};
    int rank_ = 0;
    int across_ = 0;
    kind kind_ = kind::rows;
    std::size_t element_bytes_ = 1;
    std::int64_t elements_ = 0;
    std::int64_t outer_ = 1; // indices of the dimensions that are walked one by one
    std::int64_t chunk_ = 1; // of the last (crossed: the across) dimension, taken together
    std::int64_t chunks_ = 1;
};

/// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns, on this thread.
void transpose_matrix(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t rows,
                      std::int64_t columns);
void transpose_matrix(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride,
                      std::int64_t rows, std::int64_t columns);

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/dense/strided_copy.ipp>
#endif
