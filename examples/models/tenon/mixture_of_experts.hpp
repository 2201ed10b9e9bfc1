// A layer of experts: each row goes to the two that a gate likes most. x: float[batch, width].
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Experts, int Hidden, int Width> class mixture_of_experts {
public:
    template <tn::Operand X> auto operator()(const X& x) const {
        const nn::first_call names(up_, "mixture_of_experts");
        const auto up = up_.get<float, tn::shape<Experts, Width, Hidden>>("up", tn::glorot_uniform());
        const auto down = down_.get<float, tn::shape<Experts, Hidden, Width>>("down", tn::glorot_uniform());
        const auto [best, which] = tn::top_k<2>(gate_(x));
        const auto weights = tn::einsum<"bk,bke->be">(tn::softmax(best), tn::one_hot<Experts>(which));
        const auto hidden = tn::gelu(tn::einsum<"bi,eih->beh">(x, up));
        return tn::einsum<"beh,ehi,be->bi">(hidden, down, weights);
    }

private:
    nn::dense_layer<Experts> gate_;
    nn::parameter up_, down_;
};

} // namespace models
