#include <cstdlib>

#include <simd/simd_support.hpp>

using namespace simd_test;
using tenon::bfloat16;
using tenon::half;

namespace {

/// In unsigned arithmetic wide enough not to be promoted to int.
template <class T> using wrap = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T> T reference_divide(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b == 0) return 0;
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(wrap<T>(0) - static_cast<wrap<T>>(a));
        return static_cast<T>(a / b);
    } else {
        return a / b;
    }
}
template <class T> T multiplied(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<wrap<T>>(a) * static_cast<wrap<T>>(b));
    else return a * b;
}
template <class T> T reference_fmod(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
    else if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
    else return static_cast<T>(a % b);
}
/// Python's %, as NumPy has it for arrays.
template <class T> T reference_mod(T a, T b) {
    T r = reference_fmod(a, b);
    if (std::is_floating_point_v<T> && r == 0) return static_cast<T>(std::copysign(0.0, static_cast<double>(b)));
    if (r != 0 && (r < 0) != (b < 0)) r = static_cast<T>(r + b);
    return r;
}
} // namespace

TEST_CASE("a pack has as many elements as floats fit into a register") {
    CHECK(simd::baseline::lanes == 4);
#if defined(__x86_64__)
    CHECK(simd::avx2::lanes == 8);
    CHECK(simd::avx512::lanes == 16);
    CHECK(sizeof(simd::avx512::pack<double>) == 128);
    CHECK(sizeof(simd::avx512::pack<std::int8_t>) == 16);
#endif
}

TEST_CASE("best_isa is one this machine has, and tests can choose a lower one") {
    const simd::isa best = simd::best_isa();
    CHECK(simd::has_isa(best));
    CHECK(simd::has_isa(simd::isa::baseline));
    simd::set_isa_for_testing(simd::isa::baseline);
    CHECK(simd::best_isa() == simd::isa::baseline);
    simd::set_isa_for_testing(best);
    CHECK(std::string(simd::name_of(simd::isa::avx512)) == "avx512");
}

TEST_CASE("TENON_ISA lowers the choice; a word that is not an instruction set has no effect") {
    const char* before = std::getenv("TENON_ISA");
    const std::string kept = before == nullptr ? "" : before;
    unsetenv("TENON_ISA");
    const simd::isa best = simd::detail::detect_isa();
    for (int k = 0; k < simd::isa_count; ++k) {
        const auto which = static_cast<simd::isa>(k);
        setenv("TENON_ISA", simd::name_of(which), 1);
        CHECK(simd::detail::detect_isa() == (simd::has_isa(which) ? which : best));
    }
    setenv("TENON_ISA", "sse9", 1); // says so on stderr
    CHECK(simd::detail::detect_isa() == best);
    setenv("TENON_ISA", kept.c_str(), 1); // empty is as good as absent
}

TEST_CASE("arithmetic of packs is arithmetic of their elements; integers wrap and never trap") {
    on_each_isa_and_number([]<class P, class T>(P, tag<T>) {
        constexpr auto w = P::which;
        if constexpr (std::is_floating_point_v<T>) {
            check_unary<T, T>("-", w, P::template negate<T>, [](T x) { return -x; });
            check_binary<T, T>("+", w, P::template add<T>, [](T x, T y) { return x + y; });
            check_binary<T, T>("-", w, P::template subtract<T>, [](T x, T y) { return x - y; });
            check_binary<T, T>("*", w, P::template multiply<T>, [](T x, T y) { return x * y; });
        } else {
            using W = wrap<T>;
            check_unary<T, T>("-", w, P::template negate<T>, [](T x) { return static_cast<T>(W(0) - W(x)); });
            check_binary<T, T>("+", w, P::template add<T>, [](T x, T y) { return static_cast<T>(W(x) + W(y)); });
            check_binary<T, T>("-", w, P::template subtract<T>, [](T x, T y) { return static_cast<T>(W(x) - W(y)); });
            check_binary<T, T>("*", w, P::template multiply<T>, [](T x, T y) { return static_cast<T>(W(x) * W(y)); });
        }
        check_binary<T, T>("/", w, P::template divide<T>, reference_divide<T>);
        check_binary<T, T>("fmod", w, P::template fmod<T>, reference_fmod<T>);
        check_binary<T, T>("mod", w, P::template mod<T>, reference_mod<T>);
        check_unary<T, T>("abs", w, P::template abs<T>, [](T x) {
            if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
            else return x < 0 ? static_cast<T>(wrap<T>(0) - wrap<T>(x)) : x;
        });
        check_unary<T, T>("sign", w, P::template sign<T>, [](T x) {
            return x > 0 ? T(1) : x < 0 ? static_cast<T>(-1) : x;
        });
    });
}

