#pragma once

#include <cstring>

#include <tenon/expr/interpreter.hpp>
#include <tenon/kernel/simd/pack.hpp>

#include <tenon/expr/evaluate.hpp>
#define TENON_SIMD_FILE <tenon/expr/interpreter.inl>
#include <tenon/kernel/simd/for_each_isa.hpp>

namespace tenon::detail {

// The widest instruction set up to `which` that has steps for all of the types.
template <class F> step_function widest(simd::isa which, const F& find) noexcept {
    step_function f = nullptr;
#if defined(__x86_64__)
    if (which == simd::isa::avx512) f = find([](element_type e) { return simd::avx512::steps_of(e); });
    if (which == simd::isa::avx2) f = find([](element_type e) { return simd::avx2::steps_of(e); });
#endif
    if (!f) f = find([](element_type e) { return simd::baseline::steps_of(e); });
    return f;
}

TENON_INLINE step_function find_step(simd::isa which, opcode op, element_type e) noexcept {
    return widest(which, [&](auto steps_of) -> step_function {
        const auto* s = steps_of(e);
        return s ? s->ops[static_cast<int>(op)] : nullptr;
    });
}
TENON_INLINE step_function find_cast(simd::isa which, element_type from, element_type to) noexcept {
    return widest(which, [&](auto steps_of) -> step_function {
        const auto* s = steps_of(compute_type(from));
        return s ? s->casts[static_cast<int>(to)] : nullptr;
    });
}
TENON_INLINE step_function find_load(simd::isa which, element_type stored) noexcept {
#if defined(__x86_64__)
    if (which == simd::isa::avx512) return simd::avx512::load_of(stored);
    if (which == simd::isa::avx2) return simd::avx2::load_of(stored);
#endif
    return simd::baseline::load_of(stored);
}
TENON_INLINE step_function find_store(simd::isa which, element_type stored) noexcept {
#if defined(__x86_64__)
    if (which == simd::isa::avx512) return simd::avx512::store_of(stored);
    if (which == simd::isa::avx2) return simd::avx2::store_of(stored);
#endif
    return simd::baseline::store_of(stored);
}
TENON_INLINE const reduction_steps& find_reductions(simd::isa which, element_type e) noexcept {
    const bool single = e == element_type::float32;
#if defined(__x86_64__)
    if (which == simd::isa::avx512) return single ? simd::avx512::reductions<float> : simd::avx512::reductions<double>;
    if (which == simd::isa::avx2) return single ? simd::avx2::reductions<float> : simd::avx2::reductions<double>;
#endif
    return single ? simd::baseline::reductions<float> : simd::baseline::reductions<double>;
}

template <int Size> void copy_step(void* to, const void* a, const void*, const void*, std::ptrdiff_t n) {
    if (to != a) std::memcpy(to, a, static_cast<std::size_t>(n) * Size);
}
TENON_INLINE step_function find_copy(element_type e) noexcept {
    const std::size_t size = size_of(e);
    return size == 1 ? &copy_step<1> : size == 2 ? &copy_step<2> : size == 4 ? &copy_step<4> : &copy_step<8>;
}

TENON_INLINE void fill_elements(void* to, const void* element, std::size_t size, std::ptrdiff_t n) noexcept {
    // What is filled doubles, so that it is written in large pieces.
    auto* bytes = static_cast<std::byte*>(to);
    const std::size_t all = size * static_cast<std::size_t>(n);
    if (all == 0) return;
    std::memcpy(bytes, element, size);
    for (std::size_t done = size; done < all;) {
        const std::size_t more = done < all - done ? done : all - done;
        std::memcpy(bytes + done, bytes, more);
        done += more;
    }
}

// A number in the memory of an element of compute type `e`, as a conversion from double gives it.
inline void number_as(double number, element_type e, void* to) {
    simd::baseline::pack<double> p = simd::baseline::broadcast<double>(number);
    double values[simd::baseline::lanes];
    simd::baseline::store(static_cast<double*>(values), p);
    find_cast(simd::isa::baseline, element_type::float64, e)(to, values, nullptr, nullptr, 1);
}

TENON_INLINE interpreter::interpreter(const tape& t, const std::int64_t* constants, std::uint32_t wide, bool in_place,
                                      std::int64_t count, simd::isa which) {
    constexpr int none = -1;
    const auto stored_type = [&](int r) { return compute_type(t.code[r].type); };
    block_ = block;
    if (count < block_) block_ = count < 16 ? 16 : (count + 15) / 16 * 16;

    int last_use[max_tape_length];
    bool constant[max_tape_length];
    int last_input_read = none; // the last step that reads an input where it lies
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        last_use[r] = none;
        constant[r] = i.op != opcode::input;
        for (int k = 0; k < register_operands(i); ++k) {
            const int a = operand_of(i, k);
            last_use[a] = r;
            constant[r] = constant[r] && constant[a];
            if (t.code[a].op == opcode::input) last_input_read = r;
        }
        if (i.op == opcode::input) last_input_read = r;
    }

