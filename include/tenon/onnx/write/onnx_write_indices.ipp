#pragma once

#include <tenon/io/onnx/onnx_messages.hpp>
#include <tenon/onnx/onnx_writer.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/linear/diagonal.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/reduce/sort.hpp>
#include <tenon/ops/shape/bit_cast.hpp>
#include <tenon/ops/shape/continued.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/selection.hpp>

/// Ops that read and write by indices, sort, select and count as nodes of an ONNX model.

namespace tenon::detail::onnx {

inline std::string as_int64(writer& w, const node& n, int i) {
    return n.input_type(i).element == element_type::int64 ? w.input(n, i)
                                                          : cast_to(w, w.input(n, i), element_type::int64);
}
inline void write_take_along_axis(writer& w, const node& n) {
    const auto a = decode<take_along_axis_op::attributes>(n.attributes);
    w.give(n, w.with("axis", std::int64_t{a.axis}).add("GatherElements", {w.input(n, 0), w.input(n, 1)}));
}
inline void write_scatter_along_axis(writer& w, const node& n) {
    const auto a = decode<scatter_along_axis_op::attributes>(n.attributes);
    w.with("axis", std::int64_t{a.axis}).with("reduction", a.add ? "add" : "none");
    w.give(n, w.add("ScatterElements", {w.input(n, 0), w.input(n, 1), w.input(n, 2)}));
}
inline void write_gather_nd(writer& w, const node& n) {
    const auto a = decode<gather_nd_op::attributes>(n.attributes);
    const std::string at = as_int64(w, n, 1);
    w.give(n, w.with("batch_dims", std::int64_t{a.batch_dims}).add("GatherND", {w.input(n, 0), at}));
}
inline void write_scatter_nd(writer& w, const node& n) {
    const auto a = decode<scatter_nd_op::attributes>(n.attributes);
    if (a.batch_dims != 0) throw unimplemented_error("scattering with batch_dims = " + std::to_string(a.batch_dims));
    const std::string at = as_int64(w, n, 1);
    w.give(n, w.with("reduction", a.add ? "add" : "none").add("ScatterND", {w.input(n, 0), at, w.input(n, 2)}));
}
inline void write_sort(writer& w, const node& n) {
    const auto a = decode<sort_op::attributes>(n.attributes);
    const int axis = detail::axis_of(a.axis, n.input_type(0).extents.rank());
    const std::string all = size_of_axis(w, w.input(n, 0), n.input_type(0).extents[axis], axis);
    w.with("axis", std::int64_t{axis}).with("largest", std::int64_t{a.descending});
    const auto made = w.add("TopK", {w.input(n, 0), all}, 2);
    w.give(n, made[0], 0);
    w.give(n, made[1], 1);
}
// How many are before each value, one by one. NaN is behind all numbers.
inline void write_searchsorted(writer& w, const node& n) {
    const auto a = decode<searchsorted_op::attributes>(n.attributes);
    const std::string last = w.integers({-1}), before_last = w.integers({-2});
    const bool rows = n.input_type(0).extents.rank() > 1;
    const std::string sorted = rows ? w.add("Unsqueeze", {w.input(n, 0), before_last}) : w.input(n, 0);
    const std::string value = w.add("Unsqueeze", {w.input(n, 1), last});
    std::string before = w.add(a.right ? "LessOrEqual" : "Less", {sorted, value});
    if (is_floating(n.input_type(0).element)) {
        std::string behind = w.add("IsNaN", {value});
        if (!a.right) behind = w.add("And", {behind, w.add("Not", {w.add("IsNaN", {sorted})})});
        before = w.add("Or", {before, behind});
    }
    const std::string each = cast_to(w, before, element_type::int64);
    w.give(n, w.with("keepdims", std::int64_t{0}).add("ReduceSum", {each, last}));
}
inline void write_arange_like(writer& w, const node& n) {
    const auto a = decode<arange_like_op::attributes>(n.attributes);
    const int axis = detail::axis_of(a.axis, n.input_type(0).extents.rank());
    const std::string size = size_of_axis(w, w.input(n, 0), n.input_type(0).extents[axis], axis);
    const element_type e = element_type::int64;
    const std::string count = w.add("Squeeze", {size, w.integers({0})});
    std::string y = w.add("Range", {w.integers({0}, true), count, w.integers({1}, true)});
    if (a.element != e) y = cast_to(w, y, a.element);
    if (a.step.as_double() != 1) y = w.add("Mul", {y, w.number(a.step.as_double(), a.element)});
    if (a.start.as_double() != 0) y = w.add("Add", {y, w.number(a.start.as_double(), a.element)});
    w.give(n, y);
}
inline void write_fill_sizes(writer& w, const node& n) {
    const auto a = decode<fill_sizes_op::attributes>(n.attributes);
    std::vector<std::string> parts;
    for (const std::int64_t s : a.sizes) {
        const int from = static_cast<int>(-2 - s), operand = from / max_rank, axis = from % max_rank;
        parts.push_back(s >= 0 ? w.integers({s})
                               : size_of_axis(w, w.input(n, operand), n.input_type(operand).extents[axis], axis));
    }
    const std::string value = w.number(a.value.as_double(), n.outputs[0].element);
    if (parts.empty()) return w.give(n, value);
    const std::string sizes = parts.size() == 1 ? parts[0] : w.with("axis", std::int64_t{0}).add("Concat", parts);
    w.give(n, w.add("Expand", {value, sizes}));
}
inline void write_boolean_mask(writer& w, const node& n) {
    const extents &x = n.input_type(0).extents, &mask = n.input_type(1).extents;
    std::string from = w.input(n, 0), chosen = w.input(n, 1);
    if (mask.rank() > 1) {
        std::vector<std::int64_t> sizes{-1};
        for (int d = mask.rank(); d < x.rank(); ++d) {
            if (!x[d].is_number()) throw unimplemented_error("parts whose sizes are known in the step only");
            sizes.push_back(x[d].size);
        }
        const std::string rows = w.integers(sizes), list = w.integers({-1});
        from = w.add("Reshape", {from, rows});
        chosen = w.add("Reshape", {chosen, list});
    }
    w.give(n, w.with("axis", std::int64_t{0}).add("Compress", {from, chosen}));
}
inline void write_unique(writer& w, const node& n) {
    const auto a = decode<unique_op::attributes>(n.attributes);
    // ONNX Runtime has it of some types.
    const element_type e = n.input_type(0).element;
    const bool some = e == element_type::float32 || e == element_type::float64 || e == element_type::int64 ||
                      e == element_type::uint64 || e == element_type::string;
    const element_type by = some ? e : is_floating(e) ? element_type::float32 : element_type::int64;
    const std::string x = some ? w.input(n, 0) : cast_to(w, w.input(n, 0), by);
    const auto made = w.with("sorted", std::int64_t{0}).add("Unique", {x}, 3);
    w.give(n, some ? made[0] : cast_to(w, made[0], e), 0);
    w.give(n, a.index == element_type::int64 ? made[2] : cast_to(w, made[2], a.index), 1);
}
inline void write_string_equal(writer& w, const node& n) {
    w.needs_opset(19);
    w.give(n, w.add("Equal", {w.input(n, 0), w.input(n, 1)}));
}
inline void write_string_where(writer& w, const node& n) {
    w.give(n, w.add("Where", {w.input(n, 0), w.input(n, 1), w.input(n, 2)}));
}
inline void write_continue_axis(writer& w, const node& n) {
    const auto a = decode<continue_axis_op::attributes>(n.attributes);
    const int rank = n.input_type(0).extents.rank(), axis = detail::axis_of(a.axis, rank);
    std::vector<std::int64_t> pads(static_cast<std::size_t>(2 * rank));
    pads[static_cast<std::size_t>(axis)] = a.before;
    pads[static_cast<std::size_t>(rank + axis)] = a.after;
    if (a.mode == pad_mode::wrap) w.needs_opset(19);
    const std::string list = w.integers(pads);
    w.with("mode", a.mode == pad_mode::reflect ? "reflect" : a.mode == pad_mode::edge ? "edge" : "wrap");
    w.give(n, w.add("Pad", {w.input(n, 0), list}));
}
inline void write_bit_cast(writer& w, const node& n) {
    const auto a = decode<bit_cast_op::attributes>(n.attributes);
    if (size_of(a.to) != size_of(n.input_type(0).element))
        throw unimplemented_error("bits as numbers of another width");
    w.needs_opset(26);
    w.give(n, w.with("to", data_type_of(a.to)).add("BitCast", {w.input(n, 0)}));
}
inline void write_cumprod(writer& w, const node& n) {
    const auto a = decode<cumprod_op::attributes>(n.attributes);
    w.needs_opset(26);
    const std::string axis = w.integers({a.axis}, true);
    w.with("exclusive", std::int64_t{a.exclusive}).with("reverse", std::int64_t{a.reversed});
    w.give(n, w.add("CumProd", {w.input(n, 0), axis}));
}
inline void write_count_nonzero(writer& w, const node& n) {
    const auto a = decode<count_nonzero_op::attributes>(n.attributes);
    const std::string some = n.input_type(0).element == element_type::boolean
                                 ? w.input(n, 0)
                                 : cast_to(w, w.input(n, 0), element_type::boolean);
    std::vector<std::string> in{cast_to(w, some, element_type::int64)};
    if (a.axes.count > 0) in.push_back(w.integers({a.axes.begin(), a.axes.end()}));
    const std::string count = w.with("keepdims", std::int64_t{a.keepdims}).add("ReduceSum", in);
    const element_type e = n.outputs[0].element;
    w.give(n, e == element_type::int64 ? count : cast_to(w, count, e));
}

TENON_INLINE std::vector<write_entry> written_indices() {
    return {{"arange_like", write_arange_like},
            {"bit_cast", write_bit_cast},
            {"boolean_mask", write_boolean_mask},
            {"continue_axis", write_continue_axis},
            {"count_nonzero", write_count_nonzero},
            {"cumprod", write_cumprod},
            {"fill_sizes", write_fill_sizes},
            {"gather_nd", write_gather_nd},
            {"scatter_along_axis", write_scatter_along_axis},
            {"scatter_nd", write_scatter_nd},
            {"searchsorted", write_searchsorted},
            {"sort", write_sort},
            {"take_along_axis", write_take_along_axis},
            {"string_equal", write_string_equal},
            {"string_where", write_string_where},
            {"unique", write_unique}};
}

} // namespace tenon::detail::onnx
