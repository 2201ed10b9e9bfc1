#pragma once

#include <tenon/core/element_type.hpp>

#include <cuda/kernels/shape/indices.hpp>

/// Rows that indices name, taken and added up.

namespace tenon::cuda {

/// out[o, i, .] = x[o, index[i], .] for x of [outer, size, .] with rows of `row_bytes` bytes; zeros where an index is out of range.
void gather_rows(const void* x, const index_list& indices, void* out, std::int64_t outer, std::int64_t size,
                 std::size_t row_bytes, void* stream);

/// Of what the sums below work in; `inner` elements are a row's of all that lies outside the axis.
std::size_t row_sums_scratch_bytes(tenon::element_type e, std::int64_t count, std::int64_t inner);

/// out[o, row, .] = the sum of g[o, i, .] over the places i of `row`, zeros for rows without one. Keys from `size` on count for nothing.
/// Sums are computed as the CPU does: in float for half and bfloat16, else in the element's type; those of up to 128 places in their
/// order. Those of more are the sums of runs of at most 256, in their order, and so on: many blocks have a key's rows, and the
/// result is the same in every run.
void add_rows(tenon::element_type e, const void* g, const sorted_rows& rows, void* out, std::int64_t outer,
              std::int64_t size, std::int64_t inner, std::byte* scratch, void* stream);

/// Rows of equal keys become their sum, or with `once` the first of them does and the others are zero. out may be x. Of floating
/// numbers, computed as in add_rows().
void sum_equal_rows(tenon::element_type e, const void* x, const sorted_rows& rows, void* out, std::int64_t inner,
                    bool once, std::byte* scratch, void* stream);

} // namespace tenon::cuda