    // Slots: inputs and outputs first, then constants, then registers.
    std::size_t largest = 1;
    int slot[max_tape_length]; // of each register's value
    int input_slot[max_tape_inputs];
    for (int r = 0; r < t.length; ++r) {
        slot[r] = none;
        if (const std::size_t s = size_of(stored_type(r)); s > largest) largest = s;
    }
    int slots = 0;
    for (int i = 0; i < t.input_count; ++i) {
        input_slot[i] = none;
        if (!t.loads(i)) continue;
        input_slot[i] = slots++;
        inputs_.push_back({static_cast<std::uint16_t>(input_slot[i]), static_cast<std::uint16_t>(i),
                           static_cast<std::uint32_t>(size_of(t.inputs[i]))});
    }
    int direct[max_tape_length]; // the output that a register is computed in
    for (int r = 0; r < t.length; ++r) direct[r] = none;
    int output_slot[max_tape_outputs];
    const auto output_type = [&](int o) {
        return (wide >> o & 1U) != 0 ? compute_type(t.outputs[o].type) : t.outputs[o].type;
    };
    for (int o = 0; o < t.output_count; ++o) {
        const int r = t.outputs[o].reg;
        output_slot[o] = slots++;
        outputs_.push_back({static_cast<std::uint16_t>(output_slot[o]), static_cast<std::uint16_t>(o),
                            static_cast<std::uint32_t>(size_of(output_type(o)))});
        last_use[r] = t.length;
        if (output_type(o) == stored_type(r) && !constant[r] && t.code[r].op != opcode::input && direct[r] == none &&
            (!in_place || r >= last_input_read))
            direct[r] = o;
    }

