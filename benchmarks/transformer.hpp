#pragma once

#include <type_traits>

#include <tenon/tenon.hpp>

/// A block of a transformer and its training step: what is measured, and the launches of which test/cuda counts.

namespace models {

namespace tn = tenon;

/// h = x + attention(norm(x)), then h + mlp(norm(h)) (R. Xiong et al., On layer normalization in the transformer architecture, ICML 2020);
/// attention is causal, the mlp is four times as wide within, with GELU by tanh.
template <int Heads, int Width> class pre_norm_block {
public:
    template <tn::OperandOrIllShaped X> auto operator()(const X& x) const {
        const auto h = tn::detail::as_tensor(x + attention_(norm(0, x)));
        return tn::detail::as_tensor(h + narrow_(wide_(norm(1, h))));
    }

private:
    template <class X> auto norm(int i, const X& x) const {
        using T = typename X::element_type;
        const tn::nn::first_call names(gain_[i], "norm");
        const auto gain = gain_[i].template get<T, tn::shape<Width>>("gain", tn::ones());
        return tn::layer_norm(x, gain, offset_[i].template get<T, tn::shape<Width>>("offset", tn::zeros()));
    }
    tn::nn::multi_head_attention_layer<Heads> attention_ = tn::nn::multi_head_attention<Heads>({.causal = true});
    tn::nn::dense_layer<4 * Width, std::remove_const_t<decltype(tn::nn::gelu_tanh)>> wide_ =
        tn::nn::dense<4 * Width>(tn::nn::gelu_tanh);
    tn::nn::dense_layer<Width> narrow_ = tn::nn::dense<Width>();
    tn::nn::parameter gain_[2], offset_[2];
};

/// One step of Adam down the squared distance of such a block's results from what is wanted; bfloat16, of float variables.
template <int Batch, int Time, int Width, int Heads> struct transformer {
    using values_shape = tn::shape<Batch, Time, Width>;
    /// Multiply-adds twice, forward and backward: the products, and attention of which half is seen.
    static constexpr double operations = 3.0 * Batch * Time * (2.0 * 12 * Width * Width + 2.0 * Time * Width);

    tn::graph g;
    tn::graph_scope scope{g};
    tn::tensor<float, values_shape> x = tn::placeholder<float, values_shape>("x"),
                                    wanted = tn::placeholder<float, values_shape>("wanted");
    tn::tensor<float, tn::shape<>> loss;
    tn::operation train;
    tn::session session;

    explicit transformer(const char* device, const tn::session_options& o = {}) : session((build(device), g), o) {
        session.run(tn::initialize_variables());
    }

    /// Values in [-1, 1), which repeat.
    static tn::array<float, values_shape> values(std::uint32_t seed) {
        tn::array<float, values_shape> a;
        for (float& v : a) {
            seed = seed * 1664525 + 1013904223;
            v = static_cast<float>(seed >> 8) / 8388608.0F - 1;
        }
        return a;
    }

private:
    void build(const char* device) {
        g.set_seed(1);
        const auto there = tn::on(tn::device_name(std::string(device)));
        const auto y = tn::nn::mixed_precision<tn::bfloat16>(pre_norm_block<Heads, Width>())(x);
        loss = mean(square(y - wanted));
        train = tn::adam(1e-3).minimize(loss);
    }
};

} // namespace models
