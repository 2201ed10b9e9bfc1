#pragma once

#include <cstring>

/// What threads of a block tell each other: device code.

namespace tenon::cuda {

inline constexpr unsigned all_lanes = 0xffffffffu;

/// The value of the lane whose number differs in the bits of `with`. Of any type that is made of whole 4-byte words.
template <class S> __device__ inline S from_lane_across(const S& value, int with) {
    static_assert(sizeof(S) % 4 == 0);
    unsigned words[sizeof(S) / 4];
    memcpy(words, &value, sizeof(S));
    for (unsigned& w : words) w = __shfl_xor_sync(all_lanes, w, with);
    S other;
    memcpy(&other, words, sizeof(S));
    return other;
}

/// The value of lane `lane` of the caller's warp.
template <class S> __device__ inline S from_lane(const S& value, int lane) {
    static_assert(sizeof(S) % 4 == 0);
    unsigned words[sizeof(S) / 4];
    memcpy(words, &value, sizeof(S));
    for (unsigned& w : words) w = __shfl_sync(all_lanes, w, lane);
    S other;
    memcpy(&other, words, sizeof(S));
    return other;
}

/// The value of the lane `by` before; the caller's own where there is none.
template <class S> __device__ inline S from_lane_before(const S& value, int by, int width = 32) {
    static_assert(sizeof(S) % 4 == 0);
    unsigned words[sizeof(S) / 4];
    memcpy(words, &value, sizeof(S));
    for (unsigned& w : words) w = __shfl_up_sync(all_lanes, w, static_cast<unsigned>(by), width);
    S other;
    memcpy(&other, words, sizeof(S));
    return other;
}

/// Combines the values of `together` neighbouring threads, a power of two: all of them get the result. `combine` is commutative up to
/// rounding; the order is the same in every run. All threads of the block call it; `shared` has room for one value a warp.
template <class S, class F> __device__ inline S combine_threads(S s, int together, S* shared, const F& combine) {
    for (int with = 1; with < 32 && with < together; with *= 2) {
        const S other = from_lane_across(s, with);
        s = (threadIdx.x & with) != 0 ? combine(other, s) : combine(s, other);
    }
    __syncwarp();
    if (together <= 32) return s;
    const int warp = static_cast<int>(threadIdx.x) / 32, warps = together / 32, first = warp / warps * warps;
    __syncthreads(); // what was there before has been read
    if (threadIdx.x % 32 == 0) shared[warp] = s;
    __syncthreads();
    s = shared[first];
    for (int w = 1; w < warps; ++w) s = combine(s, shared[first + w]);
    return s;
}

/// N elements that are read or written at once.
template <class T, int N> struct alignas(sizeof(T) * N) packed { T at[N]; };

} // namespace tenon::cuda
