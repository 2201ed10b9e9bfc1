#pragma once

#include <limits>

#include <tenon/io/onnx/onnx_messages.hpp>
#include <tenon/onnx/onnx_writer.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/shape/selection.hpp>

/// Ops that change sizes, join, cut and gather as nodes of an ONNX model.

namespace tenon::detail::onnx {

// The size of a dimension of x, as a list of one.
TENON_INLINE std::string size_of_axis(writer& w, const std::string& x, const extent& e, int axis) {
    if (e.is_number()) return w.integers({e.size});
    return w.with("start", std::int64_t{axis}).with("end", std::int64_t{axis} + 1).add("Shape", {x});
}
TENON_INLINE std::string sizes_of(writer& w, const std::string& x, const extents& sizes) {
    if (!sizes.is_static()) return w.add("Shape", {x});
    std::vector<std::int64_t> list;
    for (const extent& e : sizes) list.push_back(e.size);
    return w.integers(list);
}

inline void write_reshape(writer& w, const node& n) {
    const auto a = decode<reshape_op::attributes>(n.attributes);
    const extents &from = n.input_type(0).extents, &to = n.outputs[0].extents;
    const std::string x = w.input(n, 0);
    std::vector<std::int64_t> list;
    int open = 0;
    for (int i = 0; i < a.sizes.count; ++i) {
        const std::int64_t s = a.sizes[i];
        const int axis = static_cast<int>(-2 - s);
        if (s >= 0) list.push_back(s);
        else if (to[i].is_number()) list.push_back(to[i].size);
        else if (s == reshape_op::deduced) list.push_back(-1), ++open;
        else if (axis == i) list.push_back(0);
        else list.push_back(-1), ++open; // it stands elsewhere
    }
    // One size that is not known is found, and a number 0 is none that is copied.
    bool zero = false;
    for (int i = 0; i < a.sizes.count; ++i) zero = zero || to[i] == extent(0);
    if (open <= 1 && !zero) {
        const std::string shape = w.integers(list);
        return w.give(n, w.add("Reshape", {x, shape}));
    }
    if (zero && to.is_static()) {
        const std::string shape = w.integers(list);
        return w.give(n, w.with("allowzero", std::int64_t{1}).add("Reshape", {x, shape}));
    }
    std::vector<std::string> parts;
    for (int i = 0; i < a.sizes.count; ++i) {
        const std::int64_t s = a.sizes[i];
        if (s <= -2) parts.push_back(size_of_axis(w, x, from[static_cast<int>(-2 - s)], static_cast<int>(-2 - s)));
        else parts.push_back(w.integers({to[i].is_number() ? to[i].size : -1}));
    }
    const std::string shape = w.with("axis", std::int64_t{0}).add("Concat", parts);
    if (zero) w.with("allowzero", std::int64_t{1});
    w.give(n, w.add("Reshape", {x, shape}));
}
inline void write_reshape_like(writer& w, const node& n) {
    const std::string x = w.input(n, 0), shape = sizes_of(w, w.input(n, 1), n.input_type(1).extents);
    w.give(n, w.with("allowzero", std::int64_t{1}).add("Reshape", {x, shape}));
}
inline void write_squeeze(writer& w, const node& n) {
    const auto a = decode<squeeze_op::attributes>(n.attributes);
    const std::string x = w.input(n, 0);
    if (a.axes.count == 0) return w.give(n, x);
    const std::string axes = w.integers({a.axes.begin(), a.axes.end()});
    w.give(n, w.add(n.op == &definition_of<squeeze_op>() ? "Squeeze" : "Unsqueeze", {x, axes}));
}
inline void write_transpose(writer& w, const node& n) {
    const int rank = n.input_type(0).extents.rank();
    std::vector<std::int64_t> axes;
    for (const std::int64_t a : transpose_op::complete(decode<transpose_op::attributes>(n.attributes).axes, rank))
        axes.push_back(detail::axis_of(a, rank));
    w.give(n, w.transposed(w.input(n, 0), axes));
}
inline void write_broadcast_to(writer& w, const node& n) {
    const auto a = decode<broadcast_to_op::attributes>(n.attributes);
    std::vector<std::int64_t> list;
    for (const std::int64_t s : a.sizes) list.push_back(s < 0 ? 1 : s); // 1: as it is
    const std::string shape = w.integers(list);
    w.give(n, w.add("Expand", {w.input(n, 0), shape}));
}
inline void write_broadcast_like(writer& w, const node& n) {
    const auto a = decode<broadcast_like_op::attributes>(n.attributes);
    std::string x = w.input(n, 0);
    if (a.axes.count > 0) {
        const std::string axes = w.integers({a.axes.begin(), a.axes.end()});
        const int missing = n.input_type(1).extents.rank() - n.input_type(0).extents.rank() - a.axes.count;
        if (missing > 0) throw unimplemented_error("dimensions that are missing without being named");
        x = w.add("Unsqueeze", {x, axes});
    }
    w.give(n, w.add("Expand", {x, sizes_of(w, w.input(n, 1), n.input_type(1).extents)}));
}
inline void write_fill_like(writer& w, const node& n) {
    const auto a = decode<fill_like_op::attributes>(n.attributes);
    const std::string value = w.number(a.value.as_double(), n.outputs[0].element);
    w.give(n, w.add("Expand", {value, sizes_of(w, w.input(n, 0), n.input_type(0).extents)}));
}
inline std::vector<std::string> all_inputs(writer& w, const node& n) {
    std::vector<std::string> in;
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) in.push_back(w.input(n, i));
    return in;
}
inline void write_concat(writer& w, const node& n) {
    w.give(
        n,
        w.with("axis", std::int64_t{decode<concat_op::attributes>(n.attributes).axis}).add("Concat", all_inputs(w, n)));
}
inline void write_stack(writer& w, const node& n) {
    const std::int64_t axis = decode<stack_op::attributes>(n.attributes).axis;
    const std::string axes = w.integers({axis});
    std::vector<std::string> in;
    for (const std::string& x : all_inputs(w, n)) in.push_back(w.add("Unsqueeze", {x, axes}));
    w.give(n, w.with("axis", axis).add("Concat", in));
}
inline void give_parts(writer& w, const node& n, std::int64_t axis, const std::vector<std::int64_t>& sizes,
                       bool squeezed) {
    const std::string x = w.input(n, 0), list = w.integers(sizes), axes = w.integers({axis});
    const auto parts = w.with("axis", axis).add("Split", {x, list}, static_cast<int>(sizes.size()));
    for (int i = 0; i < static_cast<int>(parts.size()); ++i) {
        const std::string& p = parts[static_cast<std::size_t>(i)];
        w.give(n, squeezed ? w.add("Squeeze", {p, axes}) : p, i);
    }
}
inline void write_split(writer& w, const node& n) {
    std::int64_t axis = 0;
    bool squeezed = false;
    if (n.op == &definition_of<split_op>()) axis = decode<split_op::attributes>(n.attributes).axis;
    else if (n.op == &definition_of<split_evenly_op>()) axis = decode<split_evenly_op::attributes>(n.attributes).axis;
    else axis = decode<unstack_op::attributes>(n.attributes).axis, squeezed = true;
    const int along = detail::axis_of(static_cast<int>(axis), n.input_type(0).extents.rank());
    std::vector<std::int64_t> sizes;
    for (const tensor_type& t : n.outputs) {
        const extent e = squeezed ? extent(1) : t.extents[along];
        if (!e.is_number()) throw unimplemented_error("parts whose sizes are known in the step only");
        sizes.push_back(e.size);
    }
    give_parts(w, n, axis, sizes, squeezed);
}
inline void write_slice(writer& w, const node& n) {
    const auto a = decode<slice_op::attributes>(n.attributes);
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> begins, ends, axes, steps;
    for (int i = 0; i < a.begins.count; ++i) {
        const range r = a.of(i);
        begins.push_back(r.begin != unbounded ? r.begin : r.step > 0 ? 0 : far);
        ends.push_back(r.end != unbounded ? r.end : r.step > 0 ? far : -far);
        axes.push_back(i);
        steps.push_back(r.step);
    }
    if (begins.empty()) return w.give(n, w.input(n, 0));
    const std::string b = w.integers(begins), e = w.integers(ends), x = w.integers(axes), s = w.integers(steps);
    w.give(n, w.add("Slice", {w.input(n, 0), b, e, x, s}));
}
inline void write_reverse(writer& w, const node& n) {
    const auto a = decode<reverse_op::attributes>(n.attributes);
    const int rank = n.input_type(0).extents.rank();
    std::vector<std::int64_t> axes(a.axes.begin(), a.axes.end());
    if (axes.empty())
        for (int i = 0; i < rank; ++i) axes.push_back(i);
    if (axes.empty()) return w.give(n, w.input(n, 0));
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::int64_t> back(axes.size(), -1), begins(axes.size(), far), ends(axes.size(), -far);
    const std::string b = w.integers(begins), e = w.integers(ends), x = w.integers(axes), s = w.integers(back);
    w.give(n, w.add("Slice", {w.input(n, 0), b, e, x, s}));
}
inline void write_pad(writer& w, const node& n) {
    const auto a = decode<pad_op::attributes>(n.attributes);
    const int rank = n.input_type(0).extents.rank();
    std::vector<std::int64_t> pads(static_cast<std::size_t>(2 * rank));
    for (int i = 0; i < a.before.count; ++i) {
        pads[static_cast<std::size_t>(i)] = a.before[i];
        pads[static_cast<std::size_t>(rank + i)] = a.after[i];
    }
    const std::string list = w.integers(pads), value = w.number(a.value.as_double(), n.outputs[0].element);
    w.give(n, w.add("Pad", {w.input(n, 0), list, value}));
}
inline void write_tile(writer& w, const node& n) {
    const auto a = decode<tile_op::attributes>(n.attributes);
    const std::string counts = w.integers({a.counts.begin(), a.counts.end()});
    w.give(n, w.add("Tile", {w.input(n, 0), counts}));
}
inline void write_one_hot(writer& w, const node& n) {
    const auto a = decode<one_hot_op::attributes>(n.attributes);
    // Those that are none of the classes give zeros; in ONNX the negative ones count from the end.
    const std::string depth = w.integers({a.depth}, true), none = w.integers({a.depth}, true),
                      zero = w.integers({0}, true);
    const std::string wide = w.with("to", std::int64_t{7}).add("Cast", {w.input(n, 0)});
    const std::string index = w.add("Where", {w.add("Less", {wide, zero}), none, wide});
    const std::string hot = w.with("axis", std::int64_t{a.axis}).add("OneHot", {index, depth, w.integers({0, 1})});
    w.give(n, w.with("to", data_type_of(a.element)).add("Cast", {hot}));
}
inline void write_gather(writer& w, const node& n) {
    w.give(
        n,
        w.with("axis", std::int64_t{decode<gather_op::attributes>(n.attributes).axis}).add("Gather", all_inputs(w, n)));
}
TENON_INLINE std::string count_of(writer& w, const std::string& x, const index_list& axes) {
    if (axes.count == 0) return w.add("Size", {x});
    const std::string sizes = w.add("Gather", {w.add("Shape", {x}), w.integers({axes.begin(), axes.end()})});
    return w.with("keepdims", std::int64_t{0}).add("ReduceProd", {sizes});
}
inline void write_element_count(writer& w, const node& n) {
    const auto a = decode<element_count_op::attributes>(n.attributes);
    const std::string count = count_of(w, w.input(n, 0), a.axes);
    w.give(n, a.element == element_type::int64 ? count : cast_to(w, count, a.element));
}
inline void write_nonzero(writer& w, const node& n) {
    w.give(n, w.transposed(w.add("NonZero", {w.input(n, 0)}), {1, 0}));
}

inline void write_arange_to(writer& w, const node& n) {
    const std::string count = cast_to(w, w.input(n, 0), element_type::int64);
    w.give(n, w.add("Range", {w.integers({0}, true), count, w.integers({1}, true)}));
}

TENON_INLINE std::vector<write_entry> written_shapes() {
    return {{"arange_to", write_arange_to},
            {"broadcast_like", write_broadcast_like},
            {"broadcast_to", write_broadcast_to},
            {"concat", write_concat},
            {"element_count", write_element_count},
            {"expand_dims", write_squeeze},
            {"fill_like", write_fill_like},
            {"gather", write_gather},
            {"nonzero", write_nonzero},
            {"one_hot", write_one_hot},
            {"pad", write_pad},
            {"reshape", write_reshape},
            {"reshape_like", write_reshape_like},
            {"reverse", write_reverse},
            {"slice", write_slice},
            {"split", write_split},
            {"split_evenly", write_split},
            {"squeeze", write_squeeze},
            {"stack", write_stack},
            {"tile", write_tile},
            {"transpose", write_transpose},
            {"unstack", write_split}};
}

} // namespace tenon::detail::onnx
