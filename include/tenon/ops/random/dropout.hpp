#pragma once

#include <cstdint>

#include <tenon/expr/tree.hpp>
#include <tenon/graph/tensor.hpp>

/// Dropout, and the random truth values it is made of. (N. Srivastava et al., "Dropout: a simple way to prevent neural
/// networks from overfitting", 2014; scaled in training, so that nothing is to be done when the model is used.)
///
///     auto h = tn::dropout(relu(matmul(x, w) + b), 0.5);             // each element 0 or twice itself
///     auto training = tn::placeholder<bool>("training");
///     auto h = tn::dropout(a, 0.5, training);                        // a itself when false is fed
///
/// The result is an elementwise expression on a mask: it runs in one pass with what stands around it, forward and
/// backward, and the gradient goes through the same mask. The mask, one byte an element, is the only memory it takes.
/// Seeds are as in ops/random/random.hpp.

namespace tenon {

/// Truth values of the sizes of input 0, each true with probability p; all true when input 1, a scalar bool, is false.
/// Without inputs: of the sizes given.
struct random_bernoulli_op {
    static constexpr const char* name = "random_bernoulli";
    static constexpr op_flags flags = op_flags::stateful;
    struct attributes {
        double probability = 0.5;
        std::int64_t seed = 0;
        extents shape; ///< without operand
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() == 0)
            return a.shape.is_static() ? inferred(element_type::boolean, a.shape) : inferred(fault::size_must_be_known);
        if (in.size() > 1) {
            if (in[1].element != element_type::boolean) return fault::element_type_must_be_bool;
            if (in[1].extents.rank() != 0) return fault::rank_too_high;
        }
        return inferred(element_type::boolean, in[0].extents);
    }
    static constexpr bool needs_value(const attributes&, int input) { return input == 1; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(dropout, random_bernoulli);

namespace detail {

struct dropout_rule {
    static constexpr const char* name = "dropout";
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in.size() > 1) {
            if (in[1].element != element_type::boolean) return fault::element_type_must_be_bool;
            if (in[1].extents.rank() != 0) return fault::rank_too_high;
        }
        return inferred(in[0]);
    }
};
/// Throw invalid_argument_error where it is not a probability; a rate of 1 would leave nothing.
void check_probability(const char* op, double p);
void check_rate(double rate);

template <class S> struct bernoulli_statics {
    using subject = operand_type<bool, S>;
    static constexpr random_bernoulli_op::attributes value{0.5, 0, S::extents};
};

template <class X, class... Training>
auto masked(const X& x, double rate, std::uint64_t seed, const Training&... training) {
    using verdict = verdict_on_operands<dropout_rule, X, Training...>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        check_rate(rate);
        using T = typename X::element_type;
        const auto t = as_tensor(x);
        const auto mask = apply_op<random_bernoulli_op, bernoulli_statics<shape<>>>(
            random_bernoulli_op::attributes{1 - rate, static_cast<std::int64_t>(seed), {}}, t, as_tensor(training)...);
        const auto scale = static_cast<computed_t<T>>(1 / (1 - rate));
        if constexpr (sizeof...(Training) == 0) {
            return elementwise<opcode::select>(mask, elementwise<opcode::multiply>(t, scale), 0);
        } else {
            // A scalar: 1 / (1 - rate), or 1 where nothing is dropped. In the number type that T is computed in, so
            // that a 16-bit T is rounded once.
            const auto flag = as_tensor((training, ...));
            return elementwise<opcode::select>(
                mask, elementwise<opcode::select>(flag, elementwise<opcode::multiply>(t, scale), t), 0);
        }
    }
}

} // namespace detail

/// x with each element, independently, set to 0 with probability `rate` and multiplied by 1 / (1 - rate) otherwise.
/// Throws invalid_argument_error unless 0 <= rate < 1.
template <OperandOrIllShaped X>
auto dropout(const X& x, double rate, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    return detail::masked(x, rate, seed);
}
/// The same where `training`, a bool scalar, is true in the step, else x: one graph trains and predicts.
template <OperandOrIllShaped X, OperandOrIllShaped Training>
auto dropout(const X& x, double rate, const Training& training, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    return detail::masked(x, rate, seed, training);
}

