#pragma once

#include <tenon/ops/shape/copied_view.hpp>

namespace tenon::detail {

/// A diagonal of matrices [.., n, m] and a tensor [.., size] as two views of one copy, from the matrices or into them.
struct diagonal_view {
    diagonal_view(const extents& matrix, const extents& vector, std::int64_t k, bool into) {
        const row_major_steps of_matrix(matrix), of_vector(vector);
        const int rank = vector.rank();
        const auto add = [&](std::int64_t size, std::int64_t in_matrix, std::int64_t in_vector) {
            view.add(size, into ? in_vector : in_matrix, into ? in_matrix : in_vector);
        };
        for (int d = 0; d + 1 < rank; ++d) add(vector[d].size, of_matrix[d], of_vector[d]);
        add(vector[rank - 1].size, of_matrix[rank - 1] + of_matrix[rank], of_vector[rank - 1]);
        if (vector.elements() > 0) offset = k < 0 ? -k * of_matrix[rank - 1] : k * of_matrix[rank];
    }
    copied_view view;
    std::int64_t offset = 0; ///< of the first element in the matrices
};

} // namespace tenon::detail
