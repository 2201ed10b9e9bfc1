// One instruction on packs: what compiled kernels and the interpreter both run, so that their results are the same
// bits on the same instruction set.

namespace tenon::simd::TENON_SIMD_NS {

// Instructions that are operators of packs, or have another name there.
template <class T> TENON_SIMD_INLINE auto negative(pack<T> a) { return -a; }
template <class T> TENON_SIMD_INLINE auto logical_not(pack<T> a) { return !a; }
template <class T> TENON_SIMD_INLINE auto bit_not(pack<T> a) {
    if constexpr (std::is_same_v<T, bool>) return !a;
    else return ~a;
}
template <class T> TENON_SIMD_INLINE auto add(pack<T> a, pack<T> b) { return a + b; }
template <class T> TENON_SIMD_INLINE auto subtract(pack<T> a, pack<T> b) { return a - b; }
template <class T> TENON_SIMD_INLINE auto multiply(pack<T> a, pack<T> b) { return a * b; }
template <class T> TENON_SIMD_INLINE auto divide(pack<T> a, pack<T> b) { return a / b; }
template <class T> TENON_SIMD_INLINE auto minimum(pack<T> a, pack<T> b) { return min(a, b); }
template <class T> TENON_SIMD_INLINE auto maximum(pack<T> a, pack<T> b) { return max(a, b); }
template <class T> TENON_SIMD_INLINE auto bit_and(pack<T> a, pack<T> b) { return a & b; }
template <class T> TENON_SIMD_INLINE auto bit_or(pack<T> a, pack<T> b) { return a | b; }
template <class T> TENON_SIMD_INLINE auto bit_xor(pack<T> a, pack<T> b) { return a ^ b; }
template <class T> TENON_SIMD_INLINE auto logical_and(pack<T> a, pack<T> b) { return a & b; }
template <class T> TENON_SIMD_INLINE auto logical_or(pack<T> a, pack<T> b) { return a | b; }
template <class T> TENON_SIMD_INLINE auto logical_xor(pack<T> a, pack<T> b) { return a ^ b; }
template <class T> TENON_SIMD_INLINE auto equal(pack<T> a, pack<T> b) { return a == b; }
template <class T> TENON_SIMD_INLINE auto not_equal(pack<T> a, pack<T> b) { return a != b; }
template <class T> TENON_SIMD_INLINE auto less(pack<T> a, pack<T> b) { return a < b; }
template <class T> TENON_SIMD_INLINE auto less_equal(pack<T> a, pack<T> b) { return a <= b; }
template <class T> TENON_SIMD_INLINE auto greater(pack<T> a, pack<T> b) { return a > b; }
template <class T> TENON_SIMD_INLINE auto greater_equal(pack<T> a, pack<T> b) { return a >= b; }

/// The instruction's result on one pack of (compute) type T for each operand; a conversion is not here.
template <opcode Op, class... T> TENON_SIMD_INLINE auto evaluate(pack<T>... x) {
#define TENON_UNARY(NAME, ...) \
    if constexpr (Op == opcode::NAME) return NAME(x...);
#define TENON_BINARY(NAME, ...) \
    if constexpr (Op == opcode::NAME) return NAME(x...);
#define TENON_TERNARY(NAME, ...) \
    if constexpr (Op == opcode::NAME) return NAME(x...);
#include <tenon/tape/instructions.inl>
}

/// A conversion of computed elements; To may be half or bfloat16, to which float is then rounded.
template <class To, class From> TENON_SIMD_INLINE pack<compute_t<To>> evaluate_cast(pack<From> a) {
    if constexpr (std::is_same_v<To, compute_t<To>>) return convert<To>(a);
    else return round_to<To>(convert<float>(a));
}

} // namespace tenon::simd::TENON_SIMD_NS
