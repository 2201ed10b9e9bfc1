// A tape unrolled by the compiler: registers are packs, and there is one loop over the elements. Read once per
// instruction set by compiled.hpp.

namespace tenon::simd::TENON_SIMD_NS {

template <class Program, int R> struct tape_register { pack<tenon::detail::register_t<Program, R>> value; };
template <class Program, class Indices> struct tape_registers;
template <class Program, std::size_t... R>
struct tape_registers<Program, std::index_sequence<R...>> : tape_register<Program, static_cast<int>(R)>... {
    template <int I> TENON_SIMD_INLINE auto& at() { return static_cast<tape_register<Program, I>&>(*this).value; }
};

/// Computes register R. Those that are the same for all elements are computed before the loop.
template <class Program, int R, bool Invariant, class Registers, class Pointers>
TENON_SIMD_INLINE void tape_step(Registers& r, const Pointers& p, const std::int64_t* constants, std::ptrdiff_t i) {
    constexpr instruction step = Program::code.code[R];
    if constexpr (Program::invariant[R] == Invariant) {
        using T = tenon::detail::register_t<Program, R>;
        auto& to = r.template at<R>();
        if constexpr (step.op == opcode::input)
            to = load(static_cast<const element_t<Program::code.inputs[step.a]>*>(p.in[step.a]) + i);
        else if constexpr (step.op == opcode::literal) to = broadcast<T>(step.literal().template to<T>());
        else if constexpr (step.op == opcode::constant) {
            T number;
            __builtin_memcpy(&number, constants + step.a, sizeof number);
            to = broadcast<T>(number);
        } else if constexpr (step.op == opcode::cast) to = evaluate_cast<element_t<step.type>>(r.template at<step.a>());
        else if constexpr (register_operands(step) == 1) to = evaluate<step.op>(r.template at<step.a>());
        else if constexpr (register_operands(step) == 2)
            to = evaluate<step.op>(r.template at<step.a>(), r.template at<step.b>());
        else to = evaluate<step.op>(r.template at<step.a>(), r.template at<step.b>(), r.template at<step.c>());
    }
}

/// What leaves a tape: output O of a pack. Several may be one register.
template <class Program, int O> struct tape_result { pack<compute_t<element_t<Program::code.outputs[O].type>>> value; };
template <class Program, class Indices> struct tape_results;
template <class Program, std::size_t... O>
struct tape_results<Program, std::index_sequence<O...>> : tape_result<Program, static_cast<int>(O)>... {
    template <int I> TENON_SIMD_INLINE auto& at() { return static_cast<tape_result<Program, I>&>(*this).value; }
};

/// Whether output O may be added to the earlier output E: both are gradients of one type that is stored as it is computed.
template <class Program, int O, int E> constexpr bool may_be_added() {
    constexpr tape_output from = Program::code.outputs[O], to = Program::code.outputs[E];
    return E < O && from.like >= 0 && to.like >= 0 && from.type == to.type &&
           tenon::compute_type(from.type) == from.type;
}
// Where output O goes with others is known when a kernel is made, and the same for all elements.
template <class Program, int O, int E, class Results>
TENON_SIMD_INLINE void tape_add(Results& r, [[maybe_unused]] int into) {
    if constexpr (may_be_added<Program, O, E>())
        if (into == E) r.template at<E>() = r.template at<E>() + r.template at<O>();
}

template <class Program, int O, class Results, class Pointers>
TENON_SIMD_INLINE void tape_store(Results& r, const Pointers& p, std::uint32_t wide, std::ptrdiff_t i) {
    using T = element_t<Program::code.outputs[O].type>;
    const auto value = r.template at<O>();
    if constexpr (!std::is_same_v<T, compute_t<T>>) {
        if ((wide >> O & 1U) != 0) {
            store(static_cast<float*>(p.out[O]) + i, value);
            return;
        }
    } else if constexpr (O > 0 && Program::code.outputs[O].like >= 0) {
        if (p.into[O] >= 0) return;
    }
    store(static_cast<T*>(p.out[O]) + i, value);
}

// Pointers in a local object: what is stored cannot change them.
template <int Inputs, int Outputs> struct tape_pointers {
    const void* in[Inputs > 0 ? Inputs : 1];
    void* out[Outputs];
    int into[Outputs]; // -1: it is stored, else the output that it is added to
};

template <class T> TENON_SIMD_INLINE void copy_partial(const void* from, void* to, std::ptrdiff_t i, int n) {
    store(static_cast<T*>(to), load_tail(static_cast<const T*>(from) + i, n));
}
template <class T> TENON_SIMD_INLINE void copy_back(const void* from, void* to, std::ptrdiff_t i, int n) {
    store_partial(static_cast<T*>(to) + i, load(static_cast<const T*>(from)), n);
}

template <class Program, class Registers, class Inputs, class Outputs> struct compiled_loop;
template <class Program, std::size_t... R, std::size_t... I, std::size_t... O>
struct compiled_loop<Program, std::index_sequence<R...>, std::index_sequence<I...>, std::index_sequence<O...>> {
    static constexpr int inputs = static_cast<int>(sizeof...(I)), outputs = static_cast<int>(sizeof...(O));
    using pointers = tape_pointers<inputs, outputs>;
    struct tails {
        alignas(64) std::byte in[inputs > 0 ? inputs : 1][lanes * 8];
        alignas(64) std::byte out[outputs][lanes * 8];
    };

