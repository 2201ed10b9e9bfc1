#include <limits>

#include <cuda/kernels/scan/kernels.hpp>

// Running sums, products and logarithms of sums of exponentials.

namespace tenon::cuda {

namespace {

/// What numbers are kept in: of integers what has the same bits, and at least 4 bytes.
template <class T>
using running_t =
    std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>,
                       std::conditional_t<sizeof(T) == 2, float, double>>;

template <class T> __device__ inline T stored(running_t<T> v) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(v);
    else return narrow<T>(static_cast<compute_t<T>>(v));
}

template <class T, bool Multiplies> struct running {
    using element = T;
    using state = running_t<T>;
    static constexpr bool has_weights = false;

    __device__ state identity() const { return Multiplies ? 1 : 0; }
    __device__ state one(compute_t<T> x) const { return static_cast<state>(x); }
    __device__ state join(state a, state b) const { return Multiplies ? a * b : a + b; }
    __device__ state step(state a, state b) const { return join(a, b); }
    __device__ T value(state s) const { return stored<T>(s); }
};

template <class C> struct running_exponentials {
    C largest;
    double sum; ///< of e^(x - largest)
};

__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }

template <class T> struct running_log_sum_exp {
    using C = compute_t<T>;
    using element = T;
    using state = running_exponentials<C>;
    static constexpr bool has_weights = false;

    __device__ state identity() const { return {-std::numeric_limits<C>::infinity(), 0}; }
    __device__ state one(C x) const { return {x, x == -std::numeric_limits<C>::infinity() ? 0.0 : 1.0}; }
    __device__ state join(const state& a, const state& b) const {
        // The earlier sum is scaled again and again: in double.
        if (b.largest > a.largest)
            return {b.largest, b.sum + a.sum * exp(static_cast<double>(a.largest) - static_cast<double>(b.largest))};
        if (b.largest == a.largest) return {a.largest, a.sum + b.sum};
        if (b.largest < a.largest)
            return {a.largest, a.sum + b.sum * static_cast<double>(exp_of(b.largest - a.largest))};
        return {a.largest + b.largest, 1}; // NaN
    }
    __device__ state step(const state& a, const state& b) const { return join(a, b); }
    __device__ T value(const state& s) const {
        return narrow<T>(static_cast<C>(static_cast<double>(s.largest) + log(s.sum)));
    }
};

template <class T> void add_up(const scan_plan& plan, const void* x, void* y, std::byte* scratch, void* stream) {
    if (plan.how == scan::product) launch_scan(running<T, true>(), plan, x, nullptr, y, scratch, stream);
    else launch_scan(running<T, false>(), plan, x, nullptr, y, scratch, stream);
}

} // namespace

void scan_by_adding(const scan_plan& plan, const void* x, void* y, std::byte* scratch, void* stream) {
    if (plan.how == scan::log_sum_exp)
        return with_floating_type(plan.element, [&]<class T>(T) {
            launch_scan(running_log_sum_exp<T>(), plan, x, nullptr, y, scratch, stream);
        });
    switch (plan.element) {
    case element_type::int8:
    case element_type::uint8: return add_up<std::uint8_t>(plan, x, y, scratch, stream);
    case element_type::int16:
    case element_type::uint16: return add_up<std::uint16_t>(plan, x, y, scratch, stream);
    case element_type::int32:
    case element_type::uint32: return add_up<std::uint32_t>(plan, x, y, scratch, stream);
    case element_type::int64:
    case element_type::uint64: return add_up<std::uint64_t>(plan, x, y, scratch, stream);
    default: with_floating_type(plan.element, [&]<class T>(T) { add_up<T>(plan, x, y, scratch, stream); });
    }
}

} // namespace tenon::cuda
