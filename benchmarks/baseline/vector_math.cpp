// g++ 12 says this of its own _mm512_undefined_ps().
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "vector_math.hpp"

#include <cmath>
#include <cstring>

#include <Eigen/Core>

namespace baseline {

namespace {

using array = Eigen::Map<Eigen::ArrayXf>;
using const_array = Eigen::Map<const Eigen::ArrayXf>;

template <float (*F)(float)> void one_by_one(const float* x, float* r, int n) {
    for (int i = 0; i < n; ++i) r[i] = F(x[i]);
}

} // namespace

function vector_math(const char* name) {
    const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
    if (is("exp")) return [](const float* x, float* r, int n) { array(r, n) = const_array(x, n).exp(); };
    if (is("log")) return [](const float* x, float* r, int n) { array(r, n) = const_array(x, n).log(); };
    if (is("tanh")) return [](const float* x, float* r, int n) { array(r, n) = const_array(x, n).tanh(); };
    if (is("sigmoid")) return [](const float* x, float* r, int n) { array(r, n) = const_array(x, n).logistic(); };
    if (is("sin")) return [](const float* x, float* r, int n) { array(r, n) = const_array(x, n).sin(); };
    if (is("cos")) return [](const float* x, float* r, int n) { array(r, n) = const_array(x, n).cos(); };
    if (is("log1p")) return [](const float* x, float* r, int n) { array(r, n) = const_array(x, n).log1p(); };
    if (is("expm1")) return [](const float* x, float* r, int n) { array(r, n) = const_array(x, n).expm1(); };
    if (is("erf")) return one_by_one<std::erf>;
    if (is("atan")) return one_by_one<std::atan>;
    if (is("sinh")) return one_by_one<std::sinh>;
    if (is("lgamma")) return one_by_one<std::lgamma>;
    return nullptr;
}

void gated(const float* x, float* r, int n, float a, float b, float c) {
    const const_array v(x, n);
    array(r, n) = (a * v + b).max(0.0F) * (c - v).logistic();
}

} // namespace baseline
