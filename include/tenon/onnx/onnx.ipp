#pragma once

#include <algorithm>
#include <set>
#include <string_view>

#include <tenon/core/sizes/size_name.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/graph/scope.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/onnx/onnx.hpp>
#include <tenon/onnx/onnx_import.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/state/state.hpp>

namespace tenon {

namespace detail::onnx {

TENON_INLINE const std::unordered_map<std::string, handler>& operators() {
    static const std::unordered_map<std::string, handler> all = [] {
        std::unordered_map<std::string, handler> table;
        for (const auto& family : {elementwise_operators(), reduction_operators(), shape_operators(), index_operators(),
                                   layer_operators(), norm_operators(), recurrent_operators()})
            for (const entry& e : family) table.emplace(e.op, e.add);
        return table;
    }();
    return all;
}

// A name as nodes have them: a colon asks for an output there.
inline std::string node_name(std::string name) {
    std::replace(name.begin(), name.end(), ':', '_');
    while (!name.empty() && name.front() == '/') name.erase(0, 1);
    return name;
}

inline std::string place_of(const node_message& n) {
    return n.name.empty() ? n.op + (n.outputs.empty() ? "" : " that gives \"" + n.outputs[0] + '"')
                          : n.op + " \"" + n.name + '"';
}

inline bool is_known(const node_message& n) {
    return (n.domain.empty() || n.domain == "ai.onnx") && operators().contains(n.op);
}

// Operators that there are not, with how many nodes they have.
inline void count_unknown(const graph_message& g, std::map<std::string, int>& unknown) {
    for (const node_message& n : g.nodes) {
        if (!is_known(n)) ++unknown[n.domain.empty() ? n.op : n.domain + "." + n.op];
        for (const attribute_message& a : n.attributes)
            if (a.g) count_unknown(*a.g, unknown);
    }
}

TENON_INLINE value& importer::find(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end())
        throw invalid_argument_error("there is no value \"" + name +
                                     "\" yet: nodes stand before those that read what they give");
    return found->second;
}

TENON_INLINE bool importer::is_constant(node* n) {
    if (const auto known = constant_.find(n); known != constant_.end()) return known->second;
    std::vector<node*> open{n}; // not recursive: models are deep
    while (!open.empty()) {
        node* const top = open.back();
        if (constant_.contains(top)) {
            open.pop_back();
            continue;
        }
        constexpr auto effects = op_flags::stateful | op_flags::fed | op_flags::resource | op_flags::variable;
        bool constant = !has(top->op->flags, effects) && top->controls.empty(), waits = false;
        for (const tensor_type& t : top->outputs)
            constant = constant && t.extents.is_static() && t.extents.elements() <= max_folded;
        for (const node_output& i : top->inputs) {
            if (!constant) break;
            const auto known = constant_.find(i.node);
            if (known != constant_.end()) constant = known->second;
            else {
                open.push_back(i.node);
                waits = true;
            }
        }
        if (constant && waits) continue;
        constant_[top] = constant;
        open.pop_back();
    }
    return constant_[n];
}

TENON_INLINE std::optional<any_array> importer::evaluated(const any_tensor& t) {
    node* const n = t.node();
    if (n->op == &definition_of<constant_op>()) return decode<constant_op::attributes>(n->attributes).value->share();
    if (!is_constant(n)) return std::nullopt;
    if (!session_) session_ = std::make_unique<session>(graph::current());
    return std::move(session_->run_untyped({}, {t})[0]);
}

TENON_INLINE void importer::add_initializers(const graph_message& g, bool as_variables) {
    if (g.sparse) throw unimplemented_error(who_ + ": it has sparse initialisers, which are not read");
    for (const tensor_message& t : g.initializers) {
        any_array a = read(t);
        if (as_variables && is_floating(a.element())) {
            const any_tensor v = new_variable(node_name(t.name), std::move(a), {});
            variables_.push_back(v);
            set(t.name, {v, {}, {}});
        } else set(t.name, {untyped::constant(std::move(a)), {}, {}});
    }
}

TENON_INLINE void importer::add_node_of(const node_message& n) {
    for (const std::string& i : n.inputs)
        if (missing_.contains(i)) {
            for (const std::string& o : n.outputs) missing_[o] = true;
            return;
        }
    try {
        const name_scope in(node_name(n.name.empty() ? n.op : n.name));
        operators().at(n.op)(call(*this, n));
        for (const std::string& o : n.outputs)
            if (!o.empty() && !values_.contains(o))
                throw unimplemented_error("its output \"" + o + "\" is not computed");
    } catch (const unimplemented_error& e) {
        refused_.push_back(place_of(n) + ": " + e.what());
        for (const std::string& o : n.outputs) missing_[o] = true;
    } catch (const invalid_argument_error& e) {
        throw invalid_argument_error(who_ + ": " + place_of(n) + ": " + e.what());
    } catch (const out_of_range_error& e) {
        throw invalid_argument_error(who_ + ": " + place_of(n) + ": " + e.what());
    }
}

TENON_INLINE void importer::add_nodes(const graph_message& g) {
    for (const node_message& n : g.nodes) add_node_of(n);
}

TENON_INLINE void importer::add_input(const value_message& v, onnx_model& to) {
    const element_type e = element_of(v.data_type);
    if (e == element_type::none)
        throw unimplemented_error(
            who_ + ": input \"" + v.name + "\" " +
            (v.data_type == 0 ? "is no tensor" : "has elements of ONNX's data type " + std::to_string(v.data_type)) +
            ", which is not read");
    extents sizes;
    std::vector<std::shared_ptr<const char>> names; // until the graph holds them
    if (const auto given = options_.sizes.find(v.name); given != options_.sizes.end()) sizes = given->second;
    else if (!v.has_sizes)
        throw invalid_argument_error(who_ + ": nothing says how many dimensions input \"" + v.name +
                                     "\" has; say it in onnx_read_options::sizes");
    else {
        if (v.sizes.size() > max_rank)
            throw unimplemented_error(who_ + ": input \"" + v.name + "\" has " + std::to_string(v.sizes.size()) +
                                      " dimensions; 8 are the most");
        for (const value_message::size& s : v.sizes) {
            if (s.number >= 0 && s.name.empty()) sizes.push_back(s.number);
            else if (s.name.empty()) sizes.push_back(dynamic_extent);
            else sizes.push_back(extent::named(names.emplace_back(share_size_name(s.name)).get()));
        }
    }
    const any_tensor t = untyped::placeholder(e, sizes, node_name(v.name));
    set(v.name, {t, {}, {}});
    to.input_names.push_back(v.name);
    to.inputs.push_back(t);
}

TENON_INLINE onnx_model importer::read(const model_message& m) {
    std::map<std::string, int> unknown;
    count_unknown(m.graph, unknown);
    if (!unknown.empty()) {
        std::string list;
        for (const auto& [op, nodes] : unknown)
            list += (list.empty() ? "" : ", ") + op + (nodes == 1 ? "" : " (" + std::to_string(nodes) + " nodes)");
        throw unimplemented_error(who_ + ": the model has operators that are not read: " + list +
                                  "; onnx_operators() lists those that are");
    }
    if (m.opset < 7)
        throw unimplemented_error(who_ + ": the model is of operator set " + std::to_string(m.opset) +
                                  "; 7 and later are read (onnx.version_converter makes such of it)");
    onnx_model result;
    result.producer = m.producer;
    result.opset = m.opset;
    std::set<std::string> given;
    for (const named_array& v : options_.values) {
        set(v.name, {untyped::constant(v.value.copy()), {}, {}});
        given.insert(v.name);
    }
    add_initializers(m.graph, options_.variables);
    for (const value_message& v : m.graph.inputs)
        if (!values_.contains(v.name)) add_input(v, result);
        else given.erase(v.name);
    if (!given.empty())
        throw invalid_argument_error(who_ + ": onnx_read_options::values has \"" + *given.begin() +
                                     "\", which is no input of the model");
    add_nodes(m.graph);
    if (!refused_.empty()) {
        std::string list = who_ + ": what these nodes ask for is not done:";
        for (const std::string& r : refused_) list += "\n    " + r;
        throw unimplemented_error(list);
    }
    for (const value_message& v : m.graph.outputs) {
        const any_tensor t = call(*this, node_message{{}, {}, {}, {v.name}, {}, {}}).x();
        result.output_names.push_back(v.name);
        result.outputs.push_back(tenon::add<identity_op>({}, {t}, node_name(v.name)));
    }
    result.variables = std::move(variables_);
    return result;
}

// What a node sees.

TENON_INLINE std::int64_t call::opset() const noexcept { return in_.opset(); }
TENON_INLINE value& call::in(int i) const {
    if (!has(i)) wrong("input " + std::to_string(i) + " is missing");
    return in_.find(node_.inputs[static_cast<std::size_t>(i)]);
}
TENON_INLINE any_tensor call::x(int i) const {
    value& v = in(i);
    if (!v.first.node()) v.first = untyped::transpose(v.last, {0, 3, 1, 2});
    return v.first;
}
TENON_INLINE any_tensor call::last(int i) const {
    value& v = in(i);
    if (!v.last.node()) v.last = untyped::transpose(v.first, {0, 2, 3, 1});
    return v.last;
}
TENON_INLINE any_array call::known(int i, const char* what) const {
    if (std::optional<any_array> a = in_.evaluated(x(i))) return std::move(*a);
    refuse(std::string(what) + ", input \"" + node_.inputs[static_cast<std::size_t>(i)] +
           "\", is computed in the step; it must be known when the graph is built (where it is an input of the model, "
           "give it in onnx_read_options::values)");
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
    for (const std::int64_t n : integers(i, "a list of sizes")) {
        extent e;
        e.size = n; // also -1, and what is negative as a step or a bound
        list.push_back(e);
    }
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
    if (wants(output)) in_.set(node_.outputs[static_cast<std::size_t>(output)], std::move(v));
}
TENON_INLINE void call::give(const any_tensor& t, int output) const { give(value{t, {}, {}}, output); }
TENON_INLINE void call::give_last(const any_tensor& t, int output) const { give(value{{}, t, {}}, output); }
TENON_INLINE void call::inline_graph(const graph_message& g) const {
    in_.add_initializers(g, false);
    in_.add_nodes(g);
    for (std::size_t i = 0; i < g.outputs.size(); ++i) {
        const node_message output{{}, {}, {}, {g.outputs[i].name}, {}, {}};
        give(call(in_, output).x(), static_cast<int>(i));
    }
}
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

} // namespace detail::onnx