/// A bool tensor of sizes S whose elements are true with probability p. Throws invalid_argument_error unless 0 <= p <= 1.
template <Shape S = shape<>> auto random_bernoulli(double p, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    detail::check_probability("random_bernoulli", p);
    using verdict = detail::verdict_of<random_bernoulli_op, detail::bernoulli_statics<canonical_t<S>>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return tensor<bool, canonical_t<S>>::unchecked(
            tenon::add<random_bernoulli_op>({p, static_cast<std::int64_t>(seed), S::extents}, {}));
}
/// The same with the sizes of x.
template <OperandOrIllShaped X>
auto random_bernoulli_like(const X& x, double p, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    detail::check_probability("random_bernoulli", p);
    return apply_op<random_bernoulli_op, detail::bernoulli_statics<shape<>>>(
        random_bernoulli_op::attributes{p, static_cast<std::int64_t>(seed), {}}, x);
}

namespace untyped {
any_tensor dropout(const any_tensor& x, double rate, std::uint64_t seed = 0, called_from here = caller());
/// `training` is a scalar bool.
any_tensor dropout(const any_tensor& x, double rate, const any_tensor& training, std::uint64_t seed = 0,
                   called_from here = caller());
any_tensor random_bernoulli(const extents& shape, double p, std::uint64_t seed = 0, called_from here = caller());
any_tensor random_bernoulli_like(const any_tensor& x, double p, std::uint64_t seed = 0, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_dropout)

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/random/random_numbers.hpp>
#include <tenon/ops/random/random_source_kernel.hpp>

namespace tenon {

namespace detail {

TENON_INLINE void check_probability(const char* op, double p) {
    if (!(p >= 0 && p <= 1))
        throw invalid_argument_error(std::string(op) + ": " + detail::text_of_number(p) +
                                     " is not a probability; give 0 .. 1");
}
TENON_INLINE void check_rate(double rate) {
    if (!(rate >= 0 && rate < 1))
        throw invalid_argument_error("dropout: rate " + detail::text_of_number(rate) +
                                     " is not in [0, 1); it is the part of the elements that is set to 0");
}

struct random_bernoulli_kernel final : kernel {
    explicit random_bernoulli_kernel(const kernel_setup& s) :
        n(s.outputs[0].extents.elements()),
        p(s.attrs.get<double>("probability")),
        has_flag(s.inputs.size() > 1),
        source(s, s.attrs.get<std::int64_t>("seed")) {
        check_probability("random_bernoulli", p);
    }
    void run(const kernel_run& r) override {
        const random_stream stream = source.next();
        if (!r.out[0]) return;
        bool* to = r.output<bool>(0);
        if (!has_flag || *r.input<bool>(1)) return fill_bernoulli(to, n, stream, p, r.pool);
        for (std::int64_t i = 0; i < n; ++i) to[i] = true;
    }
    double cost() const override { return 30 + 0.5 * static_cast<double>(n); }
    std::int64_t n;
    double p;
    bool has_flag;
    random_source source;
};

} // namespace detail

namespace untyped {
TENON_INLINE any_tensor random_bernoulli(const extents& shape, double p, std::uint64_t seed, called_from here) {
    const making made(here);
    detail::check_probability("random_bernoulli", p);
    return tenon::add<random_bernoulli_op>({p, static_cast<std::int64_t>(seed), shape}, {});
}
TENON_INLINE any_tensor random_bernoulli_like(const any_tensor& x, double p, std::uint64_t seed, called_from here) {
    const making made(here);
    detail::check_probability("random_bernoulli", p);
    return tenon::add<random_bernoulli_op>({p, static_cast<std::int64_t>(seed), extents{}}, {x});
}
TENON_INLINE any_tensor dropout(const any_tensor& x, double rate, std::uint64_t seed, called_from here) {
    const making made(here);
    detail::check_rate(rate);
    const any_tensor mask = random_bernoulli_like(x, 1 - rate, seed);
    return select(mask, multiply(x, 1 / (1 - rate)), scalar(0, x.element()));
}
TENON_INLINE any_tensor dropout(const any_tensor& x, double rate, const any_tensor& training, std::uint64_t seed,
                                called_from here) {
    const making made(here);
    detail::check_rate(rate);
    const any_tensor mask =
        tenon::add<random_bernoulli_op>({1 - rate, static_cast<std::int64_t>(seed), extents{}}, {x, training});
    return select(mask, select(training, multiply(x, 1 / (1 - rate)), x), scalar(0, x.element()));
}
} // namespace untyped

TENON_KERNEL(random_bernoulli, detail::random_bernoulli_kernel);

} // namespace tenon

#endif
