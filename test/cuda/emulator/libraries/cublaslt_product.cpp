#include "cublaslt_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <tenon/core/half.hpp>

namespace tenon::emulator::cublaslt {

bool is_gelu(const operation& o) {
    return o.epilogue == CUBLASLT_EPILOGUE_GELU || o.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS || keeps_gelu_input(o);
}
bool keeps_gelu_input(const operation& o) {
    return o.epilogue == CUBLASLT_EPILOGUE_GELU_AUX || o.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool is_gelu_gradient(const operation& o) { return o.epilogue == CUBLASLT_EPILOGUE_DGELU; }
bool has_aux(const operation& o) { return keeps_gelu_input(o) || is_gelu_gradient(o); }
bool adds_bias(const operation& o) {
    return o.epilogue == CUBLASLT_EPILOGUE_BIAS || o.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
           o.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS || o.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool is_float8(std::uint32_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }
bool sums_rows(const operation& o) {
    return o.epilogue == CUBLASLT_EPILOGUE_BGRADA || o.epilogue == CUBLASLT_EPILOGUE_BGRADB;
}

namespace {

bool clips(const operation& o) {
    return o.epilogue == CUBLASLT_EPILOGUE_RELU || o.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

// Whether the table of types has this row: compute type, scale type, A and B, C and D.
bool has_types(const operation& o, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    switch (o.compute_type) {
    case CUBLAS_COMPUTE_64F: return o.scale_type == CUDA_R_64F && a == CUDA_R_64F && b == a && c == a;
    case CUBLAS_COMPUTE_32F_FAST_TF32: return o.scale_type == CUDA_R_32F && a == CUDA_R_32F && b == a && c == a;
    case CUBLAS_COMPUTE_32F:
        if (is_float8(a) || is_float8(b))
            return o.scale_type == CUDA_R_32F && is_float8(a) && is_float8(b) &&
                   (a == CUDA_R_8F_E4M3 || b == CUDA_R_8F_E4M3) &&
                   (c == CUDA_R_16F || c == CUDA_R_16BF || c == CUDA_R_32F);
        return o.scale_type == CUDA_R_32F && b == a &&
               ((a == CUDA_R_32F && c == a) || ((a == CUDA_R_16F || a == CUDA_R_16BF) && (c == a || c == CUDA_R_32F)));
    case CUBLAS_COMPUTE_32I: return o.scale_type == CUDA_R_32I && a == CUDA_R_8I && b == a && c == CUDA_R_32I;
    default: return false;
    }
}

// What products of 8 bits ask for: A transposed and B not, as cards of 8.9 and 9.0 have them, and sizes in sixteens.
bool has_float8_product(const operation& o, std::initializer_list<const layout*> layouts, const product_sizes& sizes) {
    for (const layout* l : layouts)
        if (l->order != CUBLASLT_ORDER_COL || l->leading % 16 != 0) return false;
    return o.transpose_a == CUBLAS_OP_T && o.transpose_b == CUBLAS_OP_N && sizes.m % 16 == 0 && sizes.n % 16 == 0 &&
           sizes.k % 16 == 0 && o.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
}

// What products of integers ask for in column-major order: A transposed and B not, leading dimensions, m and k multiples of 4, no
// epilogue.
bool has_integer_product(const operation& o, const layout& a, const layout& b, const layout& c, const layout& d,
                         const product_sizes& sizes) {
    for (const layout* l : {&a, &b, &c, &d})
        if (l->order != CUBLASLT_ORDER_COL || l->leading % 4 != 0) return false;
    return o.transpose_a == CUBLAS_OP_T && o.transpose_b == CUBLAS_OP_N && sizes.m % 4 == 0 && sizes.k % 4 == 0 &&
           o.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
}

void write(std::uint32_t type, void* to, std::int64_t at, double value) {
    switch (type) {
    case CUDA_R_64F: static_cast<double*>(to)[at] = value; break;
    case CUDA_R_16F: static_cast<half*>(to)[at] = static_cast<half>(static_cast<float>(value)); break;
    case CUDA_R_16BF: static_cast<bfloat16*>(to)[at] = static_cast<bfloat16>(static_cast<float>(value)); break;
    case CUDA_R_32I: // the documentation does not say what is beyond its range: here the end of it
        static_cast<std::int32_t*>(to)[at] = static_cast<std::int32_t>(std::clamp(value, -0x1p31, 0x1p31 - 1));
        break;
    default: static_cast<float*>(to)[at] = static_cast<float>(value);
    }
}
// The number with these bits: a sign, an exponent that is `bias` for 1, and a fraction.
double from_8_bits(std::uint8_t bits, int fraction_bits, int bias) {
    const int magnitude = bits & 0x7f, exponent = magnitude >> fraction_bits,
              fraction = magnitude & ((1 << fraction_bits) - 1);
    const int all = 0x7f >> fraction_bits;
    double x = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                             : std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
    if (fraction_bits == 3 ? magnitude == 0x7f : exponent == all) // e5m2 has infinities, e4m3 has not
        x = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return bits & 0x80 ? -x : x;
}
// A float with 10 bits of fraction.
double rounded_to_tf32(double x) {
    if (!std::isfinite(x) || x == 0) return x;
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

} // namespace

double read(std::uint32_t type, const void* from, std::int64_t at) {
    switch (type) {
    case CUDA_R_64F: return static_cast<const double*>(from)[at];
    case CUDA_R_16F: return static_cast<double>(static_cast<float>(static_cast<const half*>(from)[at]));
    case CUDA_R_16BF: return static_cast<double>(static_cast<float>(static_cast<const bfloat16*>(from)[at]));
    case CUDA_R_8I: return static_cast<const std::int8_t*>(from)[at];
    case CUDA_R_8F_E4M3: return from_8_bits(static_cast<const std::uint8_t*>(from)[at], 3, 7);
    case CUDA_R_8F_E5M2: return from_8_bits(static_cast<const std::uint8_t*>(from)[at], 2, 15);
    case CUDA_R_32I: return static_cast<const std::int32_t*>(from)[at];
    default: return static_cast<double>(static_cast<const float*>(from)[at]);
    }
}

cublasStatus_t judge(const operation& o, const layout& a, const layout& b, const layout& c, const layout& d,
                     product_sizes& sizes) {
    for (const layout* l : {&a, &b, &c, &d}) {
        constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
        if (l->order != CUBLASLT_ORDER_COL && l->order != CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
        if (l->rows == 0 || l->columns == 0 || l->rows > most || l->columns > most) return CUBLAS_STATUS_INVALID_VALUE;
        const std::uint64_t least = l->order == CUBLASLT_ORDER_COL ? l->rows : l->columns;
        if (l->leading < 0 || static_cast<std::uint64_t>(l->leading) < least) return CUBLAS_STATUS_INVALID_VALUE;
        if (l->count < 1 || l->count != d.count) return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (o.pointer_mode != CUBLASLT_POINTER_MODE_HOST || o.transpose_c != CUBLAS_OP_N)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool ta = o.transpose_a == CUBLAS_OP_T, tb = o.transpose_b == CUBLAS_OP_T;
    if ((!ta && o.transpose_a != CUBLAS_OP_N) || (!tb && o.transpose_b != CUBLAS_OP_N))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const std::uint64_t m = ta ? a.columns : a.rows, k = ta ? a.rows : a.columns;
    const std::uint64_t k_of_b = tb ? b.columns : b.rows, n = tb ? b.rows : b.columns;
    if (k != k_of_b) return CUBLAS_STATUS_INVALID_VALUE;
    for (const layout* l : {&c, &d})
        if (l->rows != m || l->columns != n) return CUBLAS_STATUS_INVALID_VALUE;
    if (c.type != d.type || c.order != d.order) return CUBLAS_STATUS_INVALID_VALUE;
    // What is written may not lie in the same place twice.
    if (d.count > 1) {
        const auto lines = static_cast<std::int64_t>(d.order == CUBLASLT_ORDER_COL ? n : m);
        const auto in_line = static_cast<std::int64_t>(d.order == CUBLASLT_ORDER_COL ? m : n);
        const std::int64_t matrix = (lines - 1) * d.leading + in_line;
        // Matrices beside each other, or interleaved line by line.
        if (d.stride < matrix && !(d.stride >= in_line && d.stride * d.count <= d.leading))
            return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (!has_types(o, a.type, b.type, d.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (o.epilogue != CUBLASLT_EPILOGUE_DEFAULT && !adds_bias(o) && !clips(o) && !is_gelu(o) && !sums_rows(o) &&
        !is_gelu_gradient(o))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (has_aux(o) && (o.aux_leading % 8 != 0 || o.aux_stride % 8 != 0 || o.aux_leading < static_cast<std::int64_t>(m)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (sums_rows(o) && d.count > 1)
        return CUBLAS_STATUS_NOT_SUPPORTED; // the documentation does not say which sums it has
    if (o.epilogue != CUBLASLT_EPILOGUE_DEFAULT && d.order == CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (adds_bias(o) && o.bias_type != -1 && static_cast<std::uint32_t>(o.bias_type) != d.type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    sizes = {static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), static_cast<std::int64_t>(k)};
    if (is_float8(a.type) && !has_float8_product(o, {&a, &b, &c, &d}, sizes)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!is_float8(a.type) && (o.scale_a || o.scale_b)) return CUBLAS_STATUS_INVALID_VALUE;
    if (o.compute_type == CUBLAS_COMPUTE_32I && !has_integer_product(o, a, b, c, d, sizes))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

void matmul::compute() const {
    std::memset(workspace, 0xee, workspace_bytes);
    const bool ta = o.transpose_a == CUBLAS_OP_T, tb = o.transpose_b == CUBLAS_OP_T;
    const bool tf32 = o.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32;
    const auto element = [tf32](const layout& l, const void* from, std::int64_t batch, std::int64_t i, std::int64_t j) {
        const double x = read(l.type, from, batch * l.stride + l.at(i, j));
        return tf32 ? rounded_to_tf32(x) : x;
    };
    const double root_of_2_by_pi = std::sqrt(2 / std::acos(-1.0));
    const auto bent = [&](double x) { return std::tanh(root_of_2_by_pi * (x + 0.044715 * x * x * x)); };
    for (std::int64_t p = 0; p < ld.count; ++p)
        for (std::int64_t i = 0; i < sizes.m; ++i)
            for (std::int64_t j = 0; j < sizes.n; ++j) {
                double sum = 0;
                for (std::int64_t l = 0; l < sizes.k; ++l)
                    sum += (ta ? element(la, a, p, l, i) : element(la, a, p, i, l)) *
                           (tb ? element(lb, b, p, j, l) : element(lb, b, p, l, j));
                double x = alpha * sum;
                for (const void* scale : {o.scale_a, o.scale_b})
                    if (scale) x *= read(CUDA_R_32F, scale, 0);
                if (beta != 0) x += beta * read(lc.type, c, p * lc.stride + lc.at(i, j));
                if (adds_bias(o)) x += read(ld.type, o.bias, p * o.bias_stride + i);
                if (clips(o) && !(x > 0)) x = 0; // of NaN, too
                if (keeps_gelu_input(o)) write(ld.type, o.aux, p * o.aux_stride + j * o.aux_leading + i, x);
                if (is_gelu(o)) x *= 0.5 * (1 + bent(x));
                if (is_gelu_gradient(o)) {
                    const double z = read(ld.type, o.aux, p * o.aux_stride + j * o.aux_leading + i), t = bent(z);
                    x *= 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * root_of_2_by_pi * (1 + 3 * 0.044715 * z * z);
                }
                write(ld.type, d, p * ld.stride + ld.at(i, j), x);
            }
    if (!sums_rows(o)) return;
    const bool of_a = o.epilogue == CUBLASLT_EPILOGUE_BGRADA;
    for (std::int64_t at = 0; at < (of_a ? sizes.m : sizes.n); ++at) {
        double sum = 0;
        for (std::int64_t l = 0; l < sizes.k; ++l)
            sum += of_a ? (ta ? element(la, a, 0, l, at) : element(la, a, 0, at, l))
                        : (tb ? element(lb, b, 0, at, l) : element(lb, b, 0, l, at));
        write(ld.type, const_cast<void*>(o.bias), at, sum);
    }
}

} // namespace tenon::emulator::cublaslt
