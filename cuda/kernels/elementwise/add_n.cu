#include <cuda/kernels/elementwise/add_n.hpp>

#include <algorithm>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

struct added {
    int count;
    const void* x[most_added_at_once];
};

// So many elements as are read at once.
template <class T, int Each> struct alignas(Each * sizeof(T)) pack { T values[Each]; };

// To = compute_t<T> where passes follow or go before.
template <class T, class From, class To, int Each>
__global__ void add_all(added a, const From* before, To* to, std::int64_t packs) {
    using C = compute_t<T>;
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < packs; i += all) {
        C sums[Each];
        int k = 0;
        if (before) {
            for (int j = 0; j < Each; ++j) sums[j] = static_cast<C>(before[i * Each + j]);
        } else {
            const auto x = static_cast<const pack<T, Each>*>(a.x[k++])[i];
            for (int j = 0; j < Each; ++j) sums[j] = widen(x.values[j]);
        }
        for (; k < a.count; ++k) {
            const auto x = static_cast<const pack<T, Each>*>(a.x[k])[i];
            for (int j = 0; j < Each; ++j) sums[j] = static_cast<C>(sums[j] + widen(x.values[j]));
        }
        pack<To, Each> result;
        for (int j = 0; j < Each; ++j)
            if constexpr (std::is_same_v<To, T>) result.values[j] = narrow<T>(sums[j]);
            else result.values[j] = sums[j];
        reinterpret_cast<pack<To, Each>*>(to)[i] = result;
    }
}

bool all_aligned(const void* const* x, int inputs, const void* to) {
    std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(to);
    for (int i = 0; i < inputs; ++i) bits |= reinterpret_cast<std::uintptr_t>(x[i]);
    return bits % 16 == 0;
}

template <class T>
void add_as(const void* const* x, int inputs, void* to, std::int64_t n, std::byte* scratch, void* stream) {
    using C = compute_t<T>;
    auto* const sums = std::is_same_v<C, T> ? static_cast<C*>(to) : reinterpret_cast<C*>(scratch);
    constexpr int each = 16 / sizeof(T);
    const bool packed = n % each == 0 && all_aligned(x, inputs, to);
    for (int first = 0; first < inputs; first += most_added_at_once) {
        added a;
        a.count = std::min(inputs - first, most_added_at_once);
        std::copy(x + first, x + first + a.count, a.x);
        const C* const before = first == 0 ? nullptr : sums;
        const auto pass = [&]<class To>(To* out) {
            if (packed)
                launch(add_all<T, C, To, each>, blocks_for(n / each), block_threads, 0, stream, a, before, out,
                       n / each);
            else launch(add_all<T, C, To, 1>, blocks_for(n), block_threads, 0, stream, a, before, out, n);
        };
        if (first + a.count == inputs) pass(static_cast<T*>(to));
        else pass(sums);
    }
}

} // namespace

std::size_t add_n_scratch_bytes(element_type e, int inputs, std::int64_t elements) {
    return inputs > most_added_at_once && e != compute_type(e) ? static_cast<std::size_t>(elements) * sizeof(float) : 0;
}

void add_n(element_type e, const void* const* x, int inputs, void* to, std::int64_t elements, std::byte* scratch,
           void* stream) {
    if (elements == 0) return;
    switch (e) {
    case element_type::float32: return add_as<float>(x, inputs, to, elements, scratch, stream);
    case element_type::float64: return add_as<double>(x, inputs, to, elements, scratch, stream);
    case element_type::float16: return add_as<half>(x, inputs, to, elements, scratch, stream);
    case element_type::bfloat16: return add_as<bfloat16>(x, inputs, to, elements, scratch, stream);
    default: break;
    }
    switch (size_of(e)) { // signed or not, the bits are the same
    case 1: return add_as<std::uint8_t>(x, inputs, to, elements, scratch, stream);
    case 2: return add_as<std::uint16_t>(x, inputs, to, elements, scratch, stream);
    case 4: return add_as<std::uint32_t>(x, inputs, to, elements, scratch, stream);
    default: return add_as<std::uint64_t>(x, inputs, to, elements, scratch, stream);
    }
}

} // namespace tenon::cuda
