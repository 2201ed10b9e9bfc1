#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include <tenon/core/error.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/expr/fused_kernel.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/body.hpp>
#include <tenon/tape/vjp.hpp>

namespace tenon {

namespace detail {

inline void check_fused(const fused_op::attributes& a) {
    const auto fail = [](const std::string& what) {
        throw invalid_argument_error("fused: the tape is not sound: " + what);
    };
    if (!a.tape) fail("there is none");
    const tape& t = *a.tape;
    if (const char* defect = tape_defect(t)) fail(defect);
    if (a.constants.size() != static_cast<std::size_t>(t.constant_count))
        fail("it has " + std::to_string(t.constant_count) + " constants, " + std::to_string(a.constants.size()) +
             " are given");
    if (a.merge.empty()) return;
    if (a.merge.size() != static_cast<std::size_t>(t.output_count))
        fail("it has " + std::to_string(t.output_count) + " outputs, " + std::to_string(a.merge.size()) +
             " are said to be merged or not");
    int merged = 0;
    for (int o = 0; o < t.output_count; ++o) {
        if (!a.merges(o)) continue;
        if (t.length + ++merged > max_tape_length) fail("it is too long to merge outputs");
        const std::int64_t into = a.merge[static_cast<std::size_t>(o)];
        if (into >= o || a.merges(static_cast<int>(into))) fail("an output is merged with none before it");
        if (t.outputs[o].type != t.outputs[into].type || !is_floating(t.outputs[o].type) || t.outputs[o].like < 0 ||
            t.outputs[into].like < 0)
            fail("merged outputs are not gradients of one type");
    }
}

} // namespace detail

TENON_INLINE int fused_op::outputs(const attributes& a, int) {
    detail::check_fused(a);
    int n = 0;
    for (int o = 0; o < a.tape->output_count; ++o) n += !a.merges(o);
    return n;
}

TENON_INLINE inferred fused_op::infer(const attributes& a, type_list inputs, int output) {
    const tape& t = *a.tape;
    if (inputs.size() != t.input_count)
        throw invalid_argument_error("fused: the tape has " + std::to_string(t.input_count) + " inputs, " +
                                     std::to_string(inputs.size()) + " are given");
    extents shape;
    for (int i = 0; i < t.input_count; ++i) {
        if (inputs[i].element != t.inputs[i]) return fault::element_types_differ;
        const merged_extents m = broadcast(shape, inputs[i].extents);
        if (m.what != fault::none) return m.what;
        shape = m.extents;
    }
    const tape_output& o = t.outputs[a.tape_output_of(output)];
    for (int other = 0; other < t.output_count; ++other)
        if (a.merges(other) && a.merge[static_cast<std::size_t>(other)] == a.tape_output_of(output)) {
            const merged_extents m = equal_shapes(inputs[o.like].extents, inputs[t.outputs[other].like].extents);
            if (m.what != fault::none) return m.what;
        }
    return inferred(o.type, o.like < 0 ? shape : inputs[o.like].extents);
}

TENON_INLINE bool fused_op::needs_value(const tenon::attributes& a, int input) {
    return a.get<std::shared_ptr<const tape>>("tape")->loads(input);
}

TENON_INLINE double fused_op::operations(const attributes& a, type_list inputs, type_list) {
    extents all;
    for (const tensor_type& in : inputs) all = broadcast(all, in.extents).extents;
    const auto of_one = [](const instruction& i) {
        switch (i.op) {
        case opcode::input:
        case opcode::constant:
        case opcode::literal: return 0;
        case opcode::fma: return 2;
        default: return 1;
        }
    };
    double n = 0;
    for (int i = 0; i < a.tape->length; ++i) n += of_one(a.tape->code[i]);
    return n * static_cast<double>(all.elements());
}

TENON_INLINE kernel_pointer fused_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::fused_kernel>(s, decode<attributes>(s.attrs));
}

