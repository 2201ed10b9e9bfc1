// The runs of a loop unrolled by the compiler: what is carried stays in registers. Read once per instruction set by compiled_loop.hpp.

namespace tenon::simd::TENON_SIMD_NS {

template <class T> TENON_SIMD_INLINE bool first_lane_is_true(pack<T> a) { return a.v[0][0] != 0; }

template <class Program, int O> struct carried_register {
    pack<compute_t<element_t<Program::code.outputs[O].type>>> value;
};

// Of one of several packs that go through the runs side by side: while one waits for a result, another computes.
template <class Program, std::size_t Member, class Registers, class Outputs> struct loop_member;
template <class Program, std::size_t Member, std::size_t... R, std::size_t... O>
struct loop_member<Program, Member, std::index_sequence<R...>, std::index_sequence<O...>>
    : carried_register<Program, static_cast<int>(O)>... {
    tape_registers<Program, std::index_sequence<R...>> r;
    template <int I> TENON_SIMD_INLINE auto& next() { return static_cast<carried_register<Program, I>&>(*this).value; }
};

template <class Program, class Registers, class Outputs> struct compiled_loop_part;
template <class Program, std::size_t... R, std::size_t... O>
struct compiled_loop_part<Program, std::index_sequence<R...>, std::index_sequence<O...>> {
    template <std::size_t M>
    using member = loop_member<Program, M, std::index_sequence<R...>, std::index_sequence<O...>>;
    using call_type = tenon::detail::loop_call;
    static constexpr const tape& code = Program::code;

    template <int Register> static constexpr bool is_carried() {
        return code.code[Register].op == opcode::input && Program::carried_by(code.code[Register].a) >= 0;
    }
    // What is there before the runs.
    template <int Register, class Member>
    TENON_SIMD_INLINE static void prepare(Member& m, const call_type& call, std::ptrdiff_t i) {
        constexpr instruction step = code.code[Register];
        if constexpr (step.op == opcode::input) {
            if constexpr (!Program::is_one_each(step.a))
                m.r.template at<Register>() =
                    load(static_cast<const element_t<code.inputs[step.a]>*>(call.in[step.a]) + i);
        } else tape_step<Program, Register, true>(m.r, call, call.constants, i);
    }
    template <int Register, class Member>
    TENON_SIMD_INLINE static void compute(Member& m, const call_type& call, std::ptrdiff_t run) {
        constexpr instruction step = code.code[Register];
        if constexpr (step.op == opcode::input) {
            if constexpr (Program::is_one_each(step.a)) {
                using T = element_t<code.inputs[step.a]>;
                const auto* const at = reinterpret_cast<const T*>(static_cast<const std::byte*>(call.in[step.a]) +
                                                                  run * static_cast<std::ptrdiff_t>(sizeof(T)));
                if constexpr (std::is_same_v<T, compute_t<T>>) m.r.template at<Register>() = broadcast<T>(*at);
                else m.r.template at<Register>() = load_tail(at, 1);
            }
        } else tape_step<Program, Register, false>(m.r, call, nullptr, 0);
    }
    template <int Output, class Member> TENON_SIMD_INLINE static void keep(Member& m) {
        m.template next<Output>() = m.r.template at<code.outputs[Output].reg>();
    }
    template <int Register, class Member> TENON_SIMD_INLINE static void carry(Member& m) {
        if constexpr (is_carried<Register>())
            m.r.template at<Register>() = m.template next<Program::carried_by(code.code[Register].a)>();
    }
    template <int Output, class Member>
    TENON_SIMD_INLINE static void write(Member& m, const call_type& call, std::ptrdiff_t i) {
        store(static_cast<element_t<code.outputs[Output].type>*>(call.out[Output]) + i, m.template next<Output>());
    }

