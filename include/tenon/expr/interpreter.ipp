#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/with_element.hpp>
#include <tenon/expr/interpreter.hpp>
#include <tenon/tape/joined_steps.hpp>
#include <tenon/simd/pack.hpp>

namespace tenon::detail {

/// Whether no output lies where an input lies: then elements may be computed again.
inline bool lie_apart(void* const* in, std::size_t ins, void* const* out, std::size_t outs) noexcept {
    bool apart = true;
    for (std::size_t o = 0; o < outs; ++o)
        for (std::size_t i = 0; i < ins; ++i) apart = apart && out[o] != in[i];
    return apart;
}

} // namespace tenon::detail

#define TENON_SIMD_FILE <tenon/expr/interpreter.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

// With a - b for a + -b, which is the same, and without what nothing needs.
inline tape with_differences(tape t) {
    for (int r = 0; r < t.length; ++r) {
        instruction& i = t.code[r];
        if (i.op != opcode::add) continue;
        const bool negative_a = t.code[i.a].op == opcode::negative;
        if (!negative_a && t.code[i.b].op != opcode::negative) continue;
        if (negative_a) std::swap(i.a, i.b);
        i.op = opcode::subtract;
        i.b = t.code[i.b].a;
    }
    return without_dead_code(t);
}

// Makes an interpreter of a tape.
class interpreter::builder {
public:
    builder(interpreter& made, const tape& t, const std::int64_t* constants, std::uint32_t wide, bool in_place,
            std::int64_t count, simd::isa which) :
        made_(made), program_(made.program_), t_(t), wide_(wide), in_place_(in_place), which_(which) {
        for (int r = 0; r < t_.length; ++r) {
            slot_[r] = direct_[r] = none;
            constant_[r] = t_.code[r].op != opcode::input;
            for (int k = 0; k < register_operands(t_.code[r]); ++k)
                constant_[r] = constant_[r] && constant_[operand_of(t_.code[r], k)];
        }
        plan_steps();
        choose_block(count);
        find_last_uses();
        place_operands();
        fill_constants(constants);
        write_steps();
    }

private:
    static constexpr int none = -1;

    // A step that computes register `to`.
    struct planned {
        step_function f;
        int to;
        int operands[4]; // registers, or none
        int input;       // the input that is loaded, or none
    };

    element_type type(int r) const { return compute_type(t_.code[r].type); }
    element_type output_type(int o) const {
        return (wide_ >> o & 1U) != 0 ? compute_type(t_.outputs[o].type) : t_.outputs[o].type;
    }
    // The type by which an instruction's step is found.
    element_type operand_type(const instruction& i) const {
        return type(operand_of(i, i.op == opcode::select ? 1 : 0));
    }

    bool is_output(int r) const {
        for (int o = 0; o < t_.output_count; ++o)
            if (t_.outputs[o].reg == r) return true;
        return false;
    }

    // Whether register r is node `at` of a tree, and what is found by way of its operands are theirs.
    bool is_node(const joined_tree& tree, int at, int r, element_type e, int* found) const {
        if (found[at] != none) return found[at] == r;
        const instruction &node = tree.code[at], &i = t_.code[r];
        found[at] = r;
        if (node.op == opcode::input) return true;
        if (node.op != i.op) return false;
        if (node.op == opcode::literal) return i.bits == node.literal().bits_in(e);
        if (operand_type(i) != e || (at != tree.root() && (uses_[r] != tree.uses[at] || is_output(r)))) return false;
        int before[joined_tree::most];
        std::copy_n(found, joined_tree::most, before);
        const auto fits = [&](int a, int b) {
            return is_node(tree, node.a, a, e, found) && (node.b < 0 || is_node(tree, node.b, b, e, found)) &&
                   (node.c < 0 || is_node(tree, node.c, i.c, e, found));
        };
        if (fits(i.a, i.b)) return true;
        std::copy_n(before, joined_tree::most, found);
        return (i.op == opcode::add || i.op == opcode::multiply || i.op == opcode::fma) && fits(i.b, i.a);
    }

    // Joins an instruction with those that nothing else needs.
    bool plan_joined(int r) {
        const element_type e = operand_type(t_.code[r]);
        for (int k = 0; k < joined_trees.size(); ++k) {
            const joined_tree& tree = joined_trees[k];
            int found[joined_tree::most];
            std::fill_n(found, joined_tree::most, none);
            if (!is_node(tree, tree.root(), r, e, found)) continue;
            const step_function f = find_joined(which_, k, e);
            if (!f) return false; // nor of others
            for (int at = 0; at < tree.root(); ++at) joined_[found[at]] |= register_operands(tree.code[at]) > 0;
            planned& s = steps_.emplace_back(planned{f, r, {none, none, none, none}, none});
            std::copy_n(found, tree.operands, s.operands);
            return true;
        }
        return false;
    }

