#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/core/options.hpp>
#include <tenon/op/resource_op.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/queue/component.hpp>

/// Accumulators of gradients, which outlive steps (SEMANTICS 41): several steps, of several workers, add to one, and one step takes the
/// average once there are enough.
///
///     tn::accumulator<float, tn::shape<784, 300>> sum({.shared_name = "w1"});
///     auto counted = sum.apply(gradient, local_step);      // false: stale, and dropped
///     auto average = sum.take(3);                          // waits for 3; then the accumulator is in the next step
///     tn::row_accumulator<float, tn::shape<1000, 64>> of_rows;
///     auto [indices, rows] = of_rows.take(3);              // int64[?] and float[?, 64]: each index once, in order
///
/// An accumulator is in a step, 0 at first: a gradient whose local step is an earlier one is dropped, and counted. What is taken is the
/// average of all gradients that are there, also where they are more than were waited for. Of rows it is the sums of equal rows divided by
/// the number of gradients, so that it is the average of the dense ones (**differs** from TensorFlow's, which divides each row by the
/// number of gradients that have it). Sums are rounded to the element type with each gradient.
///
/// It lives on the host of the device of its node, with a shared_name for all sessions of a task, as a queue does (ops/queue/queue.hpp). A take
/// that waits is served first come, first served; where its step fails or is stopped the gradients are there again.
/// tn::sync_replicas (train/replicated/sync_replicas.hpp) does all of this for the variables of a model.

