#pragma once

#include <type_traits>
#include <utility>

#include <tenon/nn/layer.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>

/// A model that computes in 16 bits, of variables that are float (P. Micikevicius et al., Mixed precision training, ICLR 2018).
///
///     auto model = tn::nn::mixed_precision<tn::bfloat16>(tn::nn::sequential(tn::nn::dense<300>(tn::nn::relu), tn::nn::dense<10>()));
///     auto logits = model(x);             // float[batch, 784] -> float[batch, 10]; between them all is bfloat16
///     auto train = tn::adam(1e-3).minimize(mean(sparse_softmax_cross_entropy(logits, y)));
///
/// Variables, their gradients, slots and updates are float: each step rounds them once for all that reads them. Checkpoints hold float, and the
/// layers can be called without this, too, with the same variables. In half, gradients want a loss_scale (train/optimize/loss_scale.hpp).

namespace tenon::nn {

/// Called with float, it gives float; what reads integers, an embedding, comes before it. A layer of its own: what it is made of may be called with T
/// alone.
template <Element T, class Model> class mixed_precision_layer {
    static_assert(std::is_same_v<T, half> || std::is_same_v<T, bfloat16>,
                  "tenon::nn::mixed_precision: the element type is half or bfloat16");

public:
    explicit mixed_precision_layer(Model m) : model_(std::move(m)) {}

    template <Operand X> auto operator()(const X& x, phase p = inference, called_from here = caller()) const {
        const making made(here);
        return within(x, [&](const auto& in) { return call(model_, in, p); });
    }
    const Model& inner() const noexcept { return model_; }
    static constexpr bool computes_within = true;
    /// What f gives of x in T, in float; layers that it calls have float variables.
    template <class X, class F> auto within(const X& x, const F& f) const {
        if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
        else if constexpr (!std::is_same_v<typename X::element_type, float>) {
            static_assert(tenon::detail::is_mistake<X>,
                          "tenon::nn::mixed_precision: the model is called with float; what reads "
                          "integers, an embedding, comes before it");
            return ill_shaped{};
        } else {
            const float_parameters masters;
            const auto y = f(detail::as_tensor(cast<T>(x)));
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(y)>, ill_shaped>) return ill_shaped{};
            else return detail::as_tensor(cast<float>(y));
        }
    }

private:
    Model model_;
};

template <Element T, class Model> mixed_precision_layer<T, Model> mixed_precision(Model m) {
    return mixed_precision_layer<T, Model>(std::move(m));
}
/// A mistake: in which 16 bits is not said.
template <int = 0, class Model> ill_shaped mixed_precision(const Model&) {
    static_assert(
        detail::is_mistake<Model>,
        "tenon::nn::mixed_precision: the element type is a template argument: mixed_precision<bfloat16>(model)");
    return {};
}

} // namespace tenon::nn