    // The last ones first: those that go with others are known by then.
    void plan_steps() {
        for (int r = 0; r < t_.length; ++r)
            for (int k = 0; k < register_operands(t_.code[r]); ++k) ++uses_[operand_of(t_.code[r], k)];
        for (int r = t_.length - 1; r >= 0; --r) {
            const instruction& i = t_.code[r];
            if (constant_[r] || joined_[r]) continue;
            if (i.op == opcode::input) {
                const element_type stored = t_.inputs[i.a];
                if (compute_type(stored) != stored) {
                    steps_.push_back({find_load(which_, stored), r, {none, none, none, none}, i.a});
                } else if (in_place_ && is_output(r)) {
                    // It goes to an output; by then another output may lie where it lay.
                    steps_.push_back({find_copy(stored), r, {none, none, none, none}, i.a});
                }
                continue;
            }
            if (plan_joined(r)) continue;
            const int n = register_operands(i);
            steps_.push_back({i.op == opcode::cast ? find_cast(which_, operand_type(i), i.type)
                                                   : find_step(which_, i.op, operand_type(i)),
                              r,
                              {i.a, n > 1 ? i.b : none, n > 2 ? i.c : none, none},
                              none});
        }
        std::reverse(steps_.begin(), steps_.end());
    }

    // All at once, if that fits the first-level cache. Else of few steps, and of operands from beyond the caches, short blocks overlap better
    // than they cost; many steps begin as rarely as that cache allows.
    void choose_block(std::int64_t count) {
        std::int64_t most = 2 * block;
        if (count <= 4 * block) most = 4 * block;
        else if (steps_.size() <= 4 || count >= 1 << 20) most = block / 2;
        for (int r = 0; r < t_.length; ++r)
            if (size_of(type(r)) > 4) most = std::min<std::int64_t>(most, block);
        program_.block = count >= most ? most
                         : count > 0   ? (count + step_elements - 1) & -step_elements
                                       : step_elements;
    }

    bool reads_in_place(int r) const { return t_.code[r].op == opcode::input && !copied_[r]; }

    void find_last_uses() {
        for (int r = 0; r < t_.length; ++r) last_use_[r] = none, copied_[r] = false;
        const int steps = static_cast<int>(steps_.size());
        for (int s = 0; s < steps; ++s) {
            const planned& p = steps_[static_cast<std::size_t>(s)];
            if (p.input != none) copied_[p.to] = true, last_input_read_ = s;
            for (const int a : p.operands) {
                if (a == none) continue;
                last_use_[a] = s;
                if (reads_in_place(a)) last_input_read_ = s;
            }
        }
        for (int o = 0; o < t_.output_count; ++o) last_use_[t_.outputs[o].reg] = steps;
    }

    // Slots of inputs and outputs.
    void place_operands() {
        for (int i = 0; i < t_.input_count; ++i) {
            input_slot_[i] = none;
            if (!t_.loads(i)) continue;
            input_slot_[i] = slots_++;
            program_.inputs.push_back(
                {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(size_of(t_.inputs[i]))});
        }
        for (int r = 0; r < t_.length; ++r)
            if (reads_in_place(r)) slot_[r] = input_slot_[t_.code[r].a];
        int step_of[max_tape_length];
        for (int r = 0; r < t_.length; ++r) step_of[r] = none;
        for (std::size_t s = 0; s < steps_.size(); ++s) step_of[steps_[s].to] = static_cast<int>(s);
        for (int o = 0; o < t_.output_count; ++o) {
            const int r = t_.outputs[o].reg;
            output_slot_[o] = slots_++;
            program_.outputs.push_back(
                {static_cast<std::uint32_t>(o), static_cast<std::uint32_t>(size_of(output_type(o)))});
            if (reads_in_place(r)) made_.writes_before_reading_ = true;
            if (output_type(o) != type(r) || step_of[r] == none || direct_[r] != none) continue;
            // It is computed where it goes, unless an input may lie there that is still needed.
            if (step_of[r] < last_input_read_) {
                made_.writes_before_reading_ = true;
                if (in_place_) continue;
            }
            direct_[r] = o;
        }
    }

    // Constants are filled blocks; what is computed from constants alone is one, too.
    void fill_constants(const std::int64_t* constants) {
        std::size_t largest = 1;
        int count = 0;
        for (int r = 0; r < t_.length; ++r) {
            if (const std::size_t s = size_of(type(r)); s > largest) largest = s;
            if (constant_[r]) slot_[r] = slots_ + count++;
        }
        program_.register_bytes = (static_cast<std::size_t>(program_.block + step_elements) * largest + 63) / 64 * 64;
        made_.memory_.resize(static_cast<std::size_t>(count) * program_.register_bytes + 64);
        std::byte* at = made_.memory_.data();
        at += (64 - reinterpret_cast<std::uintptr_t>(at) % 64) % 64;
        for (int r = 0; r < t_.length; ++r) {
            if (!constant_[r]) continue;
            const instruction& i = t_.code[r];
            const auto value = [&](int k) -> const void* {
                if (k >= register_operands(i)) return nullptr;
                return program_.constants[static_cast<std::size_t>(slot_[operand_of(i, k)] - slots_)];
            };
            alignas(64) std::byte element[step_elements * 8];
            if (i.op == opcode::literal)
                with_element(i.type, [&]<class T>(const T&) {
                    if constexpr (!std::is_same_v<T, std::string>) {
                        const T v = i.literal().to<T>();
                        std::memcpy(element, &v, sizeof v);
                    }
                });
            else if (i.op == opcode::constant) std::memcpy(element, &constants[i.a], 8);
            else
                (i.op == opcode::cast ? find_cast(which_, operand_type(i), i.type)
                                      : find_step(which_, i.op, operand_type(i)))(element, value(0), value(1), value(2),
                                                                                  nullptr, step_elements);
            fill_elements(at, element, size_of(type(r)), program_.block + step_elements);
            program_.constants.push_back(at);
            at += program_.register_bytes;
        }
        slots_ += count;
    }