TEST_CASE("min and max give NaN when either is NaN") {
    on_each_isa_and_number([]<class P, class T>(P, tag<T>) {
        check_binary<T, T>("max", P::which, P::template max<T>, [](T x, T y) { return x != x ? x : x > y ? x : y; });
        check_binary<T, T>("min", P::which, P::template min<T>, [](T x, T y) { return x != x ? x : x < y ? x : y; });
    });
}

TEST_CASE("fma is fused on avx2 and avx512; a product and a sum are never contracted") {
    on_each_isa([]<class P>(P) {
        const auto check = []<class T>(tag<T>) {
            check_binary<T, T>("fma", P::which, P::template fma_with_one<T>, [](T x, T y) {
                const volatile T product = x * y;
                return P::which == simd::isa::baseline ? T(product + T(1)) : std::fma(x, y, T(1));
            });
            check_binary<T, T>("x * y + 1", P::which, P::template product_plus_one<T>, [](T x, T y) {
                const volatile T product = x * y;
                return T(product + T(1));
            });
        };
        check(tag<float>{});
        check(tag<double>{});
    });
}

TEST_CASE("square roots are correctly rounded, rounding is that of <cmath>") {
    on_each_isa([]<class P>(P) {
        const auto check = []<class T>(tag<T>) {
            constexpr auto w = P::which;
            check_unary<T, T>("sqrt", w, P::template sqrt<T>, [](T x) { return std::sqrt(x); });
            check_unary<T, T>("rsqrt", w, P::template rsqrt<T>, [](T x) { return T(1) / std::sqrt(x); });
            check_unary<T, T>("reciprocal", w, P::template reciprocal<T>, [](T x) { return T(1) / x; });
            check_unary<T, T>("round", w, P::template round<T>, [](T x) { return std::nearbyint(x); });
            check_unary<T, T>("floor", w, P::template floor<T>, [](T x) { return std::floor(x); });
            check_unary<T, T>("ceil", w, P::template ceil<T>, [](T x) { return std::ceil(x); });
            check_unary<T, T>("trunc", w, P::template trunc<T>, [](T x) { return std::trunc(x); });
            check_binary<T, T>("copysign", w, P::template copysign<T>, [](T x, T y) { return std::copysign(x, y); });
        };
        check(tag<float>{});
        check(tag<double>{});
        check_unary<std::int16_t, std::int16_t>("floor", P::which, P::template floor<std::int16_t>,
                                                [](std::int16_t x) { return x; });
    });
}

TEST_CASE("comparisons follow IEEE 754 for NaN and give masks that select") {
    on_each_isa_and_number([]<class P, class T>(P, tag<T>) {
        constexpr auto w = P::which;
        check_binary<T, bool>("==", w, P::template equal<T>, [](T x, T y) { return x == y; });
        check_binary<T, bool>("!=", w, P::template not_equal<T>, [](T x, T y) { return x != y; });
        check_binary<T, bool>("<", w, P::template less<T>, [](T x, T y) { return x < y; });
        check_binary<T, bool>("<=", w, P::template less_equal<T>, [](T x, T y) { return x <= y; });
        check_binary<T, bool>(">", w, P::template greater<T>, [](T x, T y) { return x > y; });
        check_binary<T, bool>(">=", w, P::template greater_equal<T>, [](T x, T y) { return x >= y; });
        check_binary<T, T>("select", w, P::template larger_or_sum<T>, [](T x, T y) {
            if constexpr (std::is_integral_v<T>) return x > y ? x : static_cast<T>(wrap<T>(x) + wrap<T>(y));
            else return x > y ? x : x + y;
        });
        check_unary<T, bool>("is_nan", w, P::template is_nan<T>, [](T x) { return x != x; });
        check_unary<T, bool>("is_inf", w, P::template is_inf<T>,
                             [](T x) { return std::is_floating_point_v<T> && std::isinf(static_cast<double>(x)); });
        check_unary<T, bool>("is_finite", w, P::template is_finite<T>,
                             [](T x) { return std::isfinite(static_cast<double>(x)); });
    });
}

