#pragma once

// How the kernels of tapes walk through their elements: loops and index arithmetic, of which a tape is a parameter. Given to NVRTC
// behind functions.hpp, and included by the interpreter of tapes.
//
// The elements of a tape lie in a space whose dimensions are of two kinds: those that its sums keep, first, and those that they sum
// over; without sums all are kept. Operands that lie alike make a group: a group has one stride in each dimension, 0 where
// it is repeated. Group 0 is what has every element. The fastest dimension is that of memory: along it packs of `width`
// elements are read and written at once, where the host found that they are aligned and end with it (`packed`).
//
// A Tape has
//     index                      unsigned integer that holds every element's number
//     width                      elements of a pack
//     packs                      of those a thread reads so many before it computes with the first; of tapes with packs and no sums
//     dims, kept                 dimensions; of those, the kept ones, which come first
//     columns                    the fastest dimension is a kept one
//     sum_type                   float, or double where some sum is one
//     most_sums, most_totals     sums over the summed dimensions, and over all
//     most_groups
//     arguments                  words of 64 bits, see below
//     groups(a), sums(a), totals(a)
//     own<T, N, Which>           what a thread has of its own, N of them: constructed with arguments, and subscripted; Which is one of `kept_by`
//     run<N, Packs>(a, at, is_there, sum, total)     computes Packs times N elements; at[p * most_groups + g] is the number of the first of
//                                pack p in group g, is_there[p] says whether there is such a pack; sum has the kept elements of a sum
//                                beside each other
//     store_sum(a, s, i, value)  puts the sum s of kept element i in its place

