#pragma once

#include <limits>
#include <vector>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Parts of a tensor, and tensors around a tensor.
///
///     auto middle = tn::slice<tn::range{1, 3}, tn::range{.step = -1}>(x); // rows 1 and 2, columns backwards
///     auto framed = tn::pad<tn::margin{1, 1}, tn::margin{2, 0}>(x);       // [4, 5] -> [6, 7], zeros around
///     auto twice  = tn::tile<2, 1>(x);                                    // [4, 5] -> [8, 5]
///     auto hot    = tn::one_hot<10>(labels); // int32 [batch] -> float [batch, 10]

namespace tenon {

/// As a bound of a range: as far as there are elements.
inline constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::min();

/// Elements begin, begin + step, ... before end, along one dimension; negative bounds count from the end.
/// Without bounds all elements, from the last to the first when step is negative.
struct range {
    std::int64_t begin = unbounded;
    std::int64_t end = unbounded;
    std::int64_t step = 1;
};

namespace detail {

/// A range of a dimension whose size may be known.
struct bounded_range {
    fault what = fault::none;
    extent size;            ///< of the result
    std::int64_t first = 0; ///< where the size of the dimension is a number
};
constexpr bounded_range bound_range(const range& r, const extent& e) {
    if (r.step == 0 || r.step == unbounded) return {fault::slice_out_of_range, {}, 0};
    const bool open = r.begin == unbounded && r.end == unbounded;
    if (open && (r.step == 1 || r.step == -1)) return {fault::none, e, r.step == 1 || !e.is_number() ? 0 : e.size - 1};
    if (!e.is_number()) {
        // Bounds on one side of the dimension say the size; whether they fit is seen when it is known.
        const bool same_side = !open && r.begin != unbounded && r.end != unbounded && (r.begin < 0) == (r.end < 0);
        if (!same_side) return {fault::none, extent{}, 0};
        const std::int64_t distance = r.step > 0 ? r.end - r.begin : r.begin - r.end;
        const std::int64_t step = r.step > 0 ? r.step : -r.step;
        return {fault::none, distance > 0 ? (distance - 1) / step + 1 : 0, 0};
    }
    const std::int64_t n = e.size;
    const auto from_start = [n](std::int64_t i) { return i < 0 ? i + n : i; };
    if (r.step > 0) {
        const std::int64_t begin = r.begin == unbounded ? 0 : from_start(r.begin);
        const std::int64_t end = r.end == unbounded ? n : from_start(r.end);
        if (begin < 0 || begin > n || end < 0 || end > n) return {fault::slice_out_of_range, {}, 0};
        return {fault::none, end > begin ? (end - begin - 1) / r.step + 1 : 0, begin};
    }
    const std::int64_t begin = r.begin == unbounded ? n - 1 : from_start(r.begin);
    const std::int64_t end = r.end == unbounded ? -1 : from_start(r.end);
    if (begin < -1 || begin >= n || (r.begin != unbounded && begin < 0 && n > 0) || end < -1 || end > n)
        return {fault::slice_out_of_range, {}, 0};
    return {fault::none, begin > end ? (begin - end - 1) / -r.step + 1 : 0, begin < 0 ? 0 : begin};
}

} // namespace detail

/// in: x. A range of each of the leading dimensions; the others are whole.
struct slice_op {
    static constexpr const char* name = "slice";
    struct attributes {
        index_list begins, ends, steps;
        constexpr range of(int axis) const {
            return axis < begins.count ? range{begins[axis], ends[axis], steps[axis]} : range{};
        }
    };
    static constexpr attributes attributes_of(const range* ranges, int count) {
        attributes a;
        for (int i = 0; i < count; ++i) {
            a.begins.push_back(ranges[i].begin);
            a.ends.push_back(ranges[i].end);
            a.steps.push_back(ranges[i].step);
        }
        return a;
    }
    static constexpr inferred sliced(const attributes& a, const tensor_type& x) {
        if (a.begins.count != a.ends.count || a.begins.count != a.steps.count) return fault::slice_out_of_range;
        if (a.begins.count > x.extents.rank()) return fault::rank_too_low;
        extents result;
        for (int i = 0; i < x.extents.rank(); ++i) {
            const detail::bounded_range r = detail::bound_range(a.of(i), x.extents[i]);
            if (r.what != fault::none) return r.what;
            result.push_back(r.size);
        }
        return inferred(x.element, result);
    }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        return in.size() == 1 ? sliced(a, in[0]) : inferred(fault::expects_more_operands);
    }
    static regular_part part(const attributes& a, const extents& x, const extents& sliced);
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexing, slice);

