#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

/// Discrete Fourier transforms of rows of n numbers of float or double: sums over j of x[j] exp(-2 pi i j k / n), or with +2.

namespace tenon::cuda {

/// What rows are read and written as. half: the first n / 2 + 1 complex numbers, of which the others are the conjugates.
enum class spectrum { complex, real, half };

struct fourier_transform {
    std::int64_t n = 1, rows = 0;
    spectrum from = spectrum::complex, to = spectrum::complex;
    bool inverse = false; ///< +2
    double scale = 1;     ///< of all results
    double paired = 1;    ///< of what stands for its conjugate too, in the half spectrum that is read or written
    constexpr std::int64_t numbers() const { return n * rows; }
    constexpr std::int64_t half() const { return n / 2 + 1; }
};

/// The factors of n, in whose turn sums are made: of n numbers in all, a pass takes as many operations a number as its factor says.
struct fourier_passes {
    explicit fourier_passes(std::int64_t n);
    static constexpr int most = 40;
    int count = 0;
    std::int64_t factors[most]{};
};

/// Bytes of working memory.
std::size_t fourier_bytes(const fourier_transform& t, const fourier_passes& p, tenon::element_type e);
/// Autosorting passes of any factors (Stockham).
void transform(const fourier_transform& t, const fourier_passes& p, tenon::element_type e, const void* x, void* y,
               std::byte* scratch, void* stream);

/// y[i] = x[i] scaled, of complex numbers of half spectra, [rows, half]; y may be x.
void scale_half_spectrum(const fourier_transform& t, tenon::element_type e, const void* x, void* y, void* stream);
/// y[i] *= scale, of `count` numbers.
void scale_numbers(double scale, tenon::element_type e, void* y, std::int64_t count, void* stream);

} // namespace tenon::cuda
