#pragma once

#include <tenon/core/error.hpp>
#include <tenon/nn/activation.hpp>
#include <tenon/nn/layer.hpp>
#include <tenon/ops/linear/matmul_float8.hpp>

/// The fully connected layer.
///
///     auto h = tn::nn::dense<300>(tn::nn::relu)(x);                       // [batch, 784] -> [batch, 300]
///     auto y = tn::nn::dense<10>({.kernel = tn::he_normal(), .use_bias = false})(h);

namespace tenon::nn {

struct dense_options {
    initializer kernel = glorot_uniform();
    initializer bias = zeros();
    bool use_bias = true;
    bool float8 = false;        ///< the product is matmul_float8: of float, half or bfloat16
    std::string name = "dense"; ///< its variables are NAME/kernel and NAME/bias; a used name gets a number
};

/// What the compiler checks when a dense layer is called. in: x, whose last size is a number.
struct dense_rule {
    static constexpr const char* name = "dense";
    struct attributes {
        int units = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        extents e = in[0].extents;
        if (e.rank() < 2) return fault::rank_too_low;
        if (!e[e.rank() - 1].is_number()) return fault::size_must_be_known;
        e[e.rank() - 1] = a.units;
        return inferred(in[0].element, e);
    }
};

/// activation(x kernel + bias), for layers whose number of units may follow from their input. Of the options' name it is no matter.
class projection {
public:
    /// Before the names of its variables stands `prefix`.
    explicit projection(dense_options o = {}, std::string prefix = {}) :
        options_(std::move(o)), prefix_(std::move(prefix)) {}

    template <int Units, class X, class Activation = linear_activation>
    auto operator()(const X& x, const Activation& activation = {}, called_from here = caller()) const {
        const making made(here);
        using T = typename X::element_type;
        constexpr auto inputs = static_cast<int>(X::shape_type::extents[X::shape_type::rank - 1].size);
        const auto w = kernel.template get<T, shape<inputs, Units>>(prefix_ + "kernel", options_.kernel);
        const auto product = [&] {
            if constexpr (!std::is_same_v<T, double>)
                if (options_.float8) return matmul_float8(x, w);
            return matmul(x, w);
        }();
        if (!options_.use_bias) return detail::as_tensor(activation(product));
        const auto b = bias.template get<T, shape<Units>>(prefix_ + "bias", options_.bias);
        return detail::as_tensor(activation(product + b));
    }
    const dense_options& options() const noexcept { return options_; }

    parameter kernel, bias;

private:
    dense_options options_;
    std::string prefix_;
};

/// activation(x kernel + bias) along the last dimension: [..., n] -> [..., Units]. kernel: [n, Units], bias: [Units].
template <int Units, class Activation = linear_activation> class dense_layer {
public:
    template <class X>
    using judged = judgement<dense_rule, detail::constant_attributes<dense_rule::attributes{Units}>, X>;

    explicit dense_layer(Activation a = {}, dense_options o = {}) : activation_(std::move(a)), map_(std::move(o)) {}

    template <class X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            if constexpr (std::is_same_v<typename X::element_type, double>)
                if (map_.options().float8) // before it has variables
                    throw invalid_argument_error("layer " + map_.options().name +
                                                 ": products of 8 bits are of float, half or bfloat16, not of double");
            const first_call names(map_.kernel, map_.options().name);
            return map_.template operator()<Units>(x, activation_);
        }
    }

    /// The variables; empty handles before the first call.
    const any_tensor& kernel() const noexcept { return map_.kernel.variable(); }
    const any_tensor& bias() const noexcept { return map_.bias.variable(); }

private:
    Activation activation_;
    projection map_;
};

/// dense<300>(relu), dense<10>({.use_bias = false}), dense<10>(relu, {.name = "last"}).
// One function, so that a compiler that refuses a call has little to say.
template <auto Units = 0, auto... More, class First = dense_options>
auto dense(First first = {}, const dense_options& o = {}) {
    constexpr bool is_one_number = std::is_integral_v<decltype(Units)> && sizeof...(More) == 0;
    static_assert(
        is_one_number,
        "tenon::nn::dense: one template argument, the number of units: dense<300>(); how many inputs there are x "
        "says, with which the layer is called");
    if constexpr (!is_one_number) return ill_shaped{};
    else if constexpr (Units <= 0) {
        static_assert(detail::is_mistake<First>,
                      "tenon::nn::dense: the number of units is a template argument: write dense<300>(); it is "
                      "positive");
        return ill_shaped{};
    } else if constexpr (!detail::is_activation<First> && !std::is_same_v<First, dense_options>) {
        static_assert(detail::is_mistake<First>,
                      "tenon::nn::dense: first the activation, a function of tensors such as nn::relu, then options: "
                      "dense<300>(nn::relu, {.use_bias = false}); the layer is called with a tensor: dense<300>()(x)");
        return ill_shaped{};
    } else if constexpr (std::is_same_v<First, dense_options>)
        return dense_layer<static_cast<int>(Units)>({}, std::move(first));
    else return dense_layer<static_cast<int>(Units), First>(std::move(first), o);
}

} // namespace tenon::nn
