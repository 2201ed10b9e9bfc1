// What the mathematical functions share.
//
// Why these are written here. Debian's SLEEF (3.5.1) is a library to be called: a call per register inside a
// fused loop costs more than the arithmetic, and its inlinable headers are not packaged. Highway's
// contrib/math inlines, but documents 3 to 4 ulp for several functions and stops at a dozen of them. What is
// needed is inlined, in several instruction sets in one program, within 2 ulp over the whole range, with
// gamma and error functions.
//
// How they are computed. exp, log, tanh and their like have float versions made of float arithmetic. The
// other float functions are computed in double (a pack<float> is two f64) by polynomials of 30 to 45 bits and
// rounded once: about half an ulp, denormals and overflow included. The same functions with longer
// polynomials serve pack<double>. The polynomials are minimax fits (Remez), printed to the last bit.
//
// Without fused multiply-add (baseline) results differ in the last bits from those of avx2 and avx512; the
// bounds hold for all.

namespace tenon::simd::TENON_SIMD_NS {

/// The precision that a function on f64 works to.
struct for_float {};
struct for_double {};
template <class Q> inline constexpr bool is_double = std::is_same_v<Q, for_double>;

// TENON_SIMD_MATH(name): name(pack<float>) and name(pack<double>) from a function name_of(precision, f64).
#define TENON_SIMD_MATH_FLOAT(NAME)                                                                            \
    TENON_SIMD_INLINE pack<float> NAME(pack<float> a) {                                                        \
        const pack<double> x = convert<double>(a);                                                             \
        return convert<float>(pack<double>{{NAME##_of(for_float{}, x.v[0]), NAME##_of(for_float{}, x.v[1])}}); \
    }
#define TENON_SIMD_MATH_DOUBLE(NAME)                                                 \
    TENON_SIMD_INLINE pack<double> NAME(pack<double> a) {                            \
        return {{NAME##_of(for_double{}, a.v[0]), NAME##_of(for_double{}, a.v[1])}}; \
    }
// The same for two arguments.
#define TENON_SIMD_MATH2_FLOAT(NAME)                                                                         \
    TENON_SIMD_INLINE pack<float> NAME(pack<float> a, pack<float> b) {                                       \
        const pack<double> x = convert<double>(a);                                                           \
        const pack<double> y = convert<double>(b);                                                           \
        return convert<float>(                                                                               \
            pack<double>{{NAME##_of(for_float{}, x.v[0], y.v[0]), NAME##_of(for_float{}, x.v[1], y.v[1])}}); \
    }
#define TENON_SIMD_MATH2(NAME)                                                                       \
    TENON_SIMD_MATH2_FLOAT(NAME)                                                                     \
    TENON_SIMD_INLINE pack<double> NAME(pack<double> a, pack<double> b) {                            \
        return {{NAME##_of(for_double{}, a.v[0], b.v[0]), NAME##_of(for_double{}, a.v[1], b.v[1])}}; \
    }
#define TENON_SIMD_MATH(NAME)   \
    TENON_SIMD_MATH_FLOAT(NAME) \
    TENON_SIMD_MATH_DOUBLE(NAME)

/// r, but f(a) from the C library in the lanes of the mask: the rare ones that a fast way does not serve.
template <class T> TENON_SIMD_INLINE pack<T> scalar_where(pack<bool> m, pack<T> a, pack<T> r, double (*f)(double)) {
    const unsigned bits = mask_bits(m);
    if (bits != 0) [[unlikely]] {
        T x[lanes];
        T y[lanes];
        store(static_cast<T*>(x), a);
        store(static_cast<T*>(y), r);
        simd::detail::apply_where(bits, static_cast<const T*>(x), static_cast<T*>(y), f);
        return load(static_cast<const T*>(y));
    }
    return r;
}

/// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class V, class C> TENON_SIMD_INLINE V polynomial(V, C c0) { return fill<V>(c0); }
template <class V, class C, class... Cs> TENON_SIMD_INLINE V polynomial(V x, C c0, Cs... cs) {
    return native_fma(polynomial(x, cs...), x, fill<V>(c0));
}

/// The same of five terms, given x^2: in pairs, of which fewer wait for each other.
template <class V, class C> TENON_SIMD_INLINE V paired_polynomial(V x, V square, C c0, C c1, C c2, C c3, C c4) {
    const V high = native_fma(fill<V>(c4), square, native_fma(fill<V>(c3), x, fill<V>(c2)));
    return native_fma(high, square, native_fma(fill<V>(c1), x, fill<V>(c0)));
}

TENON_SIMD_INLINE i32 sign_bits(f32 x) { return bits_as<i32>(x) & std::numeric_limits<std::int32_t>::min(); }
TENON_SIMD_INLINE i64 sign_bits(f64 x) { return bits_as<i64>(x) & std::numeric_limits<std::int64_t>::min(); }
template <class V> TENON_SIMD_INLINE V magnitude_of(V x) {
    return bits_as<V>(bits_as<decltype(sign_bits(x))>(x) ^ sign_bits(x));
}
/// `x`, positive, with the sign of `sign`.
template <class V> TENON_SIMD_INLINE V with_sign(V x, V sign) {
    return bits_as<V>(bits_as<decltype(sign_bits(x))>(x) | sign_bits(sign));
}
/// `x` negated where `sign` is negative.
template <class V> TENON_SIMD_INLINE V flip_sign(V x, V sign) {
    return bits_as<V>(bits_as<decltype(sign_bits(x))>(x) ^ sign_bits(sign));
}
template <class V>
inline constexpr auto infinity_of = std::numeric_limits<std::remove_cvref_t<decltype(V{}[0])>>::infinity();
template <class V>
inline constexpr auto nan_of = std::numeric_limits<std::remove_cvref_t<decltype(V{}[0])>>::quiet_NaN();

/// x kept between low and high; NaN stays NaN.
template <class V, class S> TENON_SIMD_INLINE V clamp(V x, S low, S high) {
    return native_min(fill<V>(high), native_max(fill<V>(low), x));
}

// Integers in f64: adding 1.5 2^52 leaves a whole number, in two's complement, in the low bits.
TENON_SIMD_INLINE i64 to_integer(f64 whole) {
    return bits_as<i64>(whole + 0x1.8p52) - bits_as<i64>(fill<f64>(0x1.8p52));
}
TENON_SIMD_INLINE f64 from_integer(i64 n) { return bits_as<f64>(n + bits_as<i64>(fill<f64>(0x1.8p52))) - 0x1.8p52; }

/// x * 2^n for whole n, |n| <= 2000, rounded once where the result is normal.
TENON_SIMD_INLINE f64 scale_by_power_of_two(f64 x, f64 n) {
#if TENON_SIMD_LEVEL == 2
    return __builtin_ia32_scalefpd512_mask(x, n, x, static_cast<unsigned char>(-1), 4);
#else
    // In two steps, since 2^n itself may be too large or too small.
    const f64 first = native_round<0>(n * 0.5);
    return x * bits_as<f64>((to_integer(first) + 1023) << 52) * bits_as<f64>((to_integer(n - first) + 1023) << 52);
#endif
}
/// 2^n for whole n in the range of normal numbers.
TENON_SIMD_INLINE f64 power_of_two(f64 n) { return bits_as<f64>((to_integer(n) + 1023) << 52); }

} // namespace tenon::simd::TENON_SIMD_NS
