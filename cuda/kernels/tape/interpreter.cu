#include <cuda/kernels/tape/interpreter.hpp>

#include <tenon/simd/polygamma.hpp>

#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/tape/functions.hpp>
#include <cuda/kernels/tape/loops.hpp>

namespace tenon::cuda {

namespace {

using namespace tapes;

// Registers are 64 bits wide.
template <class T> __device__ T from_bits(uint64 bits) {
    if constexpr (is_same<T, float>) return float_of(static_cast<uint32>(bits));
    else if constexpr (is_same<T, double>) return double_of(bits);
    else if constexpr (is_same<T, bool>) return (bits & 0xff) != 0;
    else return static_cast<T>(bits);
}
template <class T> __device__ uint64 to_bits(T x) {
    if constexpr (is_same<T, float>) return __float_as_uint(x);
    else if constexpr (is_same<T, double>) return static_cast<uint64>(__double_as_longlong(x));
    else return static_cast<uint64>(x);
}

template <class T> __device__ uint64 fetch_as(const void* from, uint64 at) {
    return to_bits(widen(static_cast<const T*>(from)[at]));
}
template <class T> __device__ void put_as(void* to, uint64 at, uint64 bits) {
    static_cast<T*>(to)[at] = narrow<T>(from_bits<compute_t<T>>(bits));
}
/// Calls f.template operator()<T>() with the type as it is stored.
template <class F> __device__ auto with_stored(uint8 type, const F& f) {
    switch (static_cast<element_type>(type)) {
    case element_type::float32: return f.template operator()<float>();
    case element_type::float64: return f.template operator()<double>();
    case element_type::float16: return f.template operator()<float16>();
    case element_type::bfloat16: return f.template operator()<bfloat16>();
    case element_type::int8: return f.template operator()<int8>();
    case element_type::int16: return f.template operator()<int16>();
    case element_type::int32: return f.template operator()<int32>();
    case element_type::int64: return f.template operator()<int64>();
    case element_type::uint8: return f.template operator()<uint8>();
    case element_type::uint16: return f.template operator()<uint16>();
    case element_type::uint32: return f.template operator()<uint32>();
    case element_type::uint64: return f.template operator()<uint64>();
    default: return f.template operator()<boolean>();
    }
}

template <class T> constexpr element_type type_of() {
    return is_same<T, float>    ? element_type::float32
           : is_same<T, double> ? element_type::float64
           : is_same<T, bool>   ? element_type::boolean
           : is_signed<T>       ? element_type::int32
                                : element_type::uint32; // which integer makes no difference
}

/// What a thread keeps, a word of each thread beside the next one's: nothing is local memory, which the driver would take for as many threads
/// as the card can hold.
template <class T> struct in_words {
    __device__ in_words(const interpreter_call& a, int first) {
        constexpr int threads = interpreter_call::threads;
        uint64* const all = a.kept_by_threads
                                ? static_cast<uint64*>(a.kept_by_threads) + uint64{blockIdx.x} * (threads * a.words())
                                : dynamic_shared<uint64>();
        words = reinterpret_cast<T*>(all + first * threads + threadIdx.x);
    }
    __device__ T& operator[](int i) const { return words[i * interpreter_call::threads]; }
    T* words;
};

template <class T> __device__ uint64 computed(const interpreter_step& s, const in_words<uint64>& r) {
    const auto a = [&] { return from_bits<T>(r[s.a]); };
    const auto b = [&] { return from_bits<T>(r[s.b]); };
    const auto c = [&] { return from_bits<T>(r[s.c]); };
    constexpr element_type e = type_of<T>();
    switch (static_cast<opcode>(s.op)) {
#define TENON_UNARY(NAME, ...)                                                            \
    case opcode::NAME:                                                                    \
        if constexpr (accepts_element(opcode::NAME, e)) return to_bits(tapes::NAME(a())); \
        else return 0;
#define TENON_BINARY(NAME, ...)                                                                \
    case opcode::NAME:                                                                         \
        if constexpr (accepts_element(opcode::NAME, e)) return to_bits(tapes::NAME(a(), b())); \
        else return 0;
    // The two of three operands.
    case opcode::fma:
        if constexpr (accepts_element(opcode::fma, e)) return to_bits(tapes::fma(a(), b(), c()));
        else return 0;
    case opcode::select: return to_bits(tapes::select(from_bits<bool>(r[s.a]), b(), c()));
    case opcode::cast:
        return with_stored(s.result, [&]<class To>() -> uint64 { return to_bits(tapes::cast<To>(a())); });
#include <tenon/tape/instructions.inl>
    default: return 0;
    }
}

enum fate : uint8 { stored, summed, totalled }; // as in cuda/tapes/form.hpp

__device__ double as_double(uint8 type, uint64 bits) {
    return static_cast<element_type>(type) == element_type::float64 ? from_bits<double>(bits) : from_bits<float>(bits);
}

/// The tape that a call has, in terms of loops.hpp.
struct interpreted {
    using index = uint64;
    using sum_type = double;
    using arguments = interpreter_call;
    static constexpr int width = 1, dims = interpreter_call::most_dims, kept = max_rank;
    static constexpr bool columns = true;
    static constexpr int most_sums = max_tape_outputs, most_totals = max_tape_outputs;
    static constexpr int most_groups = interpreter_call::most_groups;
    static __device__ int groups(const arguments& a) { return a.group_count; }
    static __device__ int sums(const arguments& a) { return a.sum_count; }
    static __device__ int totals(const arguments& a) { return a.total_count; }

