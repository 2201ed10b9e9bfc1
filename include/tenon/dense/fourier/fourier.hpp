#pragma once

#include <complex>
#include <cstdint>
#include <memory>

#include <tenon/core/config.hpp>

namespace tenon::dense {

/// Discrete Fourier transforms of n numbers, by Eigen's copy of KISS FFT, for float and double: y[k] = sum over j of x[j] exp(-2 pi i j k / n),
/// and with +2 in the inverse, which is not divided by n. Of real numbers the first n / 2 + 1 of y are there, and the inverse takes the
/// others to be their conjugates. n of small prime factors is fast; a large prime p takes p operations a number. Not to be used by
/// several threads at once; takes memory when it is first used.
template <class T> class fourier_transform {
public:
    explicit fourier_transform(std::int64_t n);
    ~fourier_transform();
    fourier_transform(fourier_transform&&) = delete;

    void forward(const std::complex<T>* x, std::complex<T>* y);
    void inverse(const std::complex<T>* y, std::complex<T>* x);
    void forward_real(const T* x, std::complex<T>* y);
    void inverse_real(const std::complex<T>* y, T* x);

private:
    struct library;
    std::unique_ptr<library> library_;
    int n_;
};

} // namespace tenon::dense

#if TENON_HEADER_ONLY
#include <tenon/dense/fourier/fourier.ipp>
#endif
