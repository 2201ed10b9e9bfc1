#pragma once

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/train/replicated/shared_variables.hpp>

namespace tenon::detail {

TENON_INLINE any_tensor shared_variables::make(const std::string& name, const std::string& wished,
                                               const tensor_type& type, const variable_options& o) {
    if (call_ == 0) {
        all_.push_back({wished, enter_variable(name, type, o)});
        return all_.back().variable;
    }
    // Of those that are called alike, in the order in which the first call made them.
    const auto at =
        std::find_if(all_.begin(), all_.end(), [&](const made& m) { return m.wished == wished && m.call < call_; });
    const any_tensor* const first = at == all_.end() ? nullptr : &at->variable;
    if (!first || !(first->type() == type)) throw invalid_argument_error(complaint_(call_, wished, type, first));
    at->call = call_;
    return at->variable;
}

// Initialisers of the same give it the same once more.
TENON_INLINE any_tensor shared_variables::initial_value(const any_tensor& variable, const any_tensor& value) {
    return call_ == 0 ? value : initialized_value_of(variable);
}

TENON_INLINE any_tensor shared_variables::here(const any_tensor& variable) {
    for (made& m : all_)
        if (m.variable.node() == variable.node()) m.call = call_; // a layer has it already
    return variable;
}

} // namespace tenon::detail
