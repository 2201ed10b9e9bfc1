#pragma once

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/runtime/plan/sizes.hpp>

namespace tenon::runtime {

TENON_INLINE const size_bindings::binding* size_bindings::find(const char* name) const {
    for (const binding& b : known_)
        if (tenon::detail::same_text(b.name, name)) return &b;
    return nullptr;
}

TENON_INLINE void size_bindings::bind(const extents& declared, const extents& actual, const node_output& tensor) {
    const auto require = [&](bool good) {
        if (!good)
            throw invalid_argument_error(any_tensor(tensor).name() + ": declared as " + to_string(declared) +
                                         ", but its sizes in this step are " + to_string(actual) +
                                         where_made(*tensor.node));
    };
    require(declared.rank() == actual.rank());
    for (int i = 0; i < declared.rank(); ++i) {
        const extent& d = declared[i];
        if (!actual[i].is_number()) continue;
        if (d.is_number()) require(d == actual[i]);
        else if (d.is_named()) {
            const binding* known = find(d.name);
            if (!known) known_.push_back({d.name, actual[i].size, tensor});
            else if (known->size != actual[i].size)
                throw invalid_argument_error("size " + std::string(d.name) + " is " + std::to_string(known->size) +
                                             " in " + any_tensor(known->tensor).name() + " and " +
                                             std::to_string(actual[i].size) + " in " + any_tensor(tensor).name() +
                                             "; in one step a named size has one value" +
                                             where_made(*known->tensor.node) + where_made(*tensor.node));
        }
    }
}

TENON_INLINE extents size_bindings::known(extents e) const {
    for (int i = 0; i < e.rank(); ++i)
        if (e[i].is_named())
            if (const binding* b = find(e[i].name)) e[i] = extent(b->size);
    return e;
}

TENON_INLINE bool all_static(const std::vector<tensor_type>& types) {
    return std::all_of(types.begin(), types.end(), [](const tensor_type& t) { return t.extents.is_static(); });
}

namespace detail {
// Named after its op, with a number perhaps.
inline bool is_named_by_program(const node& n) {
    const std::size_t slash = n.name.rfind('/');
    const std::string last = slash == std::string::npos ? n.name : n.name.substr(slash + 1);
    for (const char* op : {shown_op(n), n.op->name})
        if (const std::string own = op; last.starts_with(own)) {
            const std::string rest = last.substr(own.size());
            if (rest.empty() || (rest[0] == '_' && rest.find_first_not_of("0123456789", 1) == std::string::npos))
                return false;
        }
    return true;
}
// The function of the library that made it, where the op does not say so.
inline std::string made_for(const node& n) {
    const std::string_view function = n.made_at.function ? n.made_at.function : "";
    if (function.empty() || function.starts_with("operator") || function == shown_op(n)) return {};
    return ", for " + std::string(function) + "()";
}
inline std::string made_at(const node& n) {
    if (n.made_at.file) return made_for(n) + ", made at " + n.made_at.file + ":" + std::to_string(n.made_at.line);
    const std::string of = n.follows ? made_at(*n.follows) : std::string();
    return of.empty() ? of : ", for the gradient or an update of " + n.follows->name + of;
}
} // namespace detail

TENON_INLINE std::string described(const node& n, const std::string& device) {
    std::string text = n.name + " (" + shown_op(n) + ")";
    if (!device.empty()) text += " on " + device;
    const std::string place = detail::made_at(n);
    if (!place.empty() || detail::is_named_by_program(n)) return text + place;
    constexpr std::size_t most_told = 2, most_seen = 64;
    std::vector<const node*> seen{&n}, told;
    const auto has = [](const std::vector<const node*>& nodes, const node* i) {
        return std::find(nodes.begin(), nodes.end(), i) != nodes.end();
    };
    for (std::size_t at = 0; at < seen.size() && told.size() < most_told; ++at)
        for (const auto& [in, output] : seen[at]->inputs) {
            if (seen.size() == most_seen || told.size() == most_told || has(seen, in) || has(told, in)) continue;
            (in->made_at.file || detail::is_named_by_program(*in) ? told : seen).push_back(in);
        }
    for (std::size_t k = 0; k < told.size(); ++k)
        text += (k == 0 ? ", which is computed of " : ", and of ") + told[k]->name + detail::made_at(*told[k]);
    return text;
}

TENON_INLINE std::string where_made(const node& n) {
    const std::string place = detail::made_at(n);
    return place.empty() ? place : " [node " + n.name + " (" + shown_op(n) + ")" + place + "]";
}

TENON_INLINE std::string with_places(const graph& g, std::string message) {
    constexpr std::string_view begin = "[node ";
    for (std::size_t at = message.find(begin); at != std::string::npos; at = message.find(begin, at + 1)) {
        const std::size_t name = at + begin.size(), op = message.find(" (", name), end = message.find(']', name);
        if (op == std::string::npos || end == std::string::npos || op > end) break;
        try {
            const node& n = *g.find(message.substr(name, op - name));
            if (const std::string place = detail::made_at(n); !place.empty()) {
                const std::size_t other =
                    std::min(end, message.find(',', op)); // that it is computed of what has a place
                message.replace(other, end - other, place);
            }
        } catch (const not_found_error&) { // of another's graph
        }
    }
    return message;
}

TENON_INLINE tensor_type inferred_in_step(const node& n, const attributes& a, type_list in, int k, bool says_node) {
    const inferred t = judged(*n.op, a, in, k);
    if (t) return t.type;
    op_definition shown = *n.op;
    shown.name = shown_op(n);
    throw invalid_argument_error(fault_sentence(shown, t, in, a) + " in this step's sizes" +
                                 (t.what == fault::size_not_divisible && a.find("parts")
                                      ? "; pad or cut it, or choose a number of parts that divides it"
                                      : "") +
                                 (says_node ? " [node " + described(n) + "]" : ""));
}

namespace detail {
// A name that only a value tells agrees with every size until it is told.
inline inferred inferred_without_names(const node& n, const attributes& a, type_list in, int k) {
    std::vector<tensor_type> types(in.begin(), in.end());
    for (tensor_type& t : types)
        for (int d = 0; d < t.extents.rank(); ++d)
            if (t.extents[d].is_named()) t.extents[d] = dynamic_extent;
    return judged(*n.op, a, {types.data(), in.size()}, k);
}
} // namespace detail

TENON_INLINE tensor_type type_in_step(node& n, const attributes& a, type_list in, int k, size_bindings& sizes,
                                      bool may_stay_open) {
    inferred found = judged(*n.op, a, in, k);
    if (!found && may_stay_open) found = detail::inferred_without_names(n, a, in, k);
    tensor_type t = found ? found.type : inferred_in_step(n, a, in, k, true);
    t.extents = sizes.known(t.extents);
    const bool same = n.op->is(op_flags::identity) && !n.op->is(op_flags::source);
    const any_tensor known(same ? n.inputs[0] : node_output{&n, k}); // to the user
    if (!may_stay_open && !t.extents.is_static())
        throw invalid_argument_error(known.name() + ": its sizes " + to_string(t.extents) +
                                     " are not known from what is fed");
    if (!is_countable(t)) // so that sizes can be multiplied from here on
        throw resource_exhausted_error(known.name() + ": in this step's sizes it is " + to_string(t) +
                                       ", more than 2^62 bytes; feed smaller tensors");
    sizes.bind(n.outputs[static_cast<std::size_t>(k)].extents, t.extents, known.output());
    return t;
}

} // namespace tenon::runtime