TEST_CASE("bits and shifts: a count beyond the width leaves only what is shifted in") {
    on_each_isa_and_integer([]<class P, class T>(P, tag<T>) {
        using W = wrap<T>;
        constexpr auto w = P::which;
        constexpr auto width = static_cast<std::make_unsigned_t<T>>(8 * sizeof(T));
        check_binary<T, T>("&", w, P::template bit_and<T>, [](T x, T y) { return static_cast<T>(x & y); });
        check_binary<T, T>("|", w, P::template bit_or<T>, [](T x, T y) { return static_cast<T>(x | y); });
        check_binary<T, T>("^", w, P::template bit_xor<T>, [](T x, T y) { return static_cast<T>(x ^ y); });
        check_unary<T, T>("~", w, P::template complement<T>, [](T x) { return static_cast<T>(~x); });
        check_binary<T, T>("<<", w, P::template shift_left<T>, [](T x, T y) {
            const auto count = static_cast<std::make_unsigned_t<T>>(y);
            return count < width ? static_cast<T>(W(x) << count) : T(0);
        });
        check_binary<T, T>(">>", w, P::template shift_right<T>, [](T x, T y) {
            const auto count = static_cast<std::make_unsigned_t<T>>(y);
            return count < width ? static_cast<T>(x >> count) : static_cast<T>(x < 0 ? -1 : 0);
        });
    });
}

TEST_CASE("masks: not, and, or, any, all, and the bits of each") {
    on_each_isa([]<class P>(P) {
        for (unsigned pattern : {0x0000U, 0xFFFFU, 0x0001U, 0x8000U, 0xA5C3U, 0x7FFFU, 0x0FFFU}) {
            bool a[16];
            bool b[16];
            bool r[16];
            for (int i = 0; i < 16; ++i) a[i] = (pattern >> i & 1U) != 0, b[i] = i % 3 == 0;
            const unsigned lane_bits = (1U << P::lane_count) - 1U;
            bool any = false;
            bool all = false;
            CHECK(P::mask(a, &any, &all) == (pattern & lane_bits));
            CHECK(any == ((pattern & lane_bits) != 0));
            CHECK(all == ((pattern & lane_bits) == lane_bits));
            P::logical_not(a, r, 16);
            for (int i = 0; i < 16; ++i) CHECK(r[i] == !a[i]);
            P::template bit_and<bool>(a, b, r, 16);
            for (int i = 0; i < 16; ++i) CHECK(r[i] == (a[i] && b[i]));
            P::template bit_or<bool>(a, b, r, 16);
            for (int i = 0; i < 16; ++i) CHECK(r[i] == (a[i] || b[i]));
            P::template bit_xor<bool>(a, b, r, 16);
            for (int i = 0; i < 16; ++i) CHECK(r[i] == (a[i] != b[i]));
            P::template less<bool>(a, b, r, 16);
            for (int i = 0; i < 16; ++i) CHECK(r[i] == (a[i] < b[i]));
            P::template max<bool>(a, b, r, 16);
            for (int i = 0; i < 16; ++i) CHECK(r[i] == (a[i] || b[i]));
        }
    });
}

