#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tenon/ops/state.hpp>

/// A function that is called once for each device, and makes variables: they are the same ones in all calls.

namespace tenon::detail {

/// What is made while it is a scope's policy. Used by one thread.
class served_variables final : public variable_policy {
public:
    /// A further call of the function.
    void begin_call();
    /// invalid_argument_error where the function makes other variables than in its first call, naming one.
    any_tensor make(const std::string& name, const std::string& wished, const tensor_type& type,
                    const variable_options& o) override;
    any_tensor initial_value(const any_tensor& variable, const any_tensor& value) override;
    any_tensor here(const any_tensor& variable) override { return variable; }
    any_tensor original(const any_tensor& variable) override { return variable; }

private:
    struct made {
        any_tensor variable;
        std::string wished;
        std::size_t call = 0; // that has made it, or found it, last
    };
    std::vector<made> all_;
    std::size_t call_ = 0; // counted from 1
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/serve/served_variables.ipp>
#endif
