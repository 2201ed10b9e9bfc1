#include "baseline/elementwise.hpp"

#include <cmath>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // g++ 12's own AVX-512 header
#endif

#include <Eigen/Core>

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

namespace baseline {

namespace {

using array = Eigen::Map<const Eigen::ArrayXf>;
using result = Eigen::Map<Eigen::ArrayXf>;

} // namespace

void eigen_forward(std::int64_t n, const float* a, const float* b, const float* c, const float* x, float* y) {
    const array va(a, n), vb(b, n), vc(c, n), vx(x, n);
    result(y, n) = (va * vx + vb).max(0.0F) * (vc - vx).logistic();
}

#if defined(__AVX512F__)

namespace {

/// 1 / (1 + exp(-u)). The exponential as in Cephes: reduced by multiples of ln 2, a polynomial of degree 6.
inline __m512 sigmoid(__m512 u) {
    const __m512 v = _mm512_max_ps(_mm512_min_ps(_mm512_sub_ps(_mm512_setzero_ps(), u), _mm512_set1_ps(88.0F)),
                                   _mm512_set1_ps(-88.0F));
    const __m512 whole = _mm512_roundscale_ps(_mm512_mul_ps(v, _mm512_set1_ps(1.44269504F)),
                                              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(whole, _mm512_set1_ps(0.693359375F), v);
    r = _mm512_fnmadd_ps(whole, _mm512_set1_ps(-2.12194440e-4F), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4F);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1F));
    p = _mm512_fmadd_ps(_mm512_mul_ps(p, r), r, _mm512_add_ps(r, _mm512_set1_ps(1.0F)));
    const __m512 d = _mm512_add_ps(_mm512_scalef_ps(p, whole), _mm512_set1_ps(1.0F));
    const __m512 guess = _mm512_rcp14_ps(d);
    return _mm512_mul_ps(guess, _mm512_fnmadd_ps(d, guess, _mm512_set1_ps(2.0F)));
}

template <class Load, class Store>
inline void gradients_of(const Load& load, const Store& store, const float* a, const float* b, const float* c,
                         const float* x, const float* dy, float* y, float* da, float* db, float* dc, float* dx) {
    const __m512 zero = _mm512_setzero_ps();
    const __m512 va = load(a), vx = load(x);
    const __m512 t = _mm512_fmadd_ps(va, vx, load(b));
    const __m512 r = _mm512_max_ps(t, zero);
    const __m512 s = sigmoid(_mm512_sub_ps(load(c), vx));
    const __m512 g = dy == nullptr ? _mm512_set1_ps(1.0F) : load(dy);
    const __m512 dr = _mm512_maskz_mul_ps(_mm512_cmp_ps_mask(t, zero, _CMP_GT_OQ), g, s);
    const __m512 value = _mm512_mul_ps(r, s);
    const __m512 du = _mm512_mul_ps(_mm512_mul_ps(g, value), _mm512_sub_ps(_mm512_set1_ps(1.0F), s));
    store(y, value);
    store(da, _mm512_mul_ps(dr, vx));
    store(db, dr);
    store(dc, du);
    store(dx, _mm512_fmsub_ps(dr, va, du));
}

} // namespace

const char* hand_gradients_kind() { return "avx512"; }

void hand_gradients(std::int64_t n, const float* a, const float* b, const float* c, const float* x, const float* dy,
                    float* y, float* da, float* db, float* dc, float* dx) {
    std::int64_t i = 0;
    const auto load = [&](const float* from) { return _mm512_loadu_ps(from + i); };
    const auto store = [&](float* to, __m512 v) { _mm512_storeu_ps(to + i, v); };
    for (; i + 16 <= n; i += 16) gradients_of(load, store, a, b, c, x, dy, y, da, db, dc, dx);
    if (i == n) return;
    const auto mask = static_cast<__mmask16>((1U << (n - i)) - 1U);
    const auto load_some = [&](const float* from) { return _mm512_maskz_loadu_ps(mask, from + i); };
    const auto store_some = [&](float* to, __m512 v) { _mm512_mask_storeu_ps(to + i, mask, v); };
    gradients_of(load_some, store_some, a, b, c, x, dy, y, da, db, dc, dx);
}

