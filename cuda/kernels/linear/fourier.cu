#include <cuda/kernels/linear/fourier.hpp>

#include <cuda/kernels/each.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

template <class T> struct alignas(2 * sizeof(T)) complex_number { T re, im; };

// exp(2 pi i part / of), 0 <= part < of.
template <class T> __device__ complex_number<T> root_of_unity(std::int64_t part, std::int64_t of, bool inverse) {
    constexpr double turn = 6.283185307179586;
    const double turns = static_cast<double>(2 * part > of ? part - of : part) / static_cast<double>(of);
    const T angle = static_cast<T>(inverse ? turn * turns : -turn * turns);
    return {static_cast<T>(cos(angle)), static_cast<T>(sin(angle))};
}
// By what numbers of half a spectrum are multiplied.
template <class T> __device__ T weight_of(const fourier_transform& t, std::int64_t k) {
    return static_cast<T>(k > 0 && 2 * k < t.n ? t.paired : 1.0);
}

template <class T>
__device__ complex_number<T> read(const fourier_transform& t, spectrum as, const T* x, std::int64_t row,
                                  std::int64_t j) {
    if (as == spectrum::real) return {x[row * t.n + j], T{0}};
    const auto* const numbers = reinterpret_cast<const complex_number<T>*>(x);
    if (as == spectrum::complex) return numbers[row * t.n + j];
    const bool conjugate = 2 * j > t.n;
    const std::int64_t k = conjugate ? t.n - j : j;
    complex_number<T> z = numbers[row * t.half() + k];
    const T weight = weight_of<T>(t, k);
    return {z.re * weight, conjugate ? -z.im * weight : z.im * weight};
}
template <class T>
__device__ void write(const fourier_transform& t, spectrum as, T* y, std::int64_t row, std::int64_t k, T re, T im) {
    auto* const numbers = reinterpret_cast<complex_number<T>*>(y);
    if (as == spectrum::real) y[row * t.n + k] = re;
    else if (as == spectrum::complex) numbers[row * t.n + k] = {re, im};
    else if (k < t.half()) numbers[row * t.half() + k] = {re * weight_of<T>(t, k), im * weight_of<T>(t, k)};
}

// One number a thread: a sum over those that are n / factor apart. `done`: the product of the factors before.
template <class T>
__global__ void pass(fourier_transform t, spectrum from, spectrum to, std::int64_t done, std::int64_t factor, T scale,
                     const T* x, T* y) {
    const std::int64_t apart = t.n / factor, of = done * factor;
    each_in_grid(t.numbers(), [&](std::int64_t at) {
        const std::int64_t row = at / t.n, k = at % t.n;
        // Number r of the sums of group j goes to j / done * of + j % done + r * done.
        const std::int64_t part = k % of, j = k / of * done + part % done;
        T re = 0, im = 0;
        for (std::int64_t q = 0; q < factor; ++q) {
            const complex_number<T> v = read(t, from, x, row, j + q * apart),
                                    w = root_of_unity<T>(q * part % of, of, t.inverse);
            re += v.re * w.re - v.im * w.im;
            im += v.re * w.im + v.im * w.re;
        }
        write(t, to, y, row, k, re * scale, im * scale);
    });
}

template <class T> __global__ void scale_half(fourier_transform t, const complex_number<T>* x, complex_number<T>* y) {
    each_in_grid(t.rows * t.half(), [&](std::int64_t i) {
        const T by = static_cast<T>(t.scale) * weight_of<T>(t, i % t.half());
        y[i] = {x[i].re * by, x[i].im * by};
    });
}

template <class T> __global__ void scale_all(T by, T* y, std::int64_t count) {
    each_in_grid(count, [&](std::int64_t i) { y[i] *= by; });
}

} // namespace

fourier_passes::fourier_passes(std::int64_t n) {
    const auto take = [&](std::int64_t factor) {
        while (n % factor == 0) {
            factors[count++] = factor;
            n /= factor;
        }
    };
    take(4);
    for (std::int64_t factor = 2; factor * factor <= n; ++factor) take(factor);
    if (n > 1 || count == 0) factors[count++] = n;
}

std::size_t fourier_bytes(const fourier_transform& t, const fourier_passes& p, tenon::element_type e) {
    const int buffers = p.count < 3 ? p.count - 1 : 2;
    return static_cast<std::size_t>(2 * buffers * t.numbers()) * size_of(e);
}

void transform(const fourier_transform& t, const fourier_passes& p, tenon::element_type e, const void* x, void* y,
               std::byte* scratch, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        T* const buffers[] = {reinterpret_cast<T*>(scratch), reinterpret_cast<T*>(scratch) + 2 * t.numbers()};
        const T* from = static_cast<const T*>(x);
        std::int64_t done = 1;
        for (int i = 0; i < p.count; ++i) {
            const bool last = i + 1 == p.count;
            T* const to = last ? static_cast<T*>(y) : buffers[i % 2];
            launch(pass<T>, blocks_for(t.numbers()), block_threads, 0, stream, t, i == 0 ? t.from : spectrum::complex,
                   last ? t.to : spectrum::complex, done, p.factors[i], last ? static_cast<T>(t.scale) : T{1}, from,
                   to);
            done *= p.factors[i];
            from = to;
        }
    });
}

void scale_half_spectrum(const fourier_transform& t, tenon::element_type e, const void* x, void* y, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(scale_half<T>, blocks_for(t.rows * t.half()), block_threads, 0, stream, t,
               static_cast<const complex_number<T>*>(x), static_cast<complex_number<T>*>(y));
    });
}

void scale_numbers(double scale, tenon::element_type e, void* y, std::int64_t count, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(scale_all<T>, blocks_for(count), block_threads, 0, stream, static_cast<T>(scale), static_cast<T*>(y),
               count);
    });
}

} // namespace tenon::cuda
