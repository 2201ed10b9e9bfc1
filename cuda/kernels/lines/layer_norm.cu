#include <algorithm>

#include <cuda/kernels/lines/layer_norm.hpp>
#include <cuda/kernels/lines/launch.hpp>
#include <cuda/kernels/lines/lines.hpp>

namespace tenon::cuda {

namespace {

__device__ inline float root_of(float x) { return sqrtf(x); }
__device__ inline double root_of(double x) { return sqrt(x); }

/// What a vector along a row has beside the elements that a thread holds of it.
template <class T, class C>
__device__ void load_along(const line_place<T, true>& place, const T* vector, std::int64_t tile,
                           C (&v)[held_elements]) {
    line_place<T, true> of_vector = place;
    of_vector.start = 0;
    of_vector.load(vector, tile, v, C{0});
}

template <class T>
__global__ void __launch_bounds__(most_line_threads)
    layer_norm_rows(const T* x, const T* gamma, const T* beta, T* y, compute_t<T>* mean, compute_t<T>* factor,
                    line_layout l, compute_t<T> epsilon) {
    using C = compute_t<T>;
    __shared__ C shared[line_room<true>];
    const std::int64_t tiles = l.tiles();
    const C n = static_cast<C>(l.n);
    const auto plus = [](C a, C b) { return a + b; };
    for (std::int64_t first = std::int64_t{blockIdx.x} * l.lines; first < l.count();
         first += std::int64_t{gridDim.x} * l.lines) {
        const line_place<T, true> place(l, first);
        C v[held_elements], sum = 0;
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            place.load(x, tile, v, C{0});
            sum += sum_held(v);
        }
        const C center = place.combined(sum, shared, l.lines, plus) / n;
        sum = 0;
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            if (tiles > 1) place.load(x, tile, v, C{0});
            C squares[held_elements];
#pragma unroll
            for (int i = 0; i < held_elements; ++i) {
                const C d = place.has(place.at(tile, i)) ? v[i] - center : C{0};
                squares[i] = d * d;
            }
            sum += sum_held(squares);
        }
        const C scale = C{1} / root_of(place.combined(sum, shared, l.lines, plus) / n + epsilon);
        if (place.inside && place.number == 0) {
            if (mean) mean[place.line] = center;
            if (factor) factor[place.line] = scale;
        }
        if (!y) continue;
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            if (tiles > 1) place.load(x, tile, v, C{0});
            C a[held_elements];
            load_along(place, gamma, tile, a);
#pragma unroll
            for (int i = 0; i < held_elements; ++i) v[i] = (v[i] - center) * scale * a[i];
            load_along(place, beta, tile, a);
#pragma unroll
            for (int i = 0; i < held_elements; ++i) v[i] += a[i];
            place.store(y, tile, v);
        }
    }
}

/// With z = (x - mean) factor and h = dy gamma: dx = factor (h - mean of h - z mean of h z). Each block takes rows in strides of the grid,
/// and adds up dy z and dy of its rows in its part of `partial`, [blocks, 2, n]. Where a row fits into the registers, these sums are
/// there until the last row. Most: threads of a block, of which the fewer have the more registers.
template <class T, int Most>
__global__ void __launch_bounds__(Most)
    layer_norm_gradient_rows(const T* x, const T* gamma, const T* dy, const compute_t<T>* mean,
                             const compute_t<T>* factor, T* dx, compute_t<T>* partial, line_layout l) {
    using C = compute_t<T>;
    __shared__ C shared[line_room<true>];
    const std::int64_t tiles = l.tiles();
    const C n = static_cast<C>(l.n);
    const auto plus = [](C a, C b) { return a + b; };
    C* const part = partial ? partial + std::int64_t{blockIdx.x} * 2 * l.n : nullptr;
    C sums_z[held_elements] = {}, sums[held_elements] = {};
    const std::int64_t begin = std::int64_t{blockIdx.x} * l.lines;
    for (std::int64_t first = begin; first < l.count(); first += std::int64_t{gridDim.x} * l.lines) {
        const line_place<T, true> place(l, first);
        const C center = place.inside ? mean[place.line] : C{0}, scale = place.inside ? factor[place.line] : C{0};
        C z[held_elements], d[held_elements], h[held_elements], a = 0, b = 0;
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            place.load(x, tile, z, center);
            place.load(dy, tile, d, C{0});
            load_along(place, gamma, tile, h);
#pragma unroll
            for (int i = 0; i < held_elements; ++i) {
                z[i] = (z[i] - center) * scale;
                h[i] *= d[i];
                a += h[i];
                b += h[i] * z[i];
            }
            if (!part) continue;
            if (tiles == 1) {
#pragma unroll
                for (int i = 0; i < held_elements; ++i) {
                    sums_z[i] += d[i] * z[i];
                    sums[i] += d[i];
                }
                continue;
            }
#pragma unroll
            for (int i = 0; i < held_elements; ++i) { // the block has one row at a time
                const std::int64_t k = place.at(tile, i);
                if (!place.has(k)) continue;
                part[k] = (first == begin ? C{0} : part[k]) + d[i] * z[i];
                part[l.n + k] = (first == begin ? C{0} : part[l.n + k]) + d[i];
            }
        }
        if (!dx) continue;
        const C mean_h = place.combined(a, shared, l.lines, plus) / n;
        const C mean_hz = place.combined(b, shared, l.lines, plus) / n;
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            if (tiles > 1) {
                place.load(x, tile, z, center);
                place.load(dy, tile, d, C{0});
                load_along(place, gamma, tile, h);
#pragma unroll
                for (int i = 0; i < held_elements; ++i) {
                    z[i] = (z[i] - center) * scale;
                    h[i] *= d[i];
                }
            }
#pragma unroll
            for (int i = 0; i < held_elements; ++i) h[i] = scale * ((h[i] - mean_h) - z[i] * mean_hz);
            place.store(dx, tile, h);
        }
    }
    if (!part || tiles > 1) return;
    // The sums of the rows side by side, one after another: room for [2, n] where there are some.
    const line_place<T, true> place(l, begin);
    C* const all = l.lines == 1 ? part : dynamic_shared<C>();
    for (int line = 0; line < l.lines; ++line) {
        if (line == static_cast<int>(threadIdx.x) / l.threads) {
#pragma unroll
            for (int i = 0; i < held_elements; ++i) {
                const std::int64_t k = place.at(0, i);
                if (k >= l.n) continue;
                all[k] = (line == 0 ? C{0} : all[k]) + sums_z[i];
                all[l.n + k] = (line == 0 ? C{0} : all[l.n + k]) + sums[i];
            }
        }
        __syncthreads();
    }
    if (l.lines > 1)
        for (std::int64_t k = threadIdx.x; k < 2 * l.n; k += blockDim.x) part[k] = all[k];
}

