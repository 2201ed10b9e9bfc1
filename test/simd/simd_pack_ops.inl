// Every operation of a pack as a loop over arrays, once per instruction set. n is a multiple of 16.

namespace tenon::simd::TENON_SIMD_NS {

struct pack_ops {
    static constexpr isa which = this_isa;

#define TENON_TEST_UNARY(NAME, RESULT, ...)                             \
    template <class T> static void NAME(const T* a, RESULT* r, int n) { \
        for (int i = 0; i < n; i += lanes) {                            \
            const auto x = load(a + i);                                 \
            store(r + i, __VA_ARGS__);                                  \
        }                                                               \
    }
#define TENON_TEST_BINARY(NAME, RESULT, ...)                                        \
    template <class T> static void NAME(const T* a, const T* b, RESULT* r, int n) { \
        for (int i = 0; i < n; i += lanes) {                                        \
            const auto x = load(a + i);                                             \
            const auto y = load(b + i);                                             \
            store(r + i, __VA_ARGS__);                                              \
        }                                                                           \
    }
    TENON_TEST_UNARY(negate, T, -x)
    TENON_TEST_UNARY(abs, T, simd::TENON_SIMD_NS::abs(x))
    TENON_TEST_UNARY(sign, T, simd::TENON_SIMD_NS::sign(x))
    TENON_TEST_UNARY(sqrt, T, simd::TENON_SIMD_NS::sqrt(x))
    TENON_TEST_UNARY(rsqrt, T, simd::TENON_SIMD_NS::rsqrt(x))
    TENON_TEST_UNARY(reciprocal, T, simd::TENON_SIMD_NS::reciprocal(x))
    TENON_TEST_UNARY(round, T, simd::TENON_SIMD_NS::round(x))
    TENON_TEST_UNARY(floor, T, simd::TENON_SIMD_NS::floor(x))
    TENON_TEST_UNARY(ceil, T, simd::TENON_SIMD_NS::ceil(x))
    TENON_TEST_UNARY(trunc, T, simd::TENON_SIMD_NS::trunc(x))
    TENON_TEST_UNARY(complement, T, ~x)
    TENON_TEST_UNARY(logical_not, bool, !x)
    TENON_TEST_UNARY(is_nan, bool, simd::TENON_SIMD_NS::is_nan(x))
    TENON_TEST_UNARY(is_inf, bool, simd::TENON_SIMD_NS::is_inf(x))
    TENON_TEST_UNARY(is_finite, bool, simd::TENON_SIMD_NS::is_finite(x))
    TENON_TEST_BINARY(add, T, x + y)
    TENON_TEST_BINARY(subtract, T, x - y)
    TENON_TEST_BINARY(multiply, T, x* y)
    TENON_TEST_BINARY(divide, T, x / y)
    TENON_TEST_BINARY(fmod, T, simd::TENON_SIMD_NS::fmod(x, y))
    TENON_TEST_BINARY(mod, T, simd::TENON_SIMD_NS::mod(x, y))
    TENON_TEST_BINARY(min, T, simd::TENON_SIMD_NS::min(x, y))
    TENON_TEST_BINARY(max, T, simd::TENON_SIMD_NS::max(x, y))
    TENON_TEST_BINARY(copysign, T, simd::TENON_SIMD_NS::copysign(x, y))
    TENON_TEST_BINARY(equal, bool, x == y)
    TENON_TEST_BINARY(not_equal, bool, x != y)
    TENON_TEST_BINARY(less, bool, x < y)
    TENON_TEST_BINARY(less_equal, bool, x <= y)
    TENON_TEST_BINARY(greater, bool, x > y)
    TENON_TEST_BINARY(greater_equal, bool, x >= y)
    TENON_TEST_BINARY(bit_and, T, x& y)
    TENON_TEST_BINARY(bit_or, T, x | y)
    TENON_TEST_BINARY(bit_xor, T, x ^ y)
    TENON_TEST_BINARY(shift_left, T, simd::TENON_SIMD_NS::shift_left(x, y))
    TENON_TEST_BINARY(shift_right, T, simd::TENON_SIMD_NS::shift_right(x, y))
    TENON_TEST_BINARY(larger_or_sum, T, simd::TENON_SIMD_NS::select(x > y, x, x + y))
    TENON_TEST_BINARY(fma_with_one, T, simd::TENON_SIMD_NS::fma(x, y, simd::TENON_SIMD_NS::broadcast<T>(1)))
    TENON_TEST_BINARY(product_plus_one, T, x* y + simd::TENON_SIMD_NS::broadcast<T>(1))
#undef TENON_TEST_UNARY
#undef TENON_TEST_BINARY

    template <class To, class From> static void convert(const From* a, To* r, int n) {
        for (int i = 0; i < n; i += lanes) store(r + i, simd::TENON_SIMD_NS::convert<To>(load(a + i)));
    }
    /// Memory formats: whatever is loaded is stored as To.
    template <class To, class From> static void reformat(const From* a, To* r, int n) {
        for (int i = 0; i < n; i += lanes) store(r + i, simd::TENON_SIMD_NS::convert<compute_t<To>>(load(a + i)));
    }
    template <class T> static void round_to(const float* a, float* r, int n) {
        for (int i = 0; i < n; i += lanes) store(r + i, simd::TENON_SIMD_NS::round_to<T>(load(a + i)));
    }
    template <class T> static void copy_partial(const T* a, T* r, int n) { store_partial(r, load_partial(a, n), n); }
    template <class T> static void load_partial_store_all(const T* a, T* r, int n) { store(r, load_partial(a, n)); }
    template <class T> static void load_tail_store_all(const T* a, T* r, int n) { store(r, load_tail(a, n)); }
    template <class T> static void fill(T value, T* r) { store(r, broadcast<T>(value)); }
    template <class T> static void count(T* r) { store(r, iota<T>()); }
    template <class T> static T extract(const T* a, int i) { return simd::TENON_SIMD_NS::extract(load(a), i); }
    template <class T> static void reduce(const T* a, T* add, T* mul, T* least, T* largest) {
        *add = reduce_add(load(a));
        *mul = reduce_mul(load(a));
        *least = reduce_min(load(a));
        *largest = reduce_max(load(a));
    }
    static unsigned mask(const bool* a, bool* any_of, bool* all_of) {
        const auto m = load(a);
        *any_of = any(m);
        *all_of = all(m);
        return mask_bits(m);
    }
    static constexpr int lane_count = lanes;
};

} // namespace tenon::simd::TENON_SIMD_NS
