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
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/flow/while_loop.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/state/state.hpp>

namespace tenon {

namespace detail::onnx {

TENON_INLINE const std::unordered_map<std::string, handler>& operators() {
    static const auto& all = []() -> auto& {
        auto& table = *new std::unordered_map<std::string, handler>;
        for (const auto& family :
             {attention_operators(), category_operators(), detection_operators(), elementwise_operators(),
              feature_operators(),   flow_operators(),     forgotten_operators(), index_operators(),
              layer_operators(),     learned_operators(),  norm_operators(),      pool_operators(),
              quantized_operators(), random_operators(),   recurrent_operators(), reduction_operators(),
              resize_operators(),    sampling_operators(), scatter_operators(),   shape_operators(),
              signal_operators(),    training_operators(), tree_operators(),      vector_operators(),
              window_operators()})
            for (const entry& e : family) table.emplace(e.op, e.add);
        return table;
    }
    ();
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

inline std::string operator_of(const node_message& n) {
    return n.domain.empty() || n.domain == "ai.onnx" ? n.op : n.domain + "." + n.op;
}

// Operators that there are not, with how many nodes they have.
inline void count_unknown(const std::vector<node_message>& nodes, const std::set<std::string>& defined,
                          std::map<std::string, int>& unknown) {
    for (const node_message& n : nodes) {
        if (const std::string op = operator_of(n); !operators().contains(op) && !defined.contains(op)) ++unknown[op];
        for (const attribute_message& a : n.attributes)
            if (a.g) count_unknown(a.g->nodes, defined, unknown);
    }
}

// A constant of few elements is one of the body that uses it, too, so that what is computed of it is known there.
inline constexpr std::int64_t max_copied = 64;

TENON_INLINE value& importer::find(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end())
        throw invalid_argument_error("there is no value \"" + name +
                                     "\" yet: nodes stand before those that read what they give");
    value& v = found->second;
    if (const std::size_t here = levels_.size() - 1; v.level < here) {
        levels_[here].before.emplace_back(name, v);
        v.level = here;
        if (v.items) return v;
        const any_tensor& t = v.first.node() ? v.first : v.last;
        if (t.extents().is_static() && t.extents().elements() <= max_copied && t.element() != element_type::string)
            if (std::optional<any_array> a = evaluated(t))
                (v.first.node() ? v.first : v.last) = untyped::constant(std::move(*a));
    }
    return v;
}
TENON_INLINE void importer::set(const std::string& name, value v) {
    v.level = levels_.size() - 1;
    missing_.erase(name);
    value& now = values_[name];
    if (v.level > 0)
        levels_.back().before.emplace_back(name, now.first.node() || now.last.node() || now.items ? std::optional(now)
                                                                                                  : std::nullopt);
    now = std::move(v);
}

class importer::inner_level {
public:
    explicit inner_level(importer& in) : in_(in), entered_(!(in.levels_.back().of == graph::current())) {
        if (entered_) in_.levels_.emplace_back();
    }
    ~inner_level() {
        if (!entered_) return;
        auto& before = in_.levels_.back().before;
        for (auto b = before.rbegin(); b != before.rend(); ++b)
            if (b->second) in_.values_[b->first] = std::move(*b->second);
            else in_.values_.erase(b->first);
        in_.levels_.pop_back();
    }
    inner_level(inner_level&&) = delete;

private:
    importer& in_;
    bool entered_;
};

TENON_INLINE std::vector<value> importer::add_graph(const graph_message& g, const std::vector<value>& inputs) {
    if (g.inputs.size() != inputs.size())
        throw model_mistake("its graph \"" + g.name + "\" has " + std::to_string(g.inputs.size()) + " inputs; " +
                            std::to_string(inputs.size()) + " are needed");
    added_ += static_cast<std::int64_t>(g.nodes.size()) + 1;
    if (added_ > most_added_)
        throw unimplemented_error("its graphs within graphs, each as often as it stands there, are of too many nodes");
    const inner_level in(*this);
    std::vector<value> results;
    try {
        for (std::size_t i = 0; i < inputs.size(); ++i) set(g.inputs[i].name, inputs[i]);
        add_initializers(g, false);
        add_nodes(g);
        for (const value_message& o : g.outputs) {
            if (missing_.contains(o.name))
                throw unimplemented_error("its graph \"" + g.name + "\" has what is not done");
            const node_message output{{}, {}, {}, {o.name}, {}, {}};
            if (!find(o.name).items) (void)call(*this, output).x();
            results.push_back(find(o.name));
        }
    } catch (const model_mistake&) {
        throw;
    } catch (const invalid_argument_error& e) {
        throw model_mistake(e.what());
    }
    return results;
}

TENON_INLINE bool importer::tried(function_ref<void()> f) {
    const std::size_t before = refused_.size();
    const std::int64_t most = std::exchange(most_added_, std::min(most_added_, added_ + max_tried));
    bool done = true;
    try {
        f();
    } catch (const unimplemented_error&) {
        done = false;
    }
    most_added_ = most;
    done = done && refused_.size() == before;
    refused_.resize(before);
    return done;
}

TENON_INLINE importer::level& importer::level_of(const node& n) {
    for (level& l : levels_)
        if (l.of.state() == n.graph) return l;
    return levels_.front();
}
TENON_INLINE bool importer::all_of(std::unordered_map<const tenon::node*, bool>& known, node* n,
                                   function_ref<bool(const node&)> is) {
    if (const auto found = known.find(n); found != known.end()) return found->second;
    std::vector<node*> open{n}; // not recursive: models are deep
    while (!open.empty()) {
        node* const top = open.back();
        if (known.contains(top)) {
            open.pop_back();
            continue;
        }
        bool all = is(*top), waits = false;
        for (const node_output& i : top->inputs) {
            if (!all) break;
            const auto found = known.find(i.node);
            if (found != known.end()) all = found->second;
            else {
                open.push_back(i.node);
                waits = true;
            }
        }
        if (all && waits) continue;
        known[top] = all;
        open.pop_back();
    }
    return known[n];
}
TENON_INLINE bool importer::is_constant(level& in, node* n) {
    return all_of(in.constant, n, [](const node& top) {
        constexpr auto effects = op_flags::stateful | op_flags::fed | op_flags::resource | op_flags::variable;
        // A loop may be long, or have no end.
        const bool loops = top.op == &definition_of<while_op>() || top.op == &definition_of<scan_op>();
        bool constant = !has(top.op->flags, effects) && top.controls.empty() && !loops;
        for (const tensor_type& t : top.outputs)
            constant = constant && t.extents.is_static() && t.extents.elements() <= max_folded;
        return constant;
    });
}
TENON_INLINE bool importer::is_found(node* n) {
    return !in_body() && !all_of(not_found_, n, [](const node& top) { return !top.op->is(op_flags::waits); });
}

TENON_INLINE std::optional<any_array> importer::evaluated(const any_tensor& t) {
    node* const n = t.node();
    if (n->op == &definition_of<constant_op>()) return decode<constant_op::attributes>(n->attributes).value->share();
    level& in = level_of(*n);
    if (!is_constant(in, n)) return std::nullopt;
    if (!in.runs) in.runs = std::make_unique<session>(in.of);
    return std::move(in.runs->run_untyped({}, {t})[0]);
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
        const std::string op = operator_of(n);
        if (const auto f = functions_.find(op); f != functions_.end()) add_function(*f->second, n);
        else operators().at(op)(call(*this, n));
        for (const std::string& o : n.outputs)
            if (!o.empty() && !values_.contains(o) && !missing_.contains(o))
                throw unimplemented_error("its output \"" + o + "\" is not computed");
    } catch (const unimplemented_error& e) {
        refused_.push_back(place_of(n) + ": " + e.what());
        for (const std::string& o : n.outputs) missing_[o] = true;
    } catch (const invalid_argument_error& e) {
        throw model_mistake(place_of(n) + ": " + e.what());
    } catch (const out_of_range_error& e) {
        throw model_mistake(place_of(n) + ": " + e.what());
    }
}

TENON_INLINE void importer::add_nodes(const graph_message& g) {
    for (const node_message& n : g.nodes) add_node_of(n);
}

// A size that the options say is that of its name in other inputs, too.
TENON_INLINE void importer::bind_names(const value_message& v) {
    const auto given = options_.sizes.find(v.name);
    if (given == options_.sizes.end()) return;
    for (std::size_t i = 0; i < v.sizes.size() && static_cast<int>(i) < given->second.rank(); ++i)
        if (const extent& e = given->second[static_cast<int>(i)]; !v.sizes[i].name.empty() && e.is_number())
            bound_.emplace(v.sizes[i].name, e);
}

TENON_INLINE void importer::add_input(const value_message& v, onnx_model& to) {
    const element_type e = element_of(v.data_type);
    if (e == element_type::none)
        throw unimplemented_error(
            who_ + ": input \"" + v.name + "\" " +
            (v.data_type == 0 ? "is no tensor" : "has elements of ONNX's data type " + std::to_string(v.data_type)) +
            ", which is not read");
    extents sizes;
    if (const auto given = options_.sizes.find(v.name); given != options_.sizes.end()) sizes = given->second;
    else if (!v.has_sizes)
        throw invalid_argument_error(who_ + ": nothing says how many dimensions input \"" + v.name +
                                     "\" has; say it in onnx_read_options::sizes");
    else {
        if (v.sizes.size() > max_rank)
            throw unimplemented_error(who_ + ": input \"" + v.name + "\" has " + std::to_string(v.sizes.size()) +
                                      " dimensions; 8 are the most");
        for (const value_message::size& s : v.sizes) {
            std::string called = s.name.c_str(); // names are C texts: what follows a zero byte is none
            // The only size that is neither said nor named gets a name, so that others can be followed to it: "x.0".
            if (s.number < 0 && called.empty() && nameless_ == 1) called = v.name + "." + std::to_string(sizes.rank());
            if (s.number >= 0 && called.empty()) sizes.push_back(s.number);
            else if (called.empty()) sizes.push_back(dynamic_extent);
            else sizes.push_back(size_called(called));
        }
    }
    const any_tensor t = untyped::placeholder(e, sizes, node_name(v.name));
    set(v.name, {t, {}, {}});
    to.input_names.push_back(v.name);
    to.inputs.push_back(t);
    for (int d = 0; d < t.rank(); ++d)
        if (const extent& own = t.extents()[d]; own.is_named() && sized_.emplace(own.name, std::pair(t, d)).second)
            if (auto sum = sum_of(own)) named_.emplace_back(std::move(*sum), own);
}

TENON_INLINE extent importer::named(const std::string& text) {
    return extent::named(names_.emplace_back(share_size_name(text)).get());
}

TENON_INLINE onnx_model importer::read(const model_message& m) {
    std::set<std::string> defined;
    for (const function_message& f : m.functions) {
        const std::string op = operator_of(node_message{{}, f.name, f.domain, {}, {}, {}});
        defined.insert(op);
        functions_[op] = &f;
    }
    std::map<std::string, int> unknown;
    count_unknown(m.graph.nodes, defined, unknown);
    for (const function_message& f : m.functions) count_unknown(f.nodes, defined, unknown);
    if (!unknown.empty()) {
        std::string list;
        for (const auto& [op, nodes] : unknown)
            list += (list.empty() ? "" : ", ") + op + (nodes == 1 ? "" : " (" + std::to_string(nodes) + " nodes)");
        throw unimplemented_error(who_ + ": the model has operators that are not read: " + list +
                                  "; onnx_operators() lists those that are");
    }
    levels_.emplace_back();
    onnx_model result;
    result.producer = m.producer;
    result.opset = m.opset;
    std::set<std::string> given;
    for (const named_array& v : options_.values) {
        set(v.name, {untyped::constant(v.value.copy()), {}, {}});
        given.insert(v.name);
    }
    add_initializers(m.graph, options_.variables);
    for (const value_message& v : m.graph.inputs) bind_names(v);
    for (const value_message& v : m.graph.inputs)
        if (!values_.contains(v.name) && !options_.sizes.contains(v.name))
            for (const value_message::size& s : v.sizes) nameless_ += s.number < 0 && s.name.empty();
    for (const value_message& v : m.graph.inputs)
        if (!values_.contains(v.name)) add_input(v, result);
        else given.erase(v.name);
    if (!given.empty())
        throw invalid_argument_error(who_ + ": onnx_read_options::values has \"" + *given.begin() +
                                     "\", which is no input of the model");
    try {
        add_nodes(m.graph);
    } catch (const model_mistake& e) {
        throw invalid_argument_error(who_ + ": " + e.what());
    }
    if (!refused_.empty()) {
        std::string list = who_ + ": what these nodes ask for is not done:";
        for (const std::string& r : refused_) list += "\n    " + r;
        throw unimplemented_error(list);
    }
    for (const value_message& v : m.graph.outputs) {
        const any_tensor t = with_names_of(v, call(*this, node_message{{}, {}, {}, {v.name}, {}, {}}).x());
        result.output_names.push_back(v.name);
        result.outputs.push_back(tenon::add<identity_op>({}, {t}, node_name(v.name)));
    }
    result.variables = std::move(variables_);
    return result;
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
    // Models that are older than sets of operators are of the first one.
    return onnx::importer(o, who, folder, m.opset == 0 && m.ir_version < 3 ? 1 : m.opset).read(m);
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
#include <tenon/onnx/onnx_call.ipp>
#include <tenon/onnx/onnx_functions.ipp>
#include <tenon/onnx/onnx_sizes.ipp>
#include <tenon/onnx/read/onnx_attention_ops.ipp>
#include <tenon/onnx/read/onnx_category_ops.ipp>
#include <tenon/onnx/read/onnx_detection_ops.ipp>
#include <tenon/onnx/read/onnx_elementwise_ops.ipp>
#include <tenon/onnx/read/onnx_feature_ops.ipp>
#include <tenon/onnx/read/onnx_flow_ops.ipp>
#include <tenon/onnx/read/onnx_forgotten_ops.ipp>
#include <tenon/onnx/read/onnx_index_ops.ipp>
#include <tenon/onnx/read/onnx_layer_ops.ipp>
#include <tenon/onnx/read/onnx_learned_ops.ipp>
#include <tenon/onnx/read/onnx_norm_ops.ipp>
#include <tenon/onnx/read/onnx_pool_ops.ipp>
#include <tenon/onnx/read/onnx_quantized_ops.ipp>
#include <tenon/onnx/read/onnx_random_ops.ipp>
#include <tenon/onnx/read/onnx_recurrent_ops.ipp>
#include <tenon/onnx/read/onnx_reduction_ops.ipp>
#include <tenon/onnx/read/onnx_resize_ops.ipp>
#include <tenon/onnx/read/onnx_sampling_ops.ipp>
#include <tenon/onnx/read/onnx_scatter_ops.ipp>
#include <tenon/onnx/read/onnx_shape_ops.ipp>
#include <tenon/onnx/read/onnx_signal_ops.ipp>
#include <tenon/onnx/read/onnx_training_ops.ipp>
#include <tenon/onnx/read/onnx_tree_ops.ipp>
#include <tenon/onnx/read/onnx_vector_ops.ipp>
#include <tenon/onnx/read/onnx_window_ops.ipp>
#endif
