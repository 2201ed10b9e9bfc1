#include <cuda/kernels/random/random.hpp>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/random/numbers.hpp>

namespace tenon::cuda {

namespace {

template <class T, int N> struct alignas(sizeof(T) * N) together { T element[N]; };

// A thread makes a block of numbers at a time and keeps those between first and first + n, as elements of T. `flag` false: they are
// all T(1).
template <class T, class Blocks>
__global__ void fill_blocks(T* to, std::int64_t n, random_place at, Blocks blocks, const bool* flag, bool is_aligned) {
    constexpr int size = Blocks::size;
    const bool plain = flag && !*flag;
    const random_stream s{at.key, *at.run, 0};
    // At the end of what can be counted, too.
    const std::int64_t before = at.first % size, begin = at.first / size, count = (before + n + size - 1) / size;
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t b = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; b < count; b += all) {
        together<T, size> made;
        if (plain) {
            for (int k = 0; k < size; ++k) made.element[k] = T(1);
        } else {
            const auto numbers = blocks(s.block(static_cast<std::uint64_t>(begin + b)));
            for (int k = 0; k < size; ++k) made.element[k] = narrow<T>(numbers.number[k]);
        }
        const std::int64_t to_first = b * size - before;
        if (is_aligned && to_first >= 0 && to_first + size <= n) {
            *reinterpret_cast<together<T, size>*>(to + to_first) = made;
            continue;
        }
        for (int k = 0; k < size; ++k)
            if (to_first + k >= 0 && to_first + k < n) to[to_first + k] = made.element[k];
    }
}

template <class T, class Blocks>
void fill(void* to, std::int64_t n, const random_place& at, const Blocks& blocks, void* stream,
          const bool* flag = nullptr) {
    if (n == 0) return;
    constexpr std::int64_t size = Blocks::size;
    const bool is_aligned =
        at.first % size == 0 && reinterpret_cast<std::uintptr_t>(to) % (sizeof(T) * Blocks::size) == 0;
    launch(fill_blocks<T, Blocks>, blocks_for((n + size - 1) / size + 1), block_threads, 0, stream, static_cast<T*>(to),
           n, at, blocks, flag, is_aligned);
}

// The largest number of T below x, in the type that T is computed in.
template <class T, class Bits> compute_t<T> number_below(T x) {
    const auto bits = std::bit_cast<Bits>(x);
    constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    Bits below = static_cast<Bits>(sign | 1U); // of a zero
    if ((bits & static_cast<Bits>(~sign)) != 0) below = static_cast<Bits>((bits & sign) != 0 ? bits + 1U : bits - 1U);
    return widen(std::bit_cast<T>(below));
}

template <class T, class Bits>
void fill_even(void* to, std::int64_t n, const random_place& at, double low, double high, int digits, void* stream) {
    using C = compute_t<T>;
    const T hi = static_cast<T>(high);
    const C lo = widen(static_cast<T>(low));
    const even_numbers<C> map{digits, lo, widen(hi) - lo, number_below<T, Bits>(hi)};
    fill<T>(to, n, at, mapped_blocks<C, even_numbers<C>>{map}, stream);
}

} // namespace

void random_uniform(tenon::element_type e, void* to, std::int64_t n, const random_place& at, double lo, double hi,
                    void* stream) {
    switch (e) {
    case element_type::float64: return fill_even<double, std::uint64_t>(to, n, at, lo, hi, 53, stream);
    case element_type::float16: return fill_even<half, std::uint16_t>(to, n, at, lo, hi, 11, stream);
    case element_type::bfloat16: return fill_even<bfloat16, std::uint16_t>(to, n, at, lo, hi, 8, stream);
    default: return fill_even<float, std::uint32_t>(to, n, at, lo, hi, 24, stream);
    }
}

void random_normal(tenon::element_type e, void* to, std::int64_t n, const random_place& at, double mean,
                   double deviation, void* stream) {
    with_floating_type(e, [&]<class T>(T) {
        using C = compute_t<T>;
        fill<T>(to, n, at, normal_blocks<C>{static_cast<C>(mean), static_cast<C>(deviation)}, stream);
    });
}

void random_truncated_normal(tenon::element_type e, void* to, std::int64_t n, const random_place& at, double mean,
                             double deviation, void* stream) {
    with_floating_type(e, [&]<class T>(T) {
        using C = compute_t<T>;
        const truncated_numbers<C> map{static_cast<C>(mean), static_cast<C>(deviation)};
        fill<T>(to, n, at, mapped_blocks<C, truncated_numbers<C>>{map}, stream);
    });
}

void random_integers(std::size_t bytes, void* to, std::int64_t n, const random_place& at, std::int64_t lo,
                     std::uint64_t range, void* stream) {
    const auto fill_as = [&]<class T>(T) {
        fill<T>(to, n, at, integer_blocks<T>{static_cast<std::uint64_t>(lo), range}, stream);
    };
    switch (bytes) {
    case 1: return fill_as(std::uint8_t{});
    case 2: return fill_as(std::uint16_t{});
    case 4: return fill_as(std::uint32_t{});
    default: return fill_as(std::uint64_t{});
    }
}

void random_truths(bool* to, std::int64_t n, const random_place& at, double p, const bool* flag, void* stream) {
    const bool always = p >= 1;
    const auto below = always || !(p > 0) ? 0U : static_cast<std::uint32_t>(p * 0x1p32);
    fill<bool>(to, n, at, truth_blocks{below, always}, stream, flag);
}

} // namespace tenon::cuda
