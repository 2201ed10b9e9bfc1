#include <cuda/kernels/rows/exponentials.hpp>
#include <cuda/kernels/rows/launch.hpp>
#include <cuda/kernels/rows/softmax.hpp>

namespace tenon::cuda {

namespace {

// By all threads of a block.
template <class Label>
__device__ void find_bad_label(const Label* labels, std::int64_t count, std::int64_t classes, bad_index* found) {
    __shared__ unsigned long long first;
    constexpr unsigned long long nowhere = ~0ULL;
    if (threadIdx.x == 0) first = nowhere;
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x)
        if (labels[i] < 0 || std::int64_t{labels[i]} >= classes) {
            atomicMin(&first, static_cast<unsigned long long>(i));
            break;
        }
    __syncthreads();
    if (threadIdx.x == 0 && first != nowhere)
        *found = {static_cast<std::int64_t>(first), static_cast<std::int64_t>(labels[first])};
}

template <class T, class Label, line_kind Kind>
__global__ void __launch_bounds__(most_line_threads, resident_line_blocks<T>)
    sparse_cross_entropy_rows(const T* x, const Label* labels, T* loss, T* dx, line_layout l, bad_index* found) {
    using C = compute_t<T>;
    __shared__ scaled_sum<C> shared[line_room<Kind>];
    if (found && blockIdx.x == 0) find_bad_label(labels, l.count(), l.n, found);
    const std::int64_t tiles = l.tiles;
    for (std::int64_t first = std::int64_t{blockIdx.x} * l.lines; first < l.count();
         first += std::int64_t{gridDim.x} * l.lines) {
        const line_place<T, Kind> place(l, first);
        // dx may lie where x does: what is at the label is read before anything is written.
        std::int64_t label = -1;
        C at_label = std::numeric_limits<C>::quiet_NaN();
        if (place.inside) {
            label = static_cast<std::int64_t>(labels[place.line]);
            if (label >= 0 && label < l.n) at_label = widen(x[place.start + label]);
            else label = -1;
        }
        C v[held_elements], e[held_elements];
        const scaled_sum<C> s = sum_of_exponentials(place, x, l, v, e, shared);
        if (loss && place.inside && place.number == 0)
            loss[place.line] = narrow<T>(log_of(s.sum) + (s.largest - at_label));
        if (!dx) continue;
        const C scale = label < 0 ? at_label : C{1} / s.sum;
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            if (tiles > 1) {
                place.load(x, tile, v, no_largest<C>);
                exponentials_of(v, s.largest, e);
            }
#pragma unroll
            for (int i = 0; i < held_elements; ++i)
                e[i] = place.first_of(tile) + place.offset(i) == label ? (e[i] - s.sum) / s.sum : e[i] * scale;
            place.store(dx, tile, e);
        }
    }
}

template <class T, line_kind Kind>
__global__ void __launch_bounds__(most_line_threads)
    cross_entropy_rows(const T* x, const T* weights, T* loss, T* dx, line_layout l) {
    using C = compute_t<T>;
    __shared__ scaled_sum<C> shared[line_room<Kind>];
    const std::int64_t tiles = l.tiles;
    const auto plus = [](C a, C b) { return a + b; };
    for (std::int64_t first = std::int64_t{blockIdx.x} * l.lines; first < l.count();
         first += std::int64_t{gridDim.x} * l.lines) {
        const line_place<T, Kind> place(l, first);
        C v[held_elements], e[held_elements], w[held_elements];
        const scaled_sum<C> s = sum_of_exponentials(place, x, l, v, e, shared);
        const C rest = log_of(s.sum);
        C losses = 0, total = 0;
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            place.load(weights, tile, w, C{0});
            if (tiles > 1) place.load(x, tile, v, C{0});
            C terms[held_elements];
#pragma unroll
            for (int i = 0; i < held_elements; ++i) terms[i] = w[i] == 0 ? C{0} : w[i] * (rest - (v[i] - s.largest));
            losses += sum_held(terms);
            total += sum_held(w);
        }
        C* const room = reinterpret_cast<C*>(shared);
        losses = place.combined(losses, room, l.lines, plus);
        total = place.combined(total, room, l.lines, plus);
        if (loss && place.inside && place.number == 0) loss[place.line] = narrow<T>(losses);
        if (!dx) continue;
        const C scale = total / s.sum;
#pragma unroll 1
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
            if (tiles > 1) {
                place.load(weights, tile, w, C{0});
                place.load(x, tile, v, no_largest<C>);
                exponentials_of(v, s.largest, e);
            }
#pragma unroll
            for (int i = 0; i < held_elements; ++i) e[i] = e[i] * scale - w[i];
            place.store(dx, tile, e);
        }
    }
}

} // namespace

void sparse_cross_entropy(element_type element, const void* x, const void* labels, bool wide_labels, void* loss,
                          void* dx, const line_layout& l, bad_index* found, void* stream) {
    if (l.count() == 0) return;
    constexpr std::int64_t few = 4096; // that one block looks at while others work
    if (l.count() > few) {
        check_indices({labels, wide_labels, l.count()}, l.n, found, nullptr, stream);
        found = nullptr;
    }
    with_floating_type(element, [&]<class T>(T) {
        with_row_kind(l, {x, dx}, [&]<line_kind Kind>() {
            const auto run = [&]<class Label>(Label) {
                launch_lines(sparse_cross_entropy_rows<T, Label, Kind>, l, stream, static_cast<const T*>(x),
                             static_cast<const Label*>(labels), static_cast<T*>(loss), static_cast<T*>(dx), l, found);
            };
            if (wide_labels) run(std::int64_t{});
            else run(std::int32_t{});
        });
    });
}

void cross_entropy(element_type element, const void* x, const void* weights, void* loss, void* dx, const line_layout& l,
                   void* stream) {
    if (l.count() == 0) return;
    with_floating_type(element, [&]<class T>(T) {
        with_row_kind(l, {x, weights, dx}, [&]<line_kind Kind>() {
            launch_lines(cross_entropy_rows<T, Kind>, l, stream, static_cast<const T*>(x),
                         static_cast<const T*>(weights), static_cast<T*>(loss), static_cast<T*>(dx), l);
        });
    });
}

} // namespace tenon::cuda