    // Constants are filled blocks; what is computed from constants alone is one, too.
    int constant_count = 0;
    for (int r = 0; r < t.length; ++r)
        if (constant[r]) slot[r] = slots + constant_count++;
    register_bytes_ = static_cast<std::size_t>(block_) * largest;
    register_bytes_ = (register_bytes_ + 63) / 64 * 64;
    memory_.resize(static_cast<std::size_t>(constant_count) * register_bytes_ + 64);
    std::byte* at = memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64) % 64;
    for (int r = 0; r < t.length; ++r) {
        if (!constant[r]) continue;
        const instruction& i = t.code[r];
        const auto value = [&](int k) { return constants_[static_cast<std::size_t>(slot[operand_of(i, k)] - slots)]; };
        alignas(8) std::byte element[16 * 8];
        switch (i.op) {
        case opcode::literal: number_as(i.number, i.type, element); break;
        case opcode::constant: std::memcpy(element, &constants[i.a], 8); break;
        case opcode::cast: find_cast(which, stored_type(i.a), i.type)(element, value(0), nullptr, nullptr, 1); break;
        default: {
            const int n = register_operands(i);
            find_step(which, i.op, stored_type(operand_of(i, i.op == opcode::select ? 1 : 0)))(
                element, value(0), n > 1 ? value(1) : nullptr, n > 2 ? value(2) : nullptr, 1);
        }
        }
        fill_elements(at, element, size_of(stored_type(r)), block_);
        constants_.push_back(at);
        at += register_bytes_;
    }
    slots += constant_count;

    // Registers: a slot is free again after the last use of its value. A result takes the place of an operand of
    // at least its size, which is warm.
    std::vector<int> free_slots;
    const int first_register = slots;
    const auto take = [&]() {
        if (free_slots.empty()) return slots++;
        const int s = free_slots.back();
        free_slots.pop_back();
        return s;
    };
    const auto add_step = [&](step_function f, int to, int a, int b, int c) {
        const auto s = [](int x) { return static_cast<std::uint16_t>(x < 0 ? 0 : x); };
        steps_.push_back({f, s(to), s(a), s(b), s(c)});
    };
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        if (constant[r]) continue;
        if (i.op == opcode::input) {
            const element_type stored = t.inputs[i.a];
            if (in_place && last_use[r] == t.length) {
                // It goes to an output; by then another output may lie where it lay.
                slot[r] = take();
                add_step(compute_type(stored) == stored ? find_copy(stored) : find_load(which, stored), slot[r],
                         input_slot[i.a], none, none);
            } else if (compute_type(stored) == stored) {
                slot[r] = input_slot[i.a];
            } else {
                slot[r] = take();
                add_step(find_load(which, stored), slot[r], input_slot[i.a], none, none);
            }
            continue;
        }
        const int n = register_operands(i);
        std::vector<int> later; // freed operands that the result may not overwrite
        for (int k = 0; k < n; ++k) {
            const int a = operand_of(i, k);
            bool seen = false;
            for (int j = 0; j < k; ++j) seen = seen || operand_of(i, j) == a;
            if (seen || last_use[a] != r || slot[a] < first_register) continue;
            if (size_of(stored_type(a)) >= size_of(stored_type(r))) free_slots.push_back(slot[a]);
            else later.push_back(slot[a]);
        }
        slot[r] = direct[r] != none ? output_slot[direct[r]] : take();
        const int operands[3] = {slot[i.a], n > 1 ? slot[i.b] : none, n > 2 ? slot[i.c] : none};
        const element_type e = stored_type(operand_of(i, i.op == opcode::select ? 1 : 0));
        add_step(i.op == opcode::cast ? find_cast(which, e, i.type) : find_step(which, i.op, e), slot[r], operands[0],
                 operands[1], operands[2]);
        for (const int s : later) free_slots.push_back(s);
    }
    for (int o = 0; o < t.output_count; ++o) {
        const int r = t.outputs[o].reg;
        if (slot[r] == output_slot[o]) continue;
        const element_type to = output_type(o);
        add_step(compute_type(to) == to ? find_copy(to) : find_store(which, to), output_slot[o], slot[r], none,
                 none);
    }
    registers_ = slots - first_register;
    scratch_bytes_ = static_cast<std::size_t>(registers_) * register_bytes_;
}

TENON_INLINE void interpreter::run(const fused_call& call) {
    const interpreter& p = *static_cast<const interpreter*>(call.program);
    void* slots[max_slots];
    void** next = slots;
    for (const moving_slot& m : p.inputs_) *next++ = const_cast<void*>(call.in[m.index]);
    for (const moving_slot& m : p.outputs_) *next++ = call.out[m.index];
    for (void* c : p.constants_) *next++ = c;
    for (int r = 0; r < p.registers_; ++r) *next++ = call.scratch + static_cast<std::size_t>(r) * p.register_bytes_;
    for (std::ptrdiff_t left = call.count;;) {
        const std::ptrdiff_t n = left < p.block_ ? left : p.block_;
        for (const step& s : p.steps_) s.f(slots[s.to], slots[s.a], slots[s.b], slots[s.c], n);
        left -= n;
        if (left == 0) return;
        const auto move = [&](const moving_slot& m) {
            slots[m.slot] = static_cast<std::byte*>(slots[m.slot]) + static_cast<std::size_t>(n) * m.bytes;
        };
        for (const moving_slot& m : p.inputs_) move(m);
        for (const moving_slot& m : p.outputs_) move(m);
    }
}

} // namespace tenon::detail