    // A register's slot is free again after the last use of its value, for the steps after that: elements of operands are read again.
    void write_steps() {
        const int first_register = slots_;
        std::vector<int> free_slots;
        const auto take = [&]() {
            if (free_slots.empty()) return slots_++;
            const int s = free_slots.back();
            free_slots.pop_back();
            return s;
        };
        for (int s = 0; s < static_cast<int>(steps_.size()); ++s) {
            const planned& p = steps_[static_cast<std::size_t>(s)];
            slot_[p.to] = direct_[p.to] != none ? output_slot_[direct_[p.to]] : take();
            int from[4];
            for (int k = 0; k < 4; ++k) from[k] = p.operands[k] == none ? none : slot_[p.operands[k]];
            if (p.input != none) from[0] = input_slot_[p.input];
            add_step(p.f, slot_[p.to], from);
            for (int k = 0; k < 4; ++k) {
                const int a = p.operands[k];
                if (a == none || last_use_[a] != s || slot_[a] < first_register) continue;
                if (std::find(p.operands, p.operands + k, a) == p.operands + k) free_slots.push_back(slot_[a]);
            }
        }
        for (int o = 0; o < t_.output_count; ++o) {
            const int r = t_.outputs[o].reg;
            if (slot_[r] == output_slot_[o]) continue;
            const element_type to = output_type(o);
            const int from[4] = {slot_[r], none, none, none};
            add_step(compute_type(to) == to ? find_copy(to) : find_store(which_, to), output_slot_[o], from);
        }
        program_.registers = slots_ - first_register;
        made_.scratch_bytes_ = static_cast<std::size_t>(program_.registers) * program_.register_bytes;
    }

    void add_step(step_function f, int to, const int* from) {
        step_program::step& s = program_.steps.emplace_back(step_program::step{f, {}, {}});
        const std::size_t ins = program_.inputs.size(), moving = ins + program_.outputs.size();
        for (int k = 0; k < 5; ++k) {
            const auto slot = static_cast<std::size_t>(k == 0 ? to : std::max(from[k - 1], 0));
            s.slots[k] = static_cast<std::uint16_t>(slot);
            s.bytes[k] = static_cast<std::uint16_t>(slot < ins      ? program_.inputs[slot].bytes
                                                    : slot < moving ? program_.outputs[slot - ins].bytes
                                                                    : 0);
        }
    }

    interpreter& made_;
    step_program& program_;
    const tape t_;
    std::uint32_t wide_;
    bool in_place_;
    simd::isa which_;
    std::vector<planned> steps_;
    int slots_ = 0;
    int last_input_read_ = none; // the last step that reads an input where it lies
    int slot_[max_tape_length], direct_[max_tape_length], last_use_[max_tape_length];
    int input_slot_[max_tape_inputs], output_slot_[max_tape_outputs];
    bool constant_[max_tape_length], copied_[max_tape_length]{};
    int uses_[max_tape_length]{};
    bool joined_[max_tape_length]{}; // with a later instruction: it is no step of its own
};

TENON_INLINE interpreter::interpreter(const tape& t, const std::int64_t* constants, std::uint32_t wide, bool in_place,
                                      std::int64_t count, simd::isa which) :
    function_(TENON_SIMD_OF(which, run_program)), steps_(TENON_SIMD_OF(which, run_steps)) {
    builder(*this, with_differences(t), constants, wide, in_place, count, which);
}

TENON_INLINE tape with_merged_outputs(const tape& t, const std::vector<std::int64_t>& merge) {
    tape result = t;
    result.output_count = 0;
    int place[max_tape_outputs];
    for (int o = 0; o < t.output_count; ++o) {
        const std::int64_t into = merge.empty() ? -1 : merge[static_cast<std::size_t>(o)];
        if (into < 0) {
            place[o] = result.output_count;
            result.outputs[result.output_count++] = t.outputs[o];
        } else {
            tape_output& sum = result.outputs[place[into]];
            sum.reg =
                static_cast<std::int16_t>(result.emit(opcode::add, compute_type(sum.type), sum.reg, t.outputs[o].reg));
        }
    }
    for (int o = result.output_count; o < t.output_count; ++o) result.outputs[o] = tape_output{};
    return result;
}

} // namespace tenon::detail
