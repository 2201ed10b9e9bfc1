#pragma once

#include <cstdint>

#include <tenon/graph/tensor.hpp>

/// Classes drawn at random, as a policy draws actions and a language model the next token.
///
///     auto action = tn::random_categorical(logits);          // float[batch, 10] -> int64[batch]
///     auto token  = tn::random_categorical(logits / 0.8f);   // of a temperature
///
/// A class is drawn with its probability in softmax(logits): it is the largest of logits to which numbers of Gumbel's distribution are added
/// (C. Maddison, D. Tarlow, T. Minka, A* sampling, NeurIPS 2014, 2). Seeds are as in ops/random/random.hpp.

namespace tenon {

namespace detail {
struct categorical_rule {
    static constexpr const char* name = "random_categorical";
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        extents e = in[0].extents;
        if (e.rank() < 1) return fault::rank_too_low;
        e.erase(e.rank() - 1);
        return inferred(element_type::int64, e);
    }
};
} // namespace detail

namespace untyped {
any_tensor random_categorical(const any_tensor& logits, std::uint64_t seed = 0, called_from here = caller());
} // namespace untyped

/// A class for each row of logits: [.., classes] -> int64[..]. One whose logit is -infinity is never drawn. No gradient flows.
template <OperandOrIllShaped X>
auto random_categorical(const X& logits, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::categorical_rule, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<
            detail::categorical_rule, detail::without_attributes, 0, std::int64_t,
            detail::operand_of_t<X>>::unchecked(untyped::random_categorical(detail::as_tensor(logits), seed));
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_categorical)

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/reduce/reduction.hpp>

namespace tenon::untyped {

TENON_INLINE any_tensor random_categorical(const any_tensor& logits, std::uint64_t seed, called_from here) {
    const making made(here);
    detail::check_operands<detail::categorical_rule>({logits});
    const any_tensor x = size_of(logits.element()) < sizeof(float) ? cast(logits, element_type::float32) : logits;
    const any_tensor gumbel = negative(log(negative(log(random_uniform_like(x, 0, 1, seed)))));
    return argmax(add(x, gumbel), {-1});
}

} // namespace tenon::untyped

#endif