namespace detail {
inline const any_tensor& find_named(const std::string& name, const std::vector<std::string>& names,
                                    const std::vector<any_tensor>& tensors, const char* what) {
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) return tensors[i];
        list += (i == 0 ? "\"" : ", \"") + names[i] + '"';
    }
    throw not_found_error(std::string("the ONNX model has no ") + what + " \"" + name + "\"; it has " +
                          (list.empty() ? "none" : list));
}
inline onnx_model read_onnx_from(std::string_view bytes, const onnx_read_options& o, const std::string& who,
                                 const std::string& folder) {
    const onnx::model_message m = onnx::read_model(bytes, who);
    return onnx::importer(o, who, folder, m.opset).read(m);
}
} // namespace detail

TENON_INLINE const any_tensor& onnx_model::input(const std::string& name) const {
    return detail::find_named(name, input_names, inputs, "input");
}
TENON_INLINE const any_tensor& onnx_model::output(const std::string& name) const {
    return detail::find_named(name, output_names, outputs, "output");
}
TENON_INLINE onnx_model read_onnx(const std::string& path, const onnx_read_options& o) {
    const detail::mapped_file file("read_onnx", path);
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    return detail::read_onnx_from({reinterpret_cast<const char*>(file.data()), file.size()}, o,
                                  "read_onnx: '" + path + "'", folder);
}
TENON_INLINE onnx_model parse_onnx(std::span<const std::byte> bytes, const onnx_read_options& o,
                                   const std::string& name) {
    return detail::read_onnx_from({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, o, "parse_onnx: " + name,
                                  "");
}
TENON_INLINE std::vector<std::string> onnx_operators() {
    std::vector<std::string> names;
    for (const auto& [name, add] : detail::onnx::operators()) names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/onnx/onnx_elementwise_ops.ipp>
#include <tenon/onnx/onnx_index_ops.ipp>
#include <tenon/onnx/onnx_layer_ops.ipp>
#include <tenon/onnx/onnx_norm_ops.ipp>
#include <tenon/onnx/onnx_recurrent_ops.ipp>
#include <tenon/onnx/onnx_reduction_ops.ipp>
#include <tenon/onnx/onnx_shape_ops.ipp>
#endif
