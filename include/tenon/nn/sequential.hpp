#pragma once

#include <utility>

#include <tenon/nn/layer.hpp>

/// Layers one after another.
///
///     auto model = tn::nn::sequential(
///         tn::nn::dense<300>(tn::nn::relu),
///         tn::nn::dropout(0.2),
///         tn::nn::dense<10>());
///     auto logits    = model(x, tn::nn::training);   // x: [batch, 784]; logits: [batch, 10]
///     auto predicted = model(x);                     // the same weights, without dropout
///     auto blocks    = tn::nn::repeated<6>(tn::nn::transformer_block<8, 2048>());   // six, with weights of their own
///
/// A layer that does not fit what comes before it does not compile, and the first line of the error names it.

namespace tenon {

namespace detail {

// What flows through layers. They are folded, not called by recursion: an error in the fiftieth layer is as short as
// one in the first.
template <class X> struct layer_input {
    X x;
    nn::phase p;
};
template <class X> auto as_layer_input(const X& x, nn::phase p) {
    constexpr bool good = std::is_same_v<X, ill_shaped> || requires { as_tensor(x); };
    static_assert(good, "tenon::nn::sequential: a layer gives no tensor; of lstm and gru all_steps(lstm<64>()) or "
                        "last_step(lstm<64>()) says which of its results goes on");
    if constexpr (std::is_same_v<X, ill_shaped> || !good) return layer_input<ill_shaped>{{}, p};
    else return layer_input<std::remove_cvref_t<decltype(as_tensor(x))>>{as_tensor(x), p};
}
template <class Layer, class X> struct layer_verdict { using type = fitting; };
template <class Layer, class X>
    requires requires { typename Layer::template judged<X>; }
struct layer_verdict<Layer, X> {
    using type = typename Layer::template judged<X>;
};
template <class X, class Layer> auto operator>>(const layer_input<X>& in, const Layer& layer) {
    if constexpr (std::is_same_v<X, ill_shaped>) return in;
    else {
        using verdict = typename layer_verdict<Layer, X>::type;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return layer_input<ill_shaped>{{}, in.p};
        else if constexpr (requires { layer(in.x, in.p); }) return as_layer_input(layer(in.x, in.p), in.p);
        else if constexpr (requires { layer(in.x); }) return as_layer_input(layer(in.x), in.p);
        else {
            static_assert(is_mistake<Layer>, "tenon::nn::sequential: a layer cannot be called with what the one before "
                                             "it returns: see layer_input<..> and Layer");
            return layer_input<ill_shaped>{{}, in.p};
        }
    }
}

template <std::size_t I, class Layer> struct numbered_layer { Layer layer; };

template <class Indices, class... Layers> class layer_list;
template <std::size_t... I, class... Layers>
class layer_list<std::index_sequence<I...>, Layers...> : numbered_layer<I, Layers>... {
public:
    explicit layer_list(Layers... layers) : numbered_layer<I, Layers>{std::move(layers)}... {}

    /// The last layer's result of the one before's ... of x.
    template <OperandOrIllShaped X>
    auto operator()(const X& x, nn::phase p = nn::inference, called_from here = caller()) const {
        const making made(here);
        return (as_layer_input(x, p) >> ... >> static_cast<const numbered_layer<I, Layers>&>(*this).layer).x;
    }

    template <auto..., class X = void>
    ill_shaped operator()(any_argument = {}, any_argument = {}, any_argument = {}) const {
        static_assert(
            is_mistake<X>,
            "tenon::nn::sequential: what it is called for is a phase: model(x, nn::training), and with is one tensor");
        return {};
    }

    static constexpr int size() { return static_cast<int>(sizeof...(Layers)); }
    /// f(0, first layer), f(1, second layer), ..
    template <class F> void each_layer(const F& f) const {
        (f(static_cast<int>(I), static_cast<const numbered_layer<I, Layers>&>(*this).layer), ...);
    }
    /// Layer J.
    template <int J> const auto& layer() const { return numbered<static_cast<std::size_t>(J)>(*this); }

private:
    template <std::size_t J, class Layer> static const Layer& numbered(const numbered_layer<J, Layer>& n) {
        return n.layer;
    }
};

struct layers_in_braces {
    template <class A, class B, class... More> layers_in_braces(const A&, const B&, const More&...) {
        static_assert(is_mistake<A>, "tenon::nn::sequential: layers are given one by one: sequential(a, b)");
    }
};

} // namespace detail

namespace nn {

/// Layers, each called with what the one before it gives: size() of them, of which layer<I>() is one. All of it is in layer_list.
template <class... Layers> struct sequential : detail::layer_list<std::index_sequence_for<Layers...>, Layers...> {
    explicit sequential(Layers... layers) :
        detail::layer_list<std::index_sequence_for<Layers...>, Layers...>(std::move(layers)...) {}
};

template <class... Layers> sequential(Layers...) -> sequential<Layers...>;

// A mistake: functions among the layers, or a list of layers.
template <> struct sequential<detail::any_argument> : ill_shaped {
    using any = detail::any_argument;
    sequential(any, any, any = {}, any = {}, any = {}, any = {}, any = {}, any = {}, any = {}, any = {}, any = {},
               any = {}) {}
};
template <> struct sequential<detail::layers_in_braces> : ill_shaped {
    explicit sequential(const detail::layers_in_braces&) {}
};
sequential(detail::any_argument, detail::any_argument, detail::any_argument = {}, detail::any_argument = {},
           detail::any_argument = {}, detail::any_argument = {}, detail::any_argument = {}, detail::any_argument = {},
           detail::any_argument = {}, detail::any_argument = {}, detail::any_argument = {}, detail::any_argument = {})
    ->sequential<detail::any_argument>;
sequential(detail::layers_in_braces)->sequential<detail::layers_in_braces>;

/// N layers like this one, one after another, each with variables of its own: what sequential of N nn::clone(layer) is.
template <int N, class Layer> auto repeated(const Layer& layer) {
    static_assert(N > 0, "tenon::nn::repeated: the number of layers must be positive");
    const auto one = [&](std::size_t) {
        const copied_parameters copying(copied_parameters::copies::cloned);
        return Layer(layer);
    };
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return sequential<decltype(one(I))...>(one(I)...); }
    (std::make_index_sequence<N>());
}

} // namespace nn
} // namespace tenon
