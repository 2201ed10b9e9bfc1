#include <cuda/kernels/ordered.hpp>
#include <cuda/kernels/reduce/kernels.hpp>

// The least or largest element, or magnitude.

namespace tenon::cuda {

namespace {

template <class V> struct chosen { V value; };

template <class T> struct choosing {
    using value = ordered_t<T>;
    using element = T;
    using state = chosen<value>;

    bool is_least;
    bool of_magnitudes;

    __device__ state identity() const {
        // Of no elements the magnitude is 0; the others are not asked for.
        return {of_magnitudes ? value{0} : lowest<value>()};
    }
    template <int N, class Position> __device__ void add(state& s, const T (&x)[N], const Position&) const {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            value v = turned<value>(static_cast<value>(widen(x[i])), is_least);
            if constexpr (!std::is_integral_v<value>)
                if (of_magnitudes) v = fabs(v);
            if (is_larger(v, s.value)) s.value = v;
        }
    }
    __device__ state combine(const state& a, const state& b) const { return is_larger(b.value, a.value) ? b : a; }
    __device__ state moved(const state& s, std::int64_t) const { return s; }
    __device__ void store(void* out, std::int64_t at, const state& s) const {
        const value v = turned(s.value, is_least);
        if constexpr (std::is_integral_v<T>) static_cast<T*>(out)[at] = static_cast<T>(v);
        else static_cast<T*>(out)[at] = narrow<T>(v);
    }
};

} // namespace

void reduce_by_choosing(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream) {
    with_type(plan.element, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            run_passes(choosing<T>{plan.how == reduction::least, plan.how == reduction::largest_magnitude}, plan, x,
                       out, scratch, stream);
    });
}

} // namespace tenon::cuda
