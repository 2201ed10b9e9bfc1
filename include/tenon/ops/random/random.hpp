#pragma once

#include <cstdint>

#include <tenon/core/text/number_text.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/simd/philox.hpp>

/// Random tensors. Every run of a node gives new numbers.
///
///     auto w = tn::random_normal<float, tn::shape<784, 300>>(0, 0.1);     // float[784, 300]
///     auto noise = tn::random_uniform_like(x, -1, 1);                     // of x's element type and sizes
///     auto z = tn::random_normal<float, tn::shape<batch, 20>>(x);         // for x of [batch, 784]: of as many rows
///     auto die = tn::random_integers<std::int32_t, tn::shape<2>>(1, 7);   // 1 .. 6
///     auto rows = tn::random_shuffle(x);                                  // x's rows in random order
///
/// Seeds (SEMANTICS 21): the graph's (graph::set_seed) and the op's, its last argument; 0 is "not set". Equal seeds
/// give equal numbers on every device, with any number of threads, from every compiler. With only the op's seed, the
/// graph's is default_graph_seed. With only the graph's, the op's is made from the node's name. With neither, the key
/// is drawn from the system when the node is prepared. A node counts its runs in its session: run r of a session gives the same
/// numbers in every session, whatever others its tasks have had. One that restores a checkpoint counts on from there
/// (session::set_random_runs). ops/random/random_numbers.hpp says how the numbers are made. No gradient flows through.

