#include <cuda/kernels/ordered.hpp>
#include <cuda/kernels/scan/kernels.hpp>

// The largest or least element so far.

namespace tenon::cuda {

namespace {

template <class T> struct running_extreme {
    using element = T;
    using state = ordered_t<T>;
    static constexpr bool has_weights = false;

    bool is_least;

    __device__ state identity() const {
        return turned<state>(static_cast<state>(is_least ? highest<extreme>() : lowest<extreme>()), is_least);
    }
    __device__ state one(compute_t<T> x) const { return turned<state>(static_cast<state>(x), is_least); }
    __device__ state join(state a, state b) const { return is_larger(b, a) ? b : a; }
    __device__ state step(state a, state b) const { return join(a, b); }
    __device__ T value(state s) const {
        if constexpr (std::is_integral_v<T>) return static_cast<T>(turned(s, is_least));
        else return narrow<T>(turned(s, is_least));
    }

private:
    using extreme = std::conditional_t<std::is_integral_v<T>, T, state>;
};

} // namespace

void scan_by_choosing(const scan_plan& plan, const void* x, void* y, std::byte* scratch, void* stream) {
    with_type(plan.element, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>)
            launch_scan(running_extreme<T>{plan.how == scan::least}, plan, x, nullptr, y, scratch, stream);
    });
}

} // namespace tenon::cuda