namespace detail {
// The gradient of an expression where it is too long for one tape: each instruction as a node, and the gradient of each.
inline void gradient_by_instructions(gradient_context& g, const tape& t, const std::vector<std::int64_t>& constants,
                                     const std::vector<any_tensor>& flowing) {
    std::vector<any_tensor> inputs, values, amounts(static_cast<std::size_t>(t.length));
    for (int i = 0; i < g.inputs(); ++i) inputs.push_back(g.input(i));
    const auto at = [](auto& list, int n) -> auto& { return list[static_cast<std::size_t>(n)]; };
    const auto operands = [&](const instruction& i) {
        std::vector<any_tensor> of;
        for (int k = 0; k < register_operands(i); ++k) of.push_back(at(values, operand_of(i, k)));
        return of;
    };
    const auto as_type = [](const any_tensor& x, element_type e) {
        return x.element() == e ? x : add_instruction(opcode::cast, {x}, e);
    };
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        const element_type e = compute_type(i.type);
        if (i.op == opcode::input) values.push_back(as_type(at(inputs, i.a), e));
        else if (i.op == opcode::literal) values.push_back(scalar_constant(i.literal(), e));
        else if (i.op == opcode::constant)
            values.push_back(scalar_constant(number::of_bits(static_cast<std::uint64_t>(at(constants, i.a)), e), e));
        else values.push_back(add_instruction(i.op, operands(i), i.op == opcode::cast ? i.type : element_type::none));
    }
    const auto add = [&](int r, const any_tensor& amount) {
        any_tensor& sum = at(amounts, r);
        sum = sum.node() ? add_instruction(opcode::add, {sum, amount}) : amount;
    };
    // What flows into an output is that of all sizes of the expression, and is summed to those of its register.
    std::vector<any_tensor> different;
    for (const any_tensor& x : inputs)
        if (std::none_of(different.begin(), different.end(),
                         [&](const any_tensor& d) { return d.output() == x.output(); }))
            different.push_back(x);
    const int count = static_cast<int>(different.size());
    for (int o = 0; o < t.output_count; ++o) {
        const any_tensor &value = at(values, t.outputs[o].reg), &amount = at(flowing, o);
        if (!is_floating(value.element())) continue;
        tape sizes;
        std::vector<any_tensor> given = different;
        given.push_back(amount);
        given.push_back(value);
        for (const any_tensor& x : given) sizes.add_input(x.element());
        sizes.add_output(sizes.emit_input(count), value.element(), count + 1);
        if (sizes.overfull)
            throw invalid_argument_error("gradients: the expression " + g.node().name +
                                         " is too long to be differentiated (" + std::to_string(count) +
                                         " operands); name a part of it");
        add(t.outputs[o].reg, add_fused(share_tape(sizes), {}, std::move(given)));
    }
    std::vector<any_tensor> of_inputs(inputs.size());
    for (int r = t.length - 1; r >= 0; --r) {
        const instruction& i = t.code[r];
        const any_tensor& amount = at(amounts, r);
        if (!amount.node()) continue;
        if (i.op == opcode::input) at(of_inputs, i.a) = as_type(amount, at(inputs, i.a).element());
        if (register_operands(i) == 0) continue;
        gradient_context c(*at(values, r).node(), {amount});
        fused_op::gradient(c);
        for (int k = 0; k < c.inputs(); ++k)
            if (const any_tensor& flows = at(c.input_gradients(), k); flows.node()) add(operand_of(i, k), flows);
    }
    for (int i = 0; i < g.inputs(); ++i)
        if (is_floating(at(inputs, i).element())) g.set(i, at(of_inputs, i));
}
} // namespace detail