namespace tenon {

namespace detail {

// The type of a random tensor: sizes of an operand, or sizes that are given and are numbers.
constexpr inferred infer_random(element_type element, const extents& shape, type_list in) {
    if (in.size() > 0) return inferred(element == element_type::none ? in[0].element : element, in[0].extents);
    if (!shape.is_static()) return fault::size_must_be_known;
    return inferred(element, shape);
}

constexpr inferred infer_random_floating(element_type element, const extents& shape, type_list in) {
    const inferred r = infer_random(element, shape, in);
    return r && !is_floating(r.type.element) ? inferred(fault::element_type_must_be_floating) : r;
}

} // namespace detail

/// Even in [low, high).
struct random_uniform_op {
    static constexpr const char* name = "random_uniform";
    static constexpr op_flags flags = op_flags::stateful;
    struct attributes {
        element_type element = element_type::none; ///< none: of the operand
        extents shape;                             ///< without operand
        double low = 0, high = 1;
        std::int64_t seed = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return detail::infer_random_floating(a.element, a.shape, in);
    }
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(random, random_uniform);

/// Normal with the given mean and standard deviation; optionally only values within two deviations of the mean.
struct random_normal_op {
    static constexpr const char* name = "random_normal";
    static constexpr op_flags flags = op_flags::stateful;
    struct attributes {
        element_type element = element_type::none;
        extents shape;
        double mean = 0, deviation = 1;
        bool truncated = false;
        std::int64_t seed = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return detail::infer_random_floating(a.element, a.shape, in);
    }
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(random, random_normal);

/// A stretch of what another random op makes: the elements from `first` on, in their order, of what a random_uniform (with low
/// a, high b) or random_normal (with mean a, deviation b) called `of` makes when it runs for the same time; that one may be
/// in no graph. So do the parts of a variable begin as the whole would, with no one making all of it.
struct random_part_op {
    static constexpr const char* name = "random_part";
    static constexpr op_flags flags = op_flags::stateful;
    enum class distribution { uniform, normal, truncated_normal, count_ };
    struct attributes {
        element_type element = element_type::none;
        extents shape = {};
        distribution kind = distribution::uniform;
        double a = 0, b = 1;
        std::int64_t seed = 0;
        std::int64_t first = 0;
        std::string of;
    };
    static int outputs(const attributes& a, int);
    static inferred infer(const attributes& a, type_list, int) {
        const inferred r = detail::infer_random(a.element, a.shape, type_list(nullptr, 0));
        return r && !is_floating(r.type.element) ? inferred(fault::element_type_must_be_floating) : r;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(random, random_part);

/// Even among the integers low .. high-1.
struct random_integers_op {
    static constexpr const char* name = "random_integers";
    static constexpr op_flags flags = op_flags::stateful;
    struct attributes {
        element_type element = element_type::none;
        extents shape;
        std::int64_t low = 0, high = 1;
        std::int64_t seed = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        const inferred r = detail::infer_random(a.element, a.shape, in);
        return r && !is_integer(r.type.element) ? inferred(fault::element_type_must_be_integer) : r;
    }
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(random, random_integers);

/// The numbers 0 .. n-1 in random order; n is the one size given, or the first of the operand.
struct random_permutation_op {
    static constexpr const char* name = "random_permutation";
    static constexpr op_flags flags = op_flags::stateful;
    struct attributes {
        element_type element = element_type::int64; ///< int32 or int64
        extents shape;
        std::int64_t seed = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (a.element != element_type::int32 && a.element != element_type::int64)
            return fault::element_type_not_supported;
        const extents& from = in.size() > 0 ? in[0].extents : a.shape;
        if (from.rank() < 1) return fault::rank_too_low;
        if (in.size() == 0 && from.rank() > 1) return fault::rank_too_high;
        if (in.size() == 0 && !from.is_static()) return fault::size_must_be_known;
        return inferred(a.element, extents{from[0]});
    }
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(random, random_permutation);

/// The rows (elements along dimension 0) of its operand in random order.
struct random_shuffle_op {
    static constexpr const char* name = "random_shuffle";
    static constexpr op_flags flags = op_flags::stateful;
    struct attributes {
        std::int64_t seed = 0;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        return in[0].extents.rank() < 1 ? inferred(fault::rank_too_low) : inferred(in[0]);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(random, random_shuffle);

namespace detail {

template <class Op, Element T, class S> struct random_statics {
    using subject = operand_type<T, canonical_t<S>>;
    static constexpr typename Op::attributes value = [] {
        typename Op::attributes a;
        a.element = element_type_of<T>;
        a.shape = canonical_t<S>::extents;
        return a;
    }();
};

/// A random tensor of given sizes, which must be numbers.
template <class Op, Element T, class S> auto add_random(typename Op::attributes a) {
    using verdict = verdict_of<Op, random_statics<Op, T, S>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        a.element = element_type_of<T>;
        a.shape = S::extents;
        return tensor<T, canonical_t<S>>::unchecked(tenon::add<Op>(a, {}));
    }
}

template <class T, class X> struct random_element { using type = T; };
template <class X>
    requires requires { typename X::element_type; }
struct random_element<void, X> {
    using type = typename X::element_type;
};
template <> struct random_element<void, ill_shaped> { using type = float; };

/// A random tensor of sizes of which those that have names are x's.
template <class Op, Element T, class S, class X> auto add_random(typename Op::attributes a, const X& x) {
    const auto sizes = zeros<T, S>(x); // which is not computed
    a.element = element_type_of<T>;
    return apply_op<Op, random_statics<Op, T, shape<>>>(a, sizes);
}

/// A random tensor of x's sizes; T void: and of its element type.
template <class Op, class T, class X> auto add_random_like(typename Op::attributes a, const X& x) {
    using element = typename random_element<T, X>::type;
    a.element = element_type_of<element>;
    return apply_op<Op, random_statics<Op, element, shape<>>>(a, x);
}

/// Throw invalid_argument_error where no number is asked for.
void check_interval(const char* op, double low, double high);
void check_deviation(const char* op, double mean, double deviation);
void check_integers(const char* op, element_type element, std::int64_t low, std::int64_t high);

} // namespace detail

/// A tensor of element type T and sizes S (numbers), even in [low, high).
/// Throws invalid_argument_error unless low < high, both finite.
template <Element T = float, Shape S = shape<>>
auto random_uniform(double low = 0, double high = 1, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    detail::check_interval("random_uniform", low, high);
    return detail::add_random<random_uniform_op, T, S>(
        {element_type::none, extents{}, low, high, static_cast<std::int64_t>(seed)});
}
/// The same with the sizes of x, and its element type where T does not name another.
template <class T = void, OperandOrIllShaped X>
auto random_uniform_like(const X& x, double low = 0, double high = 1, std::uint64_t seed = 0,
                         called_from here = caller()) {
    const making made(here);
    detail::check_interval("random_uniform", low, high);
    return detail::add_random_like<random_uniform_op, T>(
        {element_type::none, extents{}, low, high, static_cast<std::int64_t>(seed)}, x);
}
/// The same of sizes S: numbers, and named ones, which are those of x that have their names.
template <Element T, Shape S, OperandOrIllShaped X>
auto random_uniform(const X& x, double low = 0, double high = 1, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    detail::check_interval("random_uniform", low, high);
    return detail::add_random<random_uniform_op, T, S>(
        {element_type::none, extents{}, low, high, static_cast<std::int64_t>(seed)}, x);
}

/// Normal numbers. Throws invalid_argument_error for a negative deviation.
template <Element T = float, Shape S = shape<>>
auto random_normal(double mean = 0, double deviation = 1, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    detail::check_deviation("random_normal", mean, deviation);
    return detail::add_random<random_normal_op, T, S>(
        {element_type::none, extents{}, mean, deviation, false, static_cast<std::int64_t>(seed)});
}
/// The same with the sizes of x, and its element type where T does not name another.
template <class T = void, OperandOrIllShaped X>
auto random_normal_like(const X& x, double mean = 0, double deviation = 1, std::uint64_t seed = 0,
                        called_from here = caller()) {
    const making made(here);
    detail::check_deviation("random_normal", mean, deviation);
    return detail::add_random_like<random_normal_op, T>(
        {element_type::none, extents{}, mean, deviation, false, static_cast<std::int64_t>(seed)}, x);
}
template <Element T, Shape S, OperandOrIllShaped X>
auto random_normal(const X& x, double mean = 0, double deviation = 1, std::uint64_t seed = 0,
                   called_from here = caller()) {
    const making made(here);
    detail::check_deviation("random_normal", mean, deviation);
    return detail::add_random<random_normal_op, T, S>(
        {element_type::none, extents{}, mean, deviation, false, static_cast<std::int64_t>(seed)}, x);
}

/// Normal numbers under the condition that they are within two deviations of the mean; `deviation` is that of the
/// distribution before the condition (the result's is 0.88 of it).
template <Element T = float, Shape S = shape<>>
auto truncated_normal(double mean = 0, double deviation = 1, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    detail::check_deviation("truncated_normal", mean, deviation);
    return detail::add_random<random_normal_op, T, S>(
        {element_type::none, extents{}, mean, deviation, true, static_cast<std::int64_t>(seed)});
}
/// The same with the sizes of x, and its element type where T does not name another.
template <class T = void, OperandOrIllShaped X>
auto truncated_normal_like(const X& x, double mean = 0, double deviation = 1, std::uint64_t seed = 0,
                           called_from here = caller()) {
    const making made(here);
    detail::check_deviation("truncated_normal", mean, deviation);
    return detail::add_random_like<random_normal_op, T>(
        {element_type::none, extents{}, mean, deviation, true, static_cast<std::int64_t>(seed)}, x);
}
template <Element T, Shape S, OperandOrIllShaped X>
auto truncated_normal(const X& x, double mean = 0, double deviation = 1, std::uint64_t seed = 0,
                      called_from here = caller()) {
    const making made(here);
    detail::check_deviation("truncated_normal", mean, deviation);
    return detail::add_random<random_normal_op, T, S>(
        {element_type::none, extents{}, mean, deviation, true, static_cast<std::int64_t>(seed)}, x);
}

/// Integers low .. high-1, all as likely to within 2^-64. Throws invalid_argument_error unless low < high and T
/// has them all.
template <Element T = std::int32_t, Shape S = shape<>>
auto random_integers(std::int64_t low, std::int64_t high, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    detail::check_integers("random_integers", element_type_of<T>, low, high);
    return detail::add_random<random_integers_op, T, S>(
        {element_type::none, extents{}, low, high, static_cast<std::int64_t>(seed)});
}
/// The same with the sizes of x.
template <class T = std::int32_t, OperandOrIllShaped X>
auto random_integers_like(const X& x, std::int64_t low, std::int64_t high, std::uint64_t seed = 0,
                          called_from here = caller()) {
    const making made(here);
    detail::check_integers("random_integers", element_type_of<typename detail::random_element<T, X>::type>, low, high);
    return detail::add_random_like<random_integers_op, T>(
        {element_type::none, extents{}, low, high, static_cast<std::int64_t>(seed)}, x);
}
template <Element T, Shape S, OperandOrIllShaped X>
auto random_integers(const X& x, std::int64_t low, std::int64_t high, std::uint64_t seed = 0,
                     called_from here = caller()) {
    const making made(here);
    detail::check_integers("random_integers", element_type_of<T>, low, high);
    return detail::add_random<random_integers_op, T, S>(
        {element_type::none, extents{}, low, high, static_cast<std::int64_t>(seed)}, x);
}

/// 0 .. n-1 in random order, n the one size of S; T is int32 or int64.
template <Element T, Shape S> auto random_permutation(std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    return detail::add_random<random_permutation_op, T, S>(
        {element_type_of<T>, extents{}, static_cast<std::int64_t>(seed)});
}
/// The same for n = x's first size.
template <Element T = std::int64_t, OperandOrIllShaped X>
auto random_permutation_like(const X& x, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    return detail::add_random_like<random_permutation_op, T>(
        {element_type_of<T>, extents{}, static_cast<std::int64_t>(seed)}, x);
}

/// x with its rows (dimension 0) in random order.
template <OperandOrIllShaped X> auto random_shuffle(const X& x, std::uint64_t seed = 0, called_from here = caller()) {
    const making made(here);
    return apply_op<random_shuffle_op, detail::constant_attributes<random_shuffle_op::attributes{}>>(
        random_shuffle_op::attributes{static_cast<std::int64_t>(seed)}, x);
}

namespace untyped {
any_tensor random_uniform(element_type element, const extents& shape, double low = 0, double high = 1,
                          std::uint64_t seed = 0, called_from here = caller());
any_tensor random_uniform_like(const any_tensor& x, double low = 0, double high = 1, std::uint64_t seed = 0,
                               called_from here = caller());
any_tensor random_normal(element_type element, const extents& shape, double mean = 0, double deviation = 1,
                         std::uint64_t seed = 0, called_from here = caller());
any_tensor random_normal_like(const any_tensor& x, double mean = 0, double deviation = 1, std::uint64_t seed = 0,
                              called_from here = caller());
any_tensor truncated_normal(element_type element, const extents& shape, double mean = 0, double deviation = 1,
                            std::uint64_t seed = 0, called_from here = caller());
any_tensor truncated_normal_like(const any_tensor& x, double mean = 0, double deviation = 1, std::uint64_t seed = 0,
                                 called_from here = caller());
any_tensor random_integers(element_type element, const extents& shape, std::int64_t low, std::int64_t high,
                           std::uint64_t seed = 0, called_from here = caller());
any_tensor random_integers_like(const any_tensor& x, std::int64_t low, std::int64_t high, std::uint64_t seed = 0,
                                element_type element = element_type::int32, called_from here = caller());
any_tensor random_permutation(element_type element, std::int64_t n, std::uint64_t seed = 0,
                              called_from here = caller());
any_tensor random_permutation_like(const any_tensor& x, std::uint64_t seed = 0,
                                   element_type element = element_type::int64, called_from here = caller());
any_tensor random_shuffle(const any_tensor& x, std::uint64_t seed = 0, called_from here = caller());
// Of sizes of which those that have names are x's.
any_tensor random_uniform(element_type element, const extents& shape, const any_tensor& x, double low = 0,
                          double high = 1, std::uint64_t seed = 0, called_from here = caller());
any_tensor random_normal(element_type element, const extents& shape, const any_tensor& x, double mean = 0,
                         double deviation = 1, std::uint64_t seed = 0, called_from here = caller());
any_tensor truncated_normal(element_type element, const extents& shape, const any_tensor& x, double mean = 0,
                            double deviation = 1, std::uint64_t seed = 0, called_from here = caller());
any_tensor random_integers(element_type element, const extents& shape, const any_tensor& x, std::int64_t low,
                           std::int64_t high, std::uint64_t seed = 0, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_random)

#include <tenon/ops/random/random.inl>
#include <tenon/ops/random/untyped_random.inl>

namespace tenon {

TENON_KERNEL(random_uniform, detail::random_uniform_kernel);
TENON_KERNEL(random_normal, detail::random_normal_kernel);
TENON_INLINE int random_part_op::outputs(const attributes& a, int) {
    if (a.kind < distribution::uniform || a.kind >= distribution::count_)
        detail::number_out_of_range("kind", static_cast<std::int64_t>(a.kind));
    if (a.first < 0) detail::number_out_of_range("first", a.first);
    return 1;
}
TENON_KERNEL(random_part, detail::random_part_kernel);
TENON_KERNEL(random_integers, detail::random_integers_kernel);
TENON_KERNEL(random_permutation, detail::random_permutation_kernel);
TENON_KERNEL(random_shuffle, detail::random_shuffle_kernel);

} // namespace tenon

#endif
