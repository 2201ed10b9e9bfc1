#pragma once

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/serve/served_variables.hpp>

namespace tenon::detail {

TENON_INLINE void served_variables::begin_call() { ++call_; }

TENON_INLINE any_tensor served_variables::make(const std::string& name, const std::string& wished,
                                               const tensor_type& type, const variable_options& o) {
    if (call_ <= 1) {
        all_.push_back({enter_variable(name, type, o), wished, call_});
        return all_.back().variable;
    }
    // Those that are called alike, in the order in which the first call made them.
    const auto at =
        std::find_if(all_.begin(), all_.end(), [&](const made& m) { return m.wished == wished && m.call < call_; });
    if (at == all_.end() || !(at->variable.type() == type))
        throw invalid_argument_error(
            "model_server: the function makes a variable \"" + wished + "\", " + to_string(type) +
            ", for one device, and " +
            (at == all_.end() ? std::string("none of this name") : "one that is " + to_string(at->variable.type())) +
            " for the first; it must make the same variables for each");
    at->call = call_;
    return at->variable;
}

TENON_INLINE any_tensor served_variables::initial_value(const any_tensor& variable, const any_tensor& value) {
    return call_ <= 1 ? value : initialized_value_of(variable);
}

} // namespace tenon::detail
