#pragma once

#include <tenon/graph/graph_state.inl>
#include <tenon/core/function_ref.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/partition.hpp>

// What ops/state/state.hpp does with variables in parts.

namespace tenon::detail {

// The name of a new variable in parts, which neither a node nor their names have.
inline std::string name_for_parts(const std::string& wished) {
    graph_state* const g = current_graph();
    const std::string first = current_scopes().prefix + wished;
    const std::lock_guard lock(g->guard);
    std::string name = first;
    for (int n = 1; g->by_name.contains(name) || g->by_name.contains(name + "/part_0"); ++n)
        name = first + "_" + std::to_string(n);
    g->used_names.emplace(name + "/", 1); // scopes that are opened later get prefixes of their own
    return name;
}

/// In how many parts a new variable is: 1 where neither its options nor the scopes around it ask for them.
inline std::int64_t parts_for(const std::string& name, const tensor_type& type, const variable_options& o) {
    const partitioned& how = o.partition.says() ? o.partition : current_scopes().partition;
    if (!how.says() || !is_countable(type)) return 1; // who makes it says what is wrong with its sizes
    const bool has_rows = type.extents.rank() > 0 && type.element != element_type::string;
    if (!has_rows && !o.partition.says()) return 1;
    if (!has_rows)
        throw invalid_argument_error("variable \"" + name + "\" is " + to_string(type) +
                                     ", which has no rows of numbers to part; leave out .partition");
    const std::int64_t parts = how.count(type.extents[0].size, bytes_of(type));
    if (parts > routes::most_parts)
        throw invalid_argument_error("variable \"" + name + "\" would have " + std::to_string(parts) +
                                     " parts; the most are " + std::to_string(routes::most_parts));
    return parts;
}

/// Makes one in parts. `begins` gives a part, whose rows are `first` and those after it, its initial value; `whole` is called
/// `name`.
inline any_tensor
new_parts(const std::string& name, const tensor_type& type, std::int64_t parts, const variable_options& o,
          function_ref<any_tensor(const any_tensor& part, std::int64_t first, const std::string& whole)> begins) {
    const no_controls apart;
    const even_parts split{type.extents[0].size, parts};
    const std::string wished = name.empty() ? "variable" : name, full = name_for_parts(wished);
    std::vector<any_tensor> made;
    for (std::int64_t p = 0; p < parts; ++p) {
        const names_below whole(full, wished);
        tensor_type of_part = type;
        of_part.extents[0] = split.size(p);
        made.push_back(add_variable("part_" + std::to_string(p), of_part, o));
        set_initial_value(made.back(), begins(made.back(), split.begin(p), full), o);
    }
    return enter_parts(full, made);
}

/// The rows of a value that has all of them from `first` on, as many as the part has; one that has none, or one for all, as it
/// is.
inline any_tensor rows_of_part(const any_tensor& value, const any_tensor& part, std::int64_t first) {
    if (value.rank() < part.rank() || value.extents()[0] == extent(1)) return value;
    const range rows{first, first + part.extents()[0].size};
    return tenon::add<slice_op>(slice_op::attributes_of(&rows, 1), {value});
}

// The value, with as many rows as the variable where it has them.
inline any_tensor with_rows_of(const any_tensor& variable, const any_tensor& value) {
    require_node(value.node(), "assign: the value");
    if (value.rank() != variable.rank() || value.extents()[0] == variable.extents()[0]) return value;
    if (value.extents()[0].is_number()) check_operands<assign_rule>({variable, value}); // which refuses it
    tensor_type known = value.type();
    known.extents[0] = variable.extents()[0];
    return checked_as(value, known);
}

inline any_tensor assign_to_parts(const any_tensor& variable, const std::vector<any_tensor>& parts,
                                  const any_tensor& value) {
    check_operands<assign_rule>({variable, value});
    const any_tensor all = with_rows_of(variable, value);
    std::vector<any_tensor> after;
    std::int64_t first = 0;
    for (const any_tensor& p : parts) {
        after.push_back(add_assign(p, rows_of_part(all, p, first), "assign"));
        first += p.extents()[0].size;
    }
    return untyped::concat(after, 0);
}

TENON_INLINE any_tensor change_parts(opcode op, const any_tensor& variable, const any_tensor& by, const char* name) {
    const any_tensor all =
        by.rank() == variable.rank() && by.extents()[0] == extent(1) ? by : with_rows_of(variable, by);
    std::vector<any_tensor> after;
    std::int64_t first = 0;
    for (const any_tensor& p : parts_of(variable)) {
        const any_tensor own = rows_of_part(all, p, first);
        const owned_scope there(p);
        after.push_back(add_assign(p, add_instruction(op, {current_value(p), own}), name));
        first += p.extents()[0].size;
    }
    return untyped::concat(after, 0);
}

inline any_tensor scatter_to_parts(scatter_op::way how, const any_tensor& variable,
                                   const std::vector<any_tensor>& parts, const any_tensor& indices,
                                   const any_tensor& updates) {
    const std::vector<any_tensor> own = indices_of_parts(variable, indices);
    const std::vector<any_tensor> rows = updates.rank() == 0 ? std::vector<any_tensor>(parts.size(), updates)
                                                             : rows_of_parts(variable, indices, updates);
    std::vector<any_tensor> after;
    for (std::size_t p = 0; p < parts.size(); ++p) after.push_back(add_scatter(how, parts[p], own[p], rows[p]));
    return untyped::concat(after, 0);
}

} // namespace tenon::detail
