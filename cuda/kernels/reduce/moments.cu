#include <limits>

#include <cuda/kernels/reduce/kernels.hpp>

// Logarithms of sums of exponentials, variances and standard deviations, in one pass over the elements.

namespace tenon::cuda {

namespace {

__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }

template <class C> struct exponentials {
    C largest;
    double sum; ///< of e^(x - largest), or of e^x where no element or an infinite one is the largest
};

/// What is subtracted beside a largest element: infinities are not, exp gives what it should.
template <class C> __device__ inline C shift_of(C largest) {
    return fabs(largest) < std::numeric_limits<C>::infinity() ? largest : C{0};
}

template <class T> struct log_sum_exp {
    using C = compute_t<T>;
    using element = T;
    using state = exponentials<C>;

    __device__ state identity() const { return {-std::numeric_limits<C>::infinity(), 0}; }
    template <int N, class Position> __device__ void add(state& s, const T (&x)[N], const Position&) const {
        C v[N], most = s.largest;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            v[i] = widen(x[i]);
            most = v[i] > most ? v[i] : most; // NaN needs no care: its exponential makes the sum NaN
        }
        s.sum = rescaled(s, most);
        s.largest = most;
        const C shift = shift_of(most);
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] = exp_of(v[i] - shift);
        s.sum += static_cast<double>(folded_sum(v));
    }
    __device__ state combine(const state& a, const state& b) const {
        const C most = a.largest > b.largest ? a.largest : b.largest;
        return {most, rescaled(a, most) + rescaled(b, most)};
    }
    __device__ state moved(const state& s, std::int64_t) const { return s; }
    __device__ void store(void* out, std::int64_t at, const state& s) const {
        static_cast<T*>(out)[at] = narrow<T>(static_cast<C>(static_cast<double>(shift_of(s.largest)) + log(s.sum)));
    }

private:
    // The sum as it is beside another largest element. In double, for it may change often.
    static __device__ double rescaled(const state& s, C most) {
        if (s.largest == most || s.sum == 0) return s.sum;
        return s.sum * exp(static_cast<double>(s.largest) - static_cast<double>(most));
    }
};

struct deviations {
    double mean, squares; ///< squares: the sum of squared distances from the mean
    long long count;
};

/// Means and squared deviations of few elements are found in the type that is computed in and joined in double. (T. Chan, G. Golub,
/// R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.)
template <class T> struct variance {
    using C = compute_t<T>;
    using element = T;
    using state = deviations;

    bool take_root;
    double divisor;

    __device__ state identity() const { return {0, 0, 0}; }
    template <int N, class Position> __device__ void add(state& s, const T (&x)[N], const Position&) const {
        C v[N], d[N];
#pragma unroll
        for (int i = 0; i < N; ++i) d[i] = v[i] = widen(x[i]);
        const C near = folded_sum(d) / N;
        // The distances from a rounded mean have a mean of their own, which says what was rounded off.
#pragma unroll
        for (int i = 0; i < N; ++i) d[i] = v[i] -= near;
        const C rest = folded_sum(d) / N;
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] *= v[i];
        const C squares = folded_sum(v) - rest * rest * N;
        join<C>(s, {static_cast<double>(near) + static_cast<double>(rest), static_cast<double>(squares), N});
    }
    __device__ state combine(const state& a, const state& b) const {
        state s = a;
        if (b.count != 0) join<double>(s, b);
        return s;
    }
    __device__ state moved(const state& s, std::int64_t) const { return s; }
    __device__ void store(void* out, std::int64_t at, const state& s) const {
        const double found = s.squares / divisor;
        static_cast<T*>(out)[at] = narrow<T>(static_cast<C>(take_root ? sqrt(found) : found));
    }

private:
    // The share of the new elements in all is needed in no more than their own precision.
    template <class W> static __device__ void join(state& s, const state& more) {
        const long long count = s.count + more.count;
        const double share = static_cast<double>(static_cast<W>(more.count) / static_cast<W>(count));
        const double distance = more.mean - s.mean;
        s.squares += more.squares + distance * distance * (share * static_cast<double>(s.count));
        s.mean += distance * share;
        s.count = count;
    }
};

} // namespace

void reduce_moments(const reduction_plan& plan, const void* x, void* out, std::byte* scratch, void* stream) {
    with_floating_type(plan.element, [&]<class T>(T) {
        if (plan.how == reduction::log_sum_exp) run_passes(log_sum_exp<T>{}, plan, x, out, scratch, stream);
        else run_passes(variance<T>{plan.how == reduction::deviation, plan.divisor}, plan, x, out, scratch, stream);
    });
}

} // namespace tenon::cuda