    /// Behind the registers.
    template <class T, int, kept_by Which> struct own : in_words<T> {
        __device__ explicit own(const arguments& a) : in_words<T>(a, first(a)) {}
        static __device__ int first(const arguments& a) {
            const int places_end = a.register_count + a.group_count;
            const int sums_begin = places_end + a.group_count, totals_begin = sums_begin + 2 * a.sum_count;
            switch (Which) {
            case places: return a.register_count;
            case bases: return places_end;
            case sums_so_far: return sums_begin;
            case sums_of_runs: return sums_begin + a.sum_count;
            case totals_so_far: return totals_begin;
            default: return totals_begin + a.total_count;
            }
        }
    };

    template <int, int, class At, class Sum, class Total>
    static __device__ void run(const arguments& a, const At&, const bool*, Sum&, Total&) {
        compute(a);
    }
    static __device__ __attribute__((noinline)) void compute(const arguments& a) {
        const in_words<uint64> r(a, 0);
        const own<index, most_groups, places> at(a);
        for (int k = 0; k < a.length; ++k) {
            const interpreter_step s = a.code[k];
            switch (static_cast<opcode>(s.op)) {
            case opcode::input: {
                const int group = a.group_of[s.a];
                const uint64 place = group < 0 ? 0 : at[group];
                r[s.to] = with_stored(s.type, [&]<class T>() { return fetch_as<T>(a.in[s.a], place); });
                break;
            }
            case opcode::constant:
            case opcode::literal: r[s.to] = a.values[s.a]; break;
            default:
                r[s.to] = with_stored(s.type, [&]<class T>() -> uint64 {
                    if constexpr (is_same<T, float16> || is_same<T, bfloat16>) return 0; // computed with as float
                    else return computed<compute_t<T>>(s, r);
                });
            }
        }
        const own<sum_type, most_sums, sums_of_runs> sum(a);
        const own<sum_type, most_totals, totals_of_runs> total(a);
        for (int o = 0, sums = 0, totals = 0; o < a.output_count; ++o) {
            const uint64 bits = r[a.output_registers[o]];
            const uint8 type = a.output_types[o];
            if (a.output_fates[o] == summed) sum[sums++] += as_double(type, bits);
            else if (a.output_fates[o] == totalled) total[totals++] += as_double(type, bits);
            else if (a.out[o]) with_stored(type, [&]<class T>() { put_as<T>(a.out[o], at[0], bits); });
        }
    }
    static __device__ void store_sum(const arguments& a, int s, index at, double value) {
        for (int o = 0; o < a.output_count; ++o) {
            if (a.output_fates[o] != summed || s-- != 0) continue;
            switch (static_cast<element_type>(a.output_types[o])) {
            case element_type::float64: return store_rounded<double>(a.out[o], at, value);
            case element_type::float16: return store_rounded<float16>(a.out[o], at, value);
            case element_type::bfloat16: return store_rounded<bfloat16>(a.out[o], at, value);
            default: return store_rounded<float>(a.out[o], at, value);
            }
        }
    }
};

static_assert(threads == interpreter_call::threads);

__global__ void __launch_bounds__(threads) interpret_elements(const __grid_constant__ interpreter_call call) {
    run_elements<interpreted>(call);
}
__global__ void __launch_bounds__(threads) interpret_sums(const __grid_constant__ interpreter_call call) {
    run_sums<interpreted>(call);
}

} // namespace

void interpret(const interpreter_call& call, unsigned blocks, void* stream) {
    const int words = call.kept_by_threads ? 0 : call.words();
    launch(call.sum_count + call.total_count > 0 ? interpret_sums : interpret_elements, blocks, threads,
           sizeof(uint64) * threads * static_cast<std::size_t>(words), stream, call);
}

} // namespace tenon::cuda
