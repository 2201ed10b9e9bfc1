#pragma once

#include <string>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// What ops on batches of square and other matrices of float and double share: the last two dimensions are the matrices', those before
/// them the batch.

namespace tenon::detail {

inline constexpr char elements_are_not_float_or_double[] = "elements must be float or double";
inline constexpr char matrices_are_not_square[] = "the matrices are not square";
inline constexpr char needs_matrices[] = "there are not the two dimensions of a matrix";
inline constexpr char right_sides_have_other_rows[] = "right sides have not as many rows as the matrices";

inline constexpr element_types float_and_double =
    element_types{}.with(element_type::float32).with(element_type::float64);

constexpr inferred any_matrices(const tensor_type& a) {
    if (!float_and_double.has(a.element)) return elements_are_not_float_or_double;
    if (a.extents.rank() < 2) return needs_matrices;
    return a;
}
/// a, with matrices whose size says what either dimension does.
constexpr inferred square_matrices(const tensor_type& a) {
    if (const inferred r = any_matrices(a); !r) return r;
    const int rank = a.extents.rank();
    const merged_extent n = equal_sizes(a.extents[rank - 2], a.extents[rank - 1]);
    if (n.what != fault::none) return matrices_are_not_square;
    tensor_type t = a;
    t.extents[rank - 2] = t.extents[rank - 1] = n.size;
    return t;
}
/// The type of the x of a x = b: b's; where the batches broadcast, repeated. A b of one dimension is one column.
constexpr inferred solution_type(const tensor_type& a, const tensor_type& b) {
    const inferred square = square_matrices(a);
    if (!square) return square;
    if (b.element != a.element) return fault::element_types_differ;
    if (b.extents.rank() < 1) return fault::rank_too_low;
    const int ra = a.extents.rank(), rb = b.extents.rank();
    const extent rows = b.extents[rb == 1 ? 0 : rb - 2];
    const merged_extent n = equal_sizes(square.type.extents[ra - 1], rows);
    if (n.what != fault::none) return right_sides_have_other_rows;
    extents batch_a, batch_b;
    for (int i = 0; i + 2 < ra; ++i) batch_a.push_back(a.extents[i]);
    for (int i = 0; i + 2 < rb; ++i) batch_b.push_back(b.extents[i]);
    merged_extents result = broadcast(batch_a, batch_b);
    if (result.what != fault::none) return fault::batch_sizes_differ;
    result.extents.push_back(n.size);
    if (rb > 1) result.extents.push_back(b.extents[rb - 1]);
    return inferred(a.element, result.extents);
}
/// Without the matrices.
constexpr extents batch_dimensions(const extents& a) {
    extents e;
    for (int i = 0; i + 2 < a.rank(); ++i) e.push_back(a[i]);
    return e;
}
/// The lesser size of a matrix: known where both are numbers, or equal.
constexpr extent lesser_size(const extent& m, const extent& n) {
    if (m.is_number() && n.is_number()) return m.size < n.size ? m : n;
    return m == n ? m : extent{};
}

/// What is wrong with a matrix for which there is no result.
inline constexpr const char *not_definite = "is not positive definite", *zero_on_diagonal = "has a 0 on its diagonal",
                            *singular = "is singular", *not_finite = "has elements that are not finite";
/// What a step says of matrix i of such a batch.
inline std::string refused_matrix(const char* op, const extents& batch, std::int64_t i, const char* wrong) {
    std::string which = "the matrix", places;
    for (int d = batch.rank(); d-- > 0; i /= batch[d].size)
        places = std::to_string(i % batch[d].size) + (places.empty() ? "" : ", ") + places;
    if (batch.rank() > 0) which = "matrix [" + places + "] of the batch " + to_string(batch);
    return std::string(op) + ": " + which + " " + wrong;
}
/// The batch of the x of a x = b, and the number of columns of each.
struct solution_sizes {
    solution_sizes(const extents& b, const extents& x) : right_sides(b.rank() > 1 ? b[b.rank() - 1].size : 1) {
        for (int i = 0, used = b.rank() > 1 ? 2 : 1; i + used < x.rank(); ++i) batch.push_back(x[i]);
    }
    extents batch;
    std::int64_t right_sides;
};

} // namespace tenon::detail