/// dgamma and dbeta from their parts: 32 columns a block, 8 threads a column.
template <class T>
__global__ void layer_norm_sums(const compute_t<T>* partial, T* dgamma, T* dbeta, std::int64_t n, std::int64_t parts) {
    __shared__ double shared[block_threads];
    const int column = static_cast<int>(threadIdx.x) % 32, row = static_cast<int>(threadIdx.x) / 32;
    for (std::int64_t first = std::int64_t{blockIdx.x} * 32; first < 2 * n; first += std::int64_t{gridDim.x} * 32) {
        const std::int64_t k = first + column;
        double sum = 0;
        if (k < 2 * n)
            for (std::int64_t p = row; p < parts; p += 8) sum += static_cast<double>(partial[p * 2 * n + k]);
        __syncthreads();
        shared[threadIdx.x] = sum;
        __syncthreads();
        if (row > 0 || k >= 2 * n) continue;
        for (int r = 1; r < 8; ++r) sum += shared[column + 32 * r];
        T* const to = k < n ? dgamma : dbeta;
        if (to) to[k < n ? k : k - n] = narrow<T>(static_cast<compute_t<T>>(sum));
    }
}

/// Blocks of the gradient's kernel.
std::int64_t layer_norm_parts(const line_layout& l) {
    // Blocks enough for a large GPU; the parts of all together are little beside the rows.
    const std::int64_t most = std::clamp<std::int64_t>((1 << 18) / std::max<std::int64_t>(l.n, 1), 256, 4096);
    return std::min<std::int64_t>((l.count() + l.lines - 1) / l.lines, most);
}

} // namespace

void layer_norm(element_type element, const void* x, const void* gamma, const void* beta, void* y, void* mean,
                void* factor, const line_layout& l, double epsilon, void* stream) {
    if (l.count() == 0) return;
    with_floating_type(element, [&]<class T>(T) {
        using C = compute_t<T>;
        launch_lines(layer_norm_rows<T>, l, stream, static_cast<const T*>(x), static_cast<const T*>(gamma),
                     static_cast<const T*>(beta), static_cast<T*>(y), static_cast<C*>(mean), static_cast<C*>(factor), l,
                     static_cast<C>(epsilon));
    });
}

std::size_t layer_norm_scratch_bytes(element_type element, const line_layout& l) {
    return static_cast<std::size_t>(layer_norm_parts(l) * 2 * l.n) * (element == element_type::float64 ? 8 : 4);
}

void layer_norm_gradient(element_type element, const void* x, const void* gamma, const void* dy, const void* mean,
                         const void* factor, void* dx, void* dgamma, void* dbeta, std::byte* scratch,
                         const line_layout& l, void* stream) {
    if (l.n == 0) return;
    with_floating_type(element, [&]<class T>(T) {
        using C = compute_t<T>;
        const std::int64_t parts = layer_norm_parts(l);
        C* const partial = dgamma || dbeta ? reinterpret_cast<C*>(scratch) : nullptr;
        const std::size_t room = partial && l.lines > 1 ? static_cast<std::size_t>(2 * l.n) * sizeof(C) : 0;
        if (parts > 0 && (dx || partial)) {
            constexpr int few = block_threads, many = most_line_threads;
            launch(l.block() <= few ? layer_norm_gradient_rows<T, few> : layer_norm_gradient_rows<T, many>,
                   static_cast<unsigned>(parts), l.block(), room, stream, static_cast<const T*>(x),
                   static_cast<const T*>(gamma), static_cast<const T*>(dy), static_cast<const C*>(mean),
                   static_cast<const C*>(factor), static_cast<T*>(dx), partial, l);
        }
        if (partial)
            launch(layer_norm_sums<T>, static_cast<unsigned>(std::min<std::int64_t>((2 * l.n + 31) / 32, 65536)),
                   block_threads, 0, stream, static_cast<const C*>(partial), static_cast<T*>(dgamma),
                   static_cast<T*>(dbeta), l.n, parts);
    });
}

} // namespace tenon::cuda
