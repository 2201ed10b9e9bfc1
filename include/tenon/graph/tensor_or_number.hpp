#pragma once

#include <type_traits>
#include <utility>

#include <tenon/core/number.hpp>
#include <tenon/graph/tensor.hpp>

namespace tenon::untyped {

/// A tensor, or a number that takes the element type of the tensor beside it.
class tensor_or_number {
public:
    tensor_or_number(const any_tensor& t) : tensor_(t) {}       // NOLINT
    tensor_or_number(any_tensor&& t) : tensor_(std::move(t)) {} // NOLINT
    template <detail::Typed X>
        requires(!std::is_base_of_v<any_tensor, X>)
    tensor_or_number(const X& expression) : tensor_(detail::as_tensor(expression)) {}            // NOLINT
    template <detail::AsNumber N> tensor_or_number(const N& n) : number_(n), is_number_(true) {} // NOLINT
    /// nullptr for a number.
    const any_tensor* tensor() const noexcept { return is_number_ ? nullptr : &tensor_; }
    const tenon::number& number() const noexcept { return number_; }

private:
    any_tensor tensor_;
    tenon::number number_;
    bool is_number_ = false;
};

} // namespace tenon::untyped
