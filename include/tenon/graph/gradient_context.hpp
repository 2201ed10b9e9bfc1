#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/tensor.hpp>

/// What the gradient of an op is made from.

namespace tenon {

/// What an op's gradient function sees: a node, and the gradients of its outputs. It builds, with untyped ops,
/// the gradients of the inputs. What the node has no input or output for is an invalid_argument_error.
class gradient_context {
public:
    explicit gradient_context(const tenon::node& n, std::vector<any_tensor> output_gradients) :
        node_(n), output_gradients_(std::move(output_gradients)), input_gradients_(n.inputs.size()) {}

    const tenon::node& node() const noexcept { return node_; }
    template <class A> A attributes() const { return decode<A>(node_.attributes); }
    any_tensor input(int i) const { return any_tensor(node_.inputs[at("input", i, inputs())]); }
    any_tensor output(int o = 0) const {
        return any_tensor({const_cast<tenon::node*>(&node_), static_cast<int>(at("output", o, outputs()))});
    }
    int inputs() const noexcept { return static_cast<int>(node_.inputs.size()); }
    int outputs() const noexcept { return static_cast<int>(node_.outputs.size()); }

    /// The gradient that flows into output o; an empty handle where none does.
    const any_tensor& output_gradient(int o = 0) const { return output_gradients_[at("output", o, outputs())]; }

    /// Sets the gradient of input i; inputs that are not set get none. It must have the input's type and sizes.
    void set(int i, any_tensor gradient) { input_gradients_[at("input", i, inputs())] = std::move(gradient); }
    const std::vector<any_tensor>& input_gradients() const noexcept { return input_gradients_; }

private:
    std::size_t at(const char* what, int i, int count) const {
        if (i >= 0 && i < count) return static_cast<std::size_t>(i);
        throw invalid_argument_error(std::string("there is no ") + what + " " + std::to_string(i) + "; " + node_.name +
                                     " has " + std::to_string(count));
    }

    const tenon::node& node_;
    std::vector<any_tensor> output_gradients_;
    std::vector<any_tensor> input_gradients_;
};

} // namespace tenon
