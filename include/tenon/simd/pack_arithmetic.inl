// Arithmetic, comparisons, masks and bits, element by element. Integers wrap around.

namespace tenon::simd::TENON_SIMD_NS {

/// The vector in which integers wrap without undefined behaviour: unsigned ones for integers.
template <class T> struct wrapping { using type = std::make_unsigned_t<T>; };
template <> struct wrapping<float> { using type = float; };
template <> struct wrapping<double> { using type = double; };
template <class T> using wrapping_part = native_t<typename wrapping<T>::type, pack<T>::part_lanes>;

#define TENON_SIMD_W(x) bits_as<wrapping_part<T>>(x)
#define TENON_SIMD_BINARY(OP)                                                                                     \
    template <class T> TENON_SIMD_INLINE pack<T> operator OP(pack<T> a, pack<T> b) {                              \
        TENON_SIMD_PARTS(pack<T>, bits_as<typename pack<T>::part>(TENON_SIMD_W(a.v[p]) OP TENON_SIMD_W(b.v[p]))); \
    }
TENON_SIMD_BINARY(+)
TENON_SIMD_BINARY(-)
TENON_SIMD_BINARY(*)
#undef TENON_SIMD_BINARY

template <class T> TENON_SIMD_INLINE pack<T> operator-(pack<T> a) {
    TENON_SIMD_PARTS(pack<T>, bits_as<typename pack<T>::part>(-TENON_SIMD_W(a.v[p])));
}
#undef TENON_SIMD_W

#define TENON_SIMD_COMPARE(OP)                                                          \
    template <class T> TENON_SIMD_INLINE pack<bool> operator OP(pack<T> a, pack<T> b) { \
        if constexpr (std::is_same_v<T, bool>) {                                        \
            return {{(a.v[0] & 1) OP(b.v[0] & 1)}};                                     \
        } else if constexpr (pack<T>::parts == 2) {                                     \
            return mask_from(a.v[0] OP b.v[0], a.v[1] OP b.v[1]);                       \
        } else {                                                                        \
            return mask_from(a.v[0] OP b.v[0]);                                         \
        }                                                                               \
    }
TENON_SIMD_COMPARE(==)
TENON_SIMD_COMPARE(!=)
TENON_SIMD_COMPARE(<)
TENON_SIMD_COMPARE(<=)
TENON_SIMD_COMPARE(>)
TENON_SIMD_COMPARE(>=)
#undef TENON_SIMD_COMPARE

// Masks: & | ^ ! (and ~ for integers).
#define TENON_SIMD_BITS(OP)                                      \
    template <class T>                                           \
        requires std::is_integral_v<T> TENON_SIMD_INLINE pack<T> \
    operator OP(pack<T> a, pack<T> b) { TENON_SIMD_PARTS(pack<T>, a.v[p] OP b.v[p]); }
TENON_SIMD_BITS(&)
TENON_SIMD_BITS(|)
TENON_SIMD_BITS(^)
#undef TENON_SIMD_BITS
template <class T>
    requires std::is_integral_v<T> TENON_SIMD_INLINE pack<T>
operator~(pack<T> a) { TENON_SIMD_PARTS(pack<T>, ~a.v[p]); }
TENON_SIMD_INLINE pack<bool> operator!(pack<bool> a) { return {{~a.v[0]}}; }

/// a where the mask is true, else b.
template <class T> TENON_SIMD_INLINE pack<T> select(pack<bool> m, pack<T> a, pack<T> b) {
    const auto w = widen_mask<T>(m);
    TENON_SIMD_PARTS(pack<T>, choose(w.v[p], a.v[p], b.v[p]));
}
/// Bit k tells of lane k.
TENON_SIMD_INLINE unsigned mask_bits(pack<bool> m) { return native_signs(m.v[0]); }
TENON_SIMD_INLINE bool any(pack<bool> m) { return mask_bits(m) != 0; }
TENON_SIMD_INLINE bool all(pack<bool> m) { return mask_bits(m) == (1U << lanes) - 1U; }

/// a << n. A count of at least the width, or below 0, gives 0.
template <class T> TENON_SIMD_INLINE pack<T> shift_left(pack<T> a, pack<T> n) {
    using lane = std::make_unsigned_t<T>;
    using count = native_t<lane, pack<T>::part_lanes>;
    constexpr lane width = 8 * sizeof(T);
    constexpr lane last = width - 1;
    TENON_SIMD_PARTS(pack<T>, bits_as<typename pack<T>::part>(
                                  choose(bits_as<count>(n.v[p]) < width,
                                         bits_as<count>(a.v[p]) << (bits_as<count>(n.v[p]) & last), count{})));
}
/// a >> n, filled with the sign for signed types. A count of at least the width, or below 0, leaves the
/// filling only.
template <class T> TENON_SIMD_INLINE pack<T> shift_right(pack<T> a, pack<T> n) {
    using lane = std::make_unsigned_t<T>;
    using count = native_t<lane, pack<T>::part_lanes>;
    constexpr lane width = 8 * sizeof(T);
    constexpr lane last = width - 1;
    using part = typename pack<T>::part;
    TENON_SIMD_PARTS(pack<T>, choose(bits_as<count>(n.v[p]) < width, a.v[p], bits_as<part>(a.v[p] < part{})) >>
                                  bits_as<part>(bits_as<count>(n.v[p]) & last));
}

/// a / b. Integers: towards zero; by zero gives 0, and the lowest number by -1 gives itself.
template <class T> TENON_SIMD_INLINE pack<T> operator/(pack<T> a, pack<T> b) {
    if constexpr (std::is_floating_point_v<T>) {
        TENON_SIMD_PARTS(pack<T>, a.v[p] / b.v[p]);
    } else if constexpr (sizeof(T) == 8) {
        T x[lanes];
        T y[lanes];
        store(static_cast<T*>(x), a);
        store(static_cast<T*>(y), b);
        simd::detail::divide_all(static_cast<T*>(x), static_cast<const T*>(y), lanes);
        return load(static_cast<const T*>(x));
    } else {
        // Exact: the quotient of two integers that a floating type holds with bits to spare is never rounded
        // across an integer.
        using wide = std::conditional_t<sizeof(T) == 4, double, float>;
        using wide_integer = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
        const pack<T> zero = {};
        const pack<T> one = broadcast<T>(1);
        const pack<bool> usual = b != zero;
        const pack<wide> quotient = convert<wide>(a) / convert<wide>(select(usual, b, one));
        const pack<T> r = select(usual, convert<T>(convert<wide_integer>(quotient)), zero);
        if constexpr (std::is_signed_v<T>) return select(b == broadcast<T>(-1), -a, r);
        return r;
    }
}

/// b's sign on a's magnitude.
template <class T>
    requires std::is_floating_point_v<T> TENON_SIMD_INLINE pack<T> copysign(pack<T> a, pack<T> b) {
        using bits = typename pack<T>::signed_part;
        constexpr auto sign = std::numeric_limits<simd::detail::signed_t<T>>::min();
        TENON_SIMD_PARTS(
            pack<T>, bits_as<typename pack<T>::part>((bits_as<bits>(a.v[p]) & ~sign) | (bits_as<bits>(b.v[p]) & sign)));
    }

/// What is left of a / b (towards zero), with the sign of a. Integers: by zero gives 0; floating: as C's
/// fmod, exact.
template <class T> TENON_SIMD_INLINE pack<T> fmod(pack<T> a, pack<T> b) {
    if constexpr (std::is_integral_v<T>) {
        return select(b == pack<T>{}, pack<T>{}, a - (a / b) * b);
    } else {
        T x[lanes];
        T y[lanes];
        store(static_cast<T*>(x), a);
        store(static_cast<T*>(y), b);
        // A float's remainder is exact in double too, and a float.
        simd::detail::apply_to_all(static_cast<T*>(x), static_cast<const T*>(y), lanes, simd::detail::scalar_fmod);
        return load(static_cast<const T*>(x));
    }
}

/// a - floor(a / b) * b as Python and NumPy have it: the sign of b. Integers: by zero gives 0.
template <class T> TENON_SIMD_INLINE pack<T> mod(pack<T> a, pack<T> b) {
    const pack<T> zero = {};
    const pack<T> r = fmod(a, b);
    if constexpr (std::is_unsigned_v<T>) {
        return r;
    } else {
        const pack<T> moved = select((r != zero) & ((r < zero) ^ (b < zero)), r + b, r);
        if constexpr (std::is_floating_point_v<T>) return select(r == zero, copysign(zero, b), moved);
        return moved;
    }
}

template <class T> TENON_SIMD_INLINE pack<T> abs(pack<T> a) {
    if constexpr (std::is_floating_point_v<T>) {
        using bits = typename pack<T>::signed_part;
        constexpr auto magnitude = std::numeric_limits<simd::detail::signed_t<T>>::max();
        TENON_SIMD_PARTS(pack<T>, bits_as<typename pack<T>::part>(bits_as<bits>(a.v[p]) & magnitude));
    } else if constexpr (std::is_unsigned_v<T>) {
        return a;
    } else {
        return select(a < pack<T>{}, -a, a);
    }
}

/// -1, 0 or 1; a zero keeps its sign and NaN stays NaN.
template <class T> TENON_SIMD_INLINE pack<T> sign(pack<T> a) {
    const pack<T> zero = {};
    pack<T> r = select(a > zero, broadcast<T>(1), a);
    if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>) r = select(a < zero, broadcast<T>(-1), r);
    return r;
}

