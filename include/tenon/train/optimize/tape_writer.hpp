#pragma once

#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/graph/add_node.hpp>

/// Formulas on untyped tensors that become one fused node of several results; included by .ipp files only.

namespace tenon::detail {

class tape_writer;

/// A register of a tape that is being written: computed with by operators.
struct tape_value {
    tape_writer* in = nullptr;
    int reg = 0;
    element_type type = element_type::none; // as it is computed in
};

class tape_writer {
public:
    /// Reads a tensor, as its compute type.
    tape_value read(const any_tensor& t) {
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (inputs_[i].output() == t.output()) return value(tape_.emit_input(static_cast<int>(i)));
        inputs_.push_back(t);
        return value(tape_.emit_input(tape_.add_input(t.element())));
    }
    tape_value literal(const number& n, element_type type) { return value(tape_.emit_literal(n, type)); }
    tape_value apply(opcode op, tape_value a) { return value(tape_.emit(op, result_type(op, a.type), a.reg)); }
    tape_value apply(opcode op, tape_value a, tape_value b) {
        return value(tape_.emit(op, result_type(op, a.type), a.reg, b.reg));
    }
    tape_value apply(opcode op, tape_value a, tape_value b, tape_value c) {
        const element_type t = op == opcode::select ? b.type : a.type;
        return value(tape_.emit(op, result_type(op, t), a.reg, b.reg, c.reg));
    }
    tape_value cast(tape_value a, element_type to) {
        return a.type == to ? a : value(tape_.emit(opcode::cast, to, a.reg));
    }
    /// The next output of the node, stored as `stored`; summed up to one number with `to_scalar`.
    void write(tape_value v, element_type stored) { tape_.add_output(v.reg, stored); }
    void write_sum(tape_value v, element_type stored, const any_tensor& scalar) {
        inputs_.push_back(scalar);
        tape_.add_output(v.reg, stored, tape_.add_input(scalar.element()));
    }

    /// The node; its outputs in the order they were written.
    std::vector<any_tensor> finish() {
        fused_op::attributes a;
        a.tape = share_tape(without_dead_code(tape_));
        node* n = add_node(definition_of<fused_op>(), inputs_, encode(a));
        std::vector<any_tensor> outputs;
        for (int o = 0; o < tape_.output_count; ++o) outputs.emplace_back(node_output{n, o});
        return outputs;
    }

private:
    tape_value value(int reg) { return {this, reg, compute_type(tape_.code[reg].type)}; }
    tape tape_;
    std::vector<any_tensor> inputs_;
};

inline tape_value operator+(tape_value a, tape_value b) { return a.in->apply(opcode::add, a, b); }
inline tape_value operator-(tape_value a, tape_value b) { return a.in->apply(opcode::subtract, a, b); }
inline tape_value operator*(tape_value a, tape_value b) { return a.in->apply(opcode::multiply, a, b); }
inline tape_value operator/(tape_value a, tape_value b) { return a.in->apply(opcode::divide, a, b); }
inline tape_value operator-(tape_value a) { return a.in->apply(opcode::negative, a); }
inline tape_value operator+(tape_value a, double b) { return a + a.in->literal(b, a.type); }
inline tape_value operator+(double a, tape_value b) { return b.in->literal(a, b.type) + b; }
inline tape_value operator-(double a, tape_value b) { return b.in->literal(a, b.type) - b; }
inline tape_value operator*(tape_value a, double b) { return a * a.in->literal(b, a.type); }
inline tape_value operator*(double a, tape_value b) { return b.in->literal(a, b.type) * b; }
inline tape_value operator/(double a, tape_value b) { return b.in->literal(a, b.type) / b; }
inline tape_value operator/(tape_value a, double b) { return a / a.in->literal(b, a.type); }
inline tape_value sqrt(tape_value a) { return a.in->apply(opcode::sqrt, a); }
inline tape_value minimum(tape_value a, tape_value b) { return a.in->apply(opcode::minimum, a, b); }
inline tape_value not_below(tape_value a, double b) {
    return a.in->apply(opcode::maximum, a, a.in->literal(b, a.type));
}
/// a * b + c in one instruction.
inline tape_value multiply_add(tape_value a, tape_value b, tape_value c) { return a.in->apply(opcode::fma, a, b, c); }
inline tape_value multiply_add(double a, tape_value b, tape_value c) {
    return multiply_add(b.in->literal(a, b.type), b, c);
}

} // namespace tenon::detail
