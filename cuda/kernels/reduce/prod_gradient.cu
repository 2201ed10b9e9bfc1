#include <algorithm>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/reduce/prod_gradient.hpp>

namespace tenon::cuda {

namespace {

template <class T> struct direction_list { const T* at[prod_gradient_plan::most_directions]; };

__device__ std::int64_t offset_of(std::int64_t index, const prod_gradient_plan::dimension* dims, int rank) {
    std::int64_t at = 0;
    for (int i = 0; i < rank; ++i) {
        at += index % dims[i].size * dims[i].stride;
        index /= dims[i].size;
    }
    return at;
}

template <class C> __device__ void set(C* product, std::int64_t parts, C value) {
    product[0] = value;
    for (std::int64_t p = 1; p < parts; ++p) product[p] = 0;
}

/// product *= x[at] + h1[at] t1 + ..: larger sets first, for what they take from smaller ones is the old product's.
template <class C, class T>
__device__ void multiply(C* product, std::int64_t parts, const T* x, const direction_list<T>& h, int directions,
                         std::int64_t at) {
    const C value = widen(x[at]);
    for (std::int64_t p = parts; p-- > 0;) {
        C sum = product[p] * value;
        for (int d = 0; d < directions; ++d)
            if ((p >> d & 1) != 0) sum += product[p - (std::int64_t{1} << d)] * widen(h.at[d][at]);
        product[p] = sum;
    }
}

/// product *= other, the same way.
template <class C> __device__ void multiply_all(C* product, const C* other, std::int64_t parts) {
    for (std::int64_t p = parts; p-- > 0;) {
        C sum = product[p] * other[0];
        for (std::int64_t q = p; q > 0; q = (q - 1) & p) sum += product[p ^ q] * other[q];
        product[p] = sum;
    }
}

/// What the elements of each chunk multiply to, [chunks, outer, parts].
template <class T, bool Plain>
__global__ void multiply_chunks(const T* x, direction_list<T> h, compute_t<T>* products, prod_gradient_plan plan) {
    using C = compute_t<T>;
    const std::int64_t parts = Plain ? 1 : std::int64_t{1} << plan.directions;
    const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t unit = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; unit < plan.outer_count * plan.chunks;
         unit += threads) {
        const std::int64_t o = unit % plan.outer_count, begin = unit / plan.outer_count * plan.chunk;
        const std::int64_t end = begin + plan.chunk < plan.group_count ? begin + plan.chunk : plan.group_count;
        const std::int64_t base = offset_of(o, plan.outer, plan.outer_rank);
        C only;
        C* const product = Plain ? &only : products + unit * parts;
        set(product, parts, C{1});
        for (std::int64_t k = begin; k < end; ++k)
            multiply(product, parts, x, h, Plain ? 0 : plan.directions,
                     base + offset_of(k, plan.group, plan.group_rank));
        if (Plain) products[unit] = only;
    }
}

/// Thread by thread a chunk: forwards what lies before each element goes to `before`, backwards it meets what lies after. `room`: for a
/// product a thread, where it is of more than one number.
template <class T, bool Plain>
__global__ void prod_gradient_chunks(const T* g, const T* x, direction_list<T> h, T* out, compute_t<T>* before,
                                     const compute_t<T>* products, compute_t<T>* room, prod_gradient_plan plan) {
    using C = compute_t<T>;
    const std::int64_t parts = Plain ? 1 : std::int64_t{1} << plan.directions;
    const int directions = Plain ? 0 : plan.directions;
    const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t unit = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; unit < plan.outer_count * plan.chunks;
         unit += threads) {
        const std::int64_t o = unit % plan.outer_count, number = unit / plan.outer_count, begin = number * plan.chunk;
        const std::int64_t end = begin + plan.chunk < plan.group_count ? begin + plan.chunk : plan.group_count;
        const std::int64_t base = offset_of(o, plan.outer, plan.outer_rank);
        C only;
        C* const product = Plain ? &only : room + unit * parts;
        set(product, parts, widen(g[o]));
        for (std::int64_t c = 0; c < number; ++c)
            multiply_all(product, products + (c * plan.outer_count + o) * parts, parts);
        for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t at = base + offset_of(k, plan.group, plan.group_rank);
            for (std::int64_t p = 0; p < parts; ++p) before[at * parts + p] = product[p];
            multiply(product, parts, x, h, directions, at);
        }
        set(product, parts, C{1});
        for (std::int64_t c = plan.chunks; --c > number;)
            multiply_all(product, products + (c * plan.outer_count + o) * parts, parts);
        for (std::int64_t k = end; k-- > begin;) {
            const std::int64_t at = base + offset_of(k, plan.group, plan.group_rank);
            C sum = 0;
            for (std::int64_t p = 0; p < parts; ++p) sum += before[at * parts + p] * product[parts - 1 - p];
            out[at] = narrow<T>(sum);
            multiply(product, parts, x, h, directions, at);
        }
    }
}