    template <std::size_t... M> struct group : member<M>... {};
    template <int Register, std::size_t... M>
    TENON_SIMD_INLINE static void compute_all(group<M...>& g, const call_type& call, std::ptrdiff_t run) {
        (compute<Register>(static_cast<member<M>&>(g), call, run), ...);
    }
    template <class Member> TENON_SIMD_INLINE static void go_on(Member& m) {
        (keep<static_cast<int>(O)>(m), ...);
        (carry<static_cast<int>(R)>(m), ...);
    }
    template <std::size_t... M>
    TENON_SIMD_INLINE static void run_once(group<M...>& g, const call_type& call, std::ptrdiff_t run) {
        (compute_all<static_cast<int>(R)>(g, call, run), ...);
        (go_on(static_cast<member<M>&>(g)), ...);
    }
    template <class Member> TENON_SIMD_INLINE static void begin(Member& m, const call_type& call, std::ptrdiff_t i) {
        (prepare<static_cast<int>(R)>(m, call, i), ...);
    }
    template <class Member> TENON_SIMD_INLINE static void end(Member& m, const call_type& call, std::ptrdiff_t i) {
        (write<static_cast<int>(O)>(m, call, i), ...);
    }
    template <std::size_t... M>
    TENON_SIMD_INLINE static void run_group(const call_type& call, std::ptrdiff_t i, std::index_sequence<M...>) {
        group<M...> g;
        (begin(static_cast<member<M>&>(g), call, i + static_cast<std::ptrdiff_t>(M) * lanes), ...);
        std::ptrdiff_t run = 0;
        do run_once(g, call, run);
        while (++run < call.runs);
        (end(static_cast<member<M>&>(g), call, i + static_cast<std::ptrdiff_t>(M) * lanes), ...);
    }

    // Groups of so many packs, as many as there are from i on.
    template <std::size_t Together> TENON_SIMD_INLINE static void run_groups(const call_type& call, std::ptrdiff_t& i) {
        constexpr std::ptrdiff_t elements = static_cast<std::ptrdiff_t>(Together) * lanes;
        for (; i + elements <= call.count; i += elements) run_group(call, i, std::make_index_sequence<Together>());
    }
    // Of elements: their last values. A short tape is done for as many packs as there are registers for.
    static std::ptrdiff_t run_elements(const call_type& call) {
        std::ptrdiff_t i = 0;
        if constexpr (TENON_SIMD_LEVEL == 2 && code.length <= 8) run_groups<8>(call, i);
        if constexpr (code.length <= 12) run_groups<4>(call, i);
        else if constexpr (code.length <= 24) run_groups<2>(call, i);
        run_groups<1>(call, i);
        return call.runs;
    }

    // Of what is one element: what each run gives, while output 0 is true.
    template <int Output, class Member>
    TENON_SIMD_INLINE static void write_one(Member& m, const call_type& call, std::ptrdiff_t run) {
        if constexpr (Output > 0) {
            using T = element_t<code.outputs[Output].type>;
            T* const to = static_cast<T*>(call.out[Output]) + run + 1;
            if constexpr (sizeof(T) >= 4) *to = static_cast<T>(m.template next<Output>().v[0][0]);
            else store_partial(to, m.template next<Output>(), 1);
        }
    }
    static std::ptrdiff_t run_uniform(const call_type& call) {
        group<0> g;
        member<0>& m = g;
        begin(m, call, 0);
        for (std::ptrdiff_t run = 0; run < call.runs; ++run) {
            run_once(g, call, run);
            if (!first_lane_is_true(m.template next<0>())) return run;
            (write_one<static_cast<int>(O)>(m, call, run), ...);
        }
        return call.runs;
    }
};

template <class Program>
using compiled_runs =
    compiled_loop_part<Program, std::make_index_sequence<static_cast<std::size_t>(Program::code.length)>,
                       std::make_index_sequence<static_cast<std::size_t>(Program::code.output_count)>>;

} // namespace tenon::simd::TENON_SIMD_NS
