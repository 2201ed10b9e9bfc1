#pragma once

#include <string>
#include <type_traits>

#include <tenon/nn/dense.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/rows/attention.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Layers of attention. A. Vaswani et al., Attention is all you need, NeurIPS 2017.
///
///     auto h = tn::nn::multi_head_attention<8>({.causal = true})(x);      // [batch, time, 512] -> the same
///     auto c = tn::nn::multi_head_attention<8>()(x, memory);              // queries of x, keys and values of memory
///     auto l = tn::nn::multi_head_attention<8>()(x, x, lengths);          // int32[batch]: keys behind are not seen
///     auto m = tn::nn::multi_head_attention<8>()(x, x, mask);             // float[8, time, time]: added to the scores
///     auto g = tn::nn::multi_head_attention<8, 2>()(x);                   // 2 heads of keys and values, each for 4 of queries
///     auto a = tn::nn::attention(q, k, v);                                // without projections

namespace tenon {

namespace nn {

/// Scaled dot-product attention (ops/rows/attention.hpp), also with `causal` as a plain bool.
using tenon::attention;
template <OperandOrIllShaped Q, OperandOrIllShaped K, OperandOrIllShaped V>
auto attention(const Q& queries, const K& keys, const V& values, bool causal, called_from here = caller()) {
    const making made(here);
    return tenon::attention(queries, keys, values, attention_op::attributes{causal});
}

struct attention_options {
    bool causal = false; ///< position i sees positions 0 .. i only
    initializer kernel = glorot_uniform();
    initializer bias = zeros();
    bool use_bias = true;
    /// Its variables are NAME/query/kernel [width, Heads * size], NAME/query/bias, NAME/key/.. and NAME/value/.. of KeyHeads * size,
    /// NAME/output/..
    std::string name = "attention";
};

/// What the compiler checks when an attention layer is called. in: x [batch, time, width] or [time, width], and what keys and
/// values are computed of, where that is another tensor; widths are numbers.
struct multi_head_attention_rule {
    static constexpr const char* name = "multi_head_attention";
    struct attributes {
        int heads = 1;
    };
    static constexpr char heads_do_not_divide[] = "the number of heads does not divide the width";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        for (const tensor_type& t : in) {
            if (!is_floating(t.element)) return fault::element_type_must_be_floating;
            if (t.element != in[0].element) return fault::element_types_differ;
            if (t.extents.rank() < 2) return fault::rank_too_low;
            if (t.extents.rank() > 3) return fault::rank_too_high;
            if (t.extents.rank() != in[0].extents.rank()) return fault::ranks_differ;
            if (!t.extents[t.extents.rank() - 1].is_number()) return fault::size_must_be_known;
        }
        if (in[0].extents[in[0].extents.rank() - 1].size % a.heads != 0) return heads_do_not_divide;
        return in[0];
    }
};

} // namespace nn

namespace detail {

// [batch, time, Heads * Size] -> [batch, Heads, time, Size], with or without the batch.
template <int Heads, int Size, class X> auto split_heads(const X& x) {
    if constexpr (X::shape_type::rank == 2) return transpose<1, 0, 2>(reshape<shape<kept<0>, Heads, Size>>(x));
    else return transpose<0, 2, 1, 3>(reshape<shape<kept<0>, kept<1>, Heads, Size>>(x));
}
// The reverse.
template <int Heads, int Size, class X> auto join_heads(const X& x) {
    if constexpr (X::shape_type::rank == 3) return reshape<shape<kept<0>, Heads * Size>>(transpose<1, 0, 2>(x));
    else return reshape<shape<kept<0>, kept<1>, Heads * Size>>(transpose<0, 2, 1, 3>(x));
}
// Attention of heads that lie side by side: queries [batch, time, Heads * Size], the others [batch, time, KeyHeads * Size].
template <int Heads, int Size, int KeyHeads = Heads, class Q, class K, class V, class... More>
auto attend_by_heads(const Q& queries, const K& keys, const V& values, bool causal, const More&... lengths_or_mask) {
    return join_heads<Heads, Size>(attention(split_heads<Heads, Size>(queries), split_heads<KeyHeads, Size>(keys),
                                             split_heads<KeyHeads, Size>(values), lengths_or_mask...,
                                             attention_op::attributes{causal}));
}

} // namespace detail