/// The larger one; NaN when either is NaN.
template <class T> TENON_SIMD_INLINE pack<T> max(pack<T> a, pack<T> b) {
    if constexpr (std::is_same_v<T, bool>) {
        return a | b;
    } else if constexpr (std::is_floating_point_v<T>) {
        TENON_SIMD_PARTS(pack<T>, choose(a.v[p] == a.v[p], native_max(a.v[p], b.v[p]), a.v[p]));
    } else {
        TENON_SIMD_PARTS(pack<T>, choose(a.v[p] > b.v[p], a.v[p], b.v[p]));
    }
}
/// The smaller one; NaN when either is NaN.
template <class T> TENON_SIMD_INLINE pack<T> min(pack<T> a, pack<T> b) {
    if constexpr (std::is_same_v<T, bool>) {
        return a & b;
    } else if constexpr (std::is_floating_point_v<T>) {
        TENON_SIMD_PARTS(pack<T>, choose(a.v[p] == a.v[p], native_min(a.v[p], b.v[p]), a.v[p]));
    } else {
        TENON_SIMD_PARTS(pack<T>, choose(a.v[p] < b.v[p], a.v[p], b.v[p]));
    }
}

/// max(a, 0), which is one instruction; NaN stays NaN.
template <class T> TENON_SIMD_INLINE pack<T> relu(pack<T> a) {
    if constexpr (std::is_floating_point_v<T>) {
        TENON_SIMD_PARTS(pack<T>, native_max(typename pack<T>::part{}, a.v[p]));
    } else {
        return max(a, pack<T>{});
    }
}

