#pragma once

#include <cmath>
#include <limits>
#include <set>

#include <tenon/core/with_element.hpp>
#include <tenon/onnx/onnx_writer.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/ops/flow/cond.hpp>
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/flow/while_loop.hpp>
#include <tenon/ops/reduce/scan.hpp>

/// Control flow as nodes of an ONNX model: If, Loop and Scan, whose graphs are written from bodies. What a body is given beside what it
/// carries and goes through, its graph sees by the names around it.

namespace tenon::detail::onnx {

using written_names = std::vector<std::string>;

// Adds the nodes that a body's results are computed of, where its arguments have these names; the names of the results.
inline written_names write_body(writer& w, const std::string& text, const written_names& arguments) {
    const body& b = w.keep(std::make_shared<const body>(body::copy_of_text(text)));
    for (std::size_t i = 0; i < b.arguments().size(); ++i) w.give(*b.arguments()[i].node(), arguments.at(i));
    std::set<const node*> needed;
    std::vector<const node*> open;
    const auto need = [&](const node_output& o) {
        if (!w.has(o) && needed.insert(o.node).second) open.push_back(o.node);
    };
    for (const any_tensor& r : b.results()) need(r.output());
    while (!open.empty()) {
        const node* const n = open.back();
        open.pop_back();
        for (const node_output& i : n->inputs) need(i);
    }
    for (std::int64_t i = 0; i < b.of().size(); ++i)
        if (const node& n = *b.of().at(i); needed.contains(&n)) {
            try {
                write_one(w, n);
            } catch (const unimplemented_error& e) {
                throw unimplemented_error("node \"" + n.name + "\" (" + n.op->name + ") of its body: " + e.what());
            }
        }
    written_names names;
    for (const any_tensor& r : b.results()) names.push_back(w.name_of(r.output()));
    return names;
}

// A graph gives values of its own, so that what it is given goes through an identity.
inline std::string finished(writer& inner, const char* name, const declared_values& inputs,
                            const written_names& results, const std::vector<tensor_type>& types) {
    declared_values outputs;
    for (std::size_t i = 0; i < results.size(); ++i) outputs.emplace_back(inner.copy_of(results[i]), types[i]);
    return graph_bytes(inner, name, inputs, outputs);
}
inline written_names input_names(writer& w, const node& n, int from, int to) {
    written_names names;
    for (int i = from; i < to; ++i) names.push_back(w.input(n, i));
    return names;
}
inline written_names operator+(written_names a, const written_names& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
// Names for values of these types.
inline declared_values declared(writer& w, const char* wished, const std::vector<tensor_type>& types) {
    declared_values list;
    for (const tensor_type& t : types) list.emplace_back(w.unused(wished), t);
    return list;
}
inline written_names names_in(const declared_values& list) {
    written_names names;
    for (const auto& [name, type] : list) names.push_back(name);
    return names;
}

inline void write_cond(writer& w, const node& n) {
    const auto a = decode<cond_op::attributes>(n.attributes);
    const auto inputs = static_cast<int>(n.inputs.size());
    const written_names given = input_names(w, n, 1, inputs);
    const auto branch = [&](const std::string& text, const char* name) {
        writer inner(w, 0);
        const written_names results = write_body(inner, text, given);
        return finished(inner, name, {}, results, n.outputs);
    };
    const std::string yes = branch(a.then_body, "then_branch"), no = branch(a.else_body, "else_branch");
    w.with_graph("then_branch", yes).with_graph("else_branch", no);
    const written_names made = w.add("If", {w.input(n, 0)}, static_cast<int>(n.outputs.size()));
    for (std::size_t i = 0; i < made.size(); ++i) w.give(n, made[i], static_cast<int>(i));
}

inline void write_while(writer& w, const node& n) {
    const auto a = decode<while_op::attributes>(n.attributes);
    const auto carried = static_cast<int>(a.carried), inputs = static_cast<int>(n.inputs.size());
    const written_names first = input_names(w, n, 0, carried), rest = input_names(w, n, carried, inputs);
    const std::string goes_on = write_body(w, a.condition, first + rest)[0];
    std::vector<tensor_type> types(n.outputs.begin(), n.outputs.begin() + carried);
    writer inner(w, 0);
    const tensor_type truth{element_type::boolean, {}};
    declared_values takes = declared(inner, "number", {{element_type::int64, {}}, truth});
    const declared_values state = declared(inner, "carried", types);
    const written_names next = write_body(inner, a.body, names_in(state) + rest);
    const written_names again = write_body(inner, a.condition, next + rest);
    takes.insert(takes.end(), state.begin(), state.end());
    types.insert(types.begin(), truth);
    w.with_graph("body", finished(inner, "body", takes, again + next, types));
    const written_names made = w.add("Loop", written_names{"", goes_on} + first, carried);
    for (int i = 0; i < carried; ++i) w.give(n, made[static_cast<std::size_t>(i)], i);
}

inline void write_scan(writer& w, const node& n) {
    const auto a = decode<scan_op::attributes>(n.attributes);
    const auto carried = static_cast<int>(a.carried), sliced = static_cast<int>(a.sliced),
               given = static_cast<int>(n.outputs.size()) - 2 * carried;
    const int inputs = static_cast<int>(n.inputs.size());
    writer inner(w, 0);
    std::vector<tensor_type> types;
    for (int i = 0; i < carried; ++i) types.push_back(n.input_type(i));
    const auto slice = [](tensor_type t) {
        t.extents.erase(0);
        return t;
    };
    std::vector<tensor_type> results = types;
    for (int i = 0; i < sliced; ++i) types.push_back(slice(n.input_type(carried + i)));
    for (int i = 0; i < given; ++i) results.push_back(slice(n.outputs[static_cast<std::size_t>(carried + i)]));
    const declared_values takes = declared(inner, "slice", types);
    const written_names made_inside =
        write_body(inner, a.body, names_in(takes) + input_names(w, n, carried + sliced, inputs));
    const std::string body = finished(inner, "body", takes, made_inside, results);
    const auto all = [&](int count) {
        return std::vector<std::int64_t>(static_cast<std::size_t>(count), a.reversed ? 1 : 0);
    };
    w.with_graph("body", body).with("num_scan_inputs", std::int64_t{sliced}).with("scan_input_directions", all(sliced));
    if (given > 0) w.with("scan_output_directions", all(given));
    const written_names made = w.add("Scan", input_names(w, n, 0, carried + sliced), carried + given);
    for (int i = 0; i < carried + given; ++i) w.give(n, made[static_cast<std::size_t>(i)], i);
    // What each run was given is for gradients.
}

// The least or the largest number that elements can be.
inline std::string extreme_number(writer& w, element_type e, bool largest) {
    any_array a(e, {});
    with_element(e, [&]<class T>(const T&) {
        if constexpr (is_floating(element_type_of<T>))
            *a.data<T>() = static_cast<T>((largest ? 1 : -1) * std::numeric_limits<double>::infinity());
        else if constexpr (is_integer(element_type_of<T>))
            *a.data<T>() = largest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    });
    return w.initializer(a);
}
// log(e^a + e^b). Equal ones are apart: their difference would be NaN where both are infinite.
inline std::string sum_of_powers(writer& w, const std::string& a, const std::string& b, element_type e) {
    const std::string larger = w.add("Max", {a, b}), apart = w.add("Abs", {w.add("Sub", {a, b})});
    const std::string more = w.add("Add", {larger, w.add("Softplus", {w.add("Neg", {apart})})});
    return w.add("Where", {w.add("Equal", {a, b}), w.add("Add", {a, w.number(std::log(2.0), e)}), more});
}
// Running extremes and log-sum-exps: a scan that carries the result so far.
inline void write_cumulative(writer& w, const node& n) {
    const auto a = decode<scan_attributes>(n.attributes);
    const tensor_type& t = n.outputs[0];
    const int axis = detail::axis_of(a.axis, t.extents.rank());
    const std::string x = w.input(n, 0);
    std::vector<std::string> sizes;
    for (int d = 0; d < t.extents.rank(); ++d)
        if (d != axis) sizes.push_back(size_of_axis(w, x, t.extents[d], d));
    std::string first = extreme_number(w, t.element, n.op == &definition_of<cummin_op>());
    if (!sizes.empty())
        first = w.add("Expand",
                      {first, sizes.size() == 1 ? sizes[0] : w.with("axis", std::int64_t{0}).add("Concat", sizes)});
    tensor_type slice = t;
    slice.extents.erase(axis);
    writer inner(w, 0);
    const declared_values takes = declared(inner, "slice", {slice, slice});
    const std::string &so_far = takes[0].first, &next = takes[1].first;
    const std::string now = n.op == &definition_of<cummax_op>()   ? inner.add("Max", {so_far, next})
                            : n.op == &definition_of<cummin_op>() ? inner.add("Min", {so_far, next})
                                                                  : sum_of_powers(inner, so_far, next, t.element);
    const std::string body = finished(inner, "body", takes, {now, a.exclusive ? so_far : now}, {slice, slice});
    const std::vector<std::int64_t> along{axis}, direction{a.reversed};
    w.with_graph("body", body).with("num_scan_inputs", std::int64_t{1});
    w.with("scan_input_axes", along).with("scan_input_directions", direction);
    w.with("scan_output_axes", along).with("scan_output_directions", direction);
    w.give(n, w.add("Scan", {first, x}, 2)[1]);
}

TENON_INLINE std::vector<write_entry> written_flow() {
    return {{"cond", write_cond},         {"cumlogsumexp", write_cumulative},
            {"cummax", write_cumulative}, {"cummin", write_cumulative},
            {"scan", write_scan},         {"while_loop", write_while}};
}

} // namespace tenon::detail::onnx
