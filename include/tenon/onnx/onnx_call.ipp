#pragma once

#include <algorithm>

#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_import.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// What a node of a model sees, and what the functions of operators share.

namespace tenon::detail::onnx {

TENON_INLINE std::int64_t call::opset() const noexcept { return in_.opset(); }
TENON_INLINE value& call::in(int i) const {
    if (!has(i)) wrong("input " + std::to_string(i) + " is missing");
    return in_.find(node_.inputs[static_cast<std::size_t>(i)]);
}
TENON_INLINE const std::vector<value>& call::items(int i) const {
    const value& v = in(i);
    if (!v.items) wrong("input " + std::to_string(i) + " is no sequence");
    return *v.items;
}
inline value& tensor_in(const call& c, int i) {
    value& v = c.in(i);
    if (v.items)
        c.refuse(
            "\"" + c.node().inputs[static_cast<std::size_t>(i)] +
            "\" is a sequence; only what takes one apart or joins it, of a number of tensors that is known, is read");
    return v;
}
TENON_INLINE any_tensor call::x(int i) const {
    value& v = tensor_in(*this, i);
    if (!v.first.node()) v.first = untyped::transpose(v.last, {0, 3, 1, 2});
    return v.first;
}
TENON_INLINE any_tensor call::last(int i) const {
    value& v = tensor_in(*this, i);
    if (!v.last.node()) v.last = untyped::transpose(v.first, {0, 2, 3, 1});
    return v.last;
}
TENON_INLINE std::optional<any_array> call::known(int i) const { return in_.evaluated(x(i)); }
TENON_INLINE std::optional<any_array> call::known(const value& v) const { return in_.evaluated(v.first); }
TENON_INLINE any_array call::known(int i, const char* what) const {
    if (std::optional<any_array> a = known(i)) return std::move(*a);
    refuse(std::string(what) + ", input \"" + node_.inputs[static_cast<std::size_t>(i)] +
           "\", is computed in the step; it must be known when the graph is built (" +
           (in_.in_body()
                ? "no graph of a loop or branch finds sizes out: cut the model before it, or export it without"
                : "where it is an input of the model, give it in onnx_read_options::values") +
           ")");
}
TENON_INLINE std::vector<std::int64_t> call::integers(int i, const char* what) const {
    const any_array a = known(i, what);
    std::vector<std::int64_t> list;
    with_element(a.element(), [&]<class T>(const T&) {
        if constexpr (std::is_integral_v<T>)
            for (std::int64_t k = 0; k < a.elements(); ++k) list.push_back(static_cast<std::int64_t>(a.data<T>()[k]));
        else wrong(std::string(what) + " must be integers, not " + name_of(a.element()));
    });
    return list;
}
TENON_INLINE std::int64_t call::integer(int i, const char* what) const {
    const auto list = integers(i, what);
    if (list.size() != 1) wrong(std::string(what) + " must be one number, not " + std::to_string(list.size()));
    return list[0];
}
TENON_INLINE double call::real(int i, const char* what) const {
    const any_array a = known(i, what);
    if (a.elements() != 1) wrong(std::string(what) + " must be one number, not " + to_string(a.type()));
    return with_element(a.element(), [&]<class T>(const T&) -> double {
        if constexpr (std::is_same_v<T, std::string>) wrong(std::string(what) + " must be a number");
        else return static_cast<double>(a.data<T>()[0]);
    });
}
TENON_INLINE std::optional<std::vector<extent>> call::sizes(int i) const {
    const value& v = in(i);
    if (v.sizes) return v.sizes;
    const any_tensor t = x(i);
    if (t.rank() > 1 || !is_integer(t.element())) return std::nullopt;
    const std::optional<any_array> a = in_.evaluated(t);
    if (!a) return std::nullopt;
    std::vector<extent> list;
    for (const std::int64_t n : integers(i, "a list of sizes")) list.push_back(size_entry(n));
    return list;
}

TENON_INLINE const attribute_message* call::attribute(const char* name) const noexcept {
    for (const attribute_message& a : node_.attributes)
        if (a.name == name) return &a;
    return nullptr;
}
TENON_INLINE std::int64_t call::integer(const char* name, std::int64_t otherwise) const {
    const attribute_message* a = attribute(name);
    return a ? a->i : otherwise;
}
TENON_INLINE double call::real(const char* name, double otherwise) const {
    const attribute_message* a = attribute(name);
    return a ? static_cast<double>(a->f) : otherwise;
}
TENON_INLINE std::string call::text(const char* name, const char* otherwise) const {
    const attribute_message* a = attribute(name);
    return a ? a->s : otherwise;
}
TENON_INLINE std::vector<std::int64_t> call::integers(const char* name) const {
    const attribute_message* a = attribute(name);
    return a ? a->ints : std::vector<std::int64_t>();
}

TENON_INLINE any_array call::read(const attribute_message& a) const { return in_.read(a.t); }

TENON_INLINE void call::give(value v, int output) const {
    if (v.sizes) // of numbers alone they are a constant, whatever they were computed of
        if (const auto known = constant_sizes(*v.sizes, v.first)) v = value_of(*known);
    if (wants(output)) in_.set(node_.outputs[static_cast<std::size_t>(output)], std::move(v));
}
TENON_INLINE void call::give(const any_tensor& t, int output) const { give(value_of(t), output); }
TENON_INLINE void call::give_last(const any_tensor& t, int output) const { give(value{{}, t, {}}, output); }
TENON_INLINE const graph_message& call::graph_of(const char* name) const {
    const attribute_message* a = attribute(name);
    if (!a || !a->g) wrong(std::string("it has no graph ") + name);
    return *a->g;
}
TENON_INLINE std::vector<value> call::results_of(const graph_message& g, const std::vector<value>& inputs) const {
    return in_.add_graph(g, inputs);
}
TENON_INLINE bool call::tried(function_ref<void()> f) const { return in_.tried(f); }
TENON_INLINE extent call::named(const std::string& text) const { return in_.named(text); }
TENON_INLINE void call::refuse(const std::string& why) const { throw unimplemented_error(why); }
TENON_INLINE void call::wrong(const std::string& why) const { throw invalid_argument_error(why); }

TENON_INLINE int axis_in(const call& c, std::int64_t a, int rank) {
    if (a < -rank || a >= rank)
        c.wrong("axis " + std::to_string(a) + " is none of a tensor of " + std::to_string(rank) + " dimensions");
    return static_cast<int>(a < 0 ? a + rank : a);
}
TENON_INLINE index_list axes_in(const call& c, const std::vector<std::int64_t>& axes, int rank) {
    if (axes.size() > max_rank) c.wrong("there are " + std::to_string(axes.size()) + " axes");
    index_list list;
    for (const std::int64_t a : axes) list.push_back(axis_in(c, a, rank));
    return list;
}
TENON_INLINE any_tensor scalar_like(double v, const any_tensor& beside) {
    if (is_floating(beside.element())) return untyped::scalar(v, beside.element());
    return untyped::scalar(static_cast<std::int64_t>(v), beside.element());
}
TENON_INLINE any_tensor integer_constant(const std::vector<std::int64_t>& values, const extents& sizes) {
    any_array a(element_type::int64, sizes);
    std::copy(values.begin(), values.end(), a.data<std::int64_t>());
    return untyped::constant(std::move(a));
}
TENON_INLINE std::optional<any_tensor> constant_sizes(const std::vector<extent>& sizes, const any_tensor& like) {
    std::vector<std::int64_t> numbers;
    for (const extent& e : sizes) {
        if (e.is_named()) return std::nullopt;
        numbers.push_back(e.size);
    }
    if (!like.extents().is_static() || like.extents().elements() != static_cast<std::int64_t>(numbers.size()))
        return std::nullopt;
    return untyped::cast(integer_constant(numbers, like.extents()), like.element());
}
TENON_INLINE any_tensor float_constant(const std::vector<double>& values, const extents& sizes, element_type e) {
    any_array a(e, sizes);
    with_element(e, [&]<class T>(const T&) {
        if constexpr (is_floating(element_type_of<T>))
            for (std::size_t i = 0; i < values.size(); ++i) a.data<T>()[i] = static_cast<T>(values[i]);
    });
    return untyped::constant(std::move(a));
}
TENON_INLINE std::vector<std::int64_t> copied_sizes(int from, int to) {
    std::vector<std::int64_t> sizes;
    for (int i = from; i < to; ++i) sizes.push_back(reshape_op::copied(i));
    return sizes;
}
TENON_INLINE any_tensor reshaped(const any_tensor& x, const std::vector<std::int64_t>& sizes) {
    if (sizes.size() > max_rank) throw unimplemented_error("a result of more than 8 dimensions");
    reshape_op::attributes a;
    for (const std::int64_t s : sizes) {
        a.sizes.push_back(s);
        a.declared.push_back(s >= 0 ? extent(s) : extent{});
    }
    return tenon::add<reshape_op>(a, {x});
}
TENON_INLINE std::int64_t number_of(const call& c, const extent& e, const char* what) {
    if (!e.is_number())
        c.refuse(std::string(what) + " is " + to_string(e) +
                 ", known in the step only; it must be a number (say it in onnx_read_options::sizes)");
    return e.size;
}

TENON_INLINE std::int64_t within(const call& c, std::int64_t n, std::int64_t least, std::int64_t most,
                                 const char* what) {
    if (n < least || n > most)
        c.wrong(std::string(what) + " is " + std::to_string(n) + "; it may be from " + std::to_string(least) + " to " +
                std::to_string(most));
    return n;
}
TENON_INLINE any_tensor numbers_to(const call& c, std::int64_t n) {
    std::vector<std::int64_t> list(static_cast<std::size_t>(within(c, n, 0, max_folded, "a size")));
    for (std::int64_t i = 0; i < n; ++i) list[static_cast<std::size_t>(i)] = i;
    return integer_constant(list, {n});
}
TENON_INLINE any_tensor size_of_axis(const any_tensor& x, int axis) {
    if (x.extents()[axis].is_number()) return untyped::scalar(x.extents()[axis].size, element_type::int64);
    return tenon::add<element_count_op>({index_list{axis}, element_type::int64}, {x});
}
TENON_INLINE any_tensor from_the_start(const call& c, int i, const any_tensor& x, int axis) {
    const any_tensor given = c.x(i);
    if (!is_integer(given.element())) c.wrong("its indices are no integers");
    const any_tensor at = given.element() == element_type::int32 ? given : untyped::cast(given, element_type::int64);
    if (const std::optional<any_array> known = c.known(i)) {
        const std::vector<std::int64_t> all = c.integers(i, "the indices");
        if (std::all_of(all.begin(), all.end(), [](std::int64_t n) { return n >= 0; })) return at;
    }
    const any_tensor n = untyped::cast(size_of_axis(x, axis), at.element());
    return untyped::select(untyped::less(at, 0), untyped::add(at, n), at);
}
TENON_INLINE any_tensor part_along(const any_tensor& x, int axis, std::int64_t from, std::int64_t to) {
    std::vector<range> ranges(static_cast<std::size_t>(axis) + 1);
    ranges.back() = {from, to, 1};
    return untyped::slice(x, ranges);
}
TENON_INLINE any_tensor int64_at(const any_tensor& list, std::int64_t k) {
    return untyped::cast(reshaped(part_along(list, 0, k, k + 1), {}), element_type::int64);
}

} // namespace tenon::detail::onnx
