#include <cuda/kernels/rows/ctc.hpp>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/lanes.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/ordered.hpp>

namespace tenon::cuda {

namespace {

constexpr unsigned sequence_threads = 128;

// Labels, times or lengths.
__device__ std::int64_t at(const index_list& of, std::int64_t i) {
    return of.wide ? static_cast<const std::int64_t*>(of.data)[i] : static_cast<const std::int32_t*>(of.data)[i];
}
template <class F> __device__ void each_of_sequence(std::int64_t n, const F& f) {
    for (std::int64_t i = threadIdx.x; i < n; i += sequence_threads) f(i);
}

__global__ void check_all(ctc_sizes s, index_list labels, index_list times, index_list lengths, std::int32_t* refused,
                          ctc_fault* first) {
    __shared__ unsigned long long least;
    constexpr unsigned long long none = ~0ULL;
    if (threadIdx.x == 0) least = none;
    __syncthreads();
    ctc_fault own{-1, 0, 0, 0};
    for (std::int64_t i = threadIdx.x; i < s.batch; i += blockDim.x) {
        ctc_fault fault{i, 0, 0, 0};
        const std::int64_t steps = at(times, i), length = at(lengths, i);
        if (steps < 0 || steps > s.time) fault = {i, 1, steps, 0};
        else if (length < 0 || length > s.most) fault = {i, 2, length, 0};
        else
            for (std::int64_t j = 0; j < length && fault.what == 0; ++j) {
                const std::int64_t label = at(labels, i * s.most + j);
                if (label < 0 || label >= s.classes || label == s.blank) fault = {i, 3, label, j};
            }
        refused[i] = fault.what != 0 ? 1 : 0;
        if (fault.what != 0 && own.sequence < 0) own = fault;
    }
    if (own.sequence >= 0) atomicMin(&least, static_cast<unsigned long long>(own.sequence));
    __syncthreads();
    if (own.sequence >= 0 && static_cast<unsigned long long>(own.sequence) == least) *first = own;
}

// ln(e^a + e^b).
__device__ double log_of_sum(double a, double b) {
    const double high = a > b ? a : b, low = a > b ? b : a;
    return isinf(high) ? high : high + log1p(exp(low - high));
}

template <class T>
__global__ void __launch_bounds__(sequence_threads)
    sequences(ctc_sizes s, const T* logits, index_list labels, index_list all_times, index_list lengths,
              const std::int32_t* refused, T* loss, T* all_dx, double* scratch) {
    constexpr double none = -std::numeric_limits<double>::infinity();
    const std::int64_t classes = s.classes;
    for (std::int64_t which = blockIdx.x; which < s.batch; which += gridDim.x) {
        const T* const x = logits + which * s.time * classes;
        T* const dx = all_dx ? all_dx + which * s.time * classes : nullptr;
        if (refused[which] != 0) {
            const T nothing = narrow<T>(std::numeric_limits<compute_t<T>>::quiet_NaN());
            if (loss && threadIdx.x == 0) loss[which] = nothing;
            if (dx) each_of_sequence(s.time * classes, [&](std::int64_t i) { dx[i] = nothing; });
            continue;
        }
        const std::int64_t times = at(all_times, which), length = at(lengths, which), n = 2 * length + 1;
        // forward[t, u]: the logarithm of the sum over beginnings of paths that are in state u at t; later, of what follows t. p: those of
        // classes.
        double *const forward = scratch + which * s.doubles(), *const p = forward + s.time * s.states();
        double *later = p + s.time * classes, *earlier = later + s.states(), *const through = earlier + s.states();
        const auto class_of = [&](std::int64_t u) { return u % 2 == 0 ? s.blank : at(labels, which * s.most + u / 2); };
        const auto skips = [&](std::int64_t u) { return u % 2 == 1 && u > 1 && class_of(u) != class_of(u - 2); };
        for (std::int64_t t = threadIdx.x / 32; t < times; t += sequence_threads / 32) { // a warp a step
            double most = none, sum = 0;
            for (std::int64_t c = threadIdx.x % 32; c < classes; c += 32) {
                const double v = static_cast<double>(widen(x[t * classes + c]));
                most = v > most || v != v ? v : most;
            }
            for (int with = 16; with > 0; with /= 2) {
                const double other = __shfl_xor_sync(all_lanes, most, with);
                most = other > most || other != other ? other : most;
            }
            for (std::int64_t c = threadIdx.x % 32; c < classes; c += 32)
                sum += exp(static_cast<double>(widen(x[t * classes + c])) - most);
            for (int with = 16; with > 0; with /= 2) sum += __shfl_xor_sync(all_lanes, sum, with);
            const double by = most + log(sum);
            for (std::int64_t c = threadIdx.x % 32; c < classes; c += 32)
                p[t * classes + c] = static_cast<double>(widen(x[t * classes + c])) - by;
        }
        __syncthreads();
        for (std::int64_t t = 0; t < times; ++t) {
            each_of_sequence(n, [&](std::int64_t u) {
                double now = u < 2 ? 0 : none;
                if (t > 0) {
                    const double* const before = forward + (t - 1) * n;
                    now = before[u];
                    if (u > 0) now = log_of_sum(now, before[u - 1]);
                    if (skips(u)) now = log_of_sum(now, before[u - 2]);
                }
                forward[t * n + u] = now + p[t * classes + class_of(u)];
            });
            __syncthreads();
        }
        double all = length == 0 ? 0 : none; // of no steps
        if (times > 0) {
            const double* const last = forward + (times - 1) * n;
            all = n > 1 ? log_of_sum(last[n - 1], last[n - 2]) : last[0];
        }
        if (loss && threadIdx.x == 0) loss[which] = narrow<T>(static_cast<compute_t<T>>(-all));
        if (!dx) continue;
        const std::int64_t counted = all == none ? 0 : times;
        each_of_sequence((s.time - counted) * classes,
                         [&](std::int64_t i) { dx[counted * classes + i] = narrow<T>(compute_t<T>{0}); });
        if (counted == 0) continue;
        each_of_sequence(n, [&](std::int64_t u) { later[u] = u + 2 >= n ? 0 : none; });
        __syncthreads();
        for (std::int64_t t = times - 1; t >= 0; --t) {
            const double* const now = p + t * classes;
            // What of all paths is in a state at t; later, with the step.
            each_of_sequence(n, [&](std::int64_t u) {
                through[u] = exp(forward[t * n + u] + later[u] - all);
                later[u] += now[class_of(u)];
            });
            __syncthreads();
            // Of the states of a class the first adds them up, in their order; classes without one have none to add.
            each_of_sequence(classes, [&](std::int64_t c) {
                dx[t * classes + c] = narrow<T>(static_cast<compute_t<T>>(exp(now[c])));
            });
            __syncthreads();
            each_of_sequence(n, [&](std::int64_t u) {
                const std::int64_t own = class_of(u);
                if (u > 0 && u % 2 == 0) return; // a blank: state 0 adds them
                for (std::int64_t other = 1; other < u; other += 2)
                    if (class_of(other) == own) return;
                double sum = 0;
                for (std::int64_t other = u; other < n; other += 2)
                    if (class_of(other) == own) sum += through[other];
                dx[t * classes + own] = narrow<T>(static_cast<compute_t<T>>(exp(now[own]) - sum));
            });
            each_of_sequence(n, [&](std::int64_t u) {
                double to = later[u];
                if (u + 1 < n) to = log_of_sum(to, later[u + 1]);
                if (u + 2 < n && skips(u + 2)) to = log_of_sum(to, later[u + 2]);
                earlier[u] = to;
            });
            __syncthreads();
            double* const kept = later;
            later = earlier;
            earlier = kept;
        }
    }
}

} // namespace

void check_sequences(const ctc_sizes& s, const index_list& labels, const index_list& times, const index_list& lengths,
                     std::int32_t* refused, ctc_fault* first, void* stream) {
    launch(check_all, 1, block_threads, 0, stream, s, labels, times, lengths, refused, first);
}

void ctc_loss(tenon::element_type e, const ctc_sizes& s, const void* logits, const index_list& labels,
              const index_list& times, const index_list& lengths, const std::int32_t* refused, void* loss, void* dx,
              double* scratch, void* stream) {
    with_floating_type(e, [&]<class T>(T) {
        launch(sequences<T>, static_cast<unsigned>(s.batch < 65536 ? s.batch : 65536), sequence_threads, 0, stream, s,
               static_cast<const T*>(logits), labels, times, lengths, refused, static_cast<T*>(loss),
               static_cast<T*>(dx), scratch);
    });
}

} // namespace tenon::cuda
