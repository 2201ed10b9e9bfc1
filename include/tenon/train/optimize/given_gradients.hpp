#pragma once

#include <unordered_set>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/train/optimize/gradient_and_variable.hpp>

/// What is done with gradients that a caller gives, before they are applied; included by .ipp files only.

namespace tenon::detail {

// Gradients and the names of what is wrong with them.
inline void check_gradient(const gradient_and_variable& of) {
    if (!of.variable.node() || !of.gradient.node())
        throw invalid_argument_error("apply_gradients: a gradient or a variable is an empty handle");
    if (!of.variable.node()->op->is(op_flags::variable) && !is_in_parts(of.variable))
        throw invalid_argument_error("apply_gradients: " + of.variable.name() + " is no variable but a " +
                                     of.variable.node()->op->name);
    const tensor_type types[] = {of.gradient.type(), of.variable.type()};
    const fault what = types[0].element != types[1].element ? fault::element_types_differ
                       : equal_shapes(types[0].extents, types[1].extents).what != fault::none
                           ? fault::gradient_shape_differs
                           : fault::none;
    if (what != fault::none)
        throw invalid_argument_error(fault_sentence("apply_gradients", what, type_list(types, 2)) + " (gradient " +
                                     of.gradient.name() + ", variable " + of.variable.name() + ")");
}

// In place of a variable in parts, and its gradient, these: of a gradient that is joined of theirs, as gradients() of such a
// variable is, each as it was, which may be sparse.
inline std::vector<gradient_and_variable> of_parts(const std::vector<gradient_and_variable>& all) {
    std::vector<gradient_and_variable> result;
    for (const gradient_and_variable& g : all) {
        const std::vector<any_tensor> parts = parts_of(g.variable);
        if (parts.empty()) {
            result.push_back(g);
            continue;
        }
        const node& n = *g.gradient.node();
        bool joined = n.op == &concat_definition && n.inputs.size() == parts.size();
        for (std::size_t p = 0; joined && p < parts.size(); ++p)
            joined = n.input_type(static_cast<int>(p)) == parts[p].type();
        const std::vector<any_tensor> own = joined ? std::vector<any_tensor>(n.inputs.begin(), n.inputs.end())
                                                   : untyped::split_like(g.gradient, parts, 0);
        for (std::size_t p = 0; p < parts.size(); ++p) result.push_back({own[p], parts[p]});
    }
    return result;
}

// All nodes that the gradients are computed of, and their own.
inline std::unordered_set<const node*> nodes_behind(const std::vector<gradient_and_variable>& gradients) {
    std::unordered_set<const node*> found;
    std::vector<const node*> open;
    const auto visit = [&](const node* n) {
        if (found.insert(n).second) open.push_back(n);
    };
    for (const gradient_and_variable& g : gradients) visit(g.gradient.node());
    while (!open.empty()) {
        const node* const n = open.back();
        open.pop_back();
        for (const node_output& i : n->inputs) visit(i.node);
    }
    return found;
}

// These, held against their variables; of those in parts, by part.
inline std::vector<gradient_and_variable> checked_gradients(const std::vector<gradient_and_variable>& given) {
    if (given.empty()) throw invalid_argument_error("apply_gradients: there are no gradients");
    for (const gradient_and_variable& g : given) check_gradient(g);
    const home_scope scope{graph(given.front().variable.node()->graph)};
    return of_parts(given);
}

} // namespace tenon::detail
