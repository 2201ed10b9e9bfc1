#pragma once

#include <tenon/core/number.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>

/// Tensors of numbers that follow a rule, whose sizes are those that other tensors have in the step.
///
///     auto state = tn::zeros<float, tn::shape<batch, 64>>(x);     // as many rows as x has: x is float[batch, 784]
///     auto ids   = tn::arange_like<std::int32_t, 0>(x);           // int32[batch]: 0, 1, ..
///     auto noise = tn::random_normal<float, tn::shape<batch, 20>>(x); // of ops/random/random.hpp
///
/// Of the tensors they are given only the sizes matter: what is computed for nothing else is not computed.

namespace tenon {

/// in: any number of tensors, whose values do not matter. One value everywhere, in sizes that are numbers or those of the operands.
struct fill_sizes_op {
    static constexpr const char* name = "fill_sizes";
    static constexpr op_flags flags = op_flags::alike;
    /// Stands for the size of dimension `axis` of operand number `operand`.
    static constexpr std::int64_t copied(int operand, int axis) {
        return -2 - (std::int64_t{operand} * max_rank + axis);
    }
    /// A size that is neither a number nor an operand's.
    static constexpr std::int64_t unknown = -1;
    struct attributes {
        element_type element = element_type::float32;
        index_list sizes; ///< numbers, and copied(operand, axis)
        number value = 0;
    };
    static constexpr char sizes_are_not_the_operands[] =
        "a size that is no number must be a named one that an operand has";
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (a.element == element_type::none || a.element == element_type::string)
            return fault::element_type_not_supported;
        if (!a.value.fits(a.element)) return fault::number_does_not_fit;
        extents sizes;
        for (const std::int64_t size : a.sizes) {
            if (size == unknown) return sizes_are_not_the_operands;
            const std::int64_t from = -2 - size;
            if (size < 0 && from / max_rank >= in.size()) return fault::expects_more_operands;
            if (size < 0 && from % max_rank >= in[static_cast<int>(from / max_rank)].extents.rank())
                return fault::axis_out_of_range;
            sizes.push_back(size >= 0
                                ? extent(size)
                                : in[static_cast<int>(from / max_rank)].extents[static_cast<int>(from % max_rank)]);
        }
        return inferred(a.element, sizes);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(sized, fill_sizes);

/// in: like, whose value does not matter. start, start + step, ..: as many numbers as `like` has along the axis, each rounded once;
/// integers wrap around.
struct arange_like_op {
    static constexpr const char* name = "arange_like";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        element_type element = element_type::int32;
        int axis = 0;
        number start = 0, step = 1;
    };
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (!is_numeric(a.element)) return fault::element_type_must_be_numeric;
        if (!a.start.fits(a.element) || !(is_floating(a.element) || a.step.fits(element_type::int64)))
            return fault::number_does_not_fit;
        const int axis = detail::axis_of(a.axis, in[0].extents.rank());
        if (axis < 0) return fault::axis_out_of_range;
        return inferred(a.element, extents{in[0].extents[axis]});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(sized, arange_like);

namespace detail {

// The attributes of fill_sizes: sizes that are no numbers are the first operand's that has them.
constexpr fill_sizes_op::attributes filled_sizes(element_type element, const extents& wanted, const number& value,
                                                 type_list like) {
    fill_sizes_op::attributes a{element, {}, value};
    for (const extent& size : wanted) {
        std::int64_t found = size.is_number() ? size.size : fill_sizes_op::unknown;
        for (int i = 0; i < like.size() && size.is_named(); ++i)
            for (int d = 0; d < like[i].extents.rank() && found == fill_sizes_op::unknown; ++d)
                if (like[i].extents[d] == size) found = fill_sizes_op::copied(i, d);
        a.sizes.push_back(found);
    }
    return a;
}
template <Element T, class S, class... Operands> struct filled_sizes_of {
    using subject = operand_type<T, canonical_t<S>>;
    static constexpr tensor_type like[] = {Operands::type..., tensor_type{}};
    static constexpr fill_sizes_op::attributes value =
        filled_sizes(element_type_of<T>, canonical_t<S>::extents, 0, type_list(like, sizeof...(Operands)));
};
template <Element T, int Axis> struct arange_along {
    static constexpr arange_like_op::attributes value{element_type_of<T>, Axis, 0, 1};
};

} // namespace detail

/// `value` everywhere, in the sizes S: numbers, and named ones, which are those of the tensors `like` that have them.
/// Of any element type but strings; no gradient flows.
template <Shape S, Element T, OperandOrIllShaped X, OperandOrIllShaped... More>
auto full(const T& value, const X& like, const More&... more) {
    using statics = detail::filled_sizes_of<T, S, detail::operand_of_t<X>, detail::operand_of_t<More>...>;
    fill_sizes_op::attributes a = statics::value;
    a.value = number(value);
    return apply_op<fill_sizes_op, statics>(a, like, more...);
}
/// 0 everywhere, in the sizes S: numbers, and named ones, which are those of the tensors `like` that have them.
template <Element T, Shape S, OperandOrIllShaped X, OperandOrIllShaped... More>
auto zeros(const X& like, const More&... more) {
    return apply_op<fill_sizes_op,
                    detail::filled_sizes_of<T, S, detail::operand_of_t<X>, detail::operand_of_t<More>...>>(
        detail::filled_sizes_of<T, S, detail::operand_of_t<X>, detail::operand_of_t<More>...>::value, like, more...);
}
/// 1 everywhere, in such sizes.
template <Element T, Shape S, OperandOrIllShaped X, OperandOrIllShaped... More>
auto ones(const X& like, const More&... more) {
    return full<S>(static_cast<T>(1), like, more...);
}

/// start, start + step, ..: [n], where n is the size of `like` along Axis; each number is rounded once, integers wrap around.
/// T: any type of numbers, of which start is one. No gradient flows.
template <Element T, int Axis = 0, OperandOrIllShaped X>
auto arange_like(const X& like, const number& start = 0, const number& step = 1, called_from here = caller()) {
    const making made(here);
    return apply_op<arange_like_op, detail::arange_along<T, Axis>>(
        arange_like_op::attributes{element_type_of<T>, Axis, start, step}, like);
}

namespace untyped {
/// `value` everywhere, in sizes that are numbers or named ones of the tensors `like`.
any_tensor full(element_type element, const extents& shape, const number& value, const std::vector<any_tensor>& like,
                called_from here = caller());
any_tensor zeros(element_type element, const extents& shape, const std::vector<any_tensor>& like,
                 called_from here = caller());
any_tensor ones(element_type element, const extents& shape, const std::vector<any_tensor>& like,
                called_from here = caller());
any_tensor arange_like(const any_tensor& like, element_type element, int axis = 0, const number& start = 0,
                       const number& step = 1, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_sized)

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/half.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/ops/control/control.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor full(element_type element, const extents& shape, const number& value,
                             const std::vector<any_tensor>& like, called_from here) {
    const making made(here);
    std::vector<tensor_type> types;
    for (const any_tensor& t : like) types.push_back(t.type());
    return tenon::add<fill_sizes_op>(
        detail::filled_sizes(element, shape, value, type_list(types.data(), static_cast<int>(types.size()))), like);
}
TENON_INLINE any_tensor zeros(element_type element, const extents& shape, const std::vector<any_tensor>& like,
                              called_from here) {
    return full(element, shape, 0, like, here);
}
TENON_INLINE any_tensor ones(element_type element, const extents& shape, const std::vector<any_tensor>& like,
                             called_from here) {
    return full(element, shape, 1, like, here);
}
TENON_INLINE any_tensor arange_like(const any_tensor& like, element_type element, int axis, const number& start,
                                    const number& step, called_from here) {
    return tenon::add<arange_like_op>({element, axis, start, step}, {like}, here);
}
} // namespace untyped

namespace detail {

/// Writes start + i step for i below n.
struct arange_kernel final : kernel {
    explicit arange_kernel(const kernel_setup& s) :
        type(s.outputs[0]), how(decode<arange_like_op::attributes>(s.attrs)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        with_element(type.element, [&]<class T>(const T&) {
            if constexpr (!std::is_same_v<T, std::string>) write(r.output<T>(0), r.pool);
        });
    }
    double cost() const override { return 20 + static_cast<double>(type.extents.elements()); }

    template <class T> void write(T* to, thread_pool* pool) const {
        const auto some = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                if constexpr (std::is_integral_v<T>)
                    to[i] = static_cast<T>(how.start.to<std::uint64_t>() +
                                           static_cast<std::uint64_t>(i) * how.step.to<std::uint64_t>());
                else to[i] = static_cast<T>(how.start.as_double() + static_cast<double>(i) * how.step.as_double());
            }
        };
        const std::int64_t n = type.extents.elements();
        parallel_for(pool, n, 32768, some);
    }

    tensor_type type;
    arange_like_op::attributes how;
};

} // namespace detail

TENON_INLINE kernel_pointer fill_sizes_op::prepare(const kernel_setup& s) {
    return detail::make_fill_kernel(s.outputs[0], decode<attributes>(s.attrs).value);
}
TENON_KERNEL(arange_like, detail::arange_kernel);

} // namespace tenon

#endif
