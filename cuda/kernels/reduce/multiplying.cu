#include <cuda/kernels/reduce/kernels.hpp>

// Products.

namespace tenon::cuda {

namespace {

template <class W> struct factor { W value; };

/// In double throughout: products of floats leave their range soon.
template <class T> struct multiplying {
    static constexpr bool is_whole = std::is_integral_v<T>;
    using far = std::conditional_t<is_whole, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>, double>;
    using element = T;
    using state = factor<far>;

    __device__ state identity() const { return {1}; }
    template <int N, class Position> __device__ void add(state& s, const T (&x)[N], const Position&) const {
        far v[N];
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] = static_cast<far>(widen(x[i]));
        s.value *= folded<N>(v, [](far a, far b) { return a * b; });
    }
    __device__ state combine(const state& a, const state& b) const { return {a.value * b.value}; }
    __device__ state moved(const state& s, std::int64_t) const { return s; }
    __device__ void store(void* out, std::int64_t at, const state& s) const {
        T* to = static_cast<T*>(out) + at;
        if constexpr (is_whole) *to = static_cast<T>(s.value);
        else *to = narrow<T>(static_cast<compute_t<T>>(s.value));
    }
};

} // namespace

void reduce_by_multiplying(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream) {
    const auto run = [&](auto op) { run_passes(op, plan, x, out, scratch, stream); };
    switch (plan.element) {
    case element_type::int8:
    case element_type::uint8: return run(multiplying<std::uint8_t>());
    case element_type::int16:
    case element_type::uint16: return run(multiplying<std::uint16_t>());
    case element_type::int32:
    case element_type::uint32: return run(multiplying<std::uint32_t>());
    case element_type::int64:
    case element_type::uint64: return run(multiplying<std::uint64_t>());
    default: with_floating_type(plan.element, [&]<class T>(T) { run(multiplying<T>()); });
    }
}

} // namespace tenon::cuda