TENON_INLINE void fused_op::gradient(gradient_context& g) {
    const attributes a = g.attributes<attributes>();
    tape forward = *a.tape;
    std::vector<any_tensor> inputs, outputs, output_gradients;
    for (int i = 0; i < g.inputs(); ++i) inputs.push_back(g.input(i));

    // An output into which no gradient flows is left out; a merged one gets what flows into their sum.
    forward.output_count = 0;
    int next = 0;
    std::vector<int> node_output_of;
    for (int o = 0; o < a.tape->output_count; ++o)
        node_output_of.push_back(
            a.merges(o) ? node_output_of[static_cast<std::size_t>(a.merge[static_cast<std::size_t>(o)])] : next++);
    for (int o = 0; o < a.tape->output_count; ++o) {
        const int n = node_output_of[static_cast<std::size_t>(o)];
        if (!g.output_gradient(n).node() || !is_floating(a.tape->outputs[o].type)) continue;
        forward.outputs[forward.output_count++] = a.tape->outputs[o];
        outputs.push_back(g.output(n));
        output_gradients.push_back(g.output_gradient(n));
    }
    for (int o = forward.output_count; o < a.tape->output_count; ++o) forward.outputs[o] = tape_output{};
    if (forward.output_count == 0) return;

    const gradient_tape backward = vjp(forward);
    if (backward.code.overfull) return detail::gradient_by_instructions(g, forward, a.constants, output_gradients);
    const tape& t = backward.code;
    if (t.output_count == 0) return;
    for (int o = 0; o < forward.output_count; ++o)
        if (backward.reads(o)) inputs.push_back(outputs[static_cast<std::size_t>(o)]);
    for (const any_tensor& dy : output_gradients) inputs.push_back(dy);

    attributes result;
    result.tape = share_tape(t);
    result.constants = a.constants;
    const auto operand = [&](int o) { return g.node().inputs[static_cast<std::size_t>(t.outputs[o].like)]; };
    bool merges = false;
    for (int o = 0; o < t.output_count; ++o) {
        std::int64_t into = -1;
        for (int e = 0; e < o && into < 0 && t.length + t.output_count <= max_tape_length; ++e)
            if (operand(e) == operand(o)) into = e;
        result.merge.push_back(into);
        merges = merges || into >= 0;
    }
    if (!merges) result.merge.clear();
    node* n = add_node(definition_of<fused_op>(), std::move(inputs), encode(result));
    for (int o = 0, made = 0; o < t.output_count; ++o)
        if (!result.merges(o)) g.set(t.outputs[o].like, any_tensor(node_output{n, made++}));
}