/// in: gradient of a slice, x, whose value does not matter. Zeros of x's sizes with the gradient in place of
/// the slice.
struct slice_gradient_op {
    static constexpr const char* name = "slice_gradient";
    using attributes = slice_op::attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (in[1].element == element_type::string) return fault::element_type_not_supported;
        const inferred r = slice_op::sliced(a, in[1]);
        if (!r) return r;
        if (const merged_extents m = equal_shapes(r.type.extents, in[0].extents); m.what != fault::none) return m.what;
        return inferred(in[0].element, in[1].extents);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexing, slice_gradient);

/// in: x. Some dimensions backwards.
struct reverse_op {
    static constexpr const char* name = "reverse";
    struct attributes {
        index_list axes;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        const fault f = detail::axes_or_all(a.axes, in[0].extents.rank()).what;
        return f == fault::none ? inferred(in[0]) : inferred(f);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexing, reverse);

/// Elements put before and after those of a dimension.
struct margin {
    std::int64_t before = 0;
    std::int64_t after = 0;
};

/// in: x. x with elements of one value around it; the dimensions without a padding stay.
struct pad_op {
    static constexpr const char* name = "pad";
    struct attributes {
        index_list before, after;
        number value = 0;
    };
    static constexpr char padding_is_negative[] = "a padding is not negative";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element == element_type::string) return fault::element_type_not_supported;
        if (a.before.count != a.after.count || a.before.count > in[0].extents.rank()) return fault::rank_too_low;
        if (!a.value.fits(in[0].element)) return fault::number_does_not_fit;
        extents result = in[0].extents;
        for (int i = 0; i < a.before.count; ++i) {
            if (a.before[i] < 0 || a.after[i] < 0) return padding_is_negative;
            if (a.before[i] == 0 && a.after[i] == 0) continue;
            const merged_extent more = extent_of_size(checked_size(a.before[i]) + a.after[i]);
            const merged_extent padded = more.what == fault::none ? add_sizes(result[i], more.size) : more;
            if (padded.what != fault::none) return padded.what;
            result[i] = padded.size;
        }
        return inferred(in[0].element, result);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexing, pad);

/// in: x. x repeated counts[i] times along dimension i.
struct tile_op {
    static constexpr const char* name = "tile";
    struct attributes {
        index_list counts;
    };
    static constexpr char count_is_negative[] = "counts must be 0 or more";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (a.counts.count != in[0].extents.rank()) return fault::ranks_differ;
        extents result = in[0].extents;
        for (int i = 0; i < a.counts.count; ++i) {
            if (a.counts[i] < 0) return count_is_negative;
            const merged_extent m = multiply_size(result[i], a.counts[i]);
            if (m.what != fault::none) return m.what;
            result[i] = m.size;
        }
        return inferred(in[0].element, result);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexing, tile);

/// in: gradient of a tile, x, whose value does not matter. The sum of the repetitions.
struct tile_gradient_op {
    static constexpr const char* name = "tile_gradient";
    using attributes = tile_op::attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        const inferred r = tile_op::infer(a, type_list(&in[1], 1), 0);
        if (!r) return r;
        if (const merged_extents m = equal_shapes(r.type.extents, in[0].extents); m.what != fault::none) return m.what;
        return inferred(in[0].element, in[1].extents);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexing, tile_gradient);

