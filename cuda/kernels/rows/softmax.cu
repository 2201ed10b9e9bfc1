#include <cuda/kernels/rows/exponentials.hpp>
#include <cuda/kernels/rows/launch.hpp>
#include <cuda/kernels/rows/softmax.hpp>

namespace tenon::cuda {

namespace {

template <class T, line_kind Kind>
__global__ void __launch_bounds__(most_line_threads, resident_line_blocks<T>)
    softmax_lines(const T* x, T* y, line_layout l, bool logarithm) {
    using C = compute_t<T>;
    __shared__ scaled_sum<C> shared[line_room<Kind>];
    const std::int64_t tiles = l.tiles;
    for (std::int64_t first = std::int64_t{blockIdx.x} * l.lines; first < l.count();
         first += std::int64_t{gridDim.x} * l.lines) {
        const line_place<T, Kind> place(l, first);
        C v[held_elements], e[held_elements];
        const scaled_sum<C> s = sum_of_exponentials(place, x, l, v, e, shared);
        const C rest = logarithm ? log_of(s.sum) : C{1} / s.sum;
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            if (tiles > 1) {
                place.load(x, tile, v, C{0});
                if (!logarithm) exponentials_of(v, s.largest, e);
            }
#pragma unroll
            for (int i = 0; i < held_elements; ++i) v[i] = logarithm ? (v[i] - s.largest) - rest : e[i] * rest;
            place.store(y, tile, v);
        }
    }
}

template <class T, line_kind Kind>
__global__ void __launch_bounds__(most_line_threads, resident_line_blocks<T>)
    softmax_gradient_lines(const T* y, const T* dy, T* dx, line_layout l, bool logarithm) {
    using C = compute_t<T>;
    __shared__ C shared[line_room<Kind>];
    const std::int64_t tiles = l.tiles;
    for (std::int64_t first = std::int64_t{blockIdx.x} * l.lines; first < l.count();
         first += std::int64_t{gridDim.x} * l.lines) {
        const line_place<T, Kind> place(l, first);
        C v[held_elements], d[held_elements], sum = 0;
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            place.load(dy, tile, d, C{0});
            place.load(y, tile, v, C{0});
            C terms[held_elements];
#pragma unroll
            for (int i = 0; i < held_elements; ++i) terms[i] = logarithm ? d[i] : d[i] * v[i];
            sum += sum_held(terms);
        }
        sum = place.combined(sum, shared, l.lines, [](C a, C b) { return a + b; });
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            if (tiles > 1) {
                place.load(dy, tile, d, C{0});
                place.load(y, tile, v, C{0});
            }
#pragma unroll
            for (int i = 0; i < held_elements; ++i) v[i] = logarithm ? d[i] - exp_of(v[i]) * sum : v[i] * (d[i] - sum);
            place.store(dx, tile, v);
        }
    }
}

} // namespace

void softmax(element_type element, const void* x, void* y, const line_layout& l, bool logarithm, void* stream) {
    if (l.count() == 0 || l.n == 0) return;
    with_floating_type(element, [&]<class T>(T) {
        with_line_kind(l, {x, y}, [&]<line_kind Kind>() {
            launch_lines(softmax_lines<T, Kind>, l, stream, static_cast<const T*>(x), static_cast<T*>(y), l, logarithm);
        });
    });
}

void softmax_gradient(element_type element, const void* y, const void* dy, void* dx, const line_layout& l,
                      bool logarithm, void* stream) {
    if (l.count() == 0 || l.n == 0) return;
    with_floating_type(element, [&]<class T>(T) {
        with_line_kind(l, {y, dy, dx}, [&]<line_kind Kind>() {
            launch_lines(softmax_gradient_lines<T, Kind>, l, stream, static_cast<const T*>(y),
                         static_cast<const T*>(dy), static_cast<T*>(dx), l, logarithm);
        });
    });
}

} // namespace tenon::cuda
