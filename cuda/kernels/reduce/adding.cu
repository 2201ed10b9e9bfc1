#include <cuda/kernels/reduce/kernels.hpp>

// Sums, means and norms.

namespace tenon::cuda {

namespace {

enum class mapping { none, magnitude, square };

/// A number in a type of its own, which no element is.
template <class W> struct total { W value; };

template <class T, mapping Map> struct adding {
    static constexpr bool is_whole = std::is_integral_v<T>;
    // Integers wrap around: what a wider one has modulo 2^8 and 2^16 is what the narrower would have.
    using near =
        std::conditional_t<is_whole, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>, compute_t<T>>;
    using far = std::conditional_t<is_whole, near, double>;
    using element = T;
    using state = total<far>;

    reduction how;
    double divisor;

    __device__ state identity() const { return {0}; }
    template <int N, class Position> __device__ void add(state& s, const T (&x)[N], const Position&) const {
        near v[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            v[i] = static_cast<near>(widen(x[i]));
            if constexpr (Map == mapping::square) v[i] *= v[i];
            if constexpr (Map == mapping::magnitude) v[i] = v[i] < 0 ? -v[i] : v[i];
        }
        s.value += static_cast<far>(folded_sum(v));
    }
    __device__ state combine(const state& a, const state& b) const { return {a.value + b.value}; }
    __device__ state moved(const state& s, std::int64_t) const { return s; }
    __device__ void store(void* out, std::int64_t at, const state& s) const {
        T* to = static_cast<T*>(out) + at;
        if constexpr (is_whole) *to = static_cast<T>(s.value);
        else {
            const double found = how == reduction::mean              ? s.value / divisor
                                 : how == reduction::root_of_squares ? sqrt(s.value)
                                                                     : s.value;
            *to = narrow<T>(static_cast<compute_t<T>>(found));
        }
    }
};

} // namespace

void reduce_by_adding(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream) {
    const auto run = [&](auto op) {
        op.how = plan.how;
        op.divisor = plan.divisor;
        run_passes(op, plan, x, out, scratch, stream);
    };
    switch (plan.element) {
    case element_type::int8:
    case element_type::uint8: return run(adding<std::uint8_t, mapping::none>());
    case element_type::int16:
    case element_type::uint16: return run(adding<std::uint16_t, mapping::none>());
    case element_type::int32:
    case element_type::uint32: return run(adding<std::uint32_t, mapping::none>());
    case element_type::int64:
    case element_type::uint64: return run(adding<std::uint64_t, mapping::none>());
    default: break;
    }
    with_floating_type(plan.element, [&]<class T>(T) {
        if (plan.how == reduction::sum_of_magnitudes) run(adding<T, mapping::magnitude>());
        else if (plan.how == reduction::root_of_squares) run(adding<T, mapping::square>());
        else run(adding<T, mapping::none>());
    });
}

} // namespace tenon::cuda