/// in: indices (an integer type). A new dimension of `depth`, which is `axis` of the result: 1 at the index,
/// else 0. An index outside 0 .. depth - 1 gives zeros.
struct one_hot_op {
    static constexpr const char* name = "one_hot";
    struct attributes {
        std::int64_t depth = 0;
        int axis = -1;
        element_type element = element_type::float32;
    };
    static constexpr char depth_is_negative[] = "depth must be 0 or more";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (!is_integer(in[0].element)) return fault::element_type_must_be_integer;
        if (a.depth < 0) return depth_is_negative;
        if (a.element == element_type::none || a.element == element_type::string)
            return fault::element_type_not_supported;
        extents result = in[0].extents;
        if (result.rank() == max_rank) return fault::too_many_dimensions;
        const int axis = detail::axis_of(a.axis, result.rank() + 1);
        if (axis < 0) return fault::axis_out_of_range;
        result.insert(axis, a.depth);
        return inferred(a.element, result);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(indexing, one_hot);

namespace detail {
template <range... R>
inline constexpr slice_op::attributes slicing = [] {
    constexpr range ranges[] = {R..., range{}};
    return slice_op::attributes_of(ranges, static_cast<int>(sizeof...(R)));
}();
template <margin... P> struct padding_of {
    static constexpr pad_op::attributes value{index_list(P.before...), index_list(P.after...), 0};
};
} // namespace detail

/// The part of x in the given ranges of its leading dimensions. A bound outside the dimension is an error.
template <range... R, OperandOrIllShaped X> auto slice(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(sizeof...(R) <= max_rank, "tenon::slice: a tensor has at most 8 dimensions");
    return apply_op<slice_op, detail::slicing<R...>>(x);
}
/// x with the dimensions Axes backwards; all of them where none is named.
template <int... Axes, OperandOrIllShaped X> auto reverse(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<reverse_op, reverse_op::attributes{index_list(Axes...)}>(x);
}
/// x with P.before and P.after elements of `value` around its leading dimensions; invalid_argument_error where x's
/// element type does not hold the value.
template <margin... P, OperandOrIllShaped X>
auto pad(const X& x, const number& value = 0, called_from here = caller()) {
    const making made(here);
    constexpr bool positive = ((P.before >= 0 && P.after >= 0) && ...),
                   some = sizeof...(P) > 0 && sizeof...(P) <= max_rank;
    static_assert(positive, "tenon::pad: a padding is not negative");
    static_assert(some, "tenon::pad: one to eight paddings are needed");
    if constexpr (!positive || !some) return ill_shaped{};
    else
        return apply_op<pad_op, detail::padding_of<P...>>(
            pad_op::attributes{detail::padding_of<P...>::value.before, detail::padding_of<P...>::value.after, value},
            x);
}
/// x repeated, Counts[i] times along dimension i.
template <int... Counts, OperandOrIllShaped X> auto tile(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(((Counts >= 0) && ...), "tenon::tile: a count is not negative");
    return apply_op<tile_op, tile_op::attributes{index_list(Counts...)}>(x);
}
/// A new dimension Axis of Depth elements: 1 at the index, else 0; all 0 for an index outside 0 .. Depth - 1.
template <std::int64_t Depth, Element T = float, int Axis = -1, OperandOrIllShaped I>
auto one_hot(const I& indices, called_from here = caller()) {
    const making made(here);
    return apply_op<one_hot_op, one_hot_op::attributes{Depth, Axis, element_type_of<T>}>(indices);
}

namespace detail {
constexpr slice_op::attributes slicing_along(int axis, const range& r) {
    range ranges[max_rank]{};
    ranges[axis] = r;
    return slice_op::attributes_of(ranges, axis + 1);
}
constexpr tile_op::attributes tiling_along(int axis, int rank, int count) {
    tile_op::attributes a;
    for (int i = 0; i < rank; ++i) a.counts.push_back(i == axis ? count : 1);
    return a;
}
// Sizes of a tensor whose dimension Axis has been joined with the next one.
template <int Axis, int I> constexpr auto joined_size() {
    if constexpr (I == Axis) return deduce;
    else return kept<(I < Axis ? I : I + 1)>;
}
template <int Axis, class I> struct joined_with_next;
template <int Axis, int... I> struct joined_with_next<Axis, std::integer_sequence<int, I...>> {
    using type = shape<joined_size<Axis, I>()...>;
};
} // namespace detail

namespace untyped {
any_tensor roll(const any_tensor& x, int places, int axis = 0, called_from here = caller());
} // namespace untyped
/// x moved on by Shift places along Axis; what leaves at one end comes in at the other, as often as it does.
template <int Shift, int Axis = 0, Operand X> auto roll(const X& x, called_from here = caller()) {
    const making made(here);
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else if constexpr (constexpr int axis = detail::axis_of(Axis, X::rank()); axis < 0) {
        return concat<Axis>(x); // which complains of the axis
    } else {
        constexpr extent n = X::shape_type::extents[axis];
        constexpr std::int64_t shift = !n.is_number() ? Shift : n.size == 0 ? 0 : Shift % n.size;
        const auto& t = detail::as_tensor(x);
        using moved = std::remove_cvref_t<decltype(t)>;
        if constexpr (shift == 0) return moved(t);
        else return moved::unchecked(untyped::roll(t, Shift, axis));
    }
}
/// Each element of x Count times, one after the other, along Axis. (tile repeats the whole.)
template <int Count, int Axis = 0, Operand X> auto repeat(const X& x, called_from here = caller()) {
    const making made(here);
    static_assert(Count > 0, "tenon::repeat: the count is at least 1");
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else if constexpr (constexpr int axis = detail::axis_of(Axis, X::rank()); axis < 0) {
        return concat<Axis>(x); // which complains of the axis
    } else {
        constexpr int rank = X::rank();
        if constexpr (rank == max_rank) { // which expand_dims complains of
            return apply_op<expand_dims_op, expand_dims_op::attributes{index_list(axis + 1)}>(x);
        } else {
            using joined = typename detail::joined_with_next<axis, std::make_integer_sequence<int, rank>>::type;
            return reshape<joined>(
                apply_op<tile_op, detail::tiling_along(axis + 1, rank + 1, Count)>(expand_dims<axis + 1>(x)));
        }
    }
}

namespace untyped {
any_tensor slice(const any_tensor& x, const std::vector<range>& ranges, called_from here = caller());
any_tensor reverse(const any_tensor& x, const index_list& axes = {}, called_from here = caller());
any_tensor pad(const any_tensor& x, const std::vector<margin>& paddings, const number& value = 0,
               called_from here = caller());
any_tensor tile(const any_tensor& x, const index_list& counts, called_from here = caller());
any_tensor repeat(const any_tensor& x, int count, int axis = 0, called_from here = caller());
any_tensor one_hot(const any_tensor& indices, std::int64_t depth, element_type element = element_type::float32,
                   int axis = -1, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_indexing)

#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/untyped_elementwise.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.inl>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor slice(const any_tensor& x, const std::vector<range>& ranges, called_from here) {
    const making made(here);
    if (ranges.size() > max_rank) throw invalid_argument_error("slice: more than 8 ranges");
    return tenon::add<slice_op>(slice_op::attributes_of(ranges.data(), static_cast<int>(ranges.size())), {x});
}
TENON_INLINE any_tensor reverse(const any_tensor& x, const index_list& axes, called_from here) {
    return tenon::add<reverse_op>({axes}, {x}, here);
}
TENON_INLINE any_tensor pad(const any_tensor& x, const std::vector<margin>& paddings, const number& value,
                            called_from here) {
    const making made(here);
    if (paddings.size() > max_rank) throw invalid_argument_error("pad: more than 8 paddings");
    pad_op::attributes a;
    for (const margin& p : paddings) {
        a.before.push_back(p.before);
        a.after.push_back(p.after);
    }
    a.value = value;
    return tenon::add<pad_op>(a, {x});
}
TENON_INLINE any_tensor tile(const any_tensor& x, const index_list& counts, called_from here) {
    return tenon::add<tile_op>({counts}, {x}, here);
}
TENON_INLINE any_tensor roll(const any_tensor& x, int places, int axis, called_from here) {
    const making made(here);
    const int along = detail::axis_of(axis, x.rank());
    if (along < 0) return concat({x}, axis); // which complains of the axis
    const extent n = x.extents()[along];
    const std::int64_t shift = !n.is_number() ? places : n.size == 0 ? 0 : places % n.size;
    if (shift == 0) return x;
    if (!n.is_number()) { // fewer than that, perhaps, or none
        const any_tensor at = arange_like(x, element_type::int64, along),
                         to_count = arange_like(pad(at, {{1, 0}}), element_type::int64),
                         count = slice(to_count, {{-1, unbounded, 1}});
        return reshape_like(gather(x, mod(subtract(at, shift), count), along), x);
    }
    const auto part = [&](const range& r) { return tenon::add<slice_op>(detail::slicing_along(along, r), {x}); };
    return concat({part({-shift, unbounded, 1}), part({unbounded, -shift, 1})}, along);
}
TENON_INLINE any_tensor repeat(const any_tensor& x, int count, int axis, called_from here) {
    const making made(here);
    if (count < 1) throw invalid_argument_error("repeat: the count is at least 1, not " + std::to_string(count));
    const int rank = x.rank(), along = detail::axis_of(axis, rank);
    if (along < 0) return concat({x}, axis); // which complains of the axis
    const any_tensor apart = expand_dims(x, along + 1);
    reshape_op::attributes joined;
    for (int i = 0; i < rank; ++i) {
        joined.sizes.push_back(i == along ? reshape_op::deduced : reshape_op::copied(i < along ? i : i + 1));
        joined.declared.push_back({});
    }
    return tenon::add<reshape_op>(joined,
                                  {tenon::add<tile_op>(detail::tiling_along(along + 1, rank + 1, count), {apart})});
}
TENON_INLINE any_tensor one_hot(const any_tensor& indices, std::int64_t depth, element_type element, int axis,
                                called_from here) {
    return tenon::add<one_hot_op>({depth, axis, element}, {indices}, here);
}
} // namespace untyped

TENON_INLINE void slice_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<slice_gradient_op>(g.attributes<attributes>(), {g.output_gradient(), g.input(0)}));
}
TENON_INLINE void slice_gradient_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<slice_op>(g.attributes<attributes>(), {g.output_gradient()}));
}
TENON_INLINE void reverse_op::gradient(gradient_context& g) {
    g.set(0, untyped::reverse(g.output_gradient(), g.attributes<attributes>().axes));
}
TENON_INLINE void pad_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    slice_op::attributes inner;
    for (int i = 0; i < a.before.count; ++i) {
        inner.begins.push_back(a.before[i]);
        inner.ends.push_back(a.after[i] == 0 ? unbounded : -a.after[i]);
        inner.steps.push_back(1);
    }
    g.set(0, tenon::add<slice_op>(inner, {g.output_gradient()}));
}
TENON_INLINE void tile_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<tile_gradient_op>(g.attributes<attributes>(), {g.output_gradient(), g.input(0)}));
}
TENON_INLINE void tile_gradient_op::gradient(gradient_context& g) {
    g.set(0, untyped::tile(g.output_gradient(), g.attributes<attributes>().counts));
}

} // namespace tenon

#endif
