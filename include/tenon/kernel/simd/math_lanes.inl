// Double precision that is left to the C library, lane by lane: pow, erf, erfc and the logarithm of gamma.

namespace tenon::simd::TENON_SIMD_NS {

TENON_SIMD_INLINE pack<double> lane_by_lane(double (*f)(double), pack<double> a) {
    double x[lanes];
    store(static_cast<double*>(x), a);
    simd::detail::apply_to_all(static_cast<double*>(x), lanes, f);
    return load(static_cast<const double*>(x));
}

TENON_SIMD_INLINE pack<double> erf(pack<double> a) { return lane_by_lane(simd::detail::scalar_erf, a); }
TENON_SIMD_INLINE pack<double> erfc(pack<double> a) { return lane_by_lane(simd::detail::scalar_erfc, a); }
TENON_SIMD_INLINE pack<double> lgamma(pack<double> a) { return lane_by_lane(simd::detail::scalar_lgamma, a); }
TENON_SIMD_INLINE pack<double> pow(pack<double> a, pack<double> b) {
    double x[lanes];
    double y[lanes];
    store(static_cast<double*>(x), a);
    store(static_cast<double*>(y), b);
    simd::detail::apply_to_all(static_cast<double*>(x), static_cast<const double*>(y), lanes, simd::detail::scalar_pow);
    return load(static_cast<const double*>(x));
}

} // namespace tenon::simd::TENON_SIMD_NS
