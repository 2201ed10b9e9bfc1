#pragma once

#include <string>
#include <utility>

#include <tenon/nn/activation.hpp>
#include <tenon/nn/attention.hpp>
#include <tenon/nn/dense.hpp>
#include <tenon/nn/dropout.hpp>
#include <tenon/nn/normalization.hpp>

/// The block that transformers are made of.
///
///     auto h = tn::nn::transformer_block<8, 2048>({.causal = true})(x, phase);      // [batch, time, 512] -> the same
///     auto e = tn::nn::transformer_block<8, 2048>(tn::nn::relu)(x);
///     auto s = tn::nn::transformer_block<8, 2048>()(x, lengths, phase);             // int32[batch]: what is behind is not seen

namespace tenon::nn {

struct transformer_block_options {
    bool causal = false; ///< position i sees positions 0 .. i only
    double dropout = 0;  ///< of what attention and network add, in training
    std::uint64_t seed = 0;
    double epsilon = 1e-5; ///< of the normalisations
    std::string name = "transformer_block";
};

/// x + attention(norm(x)), and of that y: y + network(norm(y)), where the network has one hidden layer of Hidden units, with gelu_tanh
/// where no other activation is given. The norm is layer_norm,
/// before each, as in A. Radford et al., Language models are unsupervised multitask learners, 2019; the rest is A. Vaswani et al.'s. Its
/// variables are NAME/attention/.., NAME/hidden/.., NAME/output/.., NAME/attention_norm/.., NAME/network_norm/...
template <int Heads, int Hidden, class Activation = gelu_tanh_activation, int KeyHeads = Heads>
class transformer_block_layer {
    using attending = multi_head_attention_layer<Heads, KeyHeads>;

public:
    template <class X> using judged = typename attending::template judged<X>;

    explicit transformer_block_layer(Activation a = {}, const transformer_block_options& o = {}) :
        activation_(std::move(a)),
        name_(o.name),
        attention_({.causal = o.causal}),
        hidden_({}, "hidden/"),
        output_({}, "output/"),
        attention_norm_({.epsilon = o.epsilon, .name = "attention_norm"}),
        network_norm_({.epsilon = o.epsilon, .name = "network_norm"}),
        dropped_(o.dropout, o.seed) {}

    template <OperandOrIllShaped X>
    auto operator()(const X& x, phase p = inference, called_from here = caller()) const {
        const making made(here);
        return run(x, p, [&](const auto& normed) { return attention_(normed); });
    }
    /// The same where of sequence s the first lengths[s] positions are seen: int32 or int64[batch], a scalar for one sequence; or with a mask
    /// that is added to the scores, as nn::multi_head_attention has it.
    template <OperandOrIllShaped X, OperandOrIllShaped L>
    auto operator()(const X& x, const L& lengths_or_mask, phase p = inference, called_from here = caller()) const {
        const making made(here);
        return run(x, p, [&](const auto& normed) { return attention_(normed, normed, lengths_or_mask); });
    }

private:
    template <class X, class Attend> auto run(const X& x, phase p, const Attend& attend) const {
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            constexpr auto width = static_cast<int>(detail::features_of<X>);
            const first_call names(hidden_.kernel, name_);
            const auto in = detail::as_tensor(x);
            const auto attended = detail::as_tensor(in + dropped_(attend(attention_norm_(in)), p));
            const auto spread = hidden_.template operator()<Hidden>(network_norm_(attended), activation_);
            return detail::as_tensor(attended + dropped_(output_.template operator()<width>(spread), p));
        }
    }
    Activation activation_;
    std::string name_;
    attending attention_;
    projection hidden_, output_;
    layer_norm attention_norm_, network_norm_;
    dropout dropped_;
};

// One function, so that a compiler that refuses a call has little to say.
template <int Heads, int Hidden, int KeyHeads = Heads, class First = transformer_block_options>
auto transformer_block(First first = {}, const transformer_block_options& o = {}) {
    constexpr bool good = Hidden > 0 && are_heads<Heads, KeyHeads>;
    static_assert(
        good,
        "tenon::nn::transformer_block: how many heads, how many hidden units, and how many heads of keys, if fewer, "
        "by whose number that of heads is divided: transformer_block<8, 2048>(); the width is that of x");
    if constexpr (!good) return ill_shaped{};
    else if constexpr (std::is_same_v<First, transformer_block_options>)
        return transformer_block_layer<Heads, Hidden, gelu_tanh_activation, KeyHeads>({}, first);
    else return transformer_block_layer<Heads, Hidden, First, KeyHeads>(std::move(first), o);
}

} // namespace tenon::nn