namespace nn {

/// Heads attentions side by side, of size width / Heads each, of projected queries, keys and values; what they give is
/// projected again: [batch, time, width] -> [batch, time, width]. [time, width] is one sequence. Keys and values have KeyHeads heads of
/// that size, which divides Heads (J. Ainslie et al., GQA, EMNLP 2023).
template <int Heads, int KeyHeads = Heads> class multi_head_attention_layer {
    template <class... X>
    using verdict_on = detail::verdict_of<multi_head_attention_rule,
                                          detail::constant_attributes<multi_head_attention_rule::attributes{Heads}>,
                                          detail::operand_of_t<X>...>;

public:
    template <class X> using judged = verdict_on<X>;

    explicit multi_head_attention_layer(attention_options o = {}) :
        causal_(o.causal),
        name_(o.name),
        projections_{of(o, "query/"), of(o, "key/"), of(o, "value/"), of(o, "output/")} {}

    /// Of x to itself.
    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else return attend(detail::as_tensor(x), detail::as_tensor(x));
    }
    /// Queries of x, keys and values of `source`: [batch, n, width] and [batch, m, any] -> [batch, n, width].
    template <OperandOrIllShaped X, OperandOrIllShaped Y>
    auto operator()(const X& x, const Y& source, called_from here = caller()) const {
        const making made(here);
        using verdict = verdict_on<X, Y>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else return attend(detail::as_tensor(x), detail::as_tensor(source));
    }
    /// The same where of sequence s the first lengths[s] positions of `source` are seen: int32 or int64[batch], a scalar for one
    /// sequence. Or with a mask of x's element type that is added to the scores [batch, Heads, n, m]: [n, m], [Heads, n, m],
    /// [batch, 1, 1, m] (ops/rows/attention.hpp).
    template <OperandOrIllShaped X, OperandOrIllShaped Y, OperandOrIllShaped L>
    auto operator()(const X& x, const Y& source, const L& lengths_or_mask, called_from here = caller()) const {
        const making made(here);
        using verdict = verdict_on<X, Y>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else return attend(detail::as_tensor(x), detail::as_tensor(source), lengths_or_mask);
    }
    /// With both.
    template <OperandOrIllShaped X, OperandOrIllShaped Y, OperandOrIllShaped L, OperandOrIllShaped M>
    auto operator()(const X& x, const Y& source, const L& lengths, const M& mask, called_from here = caller()) const {
        const making made(here);
        using verdict = verdict_on<X, Y>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else return attend(detail::as_tensor(x), detail::as_tensor(source), lengths, mask);
    }

private:
    static projection of(const attention_options& o, const char* prefix) {
        return projection({.kernel = o.kernel, .bias = o.bias, .use_bias = o.use_bias}, prefix);
    }

    template <class X, class Y, class... More> auto attend(const X& x, const Y& source, const More&... more) const {
        constexpr auto width = static_cast<int>(X::shape_type::extents[X::shape_type::rank - 1].size);
        constexpr int size = width / Heads;
        const first_call names(projections_[0].kernel, name_);
        const auto q = projections_[0].template operator()<width>(x);
        const auto k = projections_[1].template operator()<KeyHeads * size>(source);
        const auto v = projections_[2].template operator()<KeyHeads * size>(source);
        const auto joined = detail::attend_by_heads<Heads, size, KeyHeads>(q, k, v, causal_, more...);
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(joined)>, ill_shaped>) return ill_shaped{};
        else return projections_[3].template operator()<width>(joined);
    }

    bool causal_;
    std::string name_;
    projection projections_[4];
};

/// As transformer_block's: the numbers of heads, each positive.
template <int Heads, int KeyHeads>
inline constexpr bool are_heads = Heads > 0 && KeyHeads > 0 && Heads % (KeyHeads > 0 ? KeyHeads : 1) == 0;

template <int Heads, int KeyHeads = Heads> auto multi_head_attention(const attention_options& o = {}) {
    static_assert(are_heads<Heads, KeyHeads>,
                  "tenon::nn::multi_head_attention: how many heads queries have, and keys, if fewer, by "
                  "whose number theirs is divided: multi_head_attention<8, 2>(); the width is that of x");
    if constexpr (!are_heads<Heads, KeyHeads>) return ill_shaped{};
    else return multi_head_attention_layer<Heads, KeyHeads>(o);
}

} // namespace nn

} // namespace tenon
