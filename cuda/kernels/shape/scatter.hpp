#pragma once

#include <tenon/core/element_type.hpp>

#include <cuda/kernels/shape/indices.hpp>

/// Updates of rows that indices name.

namespace tenon::cuda {

/// What an update does to an element; in the order of scatter_op::way.
enum class row_update { assign, add, subtract, multiply, divide, minimum, maximum };

/// Which parts of the indices hold one that is out of range (check_indices). Where one does, nothing is changed.
struct refusals {
    const unsigned* of_parts;
    int parts;
};

/// Row `key` of `to`, of `inner` elements, is changed by updates[place] for each place of the key, one after the other, each
/// result rounded to the element type. `one` is true where updates is one element for all. Integers wrap around; divided by
/// zero they are zero.
void scatter_rows(row_update how, tenon::element_type e, void* to, const sorted_rows& rows, const void* updates,
                  bool one, std::int64_t inner, const refusals& refused, void* stream);

} // namespace tenon::cuda