    template <int K>
    TENON_SIMD_INLINE static void tail_in(const tenon::detail::fused_call& call, tails& t, pointers& p,
                                          std::ptrdiff_t at, int rest) {
        if constexpr (Program::loads[K]) {
            copy_partial<element_t<Program::code.inputs[K]>>(call.in[K], t.in[K], at, rest);
            p.in[K] = t.in[K];
        }
    }
    template <int K>
    TENON_SIMD_INLINE static void tail_out(const tenon::detail::fused_call& call, tails& t, std::ptrdiff_t at,
                                           int rest) {
        using T = element_t<Program::code.outputs[K].type>;
        if ((call.added >> K & 1U) != 0) return;
        if constexpr (!std::is_same_v<T, compute_t<T>>)
            if ((call.wide >> K & 1U) != 0) {
                copy_back<float>(t.out[K], call.out[K], at, rest);
                return;
            }
        copy_back<T>(t.out[K], call.out[K], at, rest);
    }

    template <int K, class Results> TENON_SIMD_INLINE static void add_output(Results& r, const pointers& p) {
        if constexpr ((may_be_added<Program, K, static_cast<int>(O)>() || ...))
            if (p.into[K] >= 0) (tape_add<Program, K, static_cast<int>(O)>(r, p.into[K]), ...);
    }

    static void run(const tenon::detail::fused_call& call) {
        tape_registers<Program, std::index_sequence<R...>> r;
        pointers p;
        ((p.in[I] = call.in[I]), ...);
        ((p.out[O] = call.out[O]), ...);
        ((p.into[O] = (call.added >> O & 1U) != 0 ? static_cast<int>(call.into[O]) : -1), ...);
        const std::uint32_t wide = call.wide;
        (tape_step<Program, static_cast<int>(R), true>(r, p, call.constants, 0), ...);

        const std::ptrdiff_t whole = call.count & -lanes;
        const int rest = static_cast<int>(call.count - whole);
        std::ptrdiff_t end = whole;
        tails t;
        for (bool last = false;;) {
            for (std::ptrdiff_t i = 0; i < end; i += lanes) {
                (tape_step<Program, static_cast<int>(R), false>(r, p, nullptr, i), ...);
                tape_results<Program, std::index_sequence<O...>> results;
                ((results.template at<static_cast<int>(O)>() = r.template at<Program::code.outputs[O].reg>()), ...);
                (add_output<static_cast<int>(O)>(results, p), ...);
                (tape_store<Program, static_cast<int>(O)>(results, p, wide, i), ...);
            }
            if (last || rest == 0) break;
            // The rest goes through the same loop by way of small buffers.
            (tail_in<static_cast<int>(I)>(call, t, p, whole, rest), ...);
            ((p.out[O] = t.out[O]), ...);
            end = lanes;
            last = true;
        }
        if (rest != 0) (tail_out<static_cast<int>(O)>(call, t, whole, rest), ...);
    }
};

template <class Program>
using compiled = compiled_loop<Program, std::make_index_sequence<static_cast<std::size_t>(Program::code.length)>,
                               std::make_index_sequence<static_cast<std::size_t>(Program::code.input_count)>,
                               std::make_index_sequence<static_cast<std::size_t>(Program::code.output_count)>>;

} // namespace tenon::simd::TENON_SIMD_NS
