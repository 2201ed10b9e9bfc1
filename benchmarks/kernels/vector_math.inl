// The loops of vector_math.cpp, once per instruction set. n is a multiple of 16.

namespace tenon::simd::TENON_SIMD_NS {

struct math_loops {
#define TENON_LOOP(NAME)                                                                         \
    static void NAME(const float* x, float* r, int n) {                                          \
        for (int i = 0; i < n; i += lanes) store(r + i, simd::TENON_SIMD_NS::NAME(load(x + i))); \
    }
    TENON_LOOP(exp)
    TENON_LOOP(log)
    TENON_LOOP(tanh)
    TENON_LOOP(sigmoid)
    TENON_LOOP(sin)
    TENON_LOOP(cos)
    TENON_LOOP(log1p)
    TENON_LOOP(expm1)
    TENON_LOOP(erf)
    TENON_LOOP(atan)
    TENON_LOOP(sinh)
    TENON_LOOP(lgamma)
#undef TENON_LOOP
    static void gated(const float* x, float* r, int n, float a, float b, float c) {
        const auto va = broadcast<float>(a);
        const auto vb = broadcast<float>(b);
        const auto vc = broadcast<float>(c);
        for (int i = 0; i < n; i += lanes) {
            const auto v = load(x + i);
            store(r + i, relu(fma(va, v, vb)) * simd::TENON_SIMD_NS::sigmoid(vc - v));
        }
    }
};

} // namespace tenon::simd::TENON_SIMD_NS
