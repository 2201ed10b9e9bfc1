// How the steps of a program run. Read once per instruction set by interpreter.ipp.

namespace tenon::simd::TENON_SIMD_NS {

inline void run_written(const tenon::detail::step_program& p, const tenon::detail::step_program::step& s,
                        void* const* slots, std::ptrdiff_t first, std::ptrdiff_t n) {
    void* places[tenon::detail::machine_loop::most_places];
    void** next = places;
    for (std::size_t k = s.slots[0]; k < s.slots[1]; ++k)
        *next++ = static_cast<std::byte*>(slots[p.places[k].slot]) + first * p.places[k].bytes;
    s.written(places, n);
}
// Loops: whether some steps are loops of machine code. What few elements wait for are these lines.
template <bool Loops> void run_steps(const tenon::detail::step_program& p, void* const* slots, std::ptrdiff_t n) {
    const auto* const at = slots;
    for (const auto& s : p.steps)
        if (Loops && s.written) run_written(p, s, slots, 0, n);
        else s.f(at[s.slots[0]], at[s.slots[1]], at[s.slots[2]], at[s.slots[3]], at[s.slots[4]], n);
}

/// `all` elements, at least a pack, in blocks. A step is a few dozen instructions, which wait for where they begin: reading that from
/// what has just been written, as from pointers that move on, takes longer than computing it. So where the operands of steps lie is
/// looked up once.
template <bool Loops> void run_blocks(const tenon::detail::step_program& p, void* const* slots, std::ptrdiff_t all) {
    std::byte* places[tenon::max_tape_length + tenon::max_tape_outputs][5];
    const std::size_t steps = p.steps.size();
    for (std::size_t s = 0; s < steps; ++s)
        for (std::size_t k = 0; k < 5 && !(Loops && p.steps[s].written); ++k)
            places[s][k] = static_cast<std::byte*>(slots[p.steps[s].slots[k]]);
    for (std::ptrdiff_t first = 0, n = p.block; first < all; first += n) {
        if (all - first < p.block + lanes) n = all - first; // no step has less than a pack
        const auto* place = places;
        for (const auto& s : p.steps) {
            const auto at = [&](int k) { return (*place)[k] + first * s.bytes[k]; };
            if (Loops && s.written) run_written(p, s, slots, first, n);
            else s.f(at(0), at(1), at(2), at(3), at(4), n);
            ++place;
        }
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
template <bool Loops> void run_program(const tenon::detail::fused_call& call) {
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
        const bool all = rest == 0 || tenon::detail::lie_apart(slots, ins, slots + ins, outs);
        (call.count > p.block ? run_blocks<Loops> : run_steps<Loops>)(p, slots, all ? call.count : whole);
        if (all) return;
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
    run_steps<Loops>(p, slots, lanes);
    for (const step_program::moving_slot& m : p.outputs)
        cut_pack(static_cast<std::byte*>(call.out[m.index]) + static_cast<std::size_t>(whole) * m.bytes,
                 packs[ins + static_cast<std::size_t>(&m - p.outputs.data())], m.bytes, rest);
}

} // namespace tenon::simd::TENON_SIMD_NS