namespace tenon::cuda::tapes {

inline constexpr int threads = 256;

/// How long sums stay in float before they are added to a double: runs of additions.
inline constexpr int run_length = 8;

/// A dimension's size, and what divides numbers below 2^31 by it: shift << 32 | factor.
struct dimension {
    uint64 size, divisor;
};

/// What kernels are called with. Nothing but words of 64 bits, so that the host writes them one after another.
template <int Inputs, int Outputs, int Constants, int Sums, int Groups, int Dims> struct arguments_of {
    const void* in[Inputs > 0 ? Inputs : 1];
    void* out[Outputs > 0 ? Outputs : 1];
    int64 constants[Constants > 0 ? Constants : 1];
    double*
        partial[Sums > 0 ? Sums : 1]; ///< of each sum, then of each total: its parts; nullptr: the output is written
    uint64 kept, summed;              ///< elements of the two kinds of dimensions
    uint64 packed;                    ///< whole packs can be read and written
    uint64 lanes;  ///< threads of a block beside each other along the kept dimensions, a power of two
    uint64 chunks; ///< parts into which the summed elements are cut
    dimension dims[Dims];
    uint64 strides[Groups][Dims];
};

/// What a thread keeps: of elements, where they lie; of sums, also what they are so far.
enum kept_by { places, bases, sums_so_far, sums_of_runs, totals_so_far, totals_of_runs };
/// In registers.
template <class T, int N> struct in_registers {
    template <class A> __device__ __forceinline__ explicit in_registers(const A&) {}
    __device__ __forceinline__ T& operator[](int i) { return v[i]; }
    __device__ __forceinline__ const T& operator[](int i) const { return v[i]; }
    T v[N];
};

template <class Dimension> __device__ __forceinline__ uint32 divided(uint32 n, const Dimension& by) {
    return (__umulhi(n, static_cast<uint32>(by.divisor)) + n) >> static_cast<uint32>(by.divisor >> 32);
}
template <class Dimension> __device__ __forceinline__ uint64 divided(uint64 n, const Dimension& by) {
    return by.size == 1 ? n : n / by.size;
}

/// N elements side by side, read and written at once: up to 16 bytes.
template <class T, int N> struct __align__(sizeof(T) * N) pack { T v[N]; };
/// An operand that has elements along the fastest dimension.
template <class T, int N, class I> __device__ __forceinline__ pack<T, N> load(const void* from, I at) {
    return *reinterpret_cast<const pack<T, N>*>(static_cast<const T*>(from) + at);
}
/// One that is repeated along it.
template <class T, int N, class I> __device__ __forceinline__ pack<T, N> load_repeated(const void* from, I at) {
    const T x = static_cast<const T*>(from)[at];
    pack<T, N> p;
#pragma unroll
    for (int k = 0; k < N; ++k) p.v[k] = x;
    return p;
}
template <class T, int N, class I> __device__ __forceinline__ void store(void* to, I at, const pack<T, N>& p) {
    if (to) *reinterpret_cast<pack<T, N>*>(static_cast<T*>(to) + at) = p;
}

/// Where element `n` of the dimensions [First, Last) lies, in each group, is added to what `at` has from `first` on.
template <class Tape, int First, int Last, class At>
__device__ __forceinline__ void locate(const typename Tape::arguments& a, typename Tape::index n, At& at, int first) {
    using index = typename Tape::index;
    if constexpr (First < Last) {
#pragma unroll
        for (int d = Last - 1; d >= First; --d) {
            index here = n;
            if (d > First) {
                n = divided(n, a.dims[d]);
                here -= n * static_cast<index>(a.dims[d].size);
            }
#pragma unroll
            for (int g = 0; g < Tape::groups(a); ++g) at[first + g] += here * static_cast<index>(a.strides[g][d]);
        }
    }
}

/// A sum goes to its place, by way of the type it is computed in.
template <class T, class I> __device__ __forceinline__ void store_rounded(void* to, I at, double value) {
    if (to) static_cast<T*>(to)[at] = narrow<T>(static_cast<compute_t<T>>(value));
}

// ---- without sums ----

template <class Tape, int N, int Packs>
__device__ __forceinline__ void run_from(const typename Tape::arguments& a, typename Tape::index first,
                                         typename Tape::index end, uint32 block, uint32 blocks) {
    using index = typename Tape::index;
    constexpr index stretch = Packs * threads; // of a block: neighbouring threads have neighbouring packs
    const index step = static_cast<index>(blocks) * stretch;
    for (index i = first + static_cast<index>(block) * stretch + threadIdx.x; i < end; i += step) {
        typename Tape::template own<index, Packs * Tape::most_groups, places> at(a);
        bool is_there[Packs];
#pragma unroll
        for (int p = 0; p < Packs; ++p) {
            const index pack = i + static_cast<index>(p) * threads;
            is_there[p] = p == 0 || pack < end;
            if constexpr (Tape::dims == 1 && Tape::most_groups == 1) {
                at[p] = pack * N; // all lies densely: no index arithmetic
            } else {
#pragma unroll
                for (int g = 0; g < Tape::groups(a); ++g) at[p * Tape::most_groups + g] = 0;
                locate<Tape, 0, Tape::dims>(a, pack * N, at, p * Tape::most_groups);
            }
        }
        in_registers<typename Tape::sum_type, 1> none(a);
        Tape::template run<N, Packs>(a, at, is_there, none, none);
    }
}
/// Packs first, then the elements behind the last whole one; element by element where there can be none.
template <class Tape>
__device__ __forceinline__ void run_elements(const typename Tape::arguments& a, uint32 block, uint32 blocks) {
    using index = typename Tape::index;
    const index packs = a.packed ? static_cast<index>(a.kept) / Tape::width : 0;
    if constexpr (Tape::width > 1) run_from<Tape, Tape::width, Tape::packs>(a, 0, packs, block, blocks);
    run_from<Tape, 1, 1>(a, packs * Tape::width, static_cast<index>(a.kept), block, blocks);
}
template <class Tape> __device__ __forceinline__ void run_elements(const typename Tape::arguments& a) {
    run_elements<Tape>(a, blockIdx.x, gridDim.x);
}

/// Several times a tape: of member m are the blocks [first[m], first[m + 1]).
template <class Arguments, int Most> struct group_of {
    uint64 count;
    uint64 first[Most + 1];
    Arguments members[Most];
};
template <class Tape, int Most>
__device__ __forceinline__ void run_group(const group_of<typename Tape::arguments, Most>& a) {
    uint32 m = 0, end = static_cast<uint32>(a.count);
    while (end - m > 1) {
        const uint32 middle = (m + end) / 2;
        if (blockIdx.x < a.first[middle]) end = middle;
        else m = middle;
    }
    const uint32 first = static_cast<uint32>(a.first[m]);
    run_elements<Tape>(a.members[m], blockIdx.x - first, static_cast<uint32>(a.first[m + 1]) - first);
}

// ---- with sums ----

/// The sum of `value` over the `count` (a power of two) neighbouring threads, for the first of them; always in the same order.
__device__ __forceinline__ double sum_of_neighbours(double value, uint32 thread, uint32 count) {
    if (count == 1) return value;
    __shared__ double values[threads];
    __syncthreads(); // what was there has been read
    values[thread] = value;
    for (uint32 half = count / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread % count < half) values[thread] += values[thread + half];
    }
    return values[thread]; // the first's own
}