TEST_CASE(
    "partial loads and stores touch the first n elements only; lanes beyond are zero, or the first element again") {
    on_each_isa([]<class P>(P) {
        const auto check = []<class T>(tag<T>) {
            for (int n = 0; n <= P::lane_count; ++n) {
                // The source is exactly n long, so that a tool that watches memory sees every read beyond it.
                const auto source = std::make_unique<T[]>(static_cast<std::size_t>(n));
                for (int i = 0; i < n; ++i) source[static_cast<std::size_t>(i)] = T(i % 2 + 1);
                T r[18];
                for (T& x : r) x = T(0);
                const T untouched = r[17];
                P::template copy_partial<T>(source.get(), r + 1, n);
                for (int i = 0; i < 18; ++i) CHECK(r[i] == (i >= 1 && i <= n ? T((i - 1) % 2 + 1) : untouched));
                for (T& x : r) x = T(1);
                P::template load_partial_store_all<T>(source.get(), r, n);
                for (int i = 0; i < P::lane_count; ++i) CHECK(r[i] == (i < n ? T(i % 2 + 1) : T(0)));
                if (n > 0) {
                    P::template load_tail_store_all<T>(source.get(), r, n);
                    for (int i = 0; i < P::lane_count; ++i) CHECK(r[i] == T(i < n ? i % 2 + 1 : 1));
                }
                const auto target = std::make_unique<T[]>(static_cast<std::size_t>(n));
                P::template copy_partial<T>(source.get(), target.get(), n);
                for (int i = 0; i < n; ++i) CHECK(target[static_cast<std::size_t>(i)] == T(i % 2 + 1));
            }
        };
        on_each_number(check);
        check(tag<bool>{});
        check(tag<half>{});
        check(tag<bfloat16>{});
    });
}

TEST_CASE("broadcast, iota and extract") {
    on_each_isa([]<class P>(P) {
        on_each_number([]<class T>(tag<T>) {
            T r[16];
            P::template fill<T>(T(7), r);
            for (int i = 0; i < P::lane_count; ++i) CHECK(r[i] == T(7));
            P::template count<T>(r);
            for (int i = 0; i < P::lane_count; ++i) CHECK(r[i] == T(i));
            for (int i = 0; i < P::lane_count; ++i) CHECK(P::template extract<T>(r, i) == T(i));
            if constexpr (std::is_floating_point_v<T>) {
                P::template fill<T>(T(-0.0), r);
                for (int i = 0; i < P::lane_count; ++i) CHECK(same(r[i], T(-0.0)));
            }
        });
        bool truth[16];
        P::template fill<bool>(true, truth);
        for (int i = 0; i < P::lane_count; ++i) CHECK(truth[i]);
    });
}

TEST_CASE("reductions combine all lanes; NaN anywhere makes the least and the largest NaN") {
    on_each_isa_and_number([]<class P, class T>(P, tag<T>) {
        T a[16];
        T sum = 0, product = 1, least = T(99), largest = 0;
        for (int i = 0; i < P::lane_count; ++i) {
            a[i] = T((i * 5 + 3) % 7 + 1);
            sum = static_cast<T>(sum + a[i]);
            product = multiplied(product, a[i]);
            least = a[i] < least ? a[i] : least;
            largest = a[i] > largest ? a[i] : largest;
        }
        T r[4];
        P::template reduce<T>(a, r, r + 1, r + 2, r + 3);
        CHECK(r[0] == sum);
        if constexpr (std::is_integral_v<T>) CHECK(r[1] == product);
        if constexpr (std::is_floating_point_v<T>) CHECK(std::fabs(r[1] / product - 1) < T(1e-6));
        CHECK(r[2] == least);
        CHECK(r[3] == largest);
        if constexpr (std::is_floating_point_v<T>) {
            for (int i = 0; i < P::lane_count; ++i) {
                const T kept = a[i];
                a[i] = std::numeric_limits<T>::quiet_NaN();
                P::template reduce<T>(a, r, r + 1, r + 2, r + 3);
                a[i] = kept;
                CHECK((std::isnan(r[0]) && std::isnan(r[2]) && std::isnan(r[3])));
            }
        }
    });
}
