#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/op/resource_op.hpp>
#include <tenon/ops/shape/gather.hpp>

/// Rows of a table on other tasks, kept where they are used: a lookup asks the table's tasks for those rows alone that are not there,
/// or were read too many steps ago.
///
///     const tn::row_cache cache(table, {.capacity = 100'000, .staleness = 10});
///     auto rows = cache.gather(ids);                     // as tn::gather(table, ids)
///     auto [hits, asked] = sess.run(cache.hits(), cache.misses());
///
/// A row that a step reads was read from the table by this cache at most `staleness` of its steps before. With 0 each step reads
/// the rows anew (each once, however often its index occurs) and gets what gather would. Rows that were used least recently go where
/// there are more than `capacity`.
///
/// **Own gradients** are seen by the next step. As a gradient goes back through a lookup, its rows are forgotten here; or, with
/// `write_through` = rate, rate times the gradient is taken off them, which is what gradient_descent(rate) does to the table with
/// that gradient. Then they are used on, and see others' updates when they are read again. Leave it 0 for other optimisers, and where
/// gradients are clipped or averaged. Of steps that run at once one may miss another's gradient, within the bound. X. Miao et al.,
/// HET, Proc. VLDB Endow. 15 (2022), bounds by clocks of rows in the same way.
///
/// The gradient with respect to the table is that of gather: sparse. A cache is a resource of the task where its first node is placed,
/// a worker's with replica_device_setter, and each session's own. A table whose values are set otherwise (by load or assign) is
/// seen within the bound, or after clear().

namespace tenon {

namespace detail {

// What all nodes of a cache know of it.
struct row_cache_use : resource_use {
    static constexpr const char* of_kind = "row_cache_";
};
constexpr bool is_index(element_type e) { return e == element_type::int32 || e == element_type::int64; }

} // namespace detail

/// A cache. Its output stands for it; the value of that is how many rows it holds at most.
struct row_cache_op {
    static constexpr const char* name = "row_cache";
    static constexpr op_flags flags = op_flags::source | op_flags::stateful;
    static constexpr element_types gpu_types = no_elements; // it lies in the host's memory
    struct attributes {
        std::vector<tensor_type> table; ///< its type
        std::int64_t capacity = 0;
        std::int64_t staleness = 0;
        double write_through = 0;
    };
    static constexpr char describes_a_table[] = "a table has a type of one dimension or more, whose sizes are known";
    static constexpr char makes_no_sense[] = "capacity, staleness and write_through are not negative";
    static inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 0) return fault::components_differ;
        if (a.table.size() != 1 || a.table[0].extents.rank() < 1 || !a.table[0].extents.is_static() ||
            a.table[0].element == element_type::string)
            return describes_a_table;
        if (a.capacity < 0 || a.staleness < 0 || !(a.write_through >= 0)) return makes_no_sense;
        return inferred(element_type::int64, {});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(row_cache, row_cache);

/// in: the cache, indices (int32 or int64). out: the rows that are missing, [?], each once; the rows for all indices, of which those
/// that are missing are zeros; for each index which of the missing rows it is, or -1; and when that was.
struct row_cache_find_op : detail::waiting<detail::row_cache_use> {
    static constexpr const char* name = "row_cache_find";
    struct attributes {
        std::vector<tensor_type> table;
    };
    static int outputs(const attributes&, int) { return 4; }
    static inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 2 || a.table.size() != 1) return fault::expects_more_operands;
        if (!detail::is_index(in[1].element)) return fault::element_type_must_be_integer;
        if (output == 0) return inferred(element_type::int64, {extent()});
        if (output == 1) {
            const inferred r = gather_op::gathered({0}, a.table[0], in[1]);
            return r && r.type.extents.overfull() ? inferred(fault::too_many_dimensions) : r;
        }
        return inferred(element_type::int64, output == 2 ? in[1].extents : extents{2});
    }
    static extents at_most(const attributes& a, type_list in, int output) {
        return output == 0 ? extents{size_of_all(in[1].extents)} : infer(a, in, output).type.extents;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(row_cache, row_cache_find);

/// in: the cache; what row_cache_find gave: missing, rows, which, when; the rows of the table that were missing; what a gather of all
/// would be, whose value does not matter, and to which the gradient goes; the indices. The rows for all indices. What was missing is
/// kept.
struct row_cache_complete_op : detail::row_cache_use {
    static constexpr const char* name = "row_cache_complete";
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 8) return fault::expects_more_operands;
        for (const int i : {1, 3, 4})
            if (in[i].element != element_type::int64) return fault::element_type_must_be_integer;
        if (in[5].element != in[2].element || in[6].element != in[2].element) return fault::element_types_differ;
        if (in[5].extents.rank() < 1 || in[1].extents.rank() != 1 || in[4].extents.rank() != 1)
            return fault::rank_too_low;
        if (const fault f = equal_sizes(in[1].extents[0], in[5].extents[0]).what; f != fault::none) return f;
        if (const fault f = equal_shapes(in[2].extents, in[6].extents).what; f != fault::none) return f;
        return in[2];
    }
    static constexpr bool needs_value(const attributes&, int input) { return input > 0 && input < 6; }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(row_cache, row_cache_complete);

