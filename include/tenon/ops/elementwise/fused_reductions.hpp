#pragma once

#include <memory>
#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/expr/fused_kernel.hpp>
#include <tenon/op/axes.hpp>
#include <tenon/op/kernel.hpp>

/// A tape whose outputs are combined as they are computed: sums of expressions, without the expressions. The planner makes it
/// (runtime/plan/rewrite/rewrite_reductions.inl).

namespace tenon {

/// in: a tape's operands. out: by result what `fused` gives as an output of the tape, or that combined over some dimensions. Floating.
struct fused_reductions_op {
    static constexpr const char* name = "fused_reductions";
    static constexpr op_flags flags = op_flags::alike;
    static constexpr element_types gpu_types = no_elements; // there sums are kernels of their own
    struct attributes {
        std::shared_ptr<const tenon::tape> tape;
        std::vector<std::int64_t> constants; ///< as of fused
        /// By result: the tape's output; how it is combined (of detail::combining), -1: it is stored; what is done to that (of
        /// detail::combined_end), and what is taken from the number that divides it; the dimensions that are combined, as bits.
        std::vector<std::int64_t> results;
        std::vector<tensor_type> types; ///< of the results, whose sizes are numbers

        static constexpr std::size_t numbers = 5; ///< of a result
        int count() const { return static_cast<int>(results.size() / numbers); }
        const std::int64_t* result(int r) const { return results.data() + static_cast<std::size_t>(r) * numbers; }
        fused_attributes fused() const { return {tape, constants, {}}; }
        void add(int output, const std::int64_t* how, const tensor_type& type) {
            results.push_back(output);
            results.insert(results.end(), how + 1, how + numbers);
            types.push_back(type);
        }
    };
    static constexpr char results_are_of_the_tape[] = "what it combines are outputs of its tape, over their dimensions";
    static int outputs(const attributes& a, int inputs);
    static inferred infer(const attributes& a, type_list inputs, int output);
    static bool needs_value(const tenon::attributes& a, int input);
    static double operations(const attributes& a, type_list inputs, type_list outputs);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(fused_reductions, fused_reductions);

namespace detail {

/// What a reduction of `x` is beside the tape that makes x, which becomes its tape: combined over axes, then ended, after each element is
/// multiplied by itself, or its magnitude taken. nullptr where there is nothing to combine, no room, or where both are faster apart.
enum class combined_of { elements, squares, magnitudes };
struct reduction_form {
    combining how = combining::sum;
    combined_end end = combined_end::nothing;
    combined_of what = combined_of::elements;
    int less = 0; ///< as of tape_result
};
op_and_attributes reduction_of_fused(const fused_attributes& maker, type_list inputs, const reduction_form& form,
                                     const index_list& axes, bool keepdims);

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_fused_reductions)

#include <tenon/core/error.hpp>
#include <tenon/tape/append_tape.hpp>
#include <tenon/tape/shared_tape.hpp>

namespace tenon {

namespace detail {

inline extents broadcast_of_all(type_list inputs) {
    extents all;
    for (const tensor_type& t : inputs) all = broadcast(all, t.extents).extents;
    return all;
}

// What is small stays in a cache between two kernels, of which the one for reductions alone knows short rows and few columns better.
inline bool is_faster_combined(const tensor_type& x, const axis_set& axes, combining how) {
    constexpr std::int64_t least_bytes = std::int64_t{1} << 19;
    const int last = x.extents.rank() - 1;
    std::int64_t run = 1; // elements that follow each other and are all combined, or all kept
    for (int d = last; d >= 0 && axes.has(d) == axes.has(last); --d) run *= x.extents[d].size;
    if (x.extents.elements() * static_cast<std::int64_t>(size_of(x.element)) < least_bytes) return false;
    if (how == combining::squares) return axes.has(last) ? run >= 256 : run <= 256;
    return !axes.has(last) || run >= 32;
}

TENON_INLINE op_and_attributes reduction_of_fused(const fused_attributes& maker, type_list inputs,
                                                  const reduction_form& form, const index_list& axes, bool keepdims) {
    const extents all = broadcast_of_all(inputs);
    const axis_set set = axes_or_all(axes, all.rank());
    const extents kept = reduced_extents(all, set, keepdims);
    if (maker.tape->output_count != 1 || maker.tape->outputs[0].like >= 0 || all.elements() == kept.elements() ||
        inputs.size() == max_tape_inputs || !is_faster_combined({maker.tape->outputs[0].type, all}, set, form.how))
        return {};
    fused_reductions_op::attributes a{maker.tape, maker.constants, {}, {}};
    const element_type e = maker.tape->outputs[0].type;
    tape t = *maker.tape;
    int value = rounded_register(t, t.outputs[0].reg, e);
    if (form.what == combined_of::squares) value = t.emit(opcode::multiply, compute_type(e), value, value);
    if (form.what == combined_of::magnitudes) value = t.emit(opcode::abs, compute_type(e), value);
    if (t.overfull) return {};
    if (value != t.outputs[0].reg) {
        t.outputs[0].reg = static_cast<std::int16_t>(value);
        a.tape = share_tape(t);
    }
    const std::int64_t result[] = {0, static_cast<std::int64_t>(form.how), static_cast<std::int64_t>(form.end),
                                   form.less, set.bits};
    a.add(0, result, {e, kept});
    return {&fused_reductions_definition, encode(a)};
}

// Graphs and programs come from elsewhere: throws where there is no such tape.
inline std::vector<tape_result> tape_results_of(const fused_reductions_op::attributes& a, const extents& all) {
    std::vector<tape_result> made;
    for (int r = 0; r < a.count(); ++r) {
        const std::int64_t* const given = a.result(r);
        tape_result result{.output = static_cast<int>(given[0])};
        if (given[1] >= 0) {
            result.is_combined = true;
            result.how = static_cast<combining>(given[1]);
            result.end = static_cast<combined_end>(given[2]);
            result.less = given[3];
            result.kept = reduced_extents(all, {fault::none, static_cast<unsigned>(given[4])}, true);
        }
        made.push_back(std::move(result));
    }
    return made;
}

inline bool is_sound_reduction(const fused_reductions_op::attributes& a, type_list inputs) {
    if (!a.tape || tape_defect(*a.tape) || a.constants.size() != static_cast<std::size_t>(a.tape->constant_count) ||
        inputs.size() != a.tape->input_count || a.results.empty() ||
        a.results.size() % fused_reductions_op::attributes::numbers != 0 ||
        a.types.size() != static_cast<std::size_t>(a.count()) || inputs.size() + a.count() > max_tape_inputs)
        return false;
    extents all;
    for (int i = 0; i < inputs.size(); ++i) {
        const merged_extents m = broadcast(all, inputs[i].extents);
        if (inputs[i].element != a.tape->inputs[i] || m.what != fault::none || !inputs[i].extents.is_static())
            return false;
        all = m.extents;
    }
    std::uint32_t stored = 0, combined = 0; // outputs
    for (int r = 0; r < a.count(); ++r) {
        const std::int64_t* const given = a.result(r);
        if (given[0] < 0 || given[0] >= a.tape->output_count) return false;
        const tape_output& out = a.tape->outputs[given[0]];
        const tensor_type& type = a.types[static_cast<std::size_t>(r)];
        const std::uint32_t bit = std::uint32_t{1} << given[0];
        if (type.element != out.type) return false;
        if (given[1] < 0) {
            if ((stored & bit) != 0 || type.extents != (out.like < 0 ? all : inputs[out.like].extents)) return false;
            stored |= bit;
            continue;
        }
        const bool known = given[1] <= static_cast<std::int64_t>(combining::squares) && given[2] >= 0 && given[2] < 8 &&
                           given[4] >= 0 && given[4] < (std::int64_t{1} << all.rank());
        if (!known || out.like >= 0 || !is_floating(out.type)) return false;
        const axis_set axes{fault::none, static_cast<unsigned>(given[4])};
        const std::int64_t elements = reduced_extents(all, axes, false).elements();
        if (type.extents.elements() != elements) return false;
        const bool chooses = given[1] == static_cast<std::int64_t>(combining::least) ||
                             given[1] == static_cast<std::int64_t>(combining::largest);
        if (chooses && all.elements() == 0 && elements != 0) return false;
        combined |= bit;
    }
    // What is combined is kept in the type that is computed in.
    for (int o = 0; o < a.tape->output_count; ++o)
        if ((stored & combined) >> o & 1U && compute_type(a.tape->outputs[o].type) != a.tape->outputs[o].type)
            return false;
    return true;
}

} // namespace detail

TENON_INLINE int fused_reductions_op::outputs(const attributes& a, int) { return a.count(); }
TENON_INLINE inferred fused_reductions_op::infer(const attributes& a, type_list inputs, int output) {
    if (!detail::is_sound_reduction(a, inputs)) return results_are_of_the_tape;
    return inferred(a.types[static_cast<std::size_t>(output)]);
}
TENON_INLINE bool fused_reductions_op::needs_value(const tenon::attributes& a, int input) {
    return fused_op::needs_value(a, input);
}
TENON_INLINE double fused_reductions_op::operations(const attributes& a, type_list inputs, type_list outputs) {
    return fused_op::operations(a.fused(), inputs, outputs) +
           a.count() * static_cast<double>(detail::broadcast_of_all(inputs).elements());
}
TENON_INLINE kernel_pointer fused_reductions_op::prepare(const kernel_setup& s) {
    const auto a = decode<attributes>(s.attrs);
    return std::make_unique<detail::fused_kernel>(s, a.fused(), true, std::vector<detail::operand_part>{},
                                                  detail::tape_results_of(a, detail::broadcast_of_all(s.inputs)));
}

} // namespace tenon

#endif
