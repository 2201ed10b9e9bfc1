#pragma once

#include <tenon/core/sizes/extents.hpp>

/// What a shape rule answers: a tensor's type, or what is wrong with the operands.

namespace tenon {

enum class fault {
    none,
    inner_dimensions_differ,
    sizes_do_not_broadcast,
    sizes_differ,
    named_sizes_differ,
    ranks_differ,
    rank_too_low,
    rank_too_high,
    rank_must_be_4,
    element_types_differ,
    element_type_must_be_floating,
    element_type_must_be_numeric,
    element_type_must_be_integer,
    element_type_must_be_bool,
    element_type_not_supported,
    axis_out_of_range,
    axis_given_twice,
    axes_are_not_a_permutation,
    element_counts_differ,
    more_than_one_size_to_deduce,
    size_not_divisible,
    squeezed_size_is_not_1,
    slice_out_of_range,
    window_larger_than_input,
    channels_differ,
    channels_not_divisible_by_groups,
    batch_sizes_differ,
    classes_differ,
    gradient_shape_differs,
    value_does_not_fit_variable,
    loss_must_be_scalar,
    sizes_sum_differs,
    expects_more_operands,
    size_must_be_known,
    layer_does_not_fit,
    nothing_to_choose_from,
    window_not_possible,
    image_without_pixels,
    sizes_overflow,
    too_many_dimensions,
    number_does_not_fit,
    value_does_not_fit_component,
    components_differ,
    path_must_be_text,
    names_differ,
    in_own_words, // an op's own, which inferred::own has
};

constexpr const char* words(fault f) noexcept {
    switch (f) {
    case fault::none: return "nothing is wrong";
    case fault::inner_dimensions_differ: return "inner dimensions differ";
    case fault::sizes_do_not_broadcast: return "sizes do not broadcast";
    case fault::sizes_differ: return "sizes differ";
    case fault::named_sizes_differ: return "two different named sizes meet";
    case fault::ranks_differ: return "ranks differ";
    case fault::rank_too_low: return "rank is too low";
    case fault::rank_too_high: return "rank is too high";
    case fault::rank_must_be_4: return "rank must be 4 (batch, height, width, channels)";
    case fault::element_types_differ: return "element types differ";
    case fault::element_type_must_be_floating: return "element type must be float, double, half or bfloat16";
    case fault::element_type_must_be_numeric: return "element type must be a number";
    case fault::element_type_must_be_integer: return "element type must be an integer";
    case fault::element_type_must_be_bool: return "element type must be bool";
    case fault::element_type_not_supported: return "element type is not supported";
    case fault::axis_out_of_range: return "axis is out of range";
    case fault::axis_given_twice: return "axis is given twice";
    case fault::axes_are_not_a_permutation: return "axes are not a permutation";
    case fault::element_counts_differ: return "numbers of elements differ";
    case fault::more_than_one_size_to_deduce: return "more than one size is left to deduce";
    case fault::size_not_divisible: return "size is not divisible";
    case fault::squeezed_size_is_not_1: return "a squeezed size is not 1";
    case fault::slice_out_of_range: return "slice is out of range";
    case fault::window_larger_than_input: return "window is larger than the padded input";
    case fault::channels_differ: return "numbers of channels differ";
    case fault::channels_not_divisible_by_groups: return "channels are not divisible by groups";
    case fault::batch_sizes_differ: return "batch sizes differ";
    case fault::classes_differ: return "numbers of classes differ";
    case fault::gradient_shape_differs: return "gradient does not have the shape of its input";
    case fault::value_does_not_fit_variable: return "value does not fit the variable";
    case fault::loss_must_be_scalar: return "what is differentiated must be a scalar";
    case fault::sizes_sum_differs: return "sizes of the parts do not add up";
    case fault::expects_more_operands: return "more operands are needed";
    case fault::size_must_be_known: return "a size must be a number here";
    case fault::layer_does_not_fit: return "layer does not fit its input";
    case fault::nothing_to_choose_from: return "an empty axis has no least or largest element";
    case fault::window_not_possible: return "a window's size, stride, dilation, groups or padding is out of range";
    case fault::image_without_pixels: return "an image has no rows or no columns";
    case fault::sizes_overflow: return "the result would take more than 2^62 bytes";
    case fault::too_many_dimensions: return "a tensor has at most 8 dimensions";
    case fault::number_does_not_fit: return "elements of this type cannot hold the number";
    case fault::value_does_not_fit_component: return "value does not fit its component";
    case fault::components_differ: return "there is not one value for each component of the queue's elements";
    case fault::path_must_be_text: return "a path or what a file holds must be one text";
    case fault::names_differ: return "there is not one tensor for each name";
    case fault::in_own_words: return "the op refuses its operands";
    }
    return "unknown fault";
}

/// True when the fault is about element types, so that they are shown with the shapes.
constexpr bool is_about_elements(fault f) noexcept {
    return f == fault::element_types_differ || f == fault::element_type_must_be_floating ||
           f == fault::element_type_must_be_numeric || f == fault::element_type_must_be_integer ||
           f == fault::element_type_must_be_bool || f == fault::element_type_not_supported ||
           f == fault::number_does_not_fit || f == fault::value_does_not_fit_component ||
           f == fault::path_must_be_text || f == fault::in_own_words;
}

/// True when sizes that are asked for, an attribute, are shown beside those of the operands.
constexpr bool is_about_sizes(fault f) noexcept { return f == fault::in_own_words || !is_about_elements(f); }

/// True when the fault is about axes, so that those asked for are shown with the shapes.
constexpr bool is_about_axes(fault f) noexcept {
    return f == fault::axis_out_of_range || f == fault::axis_given_twice || f == fault::axes_are_not_a_permutation ||
           f == fault::squeezed_size_is_not_1 || f == fault::in_own_words;
}

/// A rule's answer. An op may refuse its operands in words of its own, which live for ever; those of a constant that has a name
/// can be told by every compiler, and the numbers among the op's attributes that they name are said with them:
///     static constexpr char too_few_knots[] = "knots must be 4 or more";
///     ... return too_few_knots;
struct inferred {
    fault what = fault::none;
    const char* own = nullptr; ///< of fault::in_own_words
    tensor_type type;

