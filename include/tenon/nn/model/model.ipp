#pragma once

#include <algorithm>
#include <ostream>
#include <unordered_set>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/nn/model/model.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>
#include <tenon/ops/shape/partition.hpp>

namespace tenon {

namespace detail {

// A layer's variables are called after it in its graph: what all their names begin with says nothing.
TENON_INLINE void model_walk::add(const std::vector<any_tensor>& variables, const std::string& path) {
    std::vector<std::string> names;
    for (const any_tensor& v : variables)
        if (v.node()) names.push_back(v.node()->name);
        else some_not_made_ = true;
    std::size_t same = names.empty() ? 0 : names[0].rfind('/') + 1; // npos + 1 is 0
    for (const std::string& n : names)
        while (n.compare(0, same, names[0], 0, same) != 0) same = same < 2 ? 0 : names[0].rfind('/', same - 2) + 1;
    if (names.empty()) return;
    const any_tensor& some =
        *std::find_if(variables.begin(), variables.end(), [](const any_tensor& v) { return v.node(); });
    const std::vector<any_tensor> trained = graph(some.node()->graph).collection(trainable_variables);
    std::size_t i = 0;
    for (const any_tensor& v : variables) {
        if (!v.node()) continue;
        const std::string name = names[i++].substr(same);
        if (std::any_of(found_.begin(), found_.end(), [&](const auto& f) { return f.variable.node() == v.node(); }))
            continue;
        const std::vector<any_tensor> parts = parts_of(v); // which are in the collection in its stead
        const node* const listed = parts.empty() ? v.node() : parts[0].node();
        const bool is =
            std::any_of(trained.begin(), trained.end(), [&](const any_tensor& t) { return t.node() == listed; });
        found_.push_back({below(path, name), v, is});
    }
}

TENON_INLINE std::vector<nn::model_variable> model_walk::finish() {
    if (found_.empty() && some_not_made_)
        throw invalid_argument_error("the model has no variables yet: they are made when it is first called, model(x)");
    return std::move(found_);
}

TENON_INLINE operation assign_models(const std::vector<nn::model_variable>& targets,
                                     const std::vector<nn::model_variable>& sources, double part) {
    if (!(part >= 0 && part <= 1))
        throw invalid_argument_error("assign: the part is " + text_of_number(part) + "; give a number from 0 to 1");
    std::vector<operation> all;
    for (std::size_t i = 0; i < std::max(targets.size(), sources.size()); ++i) {
        const auto said = [&](const std::vector<nn::model_variable>& of) {
            return i < of.size() ? of[i].path + " of " + to_string(of[i].variable.type()) : "nothing";
        };
        if (i >= targets.size() || i >= sources.size() || !(targets[i].variable.type() == sources[i].variable.type()))
            throw invalid_argument_error("assign: the models differ: " + said(targets) + " would become " +
                                         said(sources));
        const any_tensor &to = targets[i].variable, &from = sources[i].variable;
        const any_tensor now = is_in_parts(to) ? to : current_value(to);
        all.push_back(untyped::assign(to, part == 1 ? from : untyped::lerp(now, from, part)).operation());
    }
    return group(all, "assign_model");
}

TENON_INLINE nn::model_summary summary_of(const std::vector<nn::model_variable>& all) {
    nn::model_summary s;
    for (const nn::model_variable& v : all) {
        const std::int64_t n = v.variable.extents().elements();
        const auto bytes = n * static_cast<std::int64_t>(size_of(v.variable.element()));
        s.rows.push_back({v.path, to_string(v.variable.type()), n, bytes, 0});
        s.parameters += n;
        s.bytes += bytes;
        if (v.trained) s.trained += n;
    }
    return s;
}

TENON_INLINE std::string kind_of_layer(std::string_view said) {
    // gcc: "std::string detail::kind_of() [with T = nn::dense_layer<300>; std::string = ..]", clang: "[T = ..]".
    said.remove_prefix(said.find("T = ") + 4);
    if (said.find("ambda") < said.find(';')) return "lambda";
    said = said.substr(0, said.find_first_of("<;]"));
    if (const std::size_t at = said.rfind(':'); at != said.npos) said.remove_prefix(at + 1);
    if (said.ends_with("_layer")) said.remove_suffix(6);
    return std::string(said);
}

// Sizes that are not numbers count as 1.
inline tensor_type of_one_example(tensor_type t) {
    for (int i = 0; i < t.extents.rank(); ++i)
        if (!t.extents[i].is_number()) t.extents[i] = 1;
    return t;
}
inline double operations_between(const any_tensor& in, const any_tensor& out) {
    std::unordered_set<const node*> seen{in.node()};
    std::vector<const node*> open;
    const auto visit = [&](const node* n) {
        if (seen.insert(n).second) open.push_back(n);
    };
    visit(out.node());
    double sum = 0;
    while (!open.empty()) {
        const node& n = *open.back();
        open.pop_back();
        for (const node_output& i : n.inputs) visit(i.node);
        if (!n.op->operations) continue;
        std::vector<tensor_type> inputs, outputs;
        for (std::size_t i = 0; i < n.inputs.size(); ++i)
            inputs.push_back(of_one_example(n.input_type(static_cast<int>(i))));
        for (const tensor_type& t : n.outputs) outputs.push_back(of_one_example(t));
        sum += n.op->operations(n.attributes, type_list(inputs.data(), static_cast<int>(inputs.size())),
                                type_list(outputs.data(), static_cast<int>(outputs.size())));
    }
    return sum;
}

TENON_INLINE void layer_rows::add(const std::string& name, const std::vector<nn::model_variable>& own,
                                  const any_tensor& in, const any_tensor& out) {
    const nn::model_summary of = summary_of(own);
    summary_.rows.push_back({name, to_string(out.type()), of.parameters, of.bytes, operations_between(in, out)});
    summary_.operations += summary_.rows.back().operations;
}

TENON_INLINE nn::model_summary layer_rows::finish(const std::vector<nn::model_variable>& all) {
    nn::model_summary s = summary_of(all); // what several layers share counts once
    s.rows = std::move(summary_.rows);
    s.operations = summary_.operations;
    s.of_layers = true;
    return s;
}

// 1234567 as 1,234,567.
inline std::string with_commas(double number) {
    std::string text = std::to_string(static_cast<std::int64_t>(number));
    for (std::size_t at = text.size(); at > 3; text.insert(at -= 3, 1, ',')) {
    }
    return text;
}

} // namespace detail

TENON_INLINE std::string nn::to_string(const model_summary& s) {
    std::vector<std::array<std::string, 5>> lines{
        {s.of_layers ? "layer" : "variable", s.of_layers ? "gives" : "type", "parameters", "bytes", "operations"}};
    const auto line = [&](const std::string& name, const std::string& type, std::int64_t parameters, std::int64_t bytes,
                          double operations) {
        using detail::with_commas;
        lines.push_back({name, type, with_commas(static_cast<double>(parameters)),
                         with_commas(static_cast<double>(bytes)), with_commas(operations)});
    };
    for (const model_summary::row& r : s.rows) line(r.path, r.type, r.parameters, r.bytes, r.operations);
    line("in all", "", s.parameters, s.bytes, s.operations);
    std::array<std::size_t, 5> wide{};
    for (const auto& l : lines)
        for (std::size_t c = 0; c < wide.size(); ++c) wide[c] = std::max(wide[c], l[c].size());
    std::string text;
    for (const auto& l : lines) {
        for (std::size_t c = 0; c < (s.of_layers ? 5u : 4u); ++c) {
            const std::string blanks(wide[c] - l[c].size(), ' ');
            text += c < 2 ? l[c] + blanks : blanks + l[c];
            text += c < 4 ? "  " : "";
        }
        while (text.back() == ' ') text.pop_back();
        text += '\n';
    }
    return text + detail::with_commas(static_cast<double>(s.trained)) + " of the parameters are trained\n";
}
TENON_INLINE std::ostream& nn::operator<<(std::ostream& out, const model_summary& s) { return out << to_string(s); }

} // namespace tenon
