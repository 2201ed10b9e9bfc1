#pragma once

#include <tenon/core/error.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/graph/body.hpp>
#include <tenon/nn/layer.hpp>

namespace tenon::nn {

TENON_INLINE bool& float_parameters::wanted() noexcept {
    thread_local bool is = false;
    return is;
}

TENON_INLINE any_tensor parameter::make(const tensor_type& type, const std::string& name, const initializer& how,
                                        const variable_options& o) const {
    if (float_parameters::wanted() && compute_type(type.element) != type.element) {
        const any_tensor master = make({compute_type(type.element), type.extents}, name, how, o);
        return detail::add_instruction(opcode::cast, {master}, type.element);
    }
    if (!made_->node()) {
        *made_ = detail::new_variable(name, type, how, o);
        return *made_;
    }
    if (!(made_->type() == type))
        throw invalid_argument_error("a layer whose " + made_->name() + " is " + to_string(made_->type()) +
                                     " is called with an input for which it would be " + to_string(type) +
                                     "; make another layer for it");
    if (!(graph(made_->node()->graph) == detail::outermost_graph()))
        throw invalid_argument_error("a layer whose " + made_->name() +
                                     " belongs to another graph is called; make another layer for this graph");
    return detail::variable_here(*made_);
}

} // namespace tenon::nn
