#pragma once

#include <algorithm>
#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/train/checkpoint/checkpoint.hpp>

namespace tenon {

namespace detail {

TENON_INLINE std::vector<any_tensor> checkpoint_variables(const graph& g, const std::vector<any_tensor>& given,
                                                          const char* what) {
    std::vector<any_tensor> variables = given.empty() ? g.collection(global_variables) : with_parts(given);
    if (variables.empty()) throw invalid_argument_error(std::string(what) + ": the session's graph has no variables");
    for (const any_tensor& v : variables) {
        if (!v.node()) throw invalid_argument_error(std::string(what) + ": a variable is an empty handle");
        if (!v.node()->op->is(op_flags::variable))
            throw invalid_argument_error(std::string(what) + ": " + v.name() + " is no variable but a " +
                                         v.node()->op->name);
    }
    return variables;
}

// The assignments through which files set a variable and its copies, of one placeholder: made once, then found again,
// so that a graph does not grow with each load.
inline std::vector<any_tensor> loading_assignments(const any_tensor& v) {
    graph g(v.node()->graph);
    std::vector<any_tensor> targets = g.collection(copies_of(v.node()->name));
    targets.insert(targets.begin(), v);
    const std::string key = v.node()->name + "/load";
    std::vector<any_tensor> made = g.collection(key);
    const graph_scope scope(g);
    while (made.size() < targets.size()) {
        const any_tensor value = !made.empty() ? any_tensor(made.front().node()->inputs[1]) : colocate_with(v, [&] {
            return untyped::placeholder(v.element(), v.extents(), v.node()->name + "/value");
        });
        made.push_back(untyped::assign(targets[made.size()], value));
        g.add_to_collection(key, made.back());
    }
    return made;
}

TENON_INLINE std::string joined(const std::vector<std::string>& names, const char* between) {
    constexpr std::size_t shown = 10;
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < shown; ++i) text += (i ? between : "") + names[i];
    if (names.size() > shown) text += between + std::string("and ") + std::to_string(names.size() - shown) + " more";
    return text;
}

// The variables that a source has as they are here; what is said of the others.
TENON_INLINE std::vector<any_tensor> match_variables(const char* what, const std::string& source,
                                                     const std::vector<any_tensor>& variables,
                                                     function_ref<const tensor_type*(const std::string&)> type_of,
                                                     const std::vector<std::string>& names, bool partial,
                                                     load_report& report) {
    std::vector<any_tensor> found;
    std::set<std::string> asked;
    for (const any_tensor& v : variables) {
        const std::string& name = v.node()->name;
        const tensor_type* const there = type_of(name);
        asked.insert(name);
        if (!there) report.missing.push_back(name);
        else if (!(*there == v.type()))
            report.mismatched.push_back(name + ": " + to_string(v.type()) + " here, " + to_string(*there) +
                                        " in the file");
        else {
            found.push_back(v);
            report.loaded.push_back(name);
        }
    }
    for (const std::string& name : names)
        if (!asked.contains(name)) report.unused.push_back(name);
    if (!partial && !report.mismatched.empty())
        throw invalid_argument_error(std::string(what) + ": " + source +
                                     " has other types: " + joined(report.mismatched, "; ") +
                                     "; is it of another model? (.partial = true leaves these out)");
    if (!partial && !report.missing.empty())
        throw not_found_error(std::string(what) + ": " + source + " lacks " + joined(report.missing, ", ") +
                              (report.unused.empty() ? "" : "; it has " + joined(report.unused, ", ")) +
                              " (.partial = true leaves these out)");
    return found;
}

// f(arrays, metadata) with the values that the variables have in one step.
template <class F> void with_saved_values(session& s, const char* what, const save_options& o, F&& f) {
    std::vector<any_tensor> variables;
    for (const whole_variable& w : whole_variables(checkpoint_variables(s.bound_graph(), o.variables, what)))
        variables.push_back(w.variable);
    const std::vector<any_array> values = s.run_untyped({}, variables);
    std::vector<named_array> named;
    for (std::size_t i = 0; i < variables.size(); ++i) named.push_back({variables[i].node()->name, values[i]});
    safetensors_metadata metadata = o.metadata;
    metadata.emplace("format", "tenon");
    f(named, metadata);
}
} // namespace detail

