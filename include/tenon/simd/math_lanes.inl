// Lane by lane: double precision that is left to the C library (pow, erf, erfc and the logarithm of gamma), and the
// derivatives of digamma.

namespace tenon::simd::TENON_SIMD_NS {

TENON_SIMD_INLINE pack<double> lane_by_lane(double (*f)(double), pack<double> a) {
    double x[lanes];
    store(static_cast<double*>(x), a);
    simd::detail::apply_to_all(static_cast<double*>(x), lanes, f);
    return load(static_cast<const double*>(x));
}
template <class T> TENON_SIMD_INLINE pack<T> lane_by_lane(double (*f)(double, double), pack<T> a, pack<T> b) {
    T x[lanes];
    T y[lanes];
    store(static_cast<T*>(x), a);
    store(static_cast<T*>(y), b);
    simd::detail::apply_to_all(static_cast<T*>(x), static_cast<const T*>(y), lanes, f);
    return load(static_cast<const T*>(x));
}

TENON_SIMD_INLINE pack<double> erf(pack<double> a) { return lane_by_lane(simd::detail::scalar_erf, a); }
TENON_SIMD_INLINE pack<double> erfc(pack<double> a) { return lane_by_lane(simd::detail::scalar_erfc, a); }
TENON_SIMD_INLINE pack<double> lgamma(pack<double> a) { return lane_by_lane(simd::detail::scalar_lgamma, a); }
TENON_SIMD_INLINE pack<double> pow(pack<double> a, pack<double> b) {
    return lane_by_lane(simd::detail::scalar_pow, a, b);
}
/// The n-th derivative of digamma, itself for n = 0; NaN where n is no such number.
template <class T> TENON_SIMD_INLINE pack<T> polygamma(pack<T> n, pack<T> x) {
    const pack<bool> none = n == pack<T>{};
    pack<T> r = x;
    if (!all(none)) r = lane_by_lane(tenon::detail::scalar_polygamma, n, x);
    if (any(none)) r = select(none, digamma(x), r);
    return r;
}

} // namespace tenon::simd::TENON_SIMD_NS