#else

namespace {

inline void gradients_of_one(std::int64_t i, const float* a, const float* b, const float* c, const float* x,
                             const float* dy, float* y, float* da, float* db, float* dc, float* dx) {
    const float t = a[i] * x[i] + b[i];
    const float s = 1.0F / (1.0F + std::exp(x[i] - c[i]));
    const float g = dy == nullptr ? 1.0F : dy[i];
    const float dr = t > 0.0F ? g * s : 0.0F;
    y[i] = t > 0.0F ? t * s : 0.0F;
    const float du = g * y[i] * (1.0F - s);
    da[i] = dr * x[i];
    db[i] = dr;
    dc[i] = du;
    dx[i] = dr * a[i] - du;
}

} // namespace

#if defined(__AVX2__) && defined(__FMA__)

namespace {

inline __m256 sigmoid(__m256 u) {
    const __m256 v = _mm256_max_ps(_mm256_min_ps(_mm256_sub_ps(_mm256_setzero_ps(), u), _mm256_set1_ps(88.0F)),
                                   _mm256_set1_ps(-87.0F));
    const __m256 whole =
        _mm256_round_ps(_mm256_mul_ps(v, _mm256_set1_ps(1.44269504F)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(whole, _mm256_set1_ps(0.693359375F), v);
    r = _mm256_fnmadd_ps(whole, _mm256_set1_ps(-2.12194440e-4F), r);
    __m256 p = _mm256_set1_ps(1.9875691500e-4F);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1F));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1F));
    p = _mm256_fmadd_ps(_mm256_mul_ps(p, r), r, _mm256_add_ps(r, _mm256_set1_ps(1.0F)));
    const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127)), 23);
    const __m256 d = _mm256_fmadd_ps(p, _mm256_castsi256_ps(power), _mm256_set1_ps(1.0F));
    return _mm256_div_ps(_mm256_set1_ps(1.0F), d);
}

} // namespace

const char* hand_gradients_kind() { return "avx2"; }

void hand_gradients(std::int64_t n, const float* a, const float* b, const float* c, const float* x, const float* dy,
                    float* y, float* da, float* db, float* dc, float* dx) {
    const __m256 zero = _mm256_setzero_ps();
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 va = _mm256_loadu_ps(a + i), vx = _mm256_loadu_ps(x + i);
        const __m256 t = _mm256_fmadd_ps(va, vx, _mm256_loadu_ps(b + i));
        const __m256 s = sigmoid(_mm256_sub_ps(_mm256_loadu_ps(c + i), vx));
        const __m256 g = dy == nullptr ? _mm256_set1_ps(1.0F) : _mm256_loadu_ps(dy + i);
        const __m256 dr = _mm256_and_ps(_mm256_cmp_ps(t, zero, _CMP_GT_OQ), _mm256_mul_ps(g, s));
        const __m256 value = _mm256_mul_ps(_mm256_max_ps(t, zero), s);
        const __m256 du = _mm256_mul_ps(_mm256_mul_ps(g, value), _mm256_sub_ps(_mm256_set1_ps(1.0F), s));
        _mm256_storeu_ps(y + i, value);
        _mm256_storeu_ps(da + i, _mm256_mul_ps(dr, vx));
        _mm256_storeu_ps(db + i, dr);
        _mm256_storeu_ps(dc + i, du);
        _mm256_storeu_ps(dx + i, _mm256_fmsub_ps(dr, va, du));
    }
    for (; i < n; ++i) gradients_of_one(i, a, b, c, x, dy, y, da, db, dc, dx);
}

#else

const char* hand_gradients_kind() { return "plain"; }

void hand_gradients(std::int64_t n, const float* a, const float* b, const float* c, const float* x, const float* dy,
                    float* y, float* da, float* db, float* dc, float* dx) {
    for (std::int64_t i = 0; i < n; ++i) gradients_of_one(i, a, b, c, x, dy, y, da, db, dc, dx);
}

#endif
#endif

} // namespace baseline
