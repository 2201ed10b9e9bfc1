#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/ops/state/state.hpp>

/// What layers are made of.
///
/// A layer is a value that is called with a tensor and returns a tensor. Its variables are made when it is first
/// called, for their sizes follow from the input's, which the compiler knows; later calls use them again. A copy of a
/// layer is the same layer: it shares the variables.
///
///     auto hidden = tn::nn::dense<300>(tn::nn::relu);
///     auto a = hidden(x);          // makes dense/kernel [784, 300] and dense/bias [300]
///     auto b = hidden(z);          // the same weights on another input
///     hidden(tn::transpose(x));    // does not compile: dense: a size must be a number here: float[784, batch]
///
/// Anything that can be called with a tensor is a layer: a lambda too. Layers of your own keep their variables in
/// parameters; examples/custom_layers.cpp shows how.

namespace tenon::nn {

/// What a layer is called for: dropout, for one, does nothing in inference.
enum class phase { inference, training };
inline constexpr phase inference = phase::inference;
inline constexpr phase training = phase::training;

/// A variable of a layer: made when it is first asked for, the same one ever after; in each replica of replicated
/// training (train/replicated/mirrored.hpp) the replica's own. Copies share it.
class parameter {
public:
    /// What copies share.
    struct state {
        any_tensor variable;
        std::shared_ptr<const state> begins_as; ///< of a clone: what it is one of
    };

    parameter() : made_(std::make_shared<state>()) {}
    parameter(const parameter& o);
    parameter(parameter&&) noexcept = default;
    parameter& operator=(const parameter&) = default;
    parameter& operator=(parameter&&) noexcept = default;

    /// False until the variable is made.
    explicit operator bool() const noexcept { return made_->variable.node() != nullptr; }
    /// An empty handle until the variable is made.
    const any_tensor& variable() const noexcept { return made_->variable; }

    /// The variable, of element type T and sizes S; the first call makes it, with this name and initial value.
    /// Throws invalid_argument_error when it was made with another type or in another graph. While a model is called in mixed precision
    /// (nn/mixed_precision.hpp) the variable of half or bfloat16 is float, and this is its value in T, which is only read.
    template <Element T, Shape S>
    variable_tensor<T, canonical_t<S>> get(const std::string& name, const initializer& how,
                                           const variable_options& o = {}) const {
        static_assert(S::extents.is_static(), "tenon::nn::parameter: the sizes of a variable must be numbers");
        return variable_tensor<T, canonical_t<S>>(make({element_type_of<T>, S::extents}, name, how, o));
    }

private:
    any_tensor make(const tensor_type& type, const std::string& name, const initializer& how,
                    const variable_options& o) const;
    std::shared_ptr<state> made_;
};

/// While it lives, copies of parameters that this thread makes, in whatever they are copied, are told of, or are parameters of their own: how
/// variables of models are found, and models cloned (nn/model/model.hpp).
class copied_parameters {
public:
    enum class copies { listed, cloned };
    explicit copied_parameters(copies how) noexcept : how_(how), before_(now()) { now() = this; }
    ~copied_parameters() { now() = before_; }
    copied_parameters(copied_parameters&&) = delete;

    /// The variables of those that were copied, in order; empty handles where they are not made.
    const std::vector<any_tensor>& listed() const noexcept { return listed_; }

private:
    friend class parameter;
    friend class split_parameter;
    static copied_parameters*& now() noexcept; // this thread's
    const copies how_;
    copied_parameters* const before_;
    std::vector<any_tensor> listed_;
    std::vector<std::pair<std::shared_ptr<parameter::state>, std::shared_ptr<parameter::state>>> clones_;
};

/// While it lives, parameters of half and bfloat16 that this thread asks for are float variables, rounded.
class float_parameters {
public:
    float_parameters() noexcept : before_(wanted()) { wanted() = true; }
    ~float_parameters() { wanted() = before_; }
    float_parameters(float_parameters&&) = delete;

private:
    friend class parameter;
    static bool& wanted() noexcept; // this thread's
    const bool before_;
};

/// While it lives, what a layer makes in its first call is named after the layer.
class first_call {
public:
    template <class Parameter> first_call(const Parameter& of, const std::string& layer) {
        if (!of) scope_.emplace(layer);
    }

private:
    std::optional<name_scope> scope_;
};

/// What a layer's rule says to an input of type X. Where a layer has a member template `judged<X>` that is one of
/// these, a container of layers asks it before it calls the layer, and complains in its place: an error is shorter by a
/// level.
template <class Rule, class Static, class X>
using judgement = detail::verdict_of<Rule, Static, detail::operand_of_t<X>>;

} // namespace tenon::nn

namespace tenon::detail {
// What layers that know phases answer where they are called with something else.
template <class X> ill_shaped no_tensor_or_phase() {
    static_assert(
        is_mistake<X>,
        "tenon::nn: a layer is called with a tensor, and what it is called for is a phase: layer(x, nn::training)");
    return {};
}
} // namespace tenon::detail

namespace tenon::nn {

/// What any layer returns when it is called with x: a layer that tells training from inference is told.
template <class Layer, class X> auto call(const Layer& layer, const X& x, phase p) {
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else {
        const auto result = [&] {
            if constexpr (requires { layer(x, p); }) return layer(x, p);
            else return layer(x);
        }();
        if constexpr (requires { result.materialize(); }) return result.materialize();
        else return result;
    }
}

} // namespace tenon::nn

#if TENON_HEADER_ONLY
#include <tenon/nn/layer.ipp>
#endif