/// in: the cache, indices, a gradient of their rows. The gradient; the rows are changed by it, or forgotten.
struct row_cache_change_op : detail::row_cache_use {
    static constexpr const char* name = "row_cache_change";
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        if (!detail::is_index(in[1].element)) return fault::element_type_must_be_integer;
        if (!is_floating(in[2].element)) return fault::element_type_must_be_floating;
        if (in[2].extents.rank() < in[1].extents.rank()) return fault::rank_too_low;
        return in[2];
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(row_cache, row_cache_change);

/// in: the cache. Rows used from it; asked for since they were not there; since they were too old; that had to go for others; that are
/// there; and bytes of rows that a gather would have had come.
struct row_cache_counts_op : detail::asking<detail::row_cache_use, element_type::int64, 6> {
    static constexpr const char* name = "row_cache_counts";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(row_cache, row_cache_counts);

/// in: the cache. It holds no rows any more.
struct row_cache_clear_op : detail::telling<detail::row_cache_use> {
    static constexpr const char* name = "row_cache_clear";
    using attributes = no_attributes;
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(row_cache, row_cache_clear);

struct row_cache_options {
    /// Rows that are kept at most.
    std::int64_t capacity = 0;
    /// For how many steps after the one in which it was read a row is used. Several gathers of one cache in a step are one step.
    std::int64_t staleness = 0;
    /// The learning rate by which own gradients change rows that are kept; 0: they are forgotten.
    double write_through = 0;
    /// Of the node. Empty: "row_cache".
    std::string name = {};
};

namespace untyped {

/// A handle on a cache's node, and its table. The functions say what those of tenon::row_cache say.
class row_cache {
public:
    row_cache(const any_tensor& table, const row_cache_options& o);
    any_tensor gather(const any_tensor& indices) const;
    any_tensor hits() const { return count(0); }
    any_tensor misses() const { return count(1); }
    any_tensor stale() const { return count(2); }
    any_tensor evicted() const { return count(3); }
    any_tensor held() const { return count(4); }
    any_tensor bytes_saved() const { return count(5); }
    operation clear() const;
    const any_tensor& handle() const noexcept { return handle_; }

private:
    any_tensor count(int which) const;
    any_tensor table_, handle_;
    std::shared_ptr<any_tensor> counts_; // the node that tells them, once it is made
};

} // namespace untyped

/// A cache of rows of a table, which is a variable, maybe in parts. Made in the current scopes, whose task has it.
/// invalid_argument_error where the table is no variable, or an option makes no sense. Copies are handles on the same cache.
template <class T, class S> class row_cache {
public:
    row_cache(const tensor<T, S>& table, const row_cache_options& o) : of_(table, o) {
        static_assert(S::rank >= 1, "tenon::row_cache: a table has rows; a scalar has none");
    }

    /// The rows that indices (int32 or int64) name: what tn::gather(table, indices) is. An index outside 0 .. rows - 1 is an
    /// invalid_argument_error.
    template <OperandOrIllShaped I> auto gather(const I& indices, called_from here = caller()) const {
        const making made(here);
        using axis = detail::constant_attributes<gather_op::attributes{0}>;
        using verdict =
            detail::verdict_of<gather_op, axis, detail::operand_of_t<tensor<T, S>>, detail::operand_of_t<I>>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else
            return detail::op_result_t<gather_op, axis, 0, void, detail::operand_of_t<tensor<T, S>>,
                                       detail::operand_of_t<I>>::unchecked(of_.gather(detail::as_tensor(indices)));
    }

    using number = tensor<std::int64_t, shape<>>;
    // Since the cache was made:
    number hits() const { return number::unchecked(of_.hits()); }       ///< rows that were used from it
    number misses() const { return number::unchecked(of_.misses()); }   ///< asked for since they were not there
    number stale() const { return number::unchecked(of_.stale()); }     ///< asked for since they were too old
    number evicted() const { return number::unchecked(of_.evicted()); } ///< that had to go for others
    number held() const { return number::unchecked(of_.held()); }       ///< that are there
    /// Bytes of rows that gather would have had come, and that did not.
    number bytes_saved() const { return number::unchecked(of_.bytes_saved()); }
    /// It holds no rows any more.
    operation clear() const { return of_.clear(); }

private:
    untyped::row_cache of_;
};

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_row_cache)

#include <tenon/core/text/number_text.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/state/row_cache.inl>
#include <tenon/ops/shape/partition.hpp>

namespace tenon {

namespace untyped {

TENON_INLINE row_cache::row_cache(const any_tensor& table, const row_cache_options& o) :
    table_(table), counts_(std::make_shared<any_tensor>()) {
    const node* n = detail::require_node(table.node(), "row_cache: the table");
    if (!n->op->is(op_flags::variable) && parts_of(table).empty())
        throw invalid_argument_error("row_cache: " + table.name() + " is no variable but a " + shown_op(*n));
    const auto require = [](bool good, const std::string& wrong) {
        if (!good) throw invalid_argument_error("row_cache: " + wrong);
    };
    require(o.capacity >= 0, "capacity is " + std::to_string(o.capacity) + "; give a number of rows");
    require(o.staleness >= 0, "staleness is " + std::to_string(o.staleness) + "; give a number of steps, or 0");
    require(o.write_through >= 0 && o.write_through < 1e30,
            "write_through is " + detail::text_of_number(o.write_through) +
                "; give the learning rate, or 0 to forget rows that have own gradients");
    require(o.write_through == 0 || is_floating(table.element()),
            "write_through is for tables of floating numbers; " + table.name() + " is " + to_string(table.type()));
    const detail::home_scope scope{graph(n->graph)};
    const detail::no_controls apart;
    handle_ = tenon::add<row_cache_op>({{table.type()}, o.capacity, o.staleness, o.write_through}, {},
                                       o.name.empty() ? "row_cache" : o.name);
}
TENON_INLINE any_tensor row_cache::gather(const any_tensor& indices) const {
    using namespace tenon::detail;
    require_node(indices.node(), "row_cache: the indices");
    const any_tensor all = untyped::gather(table_, indices); // runs where somebody else asks for it
    node* const found = add_use<row_cache_find_op>(handle_, {indices}, {{table_.type()}});
    const auto output = [&](int o) { return any_tensor(node_output{found, o}); };
    const any_tensor missing = untyped::gather(table_, output(0));
    return any_tensor({add_use<row_cache_complete_op>(
                           handle_, {output(0), output(1), output(2), output(3), missing, all, indices}, {}),
                       0});
}
TENON_INLINE any_tensor row_cache::count(int which) const {
    if (!counts_->node()) {
        const detail::home_scope scope{graph(handle_.node()->graph)};
        const detail::no_controls apart;
        *counts_ = any_tensor({detail::add_use<row_cache_counts_op>(handle_, {}, {}), 0});
    }
    return any_tensor(node_output{counts_->node(), which});
}
TENON_INLINE operation row_cache::clear() const {
    const detail::home_scope scope{graph(handle_.node()->graph)};
    return operation(detail::add_use<row_cache_clear_op>(handle_, {}, {}));
}

} // namespace untyped

TENON_INLINE void row_cache_complete_op::gradient(gradient_context& g) {
    g.set(6, any_tensor({detail::add_use<row_cache_change_op>(g.input(0), {g.input(7), g.output_gradient()}, {}), 0}));
}
TENON_INLINE void row_cache_change_op::gradient(gradient_context& g) { g.set(2, g.output_gradient()); }

TENON_KERNEL(row_cache, detail::row_cache_kernel);
TENON_KERNEL(row_cache_find, detail::row_cache_find_kernel);
TENON_KERNEL(row_cache_complete, detail::row_cache_complete_kernel);
TENON_KERNEL(row_cache_change, detail::row_cache_change_kernel);
TENON_KERNEL(row_cache_counts, detail::row_cache_counts_kernel);
TENON_KERNEL(row_cache_clear, detail::row_cache_clear_kernel);

} // namespace tenon

#endif
