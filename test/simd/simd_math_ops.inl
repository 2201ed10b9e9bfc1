// Every mathematical function as a loop over arrays, once per instruction set. n is a multiple of 16.

namespace tenon::simd::TENON_SIMD_NS {

struct math_ops {
#define TENON_TEST_UNARY(NAME)                                                                   \
    template <class T> static void NAME(const T* a, T* r, int n) {                               \
        for (int i = 0; i < n; i += lanes) store(r + i, simd::TENON_SIMD_NS::NAME(load(a + i))); \
    }
#define TENON_TEST_BINARY(NAME)                                                                               \
    template <class T> static void NAME(const T* a, const T* b, T* r, int n) {                                \
        for (int i = 0; i < n; i += lanes) store(r + i, simd::TENON_SIMD_NS::NAME(load(a + i), load(b + i))); \
    }
    TENON_TEST_UNARY(exp)
    TENON_TEST_UNARY(exp2)
    TENON_TEST_UNARY(expm1)
    TENON_TEST_UNARY(log)
    TENON_TEST_UNARY(log2)
    TENON_TEST_UNARY(log10)
    TENON_TEST_UNARY(log1p)
    TENON_TEST_UNARY(sin)
    TENON_TEST_UNARY(cos)
    TENON_TEST_UNARY(tan)
    TENON_TEST_UNARY(asin)
    TENON_TEST_UNARY(acos)
    TENON_TEST_UNARY(atan)
    TENON_TEST_UNARY(sinh)
    TENON_TEST_UNARY(cosh)
    TENON_TEST_UNARY(tanh)
    TENON_TEST_UNARY(asinh)
    TENON_TEST_UNARY(acosh)
    TENON_TEST_UNARY(atanh)
    TENON_TEST_UNARY(erf)
    TENON_TEST_UNARY(erfc)
    TENON_TEST_UNARY(erfinv)
    TENON_TEST_UNARY(erfcinv)
    TENON_TEST_UNARY(lgamma)
    TENON_TEST_UNARY(digamma)
    TENON_TEST_UNARY(cbrt)
    TENON_TEST_UNARY(sigmoid)
    TENON_TEST_UNARY(softplus)
    TENON_TEST_UNARY(relu)
    TENON_TEST_BINARY(pow)
    TENON_TEST_BINARY(atan2)
    TENON_TEST_BINARY(hypot)
    TENON_TEST_BINARY(polygamma)
#undef TENON_TEST_UNARY
#undef TENON_TEST_BINARY
};

} // namespace tenon::simd::TENON_SIMD_NS
