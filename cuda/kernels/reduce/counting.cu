#include <cuda/kernels/reduce/kernels.hpp>

// Whether any or all elements are true, and how many are not 0.

namespace tenon::cuda {

namespace {

struct tally {
    std::uint64_t value;
};

template <class T> struct counting {
    using element = T;
    using state = tally;

    reduction how;
    bool is_floating; ///< T holds a floating number's bits, of which the sign does not count

    __device__ state identity() const { return {0}; }
    template <int N, class Position> __device__ void add(state& s, const T (&x)[N], const Position&) const {
        unsigned n = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const T bits = is_floating ? static_cast<T>(x[i] << 1) : x[i];
            n += bits != 0 ? 1U : 0U;
        }
        s.value += how == reduction::all ? N - n : n;
    }
    __device__ state combine(const state& a, const state& b) const { return {a.value + b.value}; }
    __device__ state moved(const state& s, std::int64_t) const { return s; }
    __device__ void store(void* out, std::int64_t at, const state& s) const {
        if (how == reduction::count_nonzero) static_cast<std::int64_t*>(out)[at] = static_cast<std::int64_t>(s.value);
        else static_cast<bool*>(out)[at] = (s.value != 0) == (how == reduction::any);
    }
};

} // namespace

void reduce_by_counting(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream) {
    const auto run = [&]<class T>(T) {
        run_passes(counting<T>{plan.how, is_floating(plan.element)}, plan, x, out, scratch, stream);
    };
    switch (size_of(plan.element)) {
    case 1: return run(std::uint8_t{});
    case 2: return run(std::uint16_t{});
    case 4: return run(std::uint32_t{});
    default: return run(std::uint64_t{});
    }
}

} // namespace tenon::cuda
