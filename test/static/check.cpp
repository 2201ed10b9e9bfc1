#include <tenon/core/check.hpp>
#include <tenon/core/fault.hpp>
#include <tenon/graph/tensor.hpp>

// The shape rules at compile time: what two sizes become, what is said of those that do not fit, and that the rules
// give the same answers as values.

namespace tn = tenon;
using tn::dynamic_extent, tn::element_type, tn::extent, tn::extents, tn::fault, tn::shape, tn::tensor_type,
    tn::type_list;

namespace rules_of_sizes {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct time_step : tn::dim<"time"> {} time_step;

constexpr extent b = extent::named("batch"), t = extent::named("time");

// Two sizes that must be equal.
constexpr bool equal(const extent& x, const extent& y, const extent& result) {
    const tn::merged_extent m = tn::equal_sizes(x, y), n = tn::equal_sizes(y, x);
    return m.what == fault::none && n.what == fault::none && m.size == result && n.size == result;
}
constexpr bool differ(const extent& x, const extent& y, fault what) {
    return tn::equal_sizes(x, y).what == what && tn::equal_sizes(y, x).what == what;
}
static_assert(equal(3, 3, 3) && equal(b, b, b) && equal(dynamic_extent, dynamic_extent, dynamic_extent));
static_assert(equal(3, dynamic_extent, 3) && equal(b, dynamic_extent, b)); // the more static one is kept
static_assert(differ(3, 4, fault::sizes_differ) && differ(b, 3, fault::sizes_differ) &&
              differ(b, t, fault::named_sizes_differ));
static_assert(differ(0, 1, fault::sizes_differ) && equal(0, 0, 0));

// Two sizes of which a 1 is repeated.
constexpr bool broadcast(const extents& x, const extents& y, const extents& result) {
    const tn::merged_extents m = tn::broadcast(x, y), n = tn::broadcast(y, x);
    return m.what == fault::none && n.what == fault::none && m.extents == result && n.extents == result;
}
constexpr bool clash(const extents& x, const extents& y, fault what) {
    return tn::broadcast(x, y).what == what && tn::broadcast(y, x).what == what;
}
static_assert(broadcast(extents{3, 4}, extents{4}, extents{3, 4}));
static_assert(broadcast(extents{3, 1}, extents{1, 4}, extents{3, 4}));
static_assert(broadcast(extents{}, extents{b, 3}, extents{b, 3}));
static_assert(broadcast(extents{b, 1}, extents{b, 7}, extents{b, 7}));
static_assert(broadcast(extents{b, 3}, extents{1, 3}, extents{b, 3}));
static_assert(broadcast(extents{dynamic_extent, 3}, extents{b, 3}, extents{b, 3})); // checked in the step
static_assert(broadcast(extents{dynamic_extent}, extents{5}, extents{5}));
static_assert(broadcast(extents{dynamic_extent}, extents{1}, extents{dynamic_extent}));
static_assert(broadcast(extents{0}, extents{1}, extents{0})); // nothing repeated is nothing
static_assert(clash(extents{3, 4}, extents{3}, fault::sizes_do_not_broadcast));
static_assert(clash(extents{b}, extents{t}, fault::named_sizes_differ));
static_assert(clash(extents{b}, extents{5}, fault::sizes_do_not_broadcast));
static_assert(clash(extents{0}, extents{2}, fault::sizes_do_not_broadcast));

// Whole shapes.
static_assert(tn::equal_shapes(extents{b, 3}, extents{dynamic_extent, 3}).extents == extents{b, 3});
static_assert(tn::equal_shapes(extents{3}, extents{3, 1}).what == fault::ranks_differ);

// A rule's answer with more than eight sizes is a fault.
constexpr extents nine = [] {
    extents e;
    for (int i = 0; i < 9; ++i) e.push_back(1);
    return e;
}();
static_assert(tn::inferred(element_type::float32, nine).what == fault::too_many_dimensions);

// Every fault has words, and element types are shown where they are what is wrong.
static_assert([] {
    for (int f = 0; f <= static_cast<int>(fault::in_own_words); ++f)
        if (tn::words(static_cast<fault>(f))[0] == '\0' ||
            tn::detail::same_text(tn::words(static_cast<fault>(f)), "unknown fault"))
            return false;
    return true;
}());
static_assert(tn::is_about_elements(fault::element_types_differ) && !tn::is_about_elements(fault::sizes_differ));

// What infers at compile time is the rule itself, with the attributes' values.
struct doubling_rule {
    static constexpr const char* name = "doubling";
    struct attributes {
        int axis = 0;
        friend constexpr bool operator==(const attributes&, const attributes&) = default;
    };
    static constexpr tn::inferred infer(const attributes& a, type_list in, int) {
        if (a.axis >= in[0].extents.rank()) return fault::axis_out_of_range;
        tn::inferred r = in[0];
        if (r.type.extents[a.axis].is_number()) r.type.extents[a.axis].size *= 2;
        return r;
    }
};
template <int Axis, class... Operands>
using doubled = tn::detail::inference<doubling_rule, tn::detail::constant_attributes<doubling_rule::attributes{Axis}>,
                                      0, Operands...>;
using matrix = tn::detail::operand_type<float, shape<batch, 3>>;
static_assert(doubled<1, matrix>::answer.type == tensor_type{element_type::float32, extents{b, 6}});
static_assert(doubled<2, matrix>::answer.what == fault::axis_out_of_range);

// From the rule's answer to types: names keep their types, not only their texts.
template <int Axis> using axis = tn::detail::constant_attributes<doubling_rule::attributes{Axis}>;
using result = tn::detail::op_result_t<doubling_rule, axis<1>, 0, void, matrix>;
static_assert(std::is_same_v<result, tn::tensor<float, shape<batch, 6>>>);
using as_bool = tn::detail::op_result_t<doubling_rule, axis<1>, 0, bool, matrix>;
static_assert(std::is_same_v<as_bool, tn::tensor<bool, shape<batch, 6>>>);

// A rule's verdict is a type: what fits is one for all, and what was complained of before is silent.
static_assert(std::is_same_v<tn::detail::verdict_of<doubling_rule, axis<1>, matrix>, tn::detail::fitting>);
static_assert(std::is_same_v<tn::detail::verdict_of<doubling_rule, axis<1>, matrix, tn::ill_shaped>,
                             tn::detail::mistaken_before>);
static_assert(!tn::detail::mistaken_before::fits && tn::detail::mistaken_before::agree);

// An op's own words are a fault like others; who asks gets them, whichever rule they came from.
struct trapezium_rule {
    static constexpr const char* name = "trapezium";
    struct attributes {
        int axis = 0;
        extents shape{2, 3};
    };
    static constexpr char too_few[] = "an area needs 2 points or more";
    static constexpr tn::inferred infer(const attributes&, type_list in, int) {
        if (in[0].extents.rank() < 1) return fault::rank_too_low;
        if (in[0].extents[0].is_number() && in[0].extents[0].size < 2) return too_few;
        return in[0];
    }
};
struct area_rule : trapezium_rule {
    static constexpr const char* name = "area";
};
struct by_default {
    static constexpr trapezium_rule::attributes value{};
};
using point = tn::detail::operand_type<float, shape<1>>;
constexpr tn::inferred refused = tn::detail::inference<trapezium_rule, by_default, 0, point>::answer;
static_assert(refused.what == fault::in_own_words && !refused &&
              tn::detail::same_text(refused.words(), trapezium_rule::too_few));
static_assert(tn::inferred(fault::ranks_differ).own == nullptr);
static_assert(tn::detail::same_text(tn::inferred(fault::ranks_differ).words(), "ranks differ"));
static_assert(tn::detail::inference<trapezium_rule, by_default, 0, tn::detail::operand_type<float, shape<2>>>::answer);
#if !defined(__clang__)
constexpr auto in_own_words = tn::detail::sentence<area_rule, fault::in_own_words, by_default, point>();
static_assert(tn::detail::same_text(in_own_words.text,
                                    "area: an area needs 2 points or more: float[1], axis 0 x [2, 3]"));
#endif

#if !defined(__clang__)
// What g++ prints is the sentence that the graph says at run time.
constexpr auto complaint = tn::detail::sentence<doubling_rule, fault::axis_out_of_range, axis<1>, matrix,
                                                tn::detail::operand_type<double, shape<tn::dyn, time_step>>>();
static_assert(tn::detail::same_text(complaint.text, "doubling: axis is out of range: [batch, 3] x [?, time], axis 1"));
constexpr auto with_types = tn::detail::sentence<doubling_rule, fault::element_types_differ, axis<1>, matrix,
                                                 tn::detail::operand_type<double, shape<>>>();
static_assert(tn::detail::same_text(with_types.text, "doubling: element types differ: float[batch, 3] x double[]"));
#endif

} // namespace rules_of_sizes
