#pragma once

#include <utility>

#include <tenon/nn/sequential.hpp>

/// What is added to its own input. K. He et al., Deep residual learning for image recognition, CVPR 2016.
///
///     auto block = tn::nn::residual(tn::nn::layer_norm(), tn::nn::dense<64>(tn::nn::relu), tn::nn::dense<64>());
///     auto h = block(x, tn::nn::training);      // x + dense(dense(layer_norm(x))): the last layer's sizes are x's

namespace tenon::nn {

/// x + layers(x), whose sizes are those of x.
template <class... Layers> class residual {
public:
    explicit residual(Layers... layers) : inner_(std::move(layers)...) {}
    template <OperandOrIllShaped X>
    auto operator()(const X& x, phase p = inference, called_from here = caller()) const {
        const making made(here);
        const auto y = inner_(x, p);
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(y)>, ill_shaped>) return ill_shaped{};
        else {
            using verdict = detail::verdict_on_operands<rule, X, std::remove_cvref_t<decltype(y)>>;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            if constexpr (!verdict::fits) return ill_shaped{};
            else return detail::as_tensor(x + y);
        }
    }
    static constexpr int size() { return sequential<Layers...>::size(); }
    template <int J> const auto& layer() const { return inner_.template layer<J>(); }
    template <class F> void each_layer(const F& f) const { inner_.each_layer(f); }

private:
    // Nothing is broadcast.
    struct rule {
        static constexpr const char* name = "residual";
        static constexpr inferred infer(const no_attributes&, type_list in, int) {
            if (in[0].element != in[1].element) return fault::element_types_differ;
            const merged_extents m = equal_shapes(in[0].extents, in[1].extents);
            return m.what == fault::none ? inferred(in[0].element, m.extents) : inferred(m.what);
        }
    };
    sequential<Layers...> inner_;
};
template <class... Layers> residual(Layers...) -> residual<Layers...>;

} // namespace tenon::nn