/// a * b + c: rounded once on avx2 and avx512, twice on baseline. Integers wrap.
template <class T> TENON_SIMD_INLINE pack<T> fma(pack<T> a, pack<T> b, pack<T> c) {
    if constexpr (std::is_floating_point_v<T>) {
        TENON_SIMD_PARTS(pack<T>, native_fma(a.v[p], b.v[p], c.v[p]));
    } else {
        return a * b + c;
    }
}

#define TENON_SIMD_FLOATING(NAME, ...)                                                   \
    template <class T>                                                                   \
        requires std::is_floating_point_v<T> TENON_SIMD_INLINE pack<T> NAME(pack<T> a) { \
            TENON_SIMD_PARTS(pack<T>, __VA_ARGS__);                                      \
        }
TENON_SIMD_FLOATING(sqrt, native_sqrt(a.v[p]))
TENON_SIMD_FLOATING(rsqrt, T(1) / native_sqrt(a.v[p]))
TENON_SIMD_FLOATING(reciprocal, T(1) / a.v[p])
#undef TENON_SIMD_FLOATING

// Rounding to integers: of an integer, itself.
#define TENON_SIMD_ROUND(NAME, MODE)                               \
    template <class T> TENON_SIMD_INLINE pack<T> NAME(pack<T> a) { \
        if constexpr (std::is_floating_point_v<T>) {               \
            TENON_SIMD_PARTS(pack<T>, native_round<MODE>(a.v[p])); \
        } else {                                                   \
            return a;                                              \
        }                                                          \
    }
TENON_SIMD_ROUND(round, 0) // half to even
TENON_SIMD_ROUND(floor, 1)
TENON_SIMD_ROUND(ceil, 2)
TENON_SIMD_ROUND(trunc, 3)
#undef TENON_SIMD_ROUND

template <class T> TENON_SIMD_INLINE pack<bool> is_nan(pack<T> a) { return a != a; }
template <class T> TENON_SIMD_INLINE pack<bool> is_inf(pack<T> a) {
    if constexpr (std::is_floating_point_v<T>) return abs(a) == broadcast<T>(std::numeric_limits<T>::infinity());
    else return {};
}
template <class T> TENON_SIMD_INLINE pack<bool> is_finite(pack<T> a) {
    if constexpr (std::is_floating_point_v<T>) return abs(a) < broadcast<T>(std::numeric_limits<T>::infinity());
    else return a == a;
}

} // namespace tenon::simd::TENON_SIMD_NS