// What lies before an element is kept where the result will be, if that holds it.
bool is_in_place(element_type e, int directions) { return directions == 0 && size_of(e) > 2; }

template <class T, bool Plain>
void launch_chunks(const prod_gradient_plan& plan, const void* g, const void* x, const void* const* directions,
                   void* out, std::byte* scratch, void* stream) {
    using C = compute_t<T>;
    direction_list<T> h{};
    for (int i = 0; i < plan.directions; ++i) h.at[i] = static_cast<const T*>(directions[i]);
    C* before = reinterpret_cast<C*>(scratch);
    C* const products = reinterpret_cast<C*>(scratch + plan.before_bytes);
    C* const room = reinterpret_cast<C*>(scratch + plan.before_bytes + plan.chunk_bytes);
    if constexpr (std::is_same_v<C, T>)
        if (Plain) before = static_cast<T*>(out);
    const unsigned blocks = blocks_for(plan.outer_count * plan.chunks);
    if (plan.chunks > 1)
        launch(multiply_chunks<T, Plain>, blocks, block_threads, 0, stream, static_cast<const T*>(x), h, products,
               plan);
    launch(prod_gradient_chunks<T, Plain>, blocks, block_threads, 0, stream, static_cast<const T*>(g),
           static_cast<const T*>(x), h, static_cast<T*>(out), before, static_cast<const C*>(products), room, plan);
}

} // namespace

prod_gradient_plan plan_prod_gradient(element_type element, const std::int64_t* sizes, int rank, unsigned axes,
                                      int directions) {
    prod_gradient_plan plan;
    plan.element = element;
    plan.directions = directions;
    std::int64_t step = 1;
    for (int i = rank; i-- > 0; step *= sizes[i]) {
        const prod_gradient_plan::dimension d{sizes[i], step};
        if ((axes >> i & 1U) != 0) {
            plan.group[plan.group_rank++] = d;
            plan.group_count *= d.size;
        } else {
            plan.outer[plan.outer_rank++] = d;
            plan.outer_count *= d.size;
        }
    }
    if (plan.group_count == 0 || plan.outer_count == 0) return plan;
    constexpr std::int64_t enough_threads = 1 << 15, least_elements = 32, most_chunks = 1024;
    const std::int64_t wanted = std::clamp<std::int64_t>(
        std::min(enough_threads / plan.outer_count, plan.group_count / least_elements), 1, most_chunks);
    plan.chunk = (plan.group_count + wanted - 1) / wanted;
    plan.chunks = (plan.group_count + plan.chunk - 1) / plan.chunk;
    const std::size_t number = element == element_type::float64 ? 8 : 4, product = number << directions;
    const auto rounded = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
    if (!is_in_place(element, directions))
        plan.before_bytes = rounded(static_cast<std::size_t>(plan.group_count * plan.outer_count) * product);
    const std::size_t threads = static_cast<std::size_t>(plan.chunks * plan.outer_count);
    if (plan.chunks > 1) plan.chunk_bytes = rounded(threads * product);
    plan.scratch_bytes = plan.before_bytes + plan.chunk_bytes + (directions > 0 ? threads * product : 0);
    return plan;
}

void prod_gradient(const prod_gradient_plan& plan, const void* g, const void* x, const void* const* directions,
                   void* out, std::byte* scratch, void* stream) {
    if (plan.group_count == 0 || plan.outer_count == 0) return;
    with_floating_type(plan.element, [&]<class T>(T) {
        if (plan.directions == 0) launch_chunks<T, true>(plan, g, x, directions, out, scratch, stream);
        else launch_chunks<T, false>(plan, g, x, directions, out, scratch, stream);
    });
}

} // namespace tenon::cuda
