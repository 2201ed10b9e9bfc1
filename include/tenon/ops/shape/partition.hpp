#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// Variables in parts, which lie on several tasks.
///
///     auto table = tn::variable<float, tn::shape<50000, 64>>("table", tn::normal(0, 0.1), {.partition = {.parts = 3}});
///     auto rows  = tn::gather(table, ids);                  // int32[batch] -> float[batch, 64]
///     auto train = tn::adagrad(0.1).minimize(loss_of(rows));
///
/// The parts are ordinary variables, "table/part_0", "table/part_1", .., of 16667, 16667 and 16666 rows, each placed by the
/// scopes in force: replica_device_setter deals them out to the parameter servers. `table` is the tensor that they are joined
/// to: what reads it as a whole has all parts come to it. What gathers its rows has the indices go to the tasks that have
/// those rows, and these rows alone come back; their gradients take the same way. Optimisers, which change the parts, see
/// variables like others, and initialisers give the parts the numbers that the whole would have. In checkpoints it is one
/// tensor, whatever its parts were and are.

namespace tenon {

namespace detail {

/// Rows in parts, as evenly as they divide: the first parts have one more.
struct even_parts {
    std::int64_t rows = 0, parts = 1;
    /// The first row of a part.
    constexpr std::int64_t begin(std::int64_t part) const noexcept {
        const std::int64_t longer = rows % parts;
        return part * (rows / parts) + (part < longer ? part : longer);
    }
    constexpr std::int64_t size(std::int64_t part) const noexcept { return begin(part + 1) - begin(part); }
    constexpr std::int64_t part_of(std::int64_t row) const noexcept {
        const std::int64_t size = rows / parts, longer = rows % parts;
        return row < longer * (size + 1) ? row / (size + 1) : longer + (row - longer * (size + 1)) / size;
    }
};

// Of each op below: the rows of a variable are in parts, and an index goes to the part that has its row. An index outside 0 ..
// rows - 1 is an invalid_argument_error.
struct routes {
    static constexpr element_types gpu_types = no_elements;
    static constexpr op_flags flags = op_flags::waits; // how many rows each part has to give is known late
    struct attributes {
        std::int64_t rows = 0;
        int parts = 1;
        std::string variable; ///< for messages
    };
    static constexpr int most_parts = 4096;
    static void check(const attributes& a);
    static constexpr bool is_index(element_type e) { return e == element_type::int32 || e == element_type::int64; }
};

} // namespace detail

/// in: indices (int32 or int64) of any sizes. For each part the indices that are of its rows, in their order, as it counts its
/// rows: [?].
struct route_indices_op : detail::routes {
    static constexpr const char* name = "route_indices";
    static int outputs(const attributes& a, int) {
        check(a);
        return a.parts;
    }
    static inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (!is_index(in[0].element)) return fault::element_type_must_be_integer;
        return inferred(in[0].element, {extent()});
    }
    static extents at_most(const attributes&, type_list in, int) { return {size_of_all(in[0].extents)}; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(partition, route_indices);

/// in: indices, and a row for each: their sizes, then those of a row. For each part the rows whose indices are its own, in
/// their order: [?, ...].
struct route_rows_op : detail::routes {
    static constexpr const char* name = "route_rows";
    static int outputs(const attributes& a, int) {
        check(a);
        return a.parts;
    }
    static inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (!is_index(in[0].element)) return fault::element_type_must_be_integer;
        if (in[1].element == element_type::string) return fault::element_type_not_supported;
        const extents &indices = in[0].extents, &x = in[1].extents;
        if (x.rank() < indices.rank()) return fault::rank_too_low;
        extents sizes{extent()};
        for (int d = 0; d < indices.rank(); ++d)
            if (const fault f = equal_sizes(x[d], indices[d]).what; f != fault::none) return f;
        for (int d = indices.rank(); d < x.rank(); ++d) sizes.push_back(x[d]);
        return sizes.overfull() ? inferred(fault::too_many_dimensions) : inferred(in[1].element, sizes);
    }
    static extents at_most(const attributes& a, type_list in, int output) {
        extents sizes = infer(a, in, output).type.extents;
        sizes[0] = size_of_all(in[0].extents);
        return sizes;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(partition, route_rows);

/// in: indices, and for each part what route_rows gives of it. The rows where their indices are: the reverse of that.
struct join_rows_op : detail::routes {
    static constexpr const char* name = "join_rows";
    static int outputs(const attributes& a, int) {
        check(a);
        return 1;
    }
    static inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1 + a.parts) return fault::expects_more_operands;
        if (!is_index(in[0].element)) return fault::element_type_must_be_integer;
        if (in[1].element == element_type::string) return fault::element_type_not_supported;
        if (in[1].extents.rank() < 1) return fault::rank_too_low;
        extents row = in[1].extents;
        for (int p = 1; p < in.size(); ++p) {
            if (in[p].element != in[1].element) return fault::element_types_differ;
            extents next = in[p].extents;
            if (next.rank() != row.rank()) return fault::ranks_differ;
            next[0] = row[0];
            const merged_extents m = equal_shapes(row, next);
            if (m.what != fault::none) return m.what;
            row = m.extents;
        }
        extents sizes = in[0].extents;
        for (int d = 1; d < row.rank(); ++d) sizes.push_back(row[d]);
        return sizes.overfull() ? inferred(fault::too_many_dimensions) : inferred(in[1].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(partition, join_rows);

/// The parts of a variable in parts, in the order of its rows; none where `variable` is another tensor.
std::vector<any_tensor> parts_of(const any_tensor& variable);

namespace detail {

/// Enters parts as one variable of this name, unless they are one; the tensor that they are joined to.
any_tensor enter_parts(const std::string& name, const std::vector<any_tensor>& parts);
/// Variables, and in place of one that is in parts these.
std::vector<any_tensor> with_parts(const std::vector<any_tensor>& variables);
/// The reverse, and where in it each part begins. A part whose others are missing stays by itself.
struct whole_variable {
    any_tensor variable; ///< the tensor that parts are joined to, or one that has none
    std::vector<any_tensor> parts;
    std::vector<std::int64_t> first; ///< of each its first row in the whole
};
std::vector<whole_variable> whole_variables(const std::vector<any_tensor>& variables);

/// The indices of rows of such a variable, for each part its own, and what belongs to them.
std::vector<any_tensor> indices_of_parts(const any_tensor& variable, const any_tensor& indices);
std::vector<any_tensor> rows_of_parts(const any_tensor& variable, const any_tensor& indices, const any_tensor& rows);
/// The rows where their indices are, of what indices_of_parts() found in the parts.
any_tensor join_rows_of_parts(const any_tensor& variable, const any_tensor& indices,
                              const std::vector<any_tensor>& found);

} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_partition)

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <tenon/core/error.hpp>
#include <tenon/graph/graph_state.inl>
#include <tenon/op/immediate_kernel.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/row_indices.hpp>

namespace tenon {

TENON_INLINE void detail::routes::check(const attributes& a) {
    if (a.parts < 1 || a.parts > most_parts) number_out_of_range("parts", a.parts);
    if (a.rows < 0) number_out_of_range("rows", a.rows);
}

TENON_INLINE void route_rows_op::gradient(gradient_context& g) {
    std::vector<any_tensor> in{g.input(0)};
    for (const any_tensor& part : detail::output_gradients(g)) in.push_back(part);
    g.set(1, tenon::add<join_rows_op>(g.attributes<attributes>(), std::move(in)));
}
TENON_INLINE void join_rows_op::gradient(gradient_context& g) {
    const std::vector<any_tensor> parts = detail::outputs_of(
        add_node(route_rows_definition, {g.input(0), g.output_gradient()}, encode(g.attributes<attributes>())));
    for (std::size_t p = 0; p < parts.size(); ++p) g.set(static_cast<int>(p) + 1, parts[p]);
}

namespace detail {

// Which part each index belongs to.
class router {
public:
    explicit router(const kernel_setup& s) : of_(decode<routes::attributes>(s.attrs)), parts_{of_.rows, of_.parts} {}
    /// Calls f(i, part, row) for each index, in order, with the row as the part counts it.
    template <class F> void each(const row_indices& indices, const void* data, F&& f) const {
        if (const std::int64_t i = indices.first_outside(data, of_.rows); i >= 0)
            throw invalid_argument_error("gather: index " + indices.shown(data, i) + " is out of range for the " +
                                         std::to_string(of_.rows) + " rows of variable \"" + of_.variable + "\"");
        for (std::int64_t i = 0; i < indices.count; ++i) {
            const std::int64_t row = indices.at(data, i), part = parts_.part_of(row);
            f(i, static_cast<std::size_t>(part), row - parts_.begin(part));
        }
    }
    /// How many belong to each.
    std::vector<std::int64_t> count(const row_indices& indices, const void* data) const {
        std::vector<std::int64_t> n(static_cast<std::size_t>(of_.parts), 0);
        each(indices, data, [&](std::int64_t, std::size_t part, std::int64_t) { ++n[part]; });
        return n;
    }

private:
    routes::attributes of_;
    even_parts parts_;
};

struct route_indices_select : router {
    using router::router;
    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        const row_indices indices(in[0].type());
        std::vector<any_array> out;
        for (const std::int64_t n : count(indices, in[0].data())) out.emplace_back(in[0].element(), extents(n));
        std::vector<std::int64_t> at(out.size(), 0);
        each(indices, in[0].data(), [&](std::int64_t, std::size_t part, std::int64_t row) {
            const auto to = static_cast<std::size_t>(at[part]++);
            if (indices.element == element_type::int32)
                out[part].data<std::int32_t>()[to] = static_cast<std::int32_t>(row);
            else out[part].data<std::int64_t>()[to] = row;
        });
        return out;
    }
};

// Bytes of a row, whose sizes are those after the first `before`.
inline std::size_t row_bytes(const any_array& x, int before) {
    auto bytes = size_of(x.element());
    for (int d = before; d < x.rank(); ++d) bytes *= static_cast<std::size_t>(x.extents()[d].size);
    return bytes;
}

struct route_rows_select : router {
    using router::router;
    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        const row_indices indices(in[0].type());
        const any_array& x = in[1];
        std::vector<any_array> out;
        std::vector<std::byte*> to;
        for (const std::int64_t n : count(indices, in[0].data())) {
            extents sizes{n};
            for (int d = in[0].rank(); d < x.rank(); ++d) sizes.push_back(x.extents()[d]);
            out.emplace_back(x.element(), sizes);
            to.push_back(static_cast<std::byte*>(out.back().data()));
        }
        const std::size_t bytes = row_bytes(x, in[0].rank());
        const auto* from = static_cast<const std::byte*>(x.data());
        if (bytes > 0)
            each(indices, in[0].data(), [&](std::int64_t i, std::size_t part, std::int64_t) {
                std::memcpy(to[part], from + static_cast<std::size_t>(i) * bytes, bytes);
                to[part] += bytes;
            });
        return out;
    }
};

struct join_rows_select : router {
    using router::router;
    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        const row_indices indices(in[0].type());
        const std::vector<std::int64_t> n = count(indices, in[0].data());
        extents sizes = in[0].extents();
        for (int d = 1; d < in[1].rank(); ++d) sizes.push_back(in[1].extents()[d]);
        std::vector<const std::byte*> from;
        for (std::size_t part = 0; part < n.size(); ++part) {
            if (in[part + 1].extents()[0].size != n[part])
                throw invalid_argument_error("join_rows: part " + std::to_string(part) + " has " +
                                             std::to_string(in[part + 1].extents()[0].size) + " rows for " +
                                             std::to_string(n[part]) + " indices");
            from.push_back(static_cast<const std::byte*>(in[part + 1].data()));
        }
        std::vector<any_array> out;
        auto* to = static_cast<std::byte*>(out.emplace_back(in[1].element(), sizes).data());
        const std::size_t bytes = row_bytes(in[1], 1);
        if (bytes > 0)
            each(indices, in[0].data(), [&](std::int64_t, std::size_t part, std::int64_t) {
                std::memcpy(to, from[part], bytes);
                to += bytes;
                from[part] += bytes;
            });
        return out;
    }
};

} // namespace detail

TENON_KERNEL(route_indices, detail::immediate_kernel<detail::route_indices_select>);
TENON_KERNEL(route_rows, detail::immediate_kernel<detail::route_rows_select>);
TENON_KERNEL(join_rows, detail::immediate_kernel<detail::join_rows_select>);

TENON_INLINE std::vector<any_tensor> parts_of(const any_tensor& variable) {
    const node* const n = variable.node();
    if (!n || n->op != &concat_definition || !n->inputs[0].node->op->is(op_flags::variable)) return {};
    for (const any_tensor& whole : graph(n->graph).collection(partitioned_variables))
        if (whole.node() == n) return {n->inputs.begin(), n->inputs.end()};
    return {};
}

namespace detail {

TENON_INLINE bool is_in_parts(const any_tensor& variable) { return !parts_of(variable).empty(); }

TENON_INLINE any_tensor enter_parts(const std::string& name, const std::vector<any_tensor>& parts) {
    const absolute_names as_it_is;
    any_tensor whole = tenon::add<concat_op>({0}, parts, name);
    if (is_in_parts(whole)) return whole; // it was entered before
    graph(whole.node()->graph).add_to_collection(partitioned_variables, whole);
    return whole;
}

TENON_INLINE std::vector<any_tensor> with_parts(const std::vector<any_tensor>& variables) {
    std::vector<any_tensor> all;
    for (const any_tensor& v : variables) {
        const std::vector<any_tensor> parts = parts_of(v);
        if (parts.empty()) all.push_back(v);
        all.insert(all.end(), parts.begin(), parts.end());
    }
    return all;
}

TENON_INLINE std::vector<whole_variable> whole_variables(const std::vector<any_tensor>& variables) {
    if (variables.empty()) return {};
    std::unordered_map<const node*, std::size_t> given;
    for (std::size_t i = 0; i < variables.size(); ++i) given.emplace(variables[i].node(), i);
    std::unordered_map<const node*, any_tensor> whole_of; // by its first part
    std::unordered_map<const node*, bool> inside;
    for (const any_tensor& whole : graph(variables[0].node()->graph).collection(partitioned_variables)) {
        const auto& in = whole.node()->inputs;
        if (!std::all_of(in.begin(), in.end(),
                         [&](const node_output& p) { return given.contains(p.node) && !inside.contains(p.node); }))
            continue;
        whole_of.emplace(in[0].node, whole);
        for (const node_output& p : in) inside[p.node] = true;
    }
    std::vector<whole_variable> result;
    for (const any_tensor& v : variables) {
        if (const auto at = whole_of.find(v.node()); at != whole_of.end()) {
            whole_variable& w = result.emplace_back(whole_variable{at->second, {}, {}});
            std::int64_t first = 0;
            for (const node_output& p : at->second.node()->inputs) {
                w.parts.emplace_back(p);
                w.first.push_back(first);
                first += w.parts.back().extents()[0].size;
            }
        } else if (!inside.contains(v.node())) result.push_back({v, {v}, {0}});
    }
    return result;
}

inline routes::attributes routes_of(const any_tensor& variable) {
    return {variable.extents()[0].size, static_cast<int>(variable.node()->inputs.size()), variable.node()->name};
}
TENON_INLINE std::vector<any_tensor> indices_of_parts(const any_tensor& variable, const any_tensor& indices) {
    return outputs_of(add_node(route_indices_definition, {indices}, encode(routes_of(variable))));
}
TENON_INLINE std::vector<any_tensor> rows_of_parts(const any_tensor& variable, const any_tensor& indices,
                                                   const any_tensor& rows) {
    return outputs_of(add_node(route_rows_definition, {indices, rows}, encode(routes_of(variable))));
}
TENON_INLINE any_tensor join_rows_of_parts(const any_tensor& variable, const any_tensor& indices,
                                           const std::vector<any_tensor>& found) {
    std::vector<any_tensor> in{indices};
    in.insert(in.end(), found.begin(), found.end());
    return tenon::add<join_rows_op>(routes_of(variable), std::move(in));
}

} // namespace detail

} // namespace tenon

#endif
