#pragma once

#include <tuple>

#include <tenon/nn/layer.hpp>

/// Layers one after another.
///
///     auto model = tn::nn::sequential(
///         tn::nn::dense<300>(tn::nn::relu),
///         tn::nn::dropout(0.2),
///         tn::nn::dense<10>());
///     auto logits    = model(x, tn::nn::training);   // x: [batch, 784]; logits: [batch, 10]
///     auto predicted = model(x);                     // the same weights, without dropout
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
template <class X, class Layer> auto operator>>(const layer_input<X>& in, const Layer& layer) {
    return layer_input<decltype(nn::call(layer, in.x, in.p))>{nn::call(layer, in.x, in.p), in.p};
}
} // namespace detail

namespace nn {

template <class... Layers> class sequential {
public:
    explicit sequential(Layers... layers) : layers_(std::move(layers)...) {}

    /// The last layer's result of the one before's ... of x.
    template <OperandOrIllShaped X> auto operator()(const X& x, phase p = inference) const {
        if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
        else return through(detail::as_tensor(x), p, std::index_sequence_for<Layers...>{});
    }

    /// Layer I.
    template <int I> const auto& layer() const { return std::get<static_cast<std::size_t>(I)>(layers_); }
    static constexpr int size() { return static_cast<int>(sizeof...(Layers)); }

private:
    template <class X, std::size_t... I> auto through(const X& x, phase p, std::index_sequence<I...>) const {
        return (detail::layer_input<X>{x, p} >> ... >> std::get<I>(layers_)).x;
    }
    std::tuple<Layers...> layers_;
};

template <class... Layers> sequential(Layers...) -> sequential<Layers...>;

} // namespace nn
} // namespace tenon