namespace tenon {

namespace detail {

/// What an accumulator averages, as attributes of what uses it.
struct accumulated_type {
    element_type element = element_type::float32;
    extents shape;
    bool rows = false;
    constexpr tensor_type type() const { return {element, shape}; }
};

} // namespace detail

/// An accumulator. Its output stands for it; the value of that nobody needs.
struct accumulator_op {
    static constexpr const char* name = "accumulator";
    static constexpr op_flags flags = op_flags::source | op_flags::stateful | op_flags::resource;
    static constexpr element_types gpu_types = no_elements; // it lies in the host's memory
    struct attributes {
        detail::accumulated_type of;
        std::string shared_name;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 0) return fault::components_differ;
        if (!is_floating(a.of.element)) return fault::element_type_must_be_floating;
        if (a.of.rows && a.of.shape.rank() == 0) return fault::rank_too_low;
        if (!a.of.shape.is_static()) return fault::size_must_be_known;
        if (!is_countable(a.of.type())) return fault::sizes_overflow;
        return inferred(element_type::int64, {});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(accumulator, accumulator);

namespace detail {

inline constexpr char gradient_of_another_type[] = "a gradient has the type of the accumulator";
inline constexpr char rows_do_not_fit[] =
    "a gradient of rows is indices, int32 or int64, and values of the indices' sizes and then a row's";

/// Whether a gradient, the last one or two of `in`, fits.
constexpr inferred fit_of_gradient(const tensor_type& of, bool rows, type_list in) {
    const int n = in.size();
    if (!rows) {
        if (n < 1) return fault::expects_more_operands;
        return in[n - 1].element == of.element && equal_shapes(of.extents, in[n - 1].extents).what == fault::none
                   ? inferred(fault::none)
                   : inferred(gradient_of_another_type);
    }
    if (n < 2) return fault::expects_more_operands;
    const tensor_type &indices = in[n - 2], &values = in[n - 1];
    extents row = of.extents;
    if (row.rank() == 0) return fault::rank_too_low;
    row.erase(0);
    for (int d = indices.extents.rank(); d-- > 0;) {
        if (row.rank() == max_rank) return fault::too_many_dimensions;
        row.insert(0, indices.extents[d]);
    }
    const bool fits = (indices.element == element_type::int32 || indices.element == element_type::int64) &&
                      values.element == of.element && equal_shapes(row, values.extents).what == fault::none;
    return fits ? inferred(fault::none) : inferred(rows_do_not_fit);
}
/// The average: dense, or indices and rows.
constexpr inferred type_of_average(const accumulated_type& a, int output) {
    if (!a.rows) return inferred(a.element, a.shape);
    if (output == 0) return inferred(element_type::int64, {extent()});
    extents sizes = a.shape;
    if (sizes.rank() == 0) return fault::rank_too_low;
    sizes[0] = extent();
    return inferred(a.element, sizes);
}

/// Its sizes, of which those of rows are known in the step.
constexpr extents most_of_average(const accumulated_type& a, int output) {
    return a.rows && output == 0 ? extents(a.shape[0]) : a.shape;
}

struct accumulator_use : resource_use {
    static constexpr const char* of_kind = "accumulator_";
};

} // namespace detail

/// in: the accumulator; the local step, int64; a gradient, or indices and rows. Adds it, unless it is stale. out: whether it did.
struct accumulator_apply_op : detail::waiting<detail::accumulator_use> {
    static constexpr const char* name = "accumulator_apply";
    static constexpr op_flags flags = waiting::flags | op_flags::keeps;
    using attributes = detail::accumulated_type;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != (a.rows ? 4 : 3)) return fault::expects_more_operands;
        if (in[1].element != element_type::int64) return fault::element_type_must_be_integer;
        if (in[1].extents.rank() != 0) return fault::rank_too_high;
        const inferred fit = detail::fit_of_gradient(a.type(), a.rows, in);
        return fit.what == fault::none ? inferred(element_type::boolean, {}) : fit;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(accumulator, accumulator_apply);

/// in: the accumulator. The average of what is there once there are `least` gradients: dense, or indices and rows.
struct accumulator_take_op : detail::waiting<detail::accumulator_use> {
    static constexpr const char* name = "accumulator_take";
    struct attributes {
        detail::accumulated_type of;
        std::int64_t least = 1;
    };
    static constexpr int outputs(const attributes& a, int) { return a.of.rows ? 2 : 1; }
    static constexpr char least_out_of_range[] = "least must be 1 or more";
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (a.least < 1) return least_out_of_range;
        return in.size() == 1 ? detail::type_of_average(a.of, output) : inferred(fault::expects_more_operands);
    }
    static extents at_most(const attributes& a, type_list, int output) { return detail::most_of_average(a.of, output); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(accumulator, accumulator_take);

/// in: the accumulator. out: its step, how many gradients are there, how many were dropped.
struct accumulator_state_op : detail::asking<detail::accumulator_use, element_type::int64, 3> {
    static constexpr const char* name = "accumulator_state";
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(accumulator, accumulator_state);

/// in: the accumulator; a step, int64, in which it is from now on.
struct accumulator_set_step_op : detail::accumulator_use {
    static constexpr const char* name = "accumulator_set_step";
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        return in[1].element == element_type::int64 && in[1].extents.rank() == 0 ? fault::none
                                                                                 : fault::element_type_must_be_integer;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(accumulator, accumulator_set_step);

/// in: the accumulator; a replica's turn (ops/state/step_ledger.hpp), int64[3]; its gradient, or indices and rows. Keeps it.
struct accumulator_deposit_op : detail::waiting<detail::accumulator_use> {
    static constexpr const char* name = "accumulator_deposit";
    static constexpr op_flags flags = waiting::flags | op_flags::keeps;
    using attributes = detail::accumulated_type;
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != (a.rows ? 4 : 3)) return fault::expects_more_operands;
        if (in[1].element != element_type::int64) return fault::element_type_must_be_integer;
        if (in[1].extents.rank() != 1) return fault::ranks_differ;
        return detail::fit_of_gradient(a.type(), a.rows, in);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(accumulator, accumulator_deposit);

/// in: the accumulator; tickets, int64[?]; their step, int64. The average of what was deposited under them, in their order.
struct accumulator_average_op : detail::waiting<detail::accumulator_use> {
    static constexpr const char* name = "accumulator_average";
    using attributes = detail::accumulated_type;
    static constexpr int outputs(const attributes& a, int) { return a.rows ? 2 : 1; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 3) return fault::expects_more_operands;
        if (in[1].element != element_type::int64 || in[2].element != element_type::int64)
            return fault::element_type_must_be_integer;
        if (in[1].extents.rank() != 1 || in[2].extents.rank() != 0) return fault::ranks_differ;
        return detail::type_of_average(a, output);
    }
    static extents at_most(const attributes& a, type_list, int output) { return detail::most_of_average(a, output); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(accumulator, accumulator_average);

struct accumulator_options {
    /// Accumulators of one shared_name in one container of a task are one. Empty: a session's own.
    std::string shared_name = {};
    /// Of the node. Empty: "accumulator". Names of what uses it begin with it.
    std::string name = {};
};

namespace untyped {

/// An accumulator whose type is known at run time only: a handle on its node. The functions say what those of tenon::accumulator
/// and tenon::row_accumulator say; what does not fit is an invalid_argument_error with the rule's words.
class accumulator {
public:
    /// The accumulator that a tensor of a graph stands for: accumulator(g.tensor("w1")). invalid_argument_error where it is none.
    explicit accumulator(const any_tensor& made);
    /// Of dense gradients of this type, or of `rows`.
    explicit accumulator(const tensor_type& type, bool rows = false, const accumulator_options& o = {});

    /// `gradient`: a tensor, or indices and rows.
    any_tensor apply(const std::vector<any_tensor>& gradient, const any_tensor& local_step,
                     called_from here = caller()) const;
    std::vector<any_tensor> take(std::int64_t least, called_from here = caller()) const;
    any_tensor step(called_from here = caller()) const { return state(0, here); }
    any_tensor count(called_from here = caller()) const { return state(1, here); }
    any_tensor dropped(called_from here = caller()) const { return state(2, here); }
    operation set_step(const any_tensor& step, called_from here = caller()) const;
    operation deposit(const std::vector<any_tensor>& gradient, const any_tensor& turn,
                      called_from here = caller()) const;
    std::vector<any_tensor> average(const any_tensor& tickets, const any_tensor& step,
                                    called_from here = caller()) const;

    tensor_type type() const;
    bool of_rows() const;
    const std::string& name() const { return handle_.node()->name; }
    /// What stands for it.
    const any_tensor& handle() const noexcept { return handle_; }

private:
    any_tensor state(int output, called_from here) const;
    any_tensor handle_;
};

} // namespace untyped

namespace detail {

struct apply_rule {
    static constexpr const char* name = "accumulator.apply";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        return fit_of_gradient(in[0], false, in);
    }
};
struct apply_rows_rule {
    static constexpr const char* name = "row_accumulator.apply";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        return fit_of_gradient(in[0], true, in);
    }
};
struct step_rule {
    static constexpr const char* name = "local step";
    static constexpr char is_a_scalar[] = "a step is a scalar int64";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        return in[0].element == element_type::int64 && in[0].extents.rank() == 0 ? inferred(fault::none)
                                                                                 : inferred(is_a_scalar);
    }
};

/// A step as a tensor: a scalar int64, or a number.
template <class X> any_tensor as_step(const X& step) {
    if constexpr (std::is_integral_v<X>) return constant(static_cast<std::int64_t>(step));
    else return as_tensor(step);
}
template <class X> constexpr bool fits_step() {
    if constexpr (std::is_integral_v<X>) return true;
    else {
        using verdict = verdict_of<step_rule, without_attributes, operand_of_t<X>>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        return verdict::fits;
    }
}

template <class S> struct averaged_rows;
template <auto Rows, auto... Rest> struct averaged_rows<shape<Rows, Rest...>> { using type = shape<dyn, Rest...>; };

// Throws invalid_argument_error, naming both, where it is of another type.
void require_accumulator(const untyped::accumulator& a, const tensor_type& type, bool rows);

// What both kinds have.
template <Element T, Shape S, bool Rows> class accumulator_of {
    static_assert(is_floating(element_type_of<T>), "tenon::accumulator: an average is of floating numbers");
    static_assert(S::extents.is_static(), "tenon::accumulator: its sizes are numbers");

public:
    /// A new one, by its options, or one of a graph that was read, an untyped::accumulator: invalid_argument_error, naming both, where its
    /// type is another one.
    // One function, so that a compiler that refuses a call has little to say.
    template <class From = accumulator_options>
    explicit accumulator_of(const From& from = {}) : accumulator_(made_from(from)) {
        require_accumulator(accumulator_, {element_type_of<T>, S::extents}, Rows);
    }
    /// The step that it is in, how many gradients are there, and how many were dropped in its life.
    tensor<std::int64_t, shape<>> step() const { return tensor<std::int64_t, shape<>>::unchecked(accumulator_.step()); }
    tensor<std::int64_t, shape<>> count() const {
        return tensor<std::int64_t, shape<>>::unchecked(accumulator_.count());
    }
    tensor<std::int64_t, shape<>> dropped() const {
        return tensor<std::int64_t, shape<>>::unchecked(accumulator_.dropped());
    }
    /// An operation after which it is in this step, an earlier or a later one; gradients that are there stay. invalid_argument_error,
    /// when it runs, where the step is negative, or so large that none could be counted from there.
    template <class I> operation set_step(const I& step) const {
        if constexpr (!fits_step<I>()) return {};
        else return accumulator_.set_step(as_step(step));
    }
    const std::string& name() const { return accumulator_.name(); }
    const untyped::accumulator& untyped() const noexcept { return accumulator_; }

protected:
    template <class Rule, class I, class... X> auto add(const I& local_step, const X&... gradient) const {
        using verdict = verdict_of<Rule, without_attributes, operand_type<T, S>, operand_of_t<X>...>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits || !fits_step<I>()) return ill_shaped{};
        else return tensor<bool, shape<>>::unchecked(accumulator_.apply({as_tensor(gradient)...}, as_step(local_step)));
    }
    untyped::accumulator accumulator_;

private:
    static const untyped::accumulator& made_from(const untyped::accumulator& a) { return a; }
    static untyped::accumulator made_from(const accumulator_options& o) {
        return untyped::accumulator({element_type_of<T>, S::extents}, Rows, o);
    }
};

} // namespace detail

/// Of dense gradients: averages float tensors of sizes that are numbers.
template <Element T, Shape S> class accumulator : public detail::accumulator_of<T, canonical_t<S>, false> {
    using base = detail::accumulator_of<T, canonical_t<S>, false>;

public:
    explicit accumulator(const accumulator_options& o = {}) : base(o) {}
    explicit accumulator(const untyped::accumulator& a) : base(a) {}
    accumulator(const accumulator&) = default; // and so none that moves, which compilers would list
    TENON_OTHER_BRACES(explicit accumulator(detail::other_braces_than<accumulator_options, N>&));
    /// Adds a gradient that was computed in step local_step, a number or a scalar int64. A tensor: whether it is not stale.
    template <OperandOrIllShaped X, class I>
    auto apply(const X& gradient, const I& local_step, called_from here = caller()) const {
        const making made(here);
        return base::template add<detail::apply_rule>(local_step, gradient);
    }
    /// The average, once there are `least` gradients or more. invalid_argument_error unless that is 1 or more.
    tensor<T, canonical_t<S>> take(std::int64_t least, called_from here = caller()) const {
        const making made(here);
        return tensor<T, canonical_t<S>>::unchecked(this->accumulator_.take(least)[0]);
    }
};

/// Of sparse gradients: rows of a tensor.
template <Element T, Shape S> class row_accumulator : public detail::accumulator_of<T, canonical_t<S>, true> {
    using base = detail::accumulator_of<T, canonical_t<S>, true>;
    static_assert(S::extents.rank() > 0, "tenon::row_accumulator: a scalar has no rows");

public:
    explicit row_accumulator(const accumulator_options& o = {}) : base(o) {}
    explicit row_accumulator(const untyped::accumulator& a) : base(a) {}
    row_accumulator(const row_accumulator&) = default; // and so none that moves, which compilers would list
    TENON_OTHER_BRACES(explicit row_accumulator(detail::other_braces_than<accumulator_options, N>&));
    /// Adds rows of these indices, int32 or int64. An index may occur again.
    template <OperandOrIllShaped Indices, OperandOrIllShaped Rows, class I>
    auto apply(const Indices& indices, const Rows& rows, const I& local_step, called_from here = caller()) const {
        const making made(here);
        return base::template add<detail::apply_rows_rule>(local_step, indices, rows);
    }
    /// The indices that occur, each once, in order, and the averages of their rows.
    auto take(std::int64_t least, called_from here = caller()) const {
        const making made(here);
        const std::vector<any_tensor> parts = this->accumulator_.take(least);
        using rows = tensor<T, typename detail::averaged_rows<canonical_t<S>>::type>;
        return std::tuple(tensor<std::int64_t, shape<dyn>>::unchecked(parts[0]), rows::unchecked(parts[1]));
    }
};

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_accumulator)

#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/state/accumulator.inl>

namespace tenon {

namespace untyped {

TENON_INLINE accumulator::accumulator(const any_tensor& made) : handle_(made) {
    const node* n = detail::require_node(made.node(), "accumulator: the tensor");
    if (n->op != &definition_of<accumulator_op>())
        throw invalid_argument_error(made.name() + " stands for no accumulator: it is made by " + shown_op(*n));
}
TENON_INLINE accumulator::accumulator(const tensor_type& type, bool rows, const accumulator_options& o) {
    const detail::no_controls apart;
    handle_ = tenon::add<accumulator_op>({{type.element, type.extents, rows}, o.shared_name}, {},
                                         o.name.empty() ? "accumulator" : o.name);
}
TENON_INLINE tensor_type accumulator::type() const { return detail::accumulated_by(*handle_.node()).type(); }
TENON_INLINE bool accumulator::of_rows() const { return detail::accumulated_by(*handle_.node()).rows; }

TENON_INLINE any_tensor accumulator::apply(const std::vector<any_tensor>& gradient, const any_tensor& local_step,
                                           called_from here) const {
    const making made(here);
    std::vector<any_tensor> inputs{local_step};
    inputs.insert(inputs.end(), gradient.begin(), gradient.end());
    return any_tensor(
        {detail::add_use<accumulator_apply_op>(handle_, inputs, detail::accumulated_by(*handle_.node())), 0});
}
TENON_INLINE std::vector<any_tensor> accumulator::take(std::int64_t least, called_from here) const {
    const making made(here);
    if (least < 1)
        throw invalid_argument_error("take: the average of " + std::to_string(least) + " gradients of " + name() +
                                     " cannot be taken; give 1 or more");
    return detail::outputs_of(
        detail::add_use<accumulator_take_op>(handle_, {}, {detail::accumulated_by(*handle_.node()), least}));
}
TENON_INLINE any_tensor accumulator::state(int output, called_from here) const {
    const making made(here, nullptr);
    return any_tensor({detail::add_use<accumulator_state_op>(handle_, {}, {}), output});
}
TENON_INLINE operation accumulator::set_step(const any_tensor& step, called_from here) const {
    const making made(here);
    return operation(detail::add_use<accumulator_set_step_op>(handle_, {step}, {}));
}
TENON_INLINE operation accumulator::deposit(const std::vector<any_tensor>& gradient, const any_tensor& turn,
                                            called_from here) const {
    const making made(here);
    std::vector<any_tensor> inputs{turn};
    inputs.insert(inputs.end(), gradient.begin(), gradient.end());
    return operation(detail::add_use<accumulator_deposit_op>(handle_, inputs, detail::accumulated_by(*handle_.node())));
}
TENON_INLINE std::vector<any_tensor> accumulator::average(const any_tensor& tickets, const any_tensor& step,
                                                          called_from here) const {
    const making made(here);
    return detail::outputs_of(
        detail::add_use<accumulator_average_op>(handle_, {tickets, step}, detail::accumulated_by(*handle_.node())));
}

} // namespace untyped

TENON_INLINE void detail::require_accumulator(const untyped::accumulator& a, const tensor_type& type, bool rows) {
    if (a.type() != type || a.of_rows() != rows)
        throw invalid_argument_error(to_string(accumulator_description{a.type(), a.of_rows()}) + " \"" + a.name() +
                                     "\" is no " + to_string(accumulator_description{type, rows}));
}

TENON_KERNEL(accumulator, detail::accumulator_kernel);
TENON_KERNEL(accumulator_state, detail::accumulator_state_kernel);
TENON_KERNEL(accumulator_set_step, detail::accumulator_set_step_kernel);
TENON_INLINE kernel_pointer accumulator_apply_op::prepare(const kernel_setup& s) {
    return detail::prepare_gradient_kernel(s, detail::gradient_use::apply);
}
TENON_INLINE kernel_pointer accumulator_deposit_op::prepare(const kernel_setup& s) {
    return detail::prepare_gradient_kernel(s, detail::gradient_use::deposit);
}
TENON_INLINE kernel_pointer accumulator_average_op::prepare(const kernel_setup& s) {
    return detail::prepare_gradient_kernel(s, detail::gradient_use::average);
}
TENON_KERNEL(accumulator_take, detail::accumulator_take_kernel);

} // namespace tenon

#endif
