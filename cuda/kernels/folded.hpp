#pragma once

/// What a thread adds up or multiplies of elements that it holds in registers: device code.

namespace tenon::cuda {

/// The elements of v (a power of two) combined pairwise: element i with element i + N / 2, and so on with those results, in place. One
/// level calls the next: of a loop that halves a count nvcc leaves some levels as loops, and then v lies in memory.
template <int N, class C, class F> __device__ __forceinline__ C folded(C* v, const F& combine) {
    if constexpr (N == 1) return v[0];
    else {
#pragma unroll
        for (int i = 0; i < N / 2; ++i) v[i] = combine(v[i], v[i + N / 2]);
        return folded<N / 2>(v, combine);
    }
}
/// Their sum.
template <int N, class C> __device__ __forceinline__ C folded_sum(C (&v)[N]) {
    return folded<N>(v, [](C a, C b) { return a + b; });
}

} // namespace tenon::cuda
