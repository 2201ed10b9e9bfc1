#pragma once

#include <utility>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>

/// Ops that give the same elements other sizes. They copy nothing where the plan can let both tensors lie in
/// one place.
///
///     auto flat = tn::reshape<tn::shape<batch, tn::deduce>>(images);   // [batch, 28, 28] -> [batch, 784]
///     auto column = tn::expand_dims<-1>(b);                            // [300] -> [300, 1]
///     auto back = tn::squeeze<-1>(column);                             // [300, 1] -> [300]

namespace tenon {

/// In a reshape's shape: the size that is left over.
struct deduced_size {};
inline constexpr deduced_size deduce{};

/// In a reshape's shape: the size of the operand's dimension Axis.
template <int Axis> struct kept_size {};
template <int Axis> inline constexpr kept_size<Axis> kept{};

/// in: x. The same elements, in row-major order, in other sizes.
struct reshape_op {
    static constexpr const char* name = "reshape";
    static constexpr op_flags flags = op_flags::view;
    static constexpr std::int64_t deduced = -1;
    /// Stands for the size of the operand's dimension `axis`.
    static constexpr std::int64_t copied(int axis) { return -2 - axis; }

    struct attributes {
        index_list sizes;        ///< a number, `deduced`, or copied(axis)
        tenon::extents declared; ///< what the caller calls the sizes: names of those that are deduced
    };
    static constexpr inferred infer(const attributes& a, type_list in, int output);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reshape, reshape);

/// in: x, like. x's elements in the sizes of `like`, whose value does not matter.
struct reshape_like_op {
    static constexpr const char* name = "reshape_like";
    static constexpr op_flags flags = op_flags::view;
    using attributes = no_attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (in[0].extents.is_static() && in[1].extents.is_static() &&
            in[0].extents.elements() != in[1].extents.elements())
            return fault::element_counts_differ;
        return inferred(in[0].element, in[1].extents);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reshape, reshape_like);

/// in: x. Drops dimensions of size 1.
struct squeeze_op {
    static constexpr const char* name = "squeeze";
    static constexpr op_flags flags = op_flags::view;
    struct attributes {
        index_list axes;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        const extents& x = in[0].extents;
        const detail::axis_set axes = detail::axes_of(a.axes, x.rank());
        if (axes.what != fault::none) return axes.what;
        for (int i = 0; i < x.rank(); ++i)
            if (axes.has(i) && !x[i].is_dynamic() && !(x[i] == extent(1))) return fault::squeezed_size_is_not_1;
        return inferred(in[0].element, detail::reduced_extents(x, axes, false));
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reshape, squeeze);

/// in: x. Inserts dimensions of size 1, at these axes of the result.
struct expand_dims_op {
    static constexpr const char* name = "expand_dims";
    static constexpr op_flags flags = op_flags::view;
    using attributes = squeeze_op::attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        const extents& x = in[0].extents;
        const int rank = x.rank() + a.axes.count;
        if (rank > max_rank) return fault::too_many_dimensions;
        const detail::axis_set axes = detail::axes_of(a.axes, rank);
        if (axes.what != fault::none) return axes.what;
        extents result;
        for (int i = 0, from = 0; i < rank; ++i) result.push_back(axes.has(i) ? extent(1) : x[from++]);
        return inferred(in[0].element, result);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(reshape, expand_dims);

namespace detail {

/// How a reshape's sizes are found. What both have in common cancels: sizes that are copied, names that occur
/// on both sides. The rest must agree as numbers, now or when the step's sizes are known.
struct reshape_count {
    checked_size from = 1, to = 1; // products of the numbers that do not cancel
    bool open = false;             // sizes that are not numbers are left on x's side
    int open_axis = -1;            // the only one, where there is only one
    bool zero = false;             // one of those is 0

