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

TENON_INLINE copied_parameters*& copied_parameters::now() noexcept {
    thread_local copied_parameters* is = nullptr;
    return is;
}

TENON_INLINE parameter::parameter(const parameter& o) : made_(o.made_) {
    copied_parameters* const copying = copied_parameters::now();
    if (!copying) return;
    if (copying->how_ == copied_parameters::copies::listed) {
        copying->listed_.push_back(made_->variable);
        return;
    }
    for (const auto& [of, clone] : copying->clones_)
        if (of == made_) {
            made_ = clone; // who shared it shares the clone
            return;
        }
    made_ = std::make_shared<state>(state{{}, made_});
    copying->clones_.emplace_back(o.made_, made_);
}

TENON_INLINE any_tensor parameter::make(const tensor_type& type, const std::string& name, const initializer& how,
                                        const variable_options& o) const {
    if (float_parameters::wanted() && compute_type(type.element) != type.element) {
        const any_tensor master = make({compute_type(type.element), type.extents}, name, how, o);
        return detail::add_instruction(opcode::cast, {master}, type.element);
    }
    any_tensor& is = made_->variable;
    if (!is.node()) {
        const any_tensor of = made_->begins_as ? made_->begins_as->variable : any_tensor();
        is = of.node() && of.type() == type && graph(of.node()->graph) == detail::outermost_graph()
                 ? detail::new_variable(name, type, detail::initialized_value_of(of), o)
                 : detail::new_variable(name, type, how, o);
        return is;
    }
    if (!(is.type() == type))
        throw invalid_argument_error("a layer whose " + is.name() + " is " + to_string(is.type()) +
                                     " is called with an input for which it would be " + to_string(type) +
                                     "; make another layer for it");
    if (!(graph(is.node()->graph) == detail::outermost_graph()))
        throw invalid_argument_error("a layer whose " + is.name() +
                                     " belongs to another graph is called; make another layer for this graph");
    return detail::variable_here(is);
}

} // namespace tenon::nn
