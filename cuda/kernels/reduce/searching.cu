#include <cuda/kernels/ordered.hpp>
#include <cuda/kernels/reduce/kernels.hpp>

// The position of the first least or largest element.

namespace tenon::cuda {

namespace {

template <class V> struct found_at {
    V value;
    std::int64_t position;
};

template <class T> struct searching {
    using value = ordered_t<T>;
    using element = T;
    using state = found_at<value>;
    static constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

    bool is_least;

    __device__ state identity() const { return {lowest<value>(), nowhere}; }
    template <int N, class Position> __device__ void add(state& s, const T (&x)[N], const Position& position) const {
        // Positions grow from call to call.
        value best = turned<value>(static_cast<value>(widen(x[0])), is_least);
        int at = 0;
#pragma unroll
        for (int i = 1; i < N; ++i) {
            const value v = turned<value>(static_cast<value>(widen(x[i])), is_least);
            if (is_larger(v, best)) {
                best = v;
                at = i;
            }
        }
        if (s.position == nowhere || is_larger(best, s.value)) s = {best, position(at)};
    }
    __device__ state combine(const state& a, const state& b) const {
        if (is_larger(a.value, b.value)) return a;
        return is_larger(b.value, a.value) || b.position < a.position ? b : a;
    }
    __device__ state moved(const state& s, std::int64_t by) const {
        return {s.value, s.position == nowhere ? nowhere : s.position + by};
    }
    __device__ void store(void* out, std::int64_t at, const state& s) const {
        static_cast<std::int64_t*>(out)[at] = s.position;
    }
};

} // namespace

void reduce_by_searching(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream) {
    with_type(plan.element, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            run_passes(searching<T>{plan.how == reduction::position_of_least}, plan, x, out, scratch, stream);
    });
}

} // namespace tenon::cuda