    constexpr reshape_count(const reshape_op::attributes& a, const extents& x) {
        bool used[max_rank]{};
        for (const std::int64_t s : a.sizes) {
            const int axis = static_cast<int>(-2 - s);
            if (s >= 0) to *= s;
            else if (s != reshape_op::deduced && axis < x.rank()) {
                if (!used[axis]) used[axis] = true;
                else if (x[axis].is_number()) to *= x[axis].size;
            }
        }
        for (int i = 0; i < x.rank(); ++i) {
            if (used[i]) continue;
            if (x[i] == extent(0)) zero = true;
            if (x[i].is_number()) from *= x[i].size;
            else {
                open_axis = open ? -1 : i;
                open = true;
            }
        }
    }
};

/// The attributes for a target that may have names, which are looked up in x, and dynamic sizes, which are
/// deduced.
constexpr reshape_op::attributes reshape_attributes(const extents& target, const extents& x) {
    reshape_op::attributes a;
    if (target.overfull()) { // which the rule complains of
        a.declared = target;
        return a;
    }
    bool used[max_rank]{};
    for (const extent& e : target) {
        std::int64_t size = e.is_number() ? e.size : reshape_op::deduced;
        for (int i = 0; i < x.rank() && e.is_named() && size < 0; ++i)
            if (!used[i] && x[i] == e) {
                used[i] = true;
                size = reshape_op::copied(i);
                break;
            }
        a.sizes.push_back(size);
        a.declared.push_back(e);
    }
    return a;
}

template <auto D> constexpr extent reshaped_extent() {
    using type = std::remove_cvref_t<decltype(D)>;
    if constexpr (std::is_same_v<type, deduced_size> || is_negative(D)) return extent{};
    else return extent_of<D>();
}
template <class T> inline constexpr int kept_axis = -1;
template <int Axis> inline constexpr int kept_axis<kept_size<Axis>> = Axis;

// The attributes that a shape<> given by the user stands for, for an operand of sizes X.
template <class Target, class X> struct reshape_target;
template <auto... D, class X> struct reshape_target<shape<D...>, X> {
    using target = shape<D...>;
    static constexpr reshape_op::attributes value = [] {
        constexpr int axes[] = {kept_axis<std::remove_cvref_t<decltype(D)>>..., -1};
        extents target;
        (target.push_back([] {
            if constexpr (kept_axis<std::remove_cvref_t<decltype(D)>> >= 0) return extent{};
            else return reshaped_extent<D>();
        }()),
         ...);
        reshape_op::attributes a = reshape_attributes(target, X::extents);
        for (int i = 0; i < a.sizes.count; ++i)
            if (axes[i] >= 0) a.sizes.values[i] = reshape_op::copied(axes[i]);
        return a;
    }();
};

// The named sizes among those of a shape.
template <class S> struct named_part;
template <class Kept, auto... D> struct named_part_of { using type = Kept; };
template <auto... K, auto First, auto... Rest> struct named_part_of<shape<K...>, First, Rest...> {
    using type = typename std::conditional_t < requires { std::remove_cvref_t<decltype(First)>::name; }
    , named_part_of<shape<K..., First>, Rest...>, named_part_of < shape<K...>, Rest... >> ::type;
};
template <auto... D> struct named_part<shape<D...>> { using type = typename named_part_of<shape<>, D...>::type; };

// Op applied to x with sizes from a shape<> given by the user.
template <class Op, class Target, class X> auto apply_to_shape(const X& x) {
    using own = typed_operand_t<X>;
    using attrs = reshape_target<Target, typename own::shape>;
    using verdict = verdict_of<Op, attrs, operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        using sizes =
            shape_from_t<inference<Op, attrs, 0, own>, typename own::shape, typename named_part<Target>::type>;
        return tensor<typename own::element, sizes>::unchecked(tenon::add<Op>(attrs::value, {as_tensor(x)}));
    }
}

// The axes of size 1.
template <class S> struct ones_of {
    static constexpr squeeze_op::attributes value = [] {
        squeeze_op::attributes a;
        for (int i = 0; i < S::rank; ++i)
            if (S::extents[i] == extent(1)) a.axes.push_back(i);
        return a;
    }();
};

} // namespace detail

constexpr inferred reshape_op::infer(const attributes& a, type_list in, int) {
    if (in.size() != 1) return fault::expects_more_operands;
    if (a.declared.overfull()) return fault::too_many_dimensions;
    const extents& x = in[0].extents;
    int unknown = -1;
    for (int i = 0; i < a.sizes.count; ++i) {
        if (a.sizes[i] < deduced && -2 - a.sizes[i] >= x.rank()) return fault::axis_out_of_range;
        if (a.sizes[i] != deduced) continue;
        if (unknown >= 0) return fault::more_than_one_size_to_deduce;
        unknown = i;
    }
    const detail::reshape_count count(a, x);
    if (!count.from.fits() || !count.to.fits()) return fault::sizes_overflow;
    const std::int64_t from = count.from.value(), to = count.to.value();
    extents result;
    for (int i = 0; i < a.sizes.count; ++i) {
        const std::int64_t s = a.sizes[i];
        if (s == deduced) result.push_back(i < a.declared.rank() ? a.declared[i] : extent{});
        else result.push_back(s >= 0 ? extent(s) : x[static_cast<int>(-2 - s)]);
    }
    if (!count.open && !count.zero) {
        if (unknown < 0) return from == to ? inferred(in[0].element, result) : fault::element_counts_differ;
        if (to == 0 || from % to != 0) return fault::size_not_divisible;
        result[unknown] = from / to;
    } else if (x.is_static()) { // without elements
        bool empty = false;
        for (const extent& e : result) empty = empty || e == extent(0);
        if (unknown < 0) return empty ? inferred(in[0].element, result) : fault::element_counts_differ;
        if (to == 0) return fault::size_not_divisible; // any size would do
        result[unknown] = 0;
    } else if (unknown >= 0) {
        if (count.open_axis >= 0 && from == to && !result[unknown].is_named()) result[unknown] = x[count.open_axis];
    } else if (from > 0 && to % from != 0) {
        return fault::element_counts_differ; // whatever the open sizes are
    }
    return inferred(in[0].element, result);
}

/// x's elements in the sizes of Target, whose sizes are numbers, named sizes, `kept<axis>` (that of a
/// dimension of x), and at most one that is left over: `deduce`, `dyn`, or a named size that x does not have.
/// What the compiler cannot decide is checked when the step's sizes are known.
template <Shape Target, OperandOrIllShaped X> auto reshape(const X& x, called_from here = caller()) {
    static_assert(Target::rank >= 0); // of negative sizes the shape complains, which is made here
    const making made(here);
    return detail::apply_to_shape<reshape_op, Target>(x);
}

namespace detail {
template <class Before> struct flattened;
template <int... Before> struct flattened<std::integer_sequence<int, Before...>> {
    using type = shape<kept<Before>..., deduce>;
};
} // namespace detail

/// x with the dimensions from From on joined into one: flatten(x) is all of x as one row, flatten<1>(x) is
/// [batch, 28, 28, 1] -> [batch, 784].
template <int From = 0, OperandOrIllShaped X> auto flatten(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(From >= 0 && From < max_rank, "tenon::flatten: the first dimension to be joined is one of 0 to 7");
    return reshape<typename detail::flattened<std::make_integer_sequence<int, From>>::type>(x);
}

/// x without the dimensions Axes, which must have size 1; without all that have, where none is named.
template <int... Axes, Operand X> auto squeeze(const X& x, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else if constexpr (sizeof...(Axes) > 0) return apply_op<squeeze_op, squeeze_op::attributes{index_list(Axes...)}>(x);
    else return apply_op<squeeze_op, detail::ones_of<typename detail::typed_operand_t<X>::shape>::value>(x);
}

/// x with dimensions of size 1 inserted, so that they are the dimensions Axes of the result.
template <int... Axes, OperandOrIllShaped X> auto expand_dims(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(sizeof...(Axes) > 0, "tenon::expand_dims: at least one axis is needed");
    return apply_op<expand_dims_op, expand_dims_op::attributes{index_list(Axes...)}>(x);
}

/// x's elements in the sizes of `like`.
template <OperandOrIllShaped X, OperandOrIllShaped L>
auto reshape_like(const X& x, const L& like, called_from here = caller()) {
    const making made(here);
    return apply_op<reshape_like_op, no_attributes{}>(x, like);
}

namespace untyped {
/// Named sizes are those of x, dynamic ones are deduced.
any_tensor reshape(const any_tensor& x, const extents& target, called_from here = caller());
any_tensor reshape_like(const any_tensor& x, const any_tensor& like, called_from here = caller());
any_tensor flatten(const any_tensor& x, int from = 0, called_from here = caller());
any_tensor squeeze(const any_tensor& x, const index_list& axes, called_from here = caller());
/// Without all dimensions of size 1.
any_tensor squeeze(const any_tensor& x, called_from here = caller());
any_tensor expand_dims(const any_tensor& x, const index_list& axes, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_reshape)

#include <tenon/core/array/copy_elements.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor reshape(const any_tensor& x, const extents& target, called_from here) {
    const making made(here);
    for (const extent& e : target)
        if (e.size < dynamic_extent.size)
            throw invalid_argument_error("reshape: a size is not negative: " + to_string(target) +
                                         "; one that follows from the others is -1");
    return tenon::add<reshape_op>(detail::reshape_attributes(target, x.extents()), {x});
}
TENON_INLINE any_tensor reshape_like(const any_tensor& x, const any_tensor& like, called_from here) {
    return tenon::add<reshape_like_op>({}, {x, like}, here);
}
TENON_INLINE any_tensor flatten(const any_tensor& x, int from, called_from here) {
    const making made(here);
    if (from < 0 || from >= max_rank)
        throw invalid_argument_error("flatten: the first dimension to be joined is one of 0 to 7, not " +
                                     std::to_string(from));
    reshape_op::attributes a = detail::reshape_attributes({}, x.extents());
    for (int i = 0; i <= from; ++i) {
        a.sizes.push_back(i < from ? reshape_op::copied(i) : reshape_op::deduced);
        a.declared.push_back({});
    }
    return tenon::add<reshape_op>(a, {x});
}
TENON_INLINE any_tensor squeeze(const any_tensor& x, const index_list& axes, called_from here) {
    return tenon::add<squeeze_op>({axes}, {x}, here);
}
TENON_INLINE any_tensor squeeze(const any_tensor& x, called_from here) {
    const making made(here);
    index_list axes;
    for (int i = 0; i < x.rank(); ++i)
        if (x.extents()[i] == extent(1)) axes.push_back(i);
    return squeeze(x, axes);
}
TENON_INLINE any_tensor expand_dims(const any_tensor& x, const index_list& axes, called_from here) {
    return tenon::add<expand_dims_op>({axes}, {x}, here);
}
} // namespace untyped

TENON_INLINE void reshape_op::gradient(gradient_context& g) {
    g.set(0, untyped::reshape_like(g.output_gradient(), g.input(0)));
}
TENON_INLINE void reshape_like_op::gradient(gradient_context& g) {
    g.set(0, untyped::reshape_like(g.output_gradient(), g.input(0)));
}
TENON_INLINE void squeeze_op::gradient(gradient_context& g) {
    index_list axes;
    for (const std::int64_t a : g.attributes<attributes>().axes)
        axes.push_back(detail::axis_of(a, g.node().input_type(0).extents.rank()));
    g.set(0, untyped::expand_dims(g.output_gradient(), axes));
}
TENON_INLINE void expand_dims_op::gradient(gradient_context& g) {
    g.set(0, untyped::squeeze(g.output_gradient(), g.attributes<attributes>().axes));
}

namespace detail {

// Other sizes of the same memory; a copy only where the plan needs one.
struct reshape_kernel final : kernel {
    explicit reshape_kernel(const kernel_setup& s) : type(s.inputs[0]) {}
    void run(const kernel_run& r) override {
        if (r.out[0] && r.in[0] != r.out[0])
            copy_elements(type.element, r.out[0], 0, r.in[0], 0, type.extents.elements());
    }
    double cost() const override { return 10 + static_cast<double>(type.extents.elements()) * 0.1; }
    bool may_share(int i, int) const override { return i == 0; }
    tensor_type type;
};

} // namespace detail

TENON_KERNEL(reshape, detail::reshape_kernel);
TENON_KERNEL(reshape_like, detail::reshape_kernel);
TENON_KERNEL(squeeze, detail::reshape_kernel);
TENON_KERNEL(expand_dims, detail::reshape_kernel);

} // namespace tenon

#endif
