// Fourier transforms on a GPU against sums in double, of each form and of lengths with small, large and no factors.

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

#include "../../environment.hpp"
#include "../both_devices.hpp"

using namespace tenon;
using test::drawn_seed, test::environment, test::run_on_gpu;

namespace {

using number = std::complex<double>;

std::vector<number> sums(const std::vector<number>& x, int direction) {
    const auto n = static_cast<std::int64_t>(x.size());
    std::vector<number> y;
    for (std::int64_t k = 0; k < n; ++k) {
        number sum = 0;
        for (std::int64_t j = 0; j < n; ++j)
            sum += x[static_cast<std::size_t>(j)] *
                   std::polar(1.0, direction * 2 * std::acos(-1.0) * static_cast<double>(j * k % n) /
                                       static_cast<double>(n));
        y.push_back(sum);
    }
    return y;
}
number at(const any_array& a, std::int64_t i) { return {test::number_at(a, 2 * i), test::number_at(a, 2 * i + 1)}; }

template <class T> void check_transforms() {
    std::mt19937_64 random(drawn_seed());
    const auto value = [&](std::int64_t) { return static_cast<double>(random() % 2001) / 1000 - 1; };
    for (const std::int64_t n : {1, 2, 3, 4, 16, 21, 37, 60, 101, 128}) {
        INFO("n ", n);
        const std::int64_t rows = n == 128 ? 3 : 2, half = n / 2 + 1;
        const any_array x = test::array_of<T>(extents(rows, n, 2), value),
                        real = test::array_of<T>(extents(rows, n), value);
        const auto got = run_on_gpu({&x, &real}, [&](const auto& in) {
            const any_tensor halved = untyped::rfft(in[1]);
            return std::vector{untyped::fft(in[0]), untyped::ifft(in[0]), halved, untyped::irfft(halved, 1, n)};
        });
        const double most = 20 * static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(n);
        for (std::int64_t row = 0; row < rows; ++row) {
            std::vector<number> complex_row, real_row;
            for (std::int64_t j = 0; j < n; ++j) {
                complex_row.push_back(at(x, row * n + j));
                real_row.emplace_back(test::number_at(real, row * n + j), 0);
            }
            const auto forward = sums(complex_row, -1), inverse = sums(complex_row, 1), spectrum = sums(real_row, -1);
            for (std::int64_t k = 0; k < n; ++k) {
                const auto p = static_cast<std::size_t>(k);
                CHECK(std::abs(at(got[0], row * n + k) - forward[p]) < most);
                CHECK(std::abs(at(got[1], row * n + k) - inverse[p] / static_cast<double>(n)) < most);
                if (k < half) CHECK(std::abs(at(got[2], row * half + k) - spectrum[p]) < most);
                CHECK(std::abs(test::number_at(got[3], row * n + k) - real_row[p].real()) < most);
            }
        }
    }
}

} // namespace

TEST_CASE_TEMPLATE("transforms on a GPU are those sums, by cuFFT where it is there", T, float, double) {
    check_transforms<T>();
}
TEST_CASE_TEMPLATE("transforms on a GPU are those sums, by Tenon's own kernels", T, float, double) {
    const environment own("TENON_CUDA_TRANSFORMS", "own");
    check_transforms<T>();
}

TEST_CASE("what was transformed on a GPU there and back, over two dimensions, is what it was") {
    std::mt19937_64 random(drawn_seed());
    const any_array x = test::numbers<double>(extents(2, 6, 9), random);
    for (const char* how : {"own", ""}) {
        const environment by("TENON_CUDA_TRANSFORMS", how);
        const auto got =
            run_on_gpu({&x}, [](const auto& in) { return std::vector{untyped::irfft(untyped::rfft(in[0], 2), 2, 9)}; });
        for (std::int64_t i = 0; i < x.elements(); ++i)
            CHECK(got[0].data<double>()[i] == doctest::Approx(x.data<double>()[i]));
    }
}
