// How the steps of a program run. Read once per instruction set by interpreter.ipp.

namespace tenon::simd::TENON_SIMD_NS {

inline void run_steps(const tenon::detail::step_program& p, void* const* slots, std::ptrdiff_t n) {
    for (const auto& s : p.steps) s.f(slots[s.to], slots[s.a], slots[s.b], slots[s.c], slots[s.d], n);
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
    if (whole > 0) {
        for (std::size_t i = 0; i < ins; ++i) slots[i] = const_cast<void*>(call.in[p.inputs[i].index]);
        for (std::size_t o = 0; o < outs; ++o) slots[ins + o] = call.out[p.outputs[o].index];
        for (std::ptrdiff_t left = whole;;) {
            const std::ptrdiff_t n = left < p.block ? left : p.block;
            run_steps(p, slots, n);
            if ((left -= n) == 0) break;
            const auto move = [&](void*& slot, const step_program::moving_slot& m) {
                slot = static_cast<std::byte*>(slot) + static_cast<std::size_t>(n) * m.bytes;
            };
            for (std::size_t i = 0; i < ins; ++i) move(slots[i], p.inputs[i]);
            for (std::size_t o = 0; o < outs; ++o) move(slots[ins + o], p.outputs[o]);
        }
    }
    const int rest = static_cast<int>(call.count - whole);
    if (rest == 0) return;
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
