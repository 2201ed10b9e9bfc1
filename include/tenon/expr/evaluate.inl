// One instruction on packs: what compiled kernels and the interpreter both run, so that their results are the same
// bits on the same instruction set.

namespace tenon::simd::TENON_SIMD_NS {

/// The instruction's result on one pack of (compute) type T for each operand; a conversion is not here.
template <opcode Op, class T> TENON_SIMD_INLINE auto evaluate(pack<T> a) {
    if constexpr (Op == opcode::exp) return exp(a);
    else if constexpr (Op == opcode::exp2) return exp2(a);
    else if constexpr (Op == opcode::expm1) return expm1(a);
    else if constexpr (Op == opcode::log) return log(a);
    else if constexpr (Op == opcode::log2) return log2(a);
    else if constexpr (Op == opcode::log10) return log10(a);
    else if constexpr (Op == opcode::log1p) return log1p(a);
    else if constexpr (Op == opcode::sqrt) return sqrt(a);
    else if constexpr (Op == opcode::rsqrt) return rsqrt(a);
    else if constexpr (Op == opcode::cbrt) return cbrt(a);
    else if constexpr (Op == opcode::reciprocal) return reciprocal(a);
    else if constexpr (Op == opcode::sin) return sin(a);
    else if constexpr (Op == opcode::cos) return cos(a);
    else if constexpr (Op == opcode::tan) return tan(a);
    else if constexpr (Op == opcode::asin) return asin(a);
    else if constexpr (Op == opcode::acos) return acos(a);
    else if constexpr (Op == opcode::atan) return atan(a);
    else if constexpr (Op == opcode::sinh) return sinh(a);
    else if constexpr (Op == opcode::cosh) return cosh(a);
    else if constexpr (Op == opcode::tanh) return tanh(a);
    else if constexpr (Op == opcode::asinh) return asinh(a);
    else if constexpr (Op == opcode::acosh) return acosh(a);
    else if constexpr (Op == opcode::atanh) return atanh(a);
    else if constexpr (Op == opcode::erf) return erf(a);
    else if constexpr (Op == opcode::erfc) return erfc(a);
    else if constexpr (Op == opcode::erfinv) return erfinv(a);
    else if constexpr (Op == opcode::erfcinv) return erfcinv(a);
    else if constexpr (Op == opcode::lgamma) return lgamma(a);
    else if constexpr (Op == opcode::digamma) return digamma(a);
    else if constexpr (Op == opcode::sigmoid) return sigmoid(a);
    else if constexpr (Op == opcode::softplus) return softplus(a);
    else if constexpr (Op == opcode::negative) return -a;
    else if constexpr (Op == opcode::abs) return abs(a);
    else if constexpr (Op == opcode::sign) return sign(a);
    else if constexpr (Op == opcode::floor) return floor(a);
    else if constexpr (Op == opcode::ceil) return ceil(a);
    else if constexpr (Op == opcode::round) return round(a);
    else if constexpr (Op == opcode::trunc) return trunc(a);
    else if constexpr (Op == opcode::relu) return relu(a); // NaN stays
    else if constexpr (Op == opcode::is_nan) return is_nan(a);
    else if constexpr (Op == opcode::is_inf) return is_inf(a);
    else if constexpr (Op == opcode::is_finite) return is_finite(a);
    else if constexpr (Op == opcode::logical_not) return !a;
    else if constexpr (std::is_same_v<T, bool>) return !a;
    else {
        static_assert(Op == opcode::bit_not);
        return ~a;
    }
}

template <opcode Op, class T> TENON_SIMD_INLINE auto evaluate(pack<T> a, pack<T> b) {
    if constexpr (Op == opcode::add) return a + b;
    else if constexpr (Op == opcode::subtract) return a - b;
    else if constexpr (Op == opcode::multiply) return a * b;
    else if constexpr (Op == opcode::divide) return a / b;
    else if constexpr (Op == opcode::modulo) return mod(a, b);
    else if constexpr (Op == opcode::remainder) return fmod(a, b);
    else if constexpr (Op == opcode::minimum) return min(a, b);
    else if constexpr (Op == opcode::maximum) return max(a, b);
    else if constexpr (Op == opcode::power) return pow(a, b);
    else if constexpr (Op == opcode::atan2) return atan2(a, b);
    else if constexpr (Op == opcode::hypot) return hypot(a, b);
    else if constexpr (Op == opcode::polygamma) return polygamma(a, b);
    else if constexpr (Op == opcode::bit_and || Op == opcode::logical_and) return a & b;
    else if constexpr (Op == opcode::bit_or || Op == opcode::logical_or) return a | b;
    else if constexpr (Op == opcode::bit_xor || Op == opcode::logical_xor) return a ^ b;
    else if constexpr (Op == opcode::shift_left) return shift_left(a, b);
    else if constexpr (Op == opcode::shift_right) return shift_right(a, b);
    else if constexpr (Op == opcode::equal) return a == b;
    else if constexpr (Op == opcode::not_equal) return a != b;
    else if constexpr (Op == opcode::less) return a < b;
    else if constexpr (Op == opcode::less_equal) return a <= b;
    else if constexpr (Op == opcode::greater) return a > b;
    else {
        static_assert(Op == opcode::greater_equal);
        return a >= b;
    }
}

/// A conversion of computed elements; To may be half or bfloat16, to which float is then rounded.
template <class To, class From> TENON_SIMD_INLINE pack<compute_t<To>> evaluate_cast(pack<From> a) {
    if constexpr (std::is_same_v<To, compute_t<To>>) return convert<To>(a);
    else return round_to<To>(convert<float>(a));
}

} // namespace tenon::simd::TENON_SIMD_NS
