#include <algorithm>

#include <cuda/kernels/rows/launch.hpp>
#include <cuda/kernels/rows/layer_norm.hpp>
#include <cuda/kernels/rows/lines.hpp>

namespace tenon::cuda {

namespace {

__device__ inline float root_of(float x) { return sqrtf(x); }
__device__ inline double root_of(double x) { return sqrt(x); }

/// What a vector along a row has beside the elements that a thread holds of it.
template <class T, line_kind Kind, int Held, class C>
__device__ void load_along(const line_place<T, Kind, Held>& place, const T* vector, std::int64_t tile, C (&v)[Held]) {
    line_place<T, Kind, Held> of_vector = place;
    of_vector.start = 0;
    of_vector.load(vector, tile, v, C{0});
}

/// Rounded as it would be stored.
template <class T> __device__ inline compute_t<T> rounded(compute_t<T> x) { return widen(narrow<T>(x)); }

/// Rows as they lie in memory.
template <class T> struct plain_rows {
    static constexpr int resident = resident_line_blocks<T>;
    const T* x;
    template <class Place, class C, int Held>
    __device__ void load(const Place& place, std::int64_t tile, bool, C (&v)[Held]) const {
        place.load(x, tile, v, C{0});
    }
};
/// Sums of two, of which the second may have a bias, that are kept where there is a place for them.
template <class T> struct summed_rows {
    static constexpr int resident = 1; // both are in registers for a while
    const T *x, *y, *bias;
    T* sum;
    template <class Place, class C, int Held>
    __device__ void load(const Place& place, std::int64_t tile, bool again, C (&v)[Held]) const {
        if (again && sum) return place.load(sum, tile, v, C{0});
        C a[Held];
        place.load(y, tile, v, C{0});
        if (bias) {
            load_along(place, bias, tile, a);
#pragma unroll
            for (int i = 0; i < Held; ++i) v[i] = rounded<T>(v[i] + a[i]);
        }
        place.load(x, tile, a, C{0});
#pragma unroll
        for (int i = 0; i < Held; ++i) v[i] = rounded<T>(a[i] + v[i]);
        if (sum) place.store(sum, tile, v);
    }
};

template <class T, line_kind Kind, class Rows>
__global__ void __launch_bounds__(most_line_threads, Rows::resident)
    layer_norm_rows(Rows rows, const T* gamma, const T* beta, T* y, compute_t<T>* mean, compute_t<T>* factor,
                    line_layout l, compute_t<T> epsilon) {
    using C = compute_t<T>;
    __shared__ C shared[line_room<Kind>];
    const std::int64_t tiles = l.tiles;
    const C n = static_cast<C>(l.n);
    const auto plus = [](C a, C b) { return a + b; };
    for (std::int64_t first = std::int64_t{blockIdx.x} * l.lines; first < l.count();
         first += std::int64_t{gridDim.x} * l.lines) {
        const line_place<T, Kind> place(l, first);
        C v[held_elements], sum = 0;
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            rows.load(place, tile, false, v);
            sum += sum_held(v);
        }
        const C center = place.combined(sum, shared, l.lines, plus) / n;
        sum = 0;
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            if (tiles > 1) rows.load(place, tile, true, v);
            const int count = place.count_of(tile);
            C squares[held_elements];
#pragma unroll
            for (int i = 0; i < held_elements; ++i) {
                const C d = place.offset(i) < count ? v[i] - center : C{0};
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
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            if (tiles > 1) rows.load(place, tile, true, v);
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

// The gradients. With z = (x - mean) factor and h = dy gamma: dx = factor (h - mean of h - z mean of h z). Each block takes rows in
// strides of the grid, and adds up dy z and dy of its rows in its part of `partial`, [blocks, 2, n].

template <class T, line_kind Kind, int Held, class C>
__device__ void add_more(const line_place<T, Kind, Held>& place, const T* more, std::int64_t tile, C (&h)[Held]) {
    if (!more) return;
    C v[Held];
    place.load(more, tile, v, C{0});
#pragma unroll
    for (int i = 0; i < Held; ++i) h[i] = rounded<T>(h[i]) + v[i];
}

/// Columns that a block of layer_norm_sums has.
constexpr int summed_columns = 8;

template <class C> struct two_sums { C of_h, of_hz; };

/// What a thread has of a row in x and dy, and the row's mean and factor.
template <class T, line_kind Kind> struct row_in_hand {
    using C = compute_t<T>;
    using place_type = line_place<T, Kind, held_of_gradient<T>>;
    typename place_type::elements x, dy;
    C center, scale;

    __device__ void fetch(const place_type& place, const T* from_x, const T* from_dy, const C* mean, const C* factor) {
        place.fetch(from_x, 0, x);
        place.fetch(from_dy, 0, dy);
        center = place.inside ? mean[place.line] : C{0};
        scale = place.inside ? factor[place.line] : C{0};
    }
};

/// Of rows that the registers hold: each is read while the one before is computed with, if it is not of double, and the sums of its
/// columns stay in registers until the last.
template <class T, line_kind Kind>
__global__ void __launch_bounds__(most_line_threads)
    layer_norm_gradient_rows(const T* x, const T* gamma, const T* dy, const compute_t<T>* mean,
                             const compute_t<T>* factor, const T* more, T* dx, compute_t<T>* partial, line_layout l) {
    using C = compute_t<T>;
    constexpr int held = held_of_gradient<T>;
    __shared__ two_sums<C> shared[line_room<Kind>];
    const C n = static_cast<C>(l.n);
    C sums_z[held] = {}, sums[held] = {};
    const std::int64_t begin = std::int64_t{blockIdx.x} * l.lines, step = std::int64_t{gridDim.x} * l.lines;
    row_in_hand<T, Kind> row;
    constexpr bool reads_ahead = sizeof(C) < 8;
    if (reads_ahead) row.fetch({l, begin}, x, dy, mean, factor);
    for (std::int64_t first = begin; first < l.count(); first += step) {
        const line_place<T, Kind, held> place(l, first);
        if (!reads_ahead) row.fetch(place, x, dy, mean, factor);
        const C scale = row.scale;
        C z[held], h[held];
        two_sums<C> s{0, 0};
        {
            C d[held];
            place.widened(row.x, 0, z, row.center);
            place.widened(row.dy, 0, d, C{0});
            load_along(place, gamma, 0, h);
#pragma unroll
            for (int i = 0; i < held; ++i) {
                z[i] = (z[i] - row.center) * scale;
                h[i] *= d[i];
                s.of_h += h[i];
                s.of_hz += h[i] * z[i];
                sums_z[i] += d[i] * z[i];
                sums[i] += d[i];
            }
        }
        if (!dx && first + step >= l.count()) break;
        if (reads_ahead) row.fetch({l, first + step}, x, dy, mean, factor);
        if (!dx) continue;
        s = place.combined(s, shared, l.lines, [](const two_sums<C>& a, const two_sums<C>& b) {
            return two_sums<C>{a.of_h + b.of_h, a.of_hz + b.of_hz};
        });
        const C mean_h = s.of_h / n, mean_hz = s.of_hz / n;
#pragma unroll
        for (int i = 0; i < held; ++i) h[i] = scale * ((h[i] - mean_h) - z[i] * mean_hz);
        add_more(place, more, 0, h);
        place.store(dx, 0, h);
    }
    if (!partial) return;
    C* const part = partial + std::int64_t{blockIdx.x} * 2 * l.n;
    // The sums of the rows side by side, one after another: room for [2, n] where there are some.
    const line_place<T, Kind, held> place(l, begin);
    C* const all = l.lines == 1 ? part : dynamic_shared<C>();
    for (int line = 0; line < l.lines; ++line) {
        if (line == static_cast<int>(threadIdx.x) / l.threads) {
#pragma unroll
            for (int i = 0; i < held; ++i) {
                const int k = place.offset(i);
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

/// Of longer rows, which are read twice: a block takes one at a time.
template <class T, line_kind Kind>
__global__ void __launch_bounds__(most_line_threads)
    layer_norm_gradient_long_rows(const T* x, const T* gamma, const T* dy, const compute_t<T>* mean,
                                  const compute_t<T>* factor, const T* more, T* dx, compute_t<T>* partial,
                                  line_layout l) {
    using C = compute_t<T>;
    constexpr int held = held_of_gradient<T>;
    __shared__ two_sums<C> shared[line_room<Kind>];
    const std::int64_t tiles = l.tiles;
    const C n = static_cast<C>(l.n);
    C* const part = partial ? partial + std::int64_t{blockIdx.x} * 2 * l.n : nullptr;
    for (std::int64_t first = blockIdx.x; first < l.count(); first += gridDim.x) {
        const line_place<T, Kind, held> place(l, first);
        const C center = mean[first], scale = factor[first];
        C z[held], d[held], h[held];
        const auto load = [&](std::int64_t tile) {
            place.load(x, tile, z, center);
            place.load(dy, tile, d, C{0});
            load_along(place, gamma, tile, h);
#pragma unroll
            for (int i = 0; i < held; ++i) {
                z[i] = (z[i] - center) * scale;
                h[i] *= d[i];
            }
        };
        two_sums<C> s{0, 0};
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            load(tile);
#pragma unroll
            for (int i = 0; i < held; ++i) {
                s.of_h += h[i];
                s.of_hz += h[i] * z[i];
            }
            if (!part) continue;
            const bool adds = first != blockIdx.x;
            const int count = place.count_of(tile);
            C *const of_z = part + place.first_of(tile), *const of_d = of_z + l.n;
#pragma unroll
            for (int i = 0; i < held; ++i) {
                const int k = place.offset(i);
                if (k >= count) continue;
                of_z[k] = (adds ? of_z[k] : C{0}) + d[i] * z[i];
                of_d[k] = (adds ? of_d[k] : C{0}) + d[i];
            }
        }
        if (!dx) continue;
        s = place.combined(s, shared, 1, [](const two_sums<C>& a, const two_sums<C>& b) {
            return two_sums<C>{a.of_h + b.of_h, a.of_hz + b.of_hz};
        });
        const C mean_h = s.of_h / n, mean_hz = s.of_hz / n;
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            load(tile);
#pragma unroll
            for (int i = 0; i < held; ++i) h[i] = scale * ((h[i] - mean_h) - z[i] * mean_hz);
            add_more(place, more, tile, h);
            place.store(dx, tile, h);
        }
    }
}

/// dgamma and dbeta from their parts: 8 columns a block, which lie in a sector of the memory, and 32 threads a column.
template <class T>
__global__ void __launch_bounds__(block_threads)
    layer_norm_sums(const compute_t<T>* partial, T* dgamma, T* dbeta, std::int64_t n, std::int64_t parts) {
    using C = compute_t<T>;
    constexpr int across = summed_columns, down = static_cast<int>(block_threads) / across, reads = 8;
    __shared__ double shared[block_threads];
    const int t = static_cast<int>(threadIdx.x), row = t / across;
    for (std::int64_t first = std::int64_t{blockIdx.x} * across; first < 2 * n;
         first += std::int64_t{gridDim.x} * across) {
        const std::int64_t k = first + t % across;
        double sum = 0;
        for (std::int64_t p = row; k < 2 * n && p < parts; p += reads * down) {
            C some[reads];
#pragma unroll
            for (int i = 0; i < reads; ++i) some[i] = p + i * down < parts ? partial[(p + i * down) * 2 * n + k] : C{0};
#pragma unroll
            for (int i = 0; i < reads; ++i) sum += static_cast<double>(some[i]);
        }
        __syncthreads(); // what was there before has been read
        shared[t] = sum;
        for (int half = down / 2; half > 0; half /= 2) {
            __syncthreads();
            if (row < half) shared[t] += shared[t + half * across];
        }
        if (row > 0 || k >= 2 * n) continue;
        T* const to = k < n ? dgamma : dbeta;
        if (to) to[k < n ? k : k - n] = narrow<T>(static_cast<C>(shared[t]));
    }
}

/// Blocks of the gradient's kernel.
std::int64_t layer_norm_parts(const line_layout& l) {
    // Blocks enough for a large GPU; the parts of all together are little beside the rows.
    const std::int64_t most = std::clamp<std::int64_t>((1 << 18) / std::max<std::int64_t>(l.n, 1), 256, 4096);
    return std::min<std::int64_t>((l.count() + l.lines - 1) / l.lines, most);
}

} // namespace

void layer_norm(element_type element, const void* x, const row_sum& sum, const void* gamma, const void* beta, void* y,
                void* mean, void* factor, const line_layout& l, double epsilon, void* stream) {
    if (l.count() == 0) return;
    with_floating_type(element, [&]<class T>(T) {
        using C = compute_t<T>;
        const auto run = [&]<line_kind Kind>(const auto& rows) {
            launch_lines(layer_norm_rows<T, Kind, std::decay_t<decltype(rows)>>, l, stream, rows,
                         static_cast<const T*>(gamma), static_cast<const T*>(beta), static_cast<T*>(y),
                         static_cast<C*>(mean), static_cast<C*>(factor), l, static_cast<C>(epsilon));
        };
        const auto* const from = static_cast<const T*>(x);
        if (!sum.y)
            with_row_kind(l, {x, gamma, beta, y},
                          [&]<line_kind Kind>() { run.template operator()<Kind>(plain_rows<T>{from}); });
        else
            with_row_kind(l, {x, sum.y, sum.bias, sum.sum, gamma, beta, y}, [&]<line_kind Kind>() {
                run.template operator()<Kind>(summed_rows<T>{
                    from, static_cast<const T*>(sum.y), static_cast<const T*>(sum.bias), static_cast<T*>(sum.sum)});
            });
    });
}

std::size_t layer_norm_scratch_bytes(element_type element, const line_layout& l) {
    return static_cast<std::size_t>(layer_norm_parts(l) * 2 * l.n) * (element == element_type::float64 ? 8 : 4);
}

void layer_norm_gradient(element_type element, const void* x, const void* gamma, const void* dy, const void* mean,
                         const void* factor, const void* more, void* dx, void* dgamma, void* dbeta, std::byte* scratch,
                         const line_layout& l, void* stream) {
    if (l.n == 0) return;
    with_floating_type(element, [&]<class T>(T) {
        using C = compute_t<T>;
        const std::int64_t parts = layer_norm_parts(l);
        C* const partial = dgamma || dbeta ? reinterpret_cast<C*>(scratch) : nullptr;
        const std::size_t room = partial && l.lines > 1 ? static_cast<std::size_t>(2 * l.n) * sizeof(C) : 0;
        if (parts > 0 && (dx || partial))
            with_row_kind(l, {x, gamma, dy, more, dx}, [&]<line_kind Kind>() {
                launch(l.tiles == 1 ? layer_norm_gradient_rows<T, Kind> : layer_norm_gradient_long_rows<T, Kind>,
                       static_cast<unsigned>(parts), l.block(), room, stream, static_cast<const T*>(x),
                       static_cast<const T*>(gamma), static_cast<const T*>(dy), static_cast<const C*>(mean),
                       static_cast<const C*>(factor), static_cast<const T*>(more), static_cast<T*>(dx), partial, l);
            });
        if (partial)
            launch(
                layer_norm_sums<T>,
                static_cast<unsigned>(std::min<std::int64_t>((2 * l.n + summed_columns - 1) / summed_columns, 65536)),
                block_threads, 0, stream, static_cast<const C*>(partial), static_cast<T*>(dgamma),
                static_cast<T*>(dbeta), l.n, parts);
    });
}

} // namespace tenon::cuda
