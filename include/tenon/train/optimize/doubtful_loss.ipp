#pragma once

#include <unordered_set>
#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/train/optimize/doubtful_loss.hpp>

namespace tenon::detail {

// [n, 1] beside [n].
inline bool is_column_beside(const extents& column, const extents& row) {
    if (row.rank() < 1 || column.rank() != row.rank() + 1 || column[row.rank()] != extent(1)) return false;
    for (int i = 0; i < row.rank(); ++i)
        if (column[i] != row[i] || row[i] == extent() || row[i] == extent(1)) return false;
    return true;
}

TENON_INLINE std::string doubt_about(const any_tensor& loss) {
    std::unordered_set<const node*> seen;
    std::vector<const node*> open;
    const auto visit = [&](const node* n) {
        if (seen.insert(n).second) open.push_back(n);
    };
    if (loss.rank() == 0) visit(loss.node());
    while (!open.empty()) {
        const node& n = *open.back();
        open.pop_back();
        const bool is_all = (n.op == &mean_definition || n.op == &sum_definition) &&
                            decode<reduction_attributes>(n.attributes).axes.count == 0;
        if (!is_all && n.op != &definition_of<fused_op>()) continue;
        // Of scalars, and of what is summed up: elementwise all the way, in the sizes of the sum.
        for (const node_output& i : n.inputs) {
            const tensor_type& type = i.node->outputs[static_cast<std::size_t>(i.index)];
            if (is_all || type.extents == n.outputs[0].extents) visit(i.node);
        }
        if (is_all) continue;
        for (std::size_t a = 0; a < n.inputs.size(); ++a)
            for (std::size_t b = 0; b < n.inputs.size(); ++b) {
                const tensor_type &column = n.input_type(static_cast<int>(a)), &row = n.input_type(static_cast<int>(b));
                if (!is_column_beside(column.extents, row.extents)) continue;
                const auto said = [&](std::size_t input) {
                    return n.inputs[input].node->name + ", " + to_string(n.input_type(static_cast<int>(input)));
                };
                return "the loss " + loss.name() + " is over " + to_string(n.outputs[0].extents) +
                       ": each element of " + said(a) + ", is beside each of " + said(b) +
                       "; give both the same sizes, by squeeze<-1>(..) or expand_dims<-1>(..), or name the axes, "
                       "mean<0, 1>(..), where all pairs are meant";
            }
    }
    return {};
}

} // namespace tenon::detail
