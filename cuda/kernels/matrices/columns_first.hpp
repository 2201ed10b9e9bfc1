#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// What stands before and after decompositions by a library whose matrices lie columns first, one matrix at a time. Elements are float or
/// double.

namespace tenon::cuda {

/// to (columns first) = from [m, n], rounded or widened to `as`; or the other way round, since the one is the other's transpose: then
/// `m` and `n` are exchanged.
void copy_transposed(tenon::element_type e, const void* from, tenon::element_type as, void* to, std::int64_t m,
                     std::int64_t n, void* stream);
/// to = (a + a^T) / 2 of a [n, n]; above its diagonal 0 where only the `lower` triangle is wanted.
void take_symmetric(tenon::element_type e, const void* a, tenon::element_type as, void* to, std::int64_t n, bool lower,
                    void* stream);
/// The upper triangle of what lies columns first [m, n], rows first, with 0 below: r [min(m, n), n].
void take_upper(const double* from, tenon::element_type as, void* r, std::int64_t m, std::int64_t n, void* stream);
/// x [n, n] = the unit matrix.
void set_unit(tenon::element_type e, void* x, std::int64_t n, void* stream);

/// *failed = 1 where one of the n elements is not finite, which all become 0 then; else 0.
void refuse_not_finite(double* x, std::int64_t n, std::int32_t* failed, void* stream);
/// *failed = 1 where *info is not 0; else it stays.
void refuse_failed(const int* info, std::int32_t* failed, void* stream);
/// *failed = 1 where *info is not 0 or an element of l's diagonal is not above 0; else 0.
void refuse_not_positive(tenon::element_type e, const void* l, std::int64_t n, const int* info, std::int32_t* failed,
                         void* stream);
/// The largest of each row and each column of a [n, n]: scales [2, n].
void measure_lines(tenon::element_type e, const void* a, void* scales, std::int64_t n, void* stream);
/// *failed = 1 where a pivot says that the matrix is singular, as has_pivots() of pivots.cu; lu lies columns first, row i was exchanged with
/// row pivots[i], counted from 1.
void refuse_singular(tenon::element_type e, const void* lu, const int* pivots, const void* scales, std::int64_t n,
                     std::int32_t* failed, void* stream);
/// The determinant, its sign, the logarithm of its size; those that are null are not written.
void take_determinant(tenon::element_type e, const void* lu, const int* pivots, std::int64_t n, void* product,
                      void* sign, void* log, void* stream);

/// Vectors that were found columns first, [m, k] of x and [n, k] of y (null: there are none), each turned so that the first of the largest
/// of the vector of x is not negative; x to [m, k], y to [n, k]; where `across`, to [k, m] and [k, n]. Each may be null.
struct found_vectors {
    const double *x, *y;
    std::int64_t m, n, k;
    std::int64_t x_vector, x_element, y_vector, y_element; ///< steps from vector to vector, from element to element
    void *to_x, *to_y;
    bool x_across, y_across;
};
void take_vectors(const found_vectors& v, tenon::element_type as, void* stream);
/// to[i] = from[i].
void take_numbers(const double* from, tenon::element_type as, void* to, std::int64_t n, void* stream);

} // namespace tenon::cuda
