#include <cuda/kernels/scan/kernels.hpp>

// y[i] = x[i] + w[i] y[i - 1], or with w[i - 1].

namespace tenon::cuda {

namespace {

/// What elements that follow each other do to the y before them: y becomes value + weight y. From the line's beginning on y was 0,
/// and value is the last y.
template <class W> struct affine { W value, weight; };

template <class T, bool Later> struct recurring {
    using W = std::conditional_t<sizeof(T) == 2, float, double>;
    using element = T;
    using state = affine<W>;
    static constexpr bool has_weights = true, weights_are_earlier = Later;

    __device__ state identity() const { return {0, 1}; }
    __device__ state one(compute_t<T> x, compute_t<T> w) const { return {static_cast<W>(x), static_cast<W>(w)}; }
    __device__ state join(const state& a, const state& b) const {
        // A product of many weights may have left the range of numbers; what was 0 stays 0 all the same.
        return {b.value + (a.value == 0 && b.weight == b.weight ? W{0} : b.weight * a.value), b.weight * a.weight};
    }
    __device__ state step(const state& a, const state& b) const {
        return {b.value + b.weight * a.value, b.weight * a.weight};
    }
    __device__ T value(const state& s) const { return narrow<T>(static_cast<compute_t<T>>(s.value)); }
};

} // namespace

void scan_by_recurring(const scan_plan& plan, const void* x, const void* w, void* y, std::byte* scratch, void* stream) {
    with_floating_type(plan.element, [&]<class T>(T) {
        if (plan.how == scan::recurrence_later) launch_scan(recurring<T, true>(), plan, x, w, y, scratch, stream);
        else launch_scan(recurring<T, false>(), plan, x, w, y, scratch, stream);
    });
}

} // namespace tenon::cuda