    constexpr inferred() = default;
    constexpr inferred(fault f) : what(f) {}                                         // NOLINT: a fault is an answer
    constexpr inferred(const char* words) : what(fault::in_own_words), own(words) {} // NOLINT: so are words
    constexpr inferred(const tensor_type& t) : type(t) {}                            // NOLINT: a type is an answer
    constexpr inferred(element_type e, const extents& s) : type{e, s} {
        if (s.overfull()) what = fault::too_many_dimensions;
        else if (!is_countable(type)) what = fault::sizes_overflow;
    }
    constexpr explicit operator bool() const noexcept { return what == fault::none; }
    constexpr const char* words() const noexcept { return own ? own : tenon::words(what); }
};

/// A rule's operands.
class type_list {
public:
    constexpr type_list(const tensor_type* first, int count) : first_(first), count_(count) {}
    constexpr int size() const noexcept { return count_; }
    constexpr const tensor_type& operator[](int i) const noexcept { return first_[i]; }
    constexpr const tensor_type* begin() const noexcept { return first_; }
    constexpr const tensor_type* end() const noexcept { return first_ + count_; }

private:
    const tensor_type* first_;
    int count_;
};

/// Result of asking two sizes to be one: the more static of them, or a fault.
struct merged_extent {
    fault what = fault::none;
    extent size;
};

/// Two sizes that must be equal. A number meets a number, a named size itself; dyn meets all and is checked
/// when the step's sizes are known.
constexpr merged_extent equal_sizes(const extent& a, const extent& b) noexcept {
    if (a == b) return {fault::none, a};
    if (a.is_dynamic()) return {fault::none, b};
    if (b.is_dynamic()) return {fault::none, a};
    return {a.is_named() && b.is_named() ? fault::named_sizes_differ : fault::sizes_differ, a};
}

/// Two sizes of which one may be a 1 that is repeated.
constexpr merged_extent broadcast_sizes(const extent& a, const extent& b) noexcept {
    if (a == b) return {fault::none, a};
    if (a == extent(1)) return {fault::none, b};
    if (b == extent(1)) return {fault::none, a};
    if (a.is_dynamic()) return {fault::none, b};
    if (b.is_dynamic()) return {fault::none, a};
    return {a.is_named() && b.is_named() ? fault::named_sizes_differ : fault::sizes_do_not_broadcast, a};
}

/// A computed size as a dimension.
constexpr merged_extent extent_of_size(checked_size n) noexcept {
    return n.fits() ? merged_extent{fault::none, extent(n.value())} : merged_extent{fault::sizes_overflow, {}};
}
/// a + b where both are numbers, else known in the step.
constexpr merged_extent add_sizes(const extent& a, const extent& b) noexcept {
    if (!a.is_number() || !b.is_number()) return {fault::none, dynamic_extent};
    return extent_of_size(checked_size(a.size) + b.size);
}
/// n times a, where a is a number or n is 1, else known in the step.
constexpr merged_extent multiply_size(const extent& a, std::int64_t n) noexcept {
    if (n == 1) return {fault::none, a};
    if (!a.is_number()) return {fault::none, dynamic_extent};
    return extent_of_size(checked_size(a.size) * n);
}

/// How many elements sizes make, where all are numbers, else known in the step.
constexpr extent size_of_all(const extents& sizes) noexcept {
    checked_size n(1);
    for (const extent& e : sizes) {
        if (!e.is_number()) return dynamic_extent;
        n *= e.size;
    }
    return n.fits() ? extent(n.value()) : dynamic_extent;
}

struct merged_extents {
    fault what = fault::none;
    tenon::extents extents;
};

/// NumPy's rule: aligned at the last dimension; a missing or 1 dimension is repeated; the more static size is
/// kept.
constexpr merged_extents broadcast(const extents& a, const extents& b) noexcept {
    if (a.overfull() || b.overfull()) return {fault::too_many_dimensions, {}};
    const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
    merged_extents result;
    for (int i = 0; i < rank; ++i) {
        const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
        const merged_extent e = broadcast_sizes(ia < 0 ? extent(1) : a[ia], ib < 0 ? extent(1) : b[ib]);
        if (e.what != fault::none) return {e.what, {}};
        result.extents.push_back(e.size);
    }
    return result;
}

/// Two shapes that must be equal; the more static sizes are kept.
constexpr merged_extents equal_shapes(const extents& a, const extents& b) noexcept {
    if (a.overfull() || b.overfull()) return {fault::too_many_dimensions, {}};
    if (a.rank() != b.rank()) return {fault::ranks_differ, {}};
    merged_extents result;
    for (int i = 0; i < a.rank(); ++i) {
        const merged_extent e = equal_sizes(a[i], b[i]);
        if (e.what != fault::none) return {e.what, {}};
        result.extents.push_back(e.size);
    }
    return result;
}

/// The type of operands that must be of one element type and of equal sizes; the more static sizes are kept.
constexpr inferred equal_types(type_list operands) noexcept {
    if (operands.size() < 1) return fault::expects_more_operands;
    extents sizes = operands[0].extents;
    for (int i = 1; i < operands.size(); ++i) {
        if (operands[i].element != operands[0].element) return fault::element_types_differ;
        const merged_extents m = equal_shapes(sizes, operands[i].extents);
        if (m.what != fault::none) return m.what;
        sizes = m.extents;
    }
    return inferred(operands[0].element, sizes);
}

/// "matmul: inner dimensions differ: [batch, 784] x [300, 10]", at run time.
std::string fault_sentence(const char* op, const inferred& refused, type_list operands);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/fault.ipp>
#endif
