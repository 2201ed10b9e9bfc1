#pragma once

#include <string>
#include <vector>

#include <tenon/ops/state/state.hpp>

/// A function that is called once for each replica, or device, and makes variables: they are the same ones in all calls.

namespace tenon::detail {

/// What is made while it is a scope's policy. Used by one thread.
class shared_variables final : public variable_policy {
public:
    /// Why call number `call`, of 0, 1, .., cannot make a variable, where the first call made `first` under its name, of another
    /// type, or none (nullptr).
    using complaint = std::string (*)(int call, const std::string& wished, const tensor_type& type,
                                      const any_tensor* first);
    explicit shared_variables(complaint c) : complaint_(c) {}
    /// A further call of the function.
    void begin_call() noexcept { ++call_; }
    /// invalid_argument_error where a call makes a variable that the first has not made.
    any_tensor make(const std::string& name, const std::string& wished, const tensor_type& type,
                    const variable_options& o) override;
    any_tensor initial_value(const any_tensor& variable, const any_tensor& value) override;
    any_tensor here(const any_tensor& variable) override;
    any_tensor original(const any_tensor& variable) override { return variable; }

private:
    struct made {
        std::string wished; // as calls can compare them
        any_tensor variable;
        int call = 0; // that has made it, or found it, last
    };
    const complaint complaint_;
    std::vector<made> all_;
    int call_ = -1;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/train/replicated/shared_variables.ipp>
#endif