namespace detail {

struct compiled_tapes {
    std::mutex guard;
    std::unordered_multimap<std::size_t, std::pair<const tape*, compiled_tape>> by_content;
};
inline compiled_tapes& compiled_tape_registry() {
    static auto& r = *new compiled_tapes;
    return r;
}

TENON_INLINE void register_compiled_tape(const tape& t, const compiled_tape& functions) {
    compiled_tapes& r = compiled_tape_registry();
    const std::size_t h = hash_tape(t);
    const std::lock_guard lock(r.guard);
    const auto [first, last] = r.by_content.equal_range(h);
    for (auto at = first; at != last; ++at)
        if (*at->second.first == t) return;
    r.by_content.emplace(h, std::pair(&t, functions));
}

TENON_INLINE const compiled_tape* find_compiled_tape(const tape& t) {
    compiled_tapes& r = compiled_tape_registry();
    const std::size_t h = hash_tape(t);
    const std::lock_guard lock(r.guard);
    const auto [first, last] = r.by_content.equal_range(h);
    for (auto at = first; at != last; ++at)
        if (*at->second.first == t) return &at->second.second;
    return nullptr;
}

TENON_INLINE any_tensor add_fused(std::shared_ptr<const tape> t, std::vector<std::int64_t> constants,
                                  std::vector<any_tensor> inputs, const written_scopes& scopes) {
    const as_written in(scopes);
    fused_op::attributes a;
    a.tape = std::move(t);
    a.constants = std::move(constants);
    if (inputs.empty() || !inputs[0].node()) return add<fused_op>(a, std::move(inputs));
    // An expression becomes a node of its operands' graph wherever it was written, but in a body of control flow, of that.
    const graph theirs(inputs[0].node()->graph);
    const home_scope home{is_around_body(theirs) ? graph::current() : theirs};
    return add<fused_op>(a, std::move(inputs));
}

// Not inline in the header: each expression of a program would repeat them.
TENON_INLINE expression_parts::expression_parts() noexcept = default;
TENON_INLINE expression_parts::~expression_parts() = default;
TENON_INLINE void expression_parts::add(const any_tensor& operand) { operands.push_back(operand); }
TENON_INLINE void expression_parts::add_number(std::int64_t bits) { numbers.push_back(bits); }
TENON_INLINE any_tensor add_expression(const tape& t, expression_parts&& parts, const written_scopes& scopes) {
    return add_fused(std::shared_ptr<const tape>(std::shared_ptr<void>(), &t), std::move(parts.numbers),
                     std::move(parts.operands), scopes);
}

TENON_INLINE any_tensor add_sum_to(const any_tensor& x, const any_tensor& like) {
    tape t;
    t.add_input(x.element());
    t.add_input(like.element());
    t.add_output(t.emit_input(0), x.element(), 1);
    return add_fused(share_tape(t), {}, {x, like});
}

TENON_INLINE any_tensor add_instruction(opcode op, std::vector<any_tensor> operands, element_type cast_to,
                                        source_place here) {
    const making made(here, nullptr);
    const opcode_info info = info_of(op);
    std::vector<tensor_type> types;
    for (const any_tensor& o : operands) {
        if (!o.node()) throw invalid_argument_error(std::string(info.name) + ": an operand is no tensor of any graph");
        types.push_back(o.type());
    }
    const type_list list(types.data(), static_cast<int>(types.size()));
    // No tape computes with texts: that they are chosen of is an op of its own.
    if (op == opcode::select && types.size() == 3 && types[1].element == element_type::string)
        if (const op_definition* const texts = find_op("string_where"))
            return any_tensor({add_node(*texts, std::move(operands), {}), 0});
    if (info.operands == 0 || list.size() != info.operands)
        throw invalid_argument_error(std::string(info.name) + ": takes " + std::to_string(info.operands) +
                                     " operands, " + std::to_string(list.size()) + " are given");
    const inferred r = infer_instruction(op, list);
    if (!r) {
        std::string text = fault_sentence(info.name, r, list) + " (inputs";
        for (const any_tensor& o : operands) text += " " + o.name();
        throw invalid_argument_error(text + ")");
    }
    const element_type result = op == opcode::cast ? cast_to : r.type.element;
    if (op == opcode::cast && (cast_to == element_type::none || cast_to == element_type::string))
        throw invalid_argument_error("cast: elements cannot be converted to " + std::string(name_of(cast_to)));
    // Such tapes are few: each is made once for the process.
    static std::mutex& guard = *new std::mutex;
    static auto& tapes = *new std::map<std::uint64_t, std::shared_ptr<const tape>>;
    const std::uint64_t key = static_cast<std::uint64_t>(op) | static_cast<std::uint64_t>(types[0].element) << 8 |
                              static_cast<std::uint64_t>(types.back().element) << 16 |
                              static_cast<std::uint64_t>(result) << 24;
    std::shared_ptr<const tape> code;
    {
        const std::lock_guard lock(guard);
        std::shared_ptr<const tape>& known = tapes[key];
        if (!known) {
            tape t;
            int reg[3] = {-1, -1, -1};
            for (int i = 0; i < list.size(); ++i) reg[i] = t.emit_input(t.add_input(list[i].element));
            const element_type in_register = op == opcode::cast ? result : compute_type(result);
            t.add_output(t.emit(op, in_register, reg[0], reg[1], reg[2]), result);
            known = share_tape(t);
        }
        code = known;
    }
    return add_fused(std::move(code), {}, std::move(operands));
}

TENON_INLINE any_tensor scalar_constant(const number& value, element_type type) {
    if (type == element_type::none || type == element_type::string)
        throw invalid_argument_error("scalar_constant: " + std::string(name_of(type)) + " is no type of numbers");
    require_fits(value, type, "a number beside a tensor");
    tape t;
    t.add_output(t.emit_literal(value, compute_type(type)), type);
    return add_fused(share_tape(t), {}, {});
}

} // namespace detail
} // namespace tenon
