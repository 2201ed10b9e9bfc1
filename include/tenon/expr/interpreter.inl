// How the steps of a program run. Read once per instruction set by interpreter.ipp.

namespace tenon::simd::TENON_SIMD_NS {

inline void run_steps(const tenon::detail::step_program& p, void* const* slots, std::ptrdiff_t n) {
    for (const auto& s : p.steps) s.f(slots[s.to], slots[s.a], slots[s.b], slots[s.c], slots[s.d], n);
}

/// A step whose operands are looked up once: where they lie, and how many bytes an element has of those that move on.
struct placed_step {
    tenon::detail::step_function f;
    std::byte* operands[5];
    std::int32_t bytes[5];
};

/// `all` elements, more than a block, in blocks; the last one goes back to elements that are computed again where that
/// makes it whole packs. A step is a few dozen instructions, which wait for where they begin: reading that from what has
/// just been written, as from pointers that move on, takes longer than computing it.
inline void run_blocks(const tenon::detail::step_program& p, void* const* slots, std::ptrdiff_t all) {
    placed_step placed[tenon::max_tape_length + tenon::max_tape_outputs];
    placed_step* end = placed;
    const std::size_t ins = p.inputs.size(), moving = ins + p.outputs.size();
    for (const auto& s : p.steps) {
        end->f = s.f;
        int k = 0;
        for (const std::size_t slot : {s.to, s.a, s.b, s.c, s.d}) {
            end->operands[k] = static_cast<std::byte*>(slots[slot]);
            end->bytes[k++] = static_cast<std::int32_t>(slot < ins      ? p.inputs[slot].bytes
                                                        : slot < moving ? p.outputs[slot - ins].bytes
                                                                        : 0);
        }
        ++end;
    }
    for (std::ptrdiff_t first = 0; first < all;) {
        std::ptrdiff_t n = all - first < p.block ? all - first : p.block;
        const std::ptrdiff_t back = -n & (lanes - 1);
        first -= back;
        n += back;
        for (const placed_step* s = placed; s != end; ++s) {
            const auto at = [&](int k) { return s->operands[k] + first * s->bytes[k]; };
            s->f(at(0), at(1), at(2), at(3), at(4), n);
        }
        first += n;
    }
}

// Of the last elements, fewer than there are lanes, a pack, in which the first is repeated (see load_tail), and back.
template <class T> TENON_SIMD_INLINE void fill_pack(void* to, const void* from, int n) {
    store(static_cast<T*>(to), load_tail(static_cast<const T*>(from), n));
}
template <class T> TENON_SIMD_INLINE void cut_pack(void* to, const void* from, int n) {
    store_partial(static_cast<T*>(to), load(static_cast<const T*>(from)), n);
}
inline void fill_pack(void* to, const void* from, std::uint32_t bytes, int n) {
    switch (bytes) {
    case 4: return fill_pack<std::uint32_t>(to, from, n);
    case 8: return fill_pack<std::uint64_t>(to, from, n);
    case 2: return fill_pack<std::uint16_t>(to, from, n);
    default: return fill_pack<std::uint8_t>(to, from, n);
    }
}
inline void cut_pack(void* to, const void* from, std::uint32_t bytes, int n) {
    switch (bytes) {
    case 4: return cut_pack<std::uint32_t>(to, from, n);
    case 8: return cut_pack<std::uint64_t>(to, from, n);
    case 2: return cut_pack<std::uint16_t>(to, from, n);
    default: return cut_pack<std::uint8_t>(to, from, n);
    }
}

/// A fused_function, of an interpreter.
inline void run_program(const tenon::detail::fused_call& call) {
    using tenon::detail::step_program;
    const auto& p = *static_cast<const step_program*>(call.program);
    void* slots[step_program::max_slots];
    const std::size_t ins = p.inputs.size(), outs = p.outputs.size();
    void** next = slots + ins + outs;
    for (void* c : p.constants) *next++ = c;
    for (int r = 0; r < p.registers; ++r) *next++ = call.scratch + static_cast<std::size_t>(r) * p.register_bytes;

    const std::ptrdiff_t whole = call.count & -lanes;
    const int rest = static_cast<int>(call.count - whole);
    if (whole > 0) {
        for (std::size_t i = 0; i < ins; ++i) slots[i] = const_cast<void*>(call.in[p.inputs[i].index]);
        for (std::size_t o = 0; o < outs; ++o) slots[ins + o] = call.out[p.outputs[o].index];
        if (call.count > p.block) {
            const bool again = rest != 0 && tenon::detail::lie_apart(slots, ins, slots + ins, outs);
            run_blocks(p, slots, again ? call.count : whole);
            if (again) return;
        } else run_steps(p, slots, whole);
        if (rest == 0) return;
    }
    alignas(64) std::byte packs[tenon::max_tape_inputs + tenon::max_tape_outputs][lanes * 8];
    auto* pack = packs;
    next = slots;
    for (const step_program::moving_slot& m : p.inputs) {
        fill_pack(*pack, static_cast<const std::byte*>(call.in[m.index]) + static_cast<std::size_t>(whole) * m.bytes,
                  m.bytes, rest);
        *next++ = *pack++;
    }
    for (std::size_t o = 0; o < outs; ++o) *next++ = *pack++;
    run_steps(p, slots, lanes);
    for (const step_program::moving_slot& m : p.outputs)
        cut_pack(static_cast<std::byte*>(call.out[m.index]) + static_cast<std::size_t>(whole) * m.bytes,
                 packs[ins + static_cast<std::size_t>(&m - p.outputs.data())], m.bytes, rest);
}

} // namespace tenon::simd::TENON_SIMD_NS