template <class Tape, int N> __device__ __forceinline__ void run_sums_of(const typename Tape::arguments& a) {
    using index = typename Tape::index;
    using sum_type = typename Tape::sum_type;
    constexpr int own = Tape::columns ? N : 1;   // kept elements of a thread
    constexpr int along = Tape::columns ? 1 : N; // summed elements of a step
    constexpr int sums = Tape::most_sums > 0 ? Tape::most_sums : 1,
                  totals = Tape::most_totals > 0 ? Tape::most_totals : 1;

    const uint32 kept_lanes = static_cast<uint32>(a.lanes), sum_lanes = threads / kept_lanes;
    const uint32 thread = threadIdx.x;
    // Threads that are neighbours in memory are neighbours in the block.
    const uint32 kept_lane = Tape::columns ? thread % kept_lanes : thread / sum_lanes;
    const uint32 sum_lane = Tape::columns ? thread / kept_lanes : thread % sum_lanes;

    const index kept_steps = static_cast<index>(a.kept) / own, sum_steps = static_cast<index>(a.summed) / along;
    const index tiles = (kept_steps + kept_lanes - 1) / kept_lanes, chunks = static_cast<index>(a.chunks);
    const index per_chunk = (sum_steps + chunks - 1) / chunks;

    typename Tape::template own<double, totals, totals_so_far> total(a);
#pragma unroll
    for (int s = 0; s < Tape::totals(a); ++s) total[s] = 0;

    for (index work = blockIdx.x; work < tiles * chunks; work += gridDim.x) {
        const index chunk = work / tiles, kept = (work - chunk * tiles) * kept_lanes + kept_lane;
        const index begin = chunk * per_chunk;
        const index end = begin + per_chunk < sum_steps ? begin + per_chunk : sum_steps;

        typename Tape::template own<double, sums * own, sums_so_far> sum(a);
        typename Tape::template own<sum_type, sums * own, sums_of_runs> run(a);
        typename Tape::template own<sum_type, totals, totals_of_runs> total_run(a);
#pragma unroll
        for (int s = 0; s < Tape::sums(a) * own; ++s) sum[s] = 0, run[s] = 0;
#pragma unroll
        for (int s = 0; s < Tape::totals(a); ++s) total_run[s] = 0;
        const auto end_runs = [&] {
#pragma unroll
            for (int s = 0; s < Tape::sums(a) * own; ++s) sum[s] += run[s], run[s] = 0;
#pragma unroll
            for (int s = 0; s < Tape::totals(a); ++s) total[s] += total_run[s], total_run[s] = 0;
        };

        if (kept < kept_steps) {
            typename Tape::template own<index, Tape::most_groups, bases> base(a);
            typename Tape::template own<index, Tape::most_groups, places> at(a);
#pragma unroll
            for (int g = 0; g < Tape::groups(a); ++g) base[g] = 0;
            locate<Tape, 0, Tape::kept>(a, kept * own, base, 0);
            int length = 0;
            for (index m = begin + sum_lane; m < end; m += sum_lanes) {
                const bool is_there[1] = {true};
#pragma unroll
                for (int g = 0; g < Tape::groups(a); ++g) at[g] = base[g];
                locate<Tape, Tape::kept, Tape::dims>(a, m * along, at, 0);
                Tape::template run<N, 1>(a, at, is_there, run, total_run);
                if (++length == run_length) end_runs(), length = 0;
            }
            end_runs();
        }
#pragma unroll
        for (int s = 0; s < Tape::sums(a); ++s)
#pragma unroll
            for (int k = 0; k < own; ++k) {
                const double all = sum_of_neighbours(sum[s * own + k], kept_lane * sum_lanes + sum_lane, sum_lanes);
                if (sum_lane != 0 || kept >= kept_steps) continue;
                const index element = kept * own + k;
                if (a.partial[s]) a.partial[s][chunk * static_cast<index>(a.kept) + element] = all;
                else Tape::store_sum(a, s, element, all);
            }
    }
#pragma unroll
    for (int s = 0; s < Tape::totals(a); ++s) {
        const double all = sum_of_neighbours(total[s], thread, threads);
        if (thread == 0) a.partial[Tape::sums(a) + s][blockIdx.x] = all;
    }
}
/// Sums in double, of runs in sum_type. What the blocks find is added by add_partial_sums() (tape_sums.hpp), in an order
/// that depends on sizes only.
template <class Tape> __device__ __forceinline__ void run_sums(const typename Tape::arguments& a) {
    if constexpr (Tape::width > 1)
        if (a.packed) return run_sums_of<Tape, Tape::width>(a);
    run_sums_of<Tape, 1>(a);
}

} // namespace tenon::cuda::tapes
