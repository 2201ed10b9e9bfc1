#pragma once

#include <limits>

#include <cuda/kernels/rows/lines.hpp>

/// The largest element of a line and the sum of exponentials beside it: what softmax and its losses begin with. Device code.

namespace tenon::cuda {

__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }
__device__ inline float log_of(float x) { return logf(x); }
__device__ inline double log_of(double x) { return log(x); }

template <class C> inline constexpr C no_largest = -std::numeric_limits<C>::infinity();

/// sum of e^(x - largest). Where some x is NaN or +infinity the sum is NaN; where all are -infinity it is of no use.
template <class C> struct scaled_sum { C largest, sum; };

template <class C> __device__ inline scaled_sum<C> joined(const scaled_sum<C>& a, const scaled_sum<C>& b) {
    const C most = a.largest > b.largest ? a.largest : b.largest;
    const auto scaled = [&](const scaled_sum<C>& s) {
        return s.largest == most || s.largest == no_largest<C> ? s.sum : s.sum * exp_of(s.largest - most);
    };
    return {most, scaled(a) + scaled(b)};
}

/// The largest of the elements held; NaN is passed over, its exponential shows.
template <class C> __device__ inline C largest_held(const C (&v)[held_elements]) {
    C m = v[0];
#pragma unroll
    for (int i = 1; i < held_elements; ++i) m = v[i] > m ? v[i] : m;
    return m == m ? m : no_largest<C>;
}

/// e^(v - m) of the elements held, and their sum.
template <class C> __device__ inline C exponentials_of(const C (&v)[held_elements], C m, C (&e)[held_elements]) {
#pragma unroll
    for (int i = 0; i < held_elements; ++i) e[i] = exp_of(v[i] - m);
    return sum_held(e);
}

/// Of a whole line. Leaves the elements of the first tile in v, and where the line has no more their e^(x - largest) in e. All threads
/// of the block call it.
template <class T, line_kind Kind>
__device__ scaled_sum<compute_t<T>> sum_of_exponentials(const line_place<T, Kind>& place, const T* x,
                                                        const line_layout& l, compute_t<T> (&v)[held_elements],
                                                        compute_t<T> (&e)[held_elements],
                                                        scaled_sum<compute_t<T>>* shared) {
    using C = compute_t<T>;
    const std::int64_t tiles = l.tiles;
    place.load(x, 0, v, no_largest<C>);
    if (tiles <= 1) {
        C* const room = reinterpret_cast<C*>(shared);
        const auto more = [](C a, C b) { return a > b ? a : b; };
        const C m = place.combined(largest_held(v), room, l.lines, more);
        const C s = exponentials_of(v, m, e);
        return {m, place.combined(s, room, l.lines, [](C a, C b) { return a + b; })};
    }
    scaled_sum<C> all{no_largest<C>, 0};
#pragma unroll 1
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        if (tile > 0) place.load(x, tile, v, no_largest<C>);
        C m = largest_held(v);
        if (all.largest > m) m = all.largest;
        const C s = exponentials_of(v, m == no_largest<C> ? C{0} : m, e);
        all = joined(all, scaled_sum<C>{m, s});
    }
    return place.combined(all, shared, l.lines,
                          [](const scaled_sum<C>& a, const scaled_sum<C>& b) { return joined(a, b); });
}

} // namespace tenon::cuda
