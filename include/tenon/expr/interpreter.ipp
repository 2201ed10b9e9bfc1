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
        join_simple_steps(count);
        choose_block(count);
        find_last_uses();
        place_operands();
        fill_constants(constants);
        write_steps();
    }

private:
    static constexpr int none = -1;

    // A step, and the registers that it computes and needs.
    struct planned {
        step_function f = nullptr;
        int input = none; // the input that is loaded, or none
        int results = 0, operands = 0;
        std::int16_t result[machine_loop::most_moving]{}, operand[machine_loop::most_places]{};
        register_set code{}; // the instructions
        machine_loop::function written = nullptr;

        planned(step_function function, int to, int loaded = none) : f(function), input(loaded) {
            code.set(static_cast<std::size_t>(to));
            add_result(to);
        }
        void add_result(int r) { result[results++] = static_cast<std::int16_t>(r); }
        void add_operand(int r) { operand[operands++] = static_cast<std::int16_t>(r); }
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
            planned& s = steps_.emplace_back(f, r);
            for (int at = 0; at < tree.root(); ++at) {
                if (register_operands(tree.code[at]) == 0) continue;
                joined_[found[at]] = true;
                s.code.set(static_cast<std::size_t>(found[at]));
            }
            for (int at = 0; at < tree.operands; ++at) s.add_operand(found[at]);
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
                    steps_.emplace_back(find_load(which_, stored), r, i.a);
                } else if (in_place_ && is_output(r)) {
                    // It goes to an output; by then another output may lie where it lay.
                    steps_.emplace_back(find_copy(stored), r, i.a);
                }
                continue;
            }
            if (plan_joined(r)) continue;
            planned& s = steps_.emplace_back(i.op == opcode::cast ? find_cast(which_, operand_type(i), i.type)
                                                                  : find_step(which_, i.op, operand_type(i)),
                                             r);
            for (int k = 0; k < register_operands(i); ++k) s.add_operand(operand_of(i, k));
        }
        std::reverse(steps_.begin(), steps_.end());
    }

    bool is_simple(const planned& s) const {
        const auto is_float = [&](int r) { return type(r) == element_type::float32; };
        if (s.input != none || !is_float(s.result[0])) return false;
        for (int k = 0; k < s.operands; ++k)
            if (!is_float(s.operand[k])) return false;
        for (int r = 0; r < t_.length; ++r)
            if (s.code[static_cast<std::size_t>(r)] && !has_machine_code(t_, r)) return false;
        return true;
    }

    // Simple steps are put off until another needs them, and those that come together then are one loop.
    void join_simple_steps(std::int64_t count) {
        constexpr std::int64_t fewest = 64; // elements, which are worth code of their own
        const auto is_simple_step = [&](const planned& s) { return is_simple(s); };
        if (which_ != simd::isa::avx512 || count < fewest ||
            std::count_if(steps_.begin(), steps_.end(), is_simple_step) < 2)
            return;
        // Rounds of simple steps, each followed by others.
        struct in_round {
            int round;
            bool is_simple;
            planned step;
        };
        std::vector<in_round> all;
        int maker[max_tape_length], last = 0;
        std::fill_n(maker, t_.length, none);
        for (planned& s : steps_) {
            in_round& next = all.emplace_back(in_round{0, is_simple(s), s});
            for (int k = 0; k < s.operands; ++k)
                if (const int m = maker[s.operand[k]]; m != none) {
                    const in_round& made = all[static_cast<std::size_t>(m)];
                    next.round = std::max(next.round, made.round + (next.is_simple && !made.is_simple));
                }
            last = std::max(last, next.round);
            maker[s.result[0]] = static_cast<int>(all.size()) - 1;
        }
        std::vector<int> latest(all.size(), last);
        for (std::size_t k = all.size(); k-- > 0;) {
            in_round& s = all[k];
            if (s.is_simple) s.round = latest[k];
            for (int o = 0; o < s.step.operands; ++o)
                if (const int m = maker[s.step.operand[o]]; m != none)
                    latest[static_cast<std::size_t>(m)] = std::min(latest[static_cast<std::size_t>(m)], s.round);
        }
        std::stable_sort(all.begin(), all.end(), [](const in_round& a, const in_round& b) {
            return a.round != b.round ? a.round < b.round : a.is_simple && !b.is_simple;
        });
        steps_.clear();
        for (std::size_t k = 0; k < all.size();) {
            std::size_t end = k + 1;
            while (end < all.size() && all[k].is_simple && all[end].is_simple && all[end].round == all[k].round) ++end;
            std::vector<planned> together;
            for (; k < end; ++k) together.push_back(all[k].step);
            join(together.data(), together.size());
        }
    }
    // As few loops as registers allow.
    void join(const planned* s, std::size_t n) {
        if (n == 1) return steps_.push_back(*s);
        register_set code, wanted, constants;
        for (std::size_t k = 0; k < n; ++k) code |= s[k].code;
        for (int r = 0; r < t_.length; ++r) {
            const auto at = [](int k) { return static_cast<std::size_t>(k); };
            constants.set(at(r), constant_[r]);
            if (is_output(r)) wanted.set(at(r));
            for (int k = 0; k < register_operands(t_.code[r]) && !code[at(r)]; ++k)
                wanted.set(at(operand_of(t_.code[r], k)));
        }
        const machine_loop made = write_machine_loop(t_, code, wanted, constants);
        if (!made.run) {
            join(s, n / 2);
            return join(s + n / 2, n - n / 2);
        }
        planned& loop = steps_.emplace_back(nullptr, made.places.back());
        loop.written = made.run;
        loop.results = 0;
        const std::size_t operands = made.places.size() - made.results;
        for (std::size_t k = 0; k < made.places.size(); ++k)
            k < operands ? loop.add_operand(made.places[k]) : loop.add_result(made.places[k]);
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
            if (p.input != none) copied_[p.result[0]] = true, last_input_read_ = s;
            for (int k = 0; k < p.operands; ++k) {
                last_use_[p.operand[k]] = s;
                if (reads_in_place(p.operand[k])) last_input_read_ = s;
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
        for (std::size_t s = 0; s < steps_.size(); ++s)
            for (int k = 0; k < steps_[s].results; ++k) step_of[steps_[s].result[k]] = static_cast<int>(s);
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
            int at[machine_loop::most_places];
            for (int k = 0; k < p.operands; ++k) at[k] = slot_[p.operand[k]];
            for (int k = 0; k < p.results; ++k) {
                const int r = p.result[k];
                slot_[r] = at[p.operands + k] = direct_[r] != none ? output_slot_[direct_[r]] : take();
            }
            if (p.written) add_loop(p.written, at, p.operands + p.results);
            else if (p.input != none) add_step(p.f, slot_[p.result[0]], &input_slot_[p.input], 1);
            else add_step(p.f, slot_[p.result[0]], at, p.operands);
            for (int k = 0; k < p.operands; ++k) {
                const int a = p.operand[k];
                if (last_use_[a] != s || slot_[a] < first_register) continue;
                if (std::find(p.operand, p.operand + k, a) == p.operand + k) free_slots.push_back(slot_[a]);
            }
        }
        for (int o = 0; o < t_.output_count; ++o) {
            const int r = t_.outputs[o].reg;
            if (slot_[r] == output_slot_[o]) continue;
            const element_type to = output_type(o);
            add_step(compute_type(to) == to ? find_copy(to) : find_store(which_, to), output_slot_[o], &slot_[r], 1);
        }
        program_.registers = slots_ - first_register;
        made_.scratch_bytes_ = static_cast<std::size_t>(program_.registers) * program_.register_bytes;
    }

    // A slot, and how many bytes an element of it has if it moves on.
    step_program::place place_of(int slot) const {
        const std::size_t s = static_cast<std::size_t>(slot), ins = program_.inputs.size(),
                          moving = ins + program_.outputs.size();
        const std::uint32_t bytes = s < ins      ? program_.inputs[s].bytes
                                    : s < moving ? program_.outputs[s - ins].bytes
                                                 : 0;
        return {static_cast<std::uint16_t>(s), static_cast<std::uint16_t>(bytes)};
    }
    void add_step(step_function f, int to, const int* from, int operands) {
        step_program::step& s = program_.steps.emplace_back(step_program::step{f, nullptr, {}, {}});
        for (int k = 0; k < 5; ++k) {
            const step_program::place p = place_of(k == 0 ? to : k <= operands ? from[k - 1] : 0);
            s.slots[k] = p.slot;
            s.bytes[k] = p.bytes;
        }
    }
    void add_loop(machine_loop::function f, const int* slots, int count) {
        const auto first = static_cast<std::uint16_t>(program_.places.size());
        for (int k = 0; k < count; ++k) program_.places.push_back(place_of(slots[k]));
        const auto end = static_cast<std::uint16_t>(program_.places.size());
        program_.steps.push_back({nullptr, f, {first, end}, {}});
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
                                      std::int64_t count, simd::isa which) {
    builder(*this, with_differences(t), constants, wide, in_place, count, which);
    const bool loops = !program_.places.empty();
    function_ = loops ? TENON_SIMD_OF(which, run_program<true>) : TENON_SIMD_OF(which, run_program<false>);
    steps_ = loops ? TENON_SIMD_OF(which, run_steps<true>) : TENON_SIMD_OF(which, run_steps<false>);
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
