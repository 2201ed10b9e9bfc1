#pragma once

#include <string>

#include <tenon/core/sizes/indexed_rows.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/op/op_definition.hpp>
#include <tenon/ops/shape/row_indices.hpp>

/// Which rows of x the ops of ops/shape/indexed.hpp name, on every device.

namespace tenon::detail {

/// Of take_along_axis and scatter_along_axis: rows are elements.
inline indexed_rows rows_along_axis(const kernel_setup& s) {
    const extents &x = s.inputs[0].extents, &indices = s.inputs[1].extents;
    const int axis = axis_of(s.attrs.get<std::int64_t>("axis"), x.rank());
    indexed_rows r{.axis = axis};
    for (int d = axis + 1; d < x.rank(); ++d) r.beside *= x[d].size;
    r.sizes[0] = x[axis].size;
    r.steps[0] = r.beside;
    r.per_batch = indices[axis].size * r.beside;
    r.batch_rows = x[axis].size * r.beside;
    r.count = indices.elements();
    r.rows = x.elements();
    return r;
}
/// Of gather_nd and scatter_nd.
inline indexed_rows rows_of_tuples(const kernel_setup& s) {
    const extents &x = s.inputs[0].extents, &indices = s.inputs[1].extents;
    indexed_rows r{.depth = static_cast<int>(indices[indices.rank() - 1].size),
                   .axis = static_cast<int>(s.attrs.get<std::int64_t>("batch_dims"))};
    for (int d = 0; d + 1 < indices.rank(); ++d) (d < r.axis ? r.count : r.per_batch) *= indices[d].size;
    for (int d = r.axis + r.depth; d < x.rank(); ++d) r.elements *= x[d].size;
    for (int k = r.depth; k-- > 0;) {
        r.sizes[k] = x[r.axis + k].size;
        r.steps[k] = r.batch_rows;
        r.batch_rows *= r.sizes[k];
    }
    r.rows = r.count * r.batch_rows;
    r.count *= r.per_batch;
    return r;
}

/// What the kernels say of an index that is out of range.
class indexed_complaint {
public:
    indexed_complaint(const kernel_setup& s, const indexed_rows& rows) :
        rows_(rows), indices_(s.inputs[1]), node_(std::string(s.node.op->name) + " (" + s.node.name + ")") {}
    const row_indices& indices() const { return indices_; }
    /// Of index number `at` of the indices.
    std::string of(std::int64_t value, std::int64_t at) const {
        const auto k = static_cast<int>(at % rows_.depth);
        return outside_axis(node_, indices_.shown(value, at), rows_.axis + k, rows_.sizes[k]);
    }

private:
    indexed_rows rows_;
    row_indices indices_;
    std::string node_;
};

} // namespace tenon::detail