TENON_INLINE void save_variables(session& s, const std::string& path, const save_options& o) {
    detail::with_saved_values(s, "save_variables", o, [&](const auto& named, const safetensors_metadata& metadata) {
        if (o.rehearsal) rehearse_safetensors(path, named, metadata);
        else write_safetensors(path, named, metadata);
    });
}

TENON_INLINE safetensors_file copy_variables(session& s, const std::string& name, const save_options& o) {
    std::vector<std::uint8_t> bytes;
    detail::with_saved_values(s, "copy_variables", o, [&](const auto& named, const safetensors_metadata& metadata) {
        std::size_t most = 0;
        for (const named_array& n : named) most += n.value.bytes();
        bytes.reserve(most + 4096);
        const auto add = [&](const void* from, std::size_t n) {
            const auto* const begin = static_cast<const std::uint8_t*>(from);
            bytes.insert(bytes.end(), begin, begin + n);
        };
        detail::write_safetensors_to(add, name, named, metadata);
    });
    array<std::uint8_t> memory(extents{static_cast<std::int64_t>(bytes.size())});
    std::copy(bytes.begin(), bytes.end(), memory.data());
    return safetensors_file(std::move(memory), name);
}

TENON_INLINE detail::prepared_load detail::prepare_load(session& s, const safetensors_file& file,
                                                        const load_options& o) {
    std::map<const node*, detail::whole_variable> wholes;
    std::vector<any_tensor> variables;
    for (detail::whole_variable& w :
         detail::whole_variables(detail::checkpoint_variables(s.bound_graph(), o.variables, "load_variables"))) {
        if (!w.variable.node()->name.starts_with(o.prefix)) continue;
        variables.push_back(w.variable);
        wholes.emplace(w.variable.node(), std::move(w));
    }
    if (variables.empty()) throw not_found_error("load_variables: no variable's name begins with \"" + o.prefix + "\"");
    const auto name_in_file = [&](const std::string& name) { return name.substr(o.prefix.size()); };
    std::vector<std::string> names;
    for (const safetensors_file::tensor& t : file.tensors()) names.push_back(o.prefix + t.name);
    const auto type_of = [&](const std::string& name) -> const tensor_type* {
        const safetensors_file::tensor* const t = file.find(name_in_file(name));
        return t ? &t->type : nullptr;
    };
    prepared_load all;
    const std::vector<any_tensor> found =
        detail::match_variables("load_variables", file.name(), variables, type_of, names, o.partial, all.report);
    for (const any_tensor& v : found) {
        any_array value = file.load(name_in_file(v.node()->name));
        const detail::whole_variable& w = wholes.at(v.node());
        for (std::size_t p = 0; p < w.parts.size(); ++p) {
            const std::vector<any_tensor> to = detail::loading_assignments(w.parts[p]);
            all.feeds.push_back({any_tensor(to.front().node()->inputs[1]),
                                 w.parts.size() == 1
                                     ? value.share()
                                     : value.slice(w.first[p], w.first[p] + w.parts[p].extents()[0].size)});
            for (const any_tensor& a : to) all.assignments.push_back(a.operation());
        }
    }
    return all;
}

TENON_INLINE load_report load_variables(session& s, const saved_values& from, const load_options& o) {
    detail::prepared_load all = detail::prepare_load(s, from.file(), o);
    if (!all.assignments.empty()) s.run_untyped(std::move(all.feeds), {}, all.assignments);
    return std::move(all.report);
}

} // namespace tenon
