#include <complex>

#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

// Fourier transforms; test/op_table/entries/linear/fourier.cpp has their sums for few numbers.

using namespace tenon;
using test::element;
using test::random_array;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

std::vector<std::complex<double>> by_sums(const std::vector<std::complex<double>>& x, double sign) {
    const std::size_t n = x.size();
    std::vector<std::complex<double>> y(n);
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j)
            y[k] += x[j] * std::polar(1.0, sign * 2 * std::acos(-1.0) * static_cast<double>(j * k % n) /
                                               static_cast<double>(n));
    return y;
}

} // namespace

TEST_CASE_TEMPLATE("fft, ifft, rfft, irfft: are their sums, for many lengths", T, float, double) {
    const double allowed = std::is_same_v<T, double> ? 1e-11 : 2e-3;
    for (const std::int64_t n : {1, 2, 3, 4, 7, 12, 16, 30, 97, 128, 500}) {
        CAPTURE(n);
        const graph_scope scope{graph()};
        const any_array pairs = random_array<T>({3, n, 2}, 4), real = random_array<T>({3, n}, 5);
        const any_tensor x = untyped::placeholder(element_type_of<T>, {extent{}, extent{}, extent{}});
        const any_tensor s = untyped::placeholder(element_type_of<T>, {extent{}, extent{}});
        const any_tensor y = untyped::fft(x), half = untyped::rfft(s);
        session sess(graph::current());
        const std::vector<any_array> got =
            sess.run_untyped(tn::test::fed(x, pairs, s, real),
                             {y, untyped::ifft(x), untyped::ifft(y), half, untyped::irfft(half, 1, n)});
        for (std::int64_t row = 0; row < 3; ++row) {
            std::vector<std::complex<double>> z, r;
            for (std::int64_t i = row * n; i < (row + 1) * n; ++i) {
                z.emplace_back(element<T>(pairs, 2 * i), element<T>(pairs, 2 * i + 1));
                r.emplace_back(element<T>(real, i), 0.0);
            }
            const auto at = [&](int which, std::int64_t i) {
                const any_array& a = got[static_cast<std::size_t>(which)];
                return std::complex<double>(element<T>(a, 2 * i), element<T>(a, 2 * i + 1));
            };
            const auto forward = by_sums(z, -1), inverse = by_sums(z, 1), of_real = by_sums(r, -1);
            for (std::int64_t i = 0; i < n; ++i) {
                const auto k = static_cast<std::size_t>(i);
                REQUIRE(std::abs(at(0, row * n + i) - forward[k]) <= allowed);
                REQUIRE(std::abs(at(1, row * n + i) - inverse[k] / static_cast<double>(n)) <= allowed);
                REQUIRE(std::abs(at(2, row * n + i) - z[k]) <= allowed);
                if (i <= n / 2) REQUIRE(std::abs(at(3, row * (n / 2 + 1) + i) - of_real[k]) <= allowed);
                REQUIRE(std::abs(element<T>(got[4], row * n + i) - r[k].real()) <= allowed);
            }
        }
    }
}

TEST_CASE_FIXTURE(in_graph, "fft over several dimensions: one after another") {
    const any_array image = random_array<double>({2, 3, 4}, 6);
    const auto x = placeholder<double, shape<batch, 3, 4>>("x");
    const auto y = rfft<2>(x);
    static_assert(std::is_same_v<decltype(y), const tensor<double, shape<batch, 3, 3, 2>>>);
    const auto back = irfft<2>(y);
    static_assert(std::is_same_v<decltype(back), const tensor<double, shape<batch, 3, 4>>>);
    static_assert(std::is_same_v<decltype(irfft<1, 5>(y)), tensor<double, shape<batch, 3, 5>>>);
    static_assert(std::is_same_v<decltype(fft<3>(y)), tensor<double, shape<batch, 3, 3, 2>>>);
    session sess(graph::current());
    const std::vector<any_array> got = sess.run_untyped(tn::test::fed(x, image), {y, back, ifft<2>(fft<2>(y))});
    for (int b = 0, to = 0; b < 2; ++b)
        for (int k = 0; k < 3; ++k)
            for (int l = 0; l < 3; ++l, to += 2) {
                std::complex<double> sum = 0;
                for (int i = 0; i < 3; ++i)
                    for (int j = 0; j < 4; ++j)
                        sum += element<double>(image, (b * 3 + i) * 4 + j) *
                               std::polar(1.0, -2 * std::acos(-1.0) * (i * k / 3.0 + j * l / 4.0));
                CHECK(element<double>(got[0], to) == doctest::Approx(sum.real()));
                CHECK(element<double>(got[0], to + 1) == doctest::Approx(sum.imag()));
            }
    for (std::int64_t i = 0; i < image.elements(); ++i)
        CHECK(element<double>(got[1], i) == doctest::Approx(element<double>(image, i)));
    for (std::int64_t i = 0; i < got[0].elements(); ++i)
        CHECK(element<double>(got[2], i) == doctest::Approx(element<double>(got[0], i)));
}

TEST_CASE("fft, ifft, rfft, irfft: gradients") {
    namespace u = untyped;
    using in = const std::vector<any_tensor>&;
    const auto check = [](any_tensor (*f)(in), const extents& sizes) {
        CHECK(test::check_untyped_gradients([&](in x) { return u::sin(f(x)); }, {{sizes}}) == "");
    };
    check([](in x) { return u::fft(x[0]); }, {2, 3, 2});
    check([](in x) { return u::ifft(x[0], 2); }, {2, 3, 2});
    for (const int n : {1, 4, 5, 6}) check([](in x) { return u::rfft(x[0]); }, {2, n});
    check([](in x) { return u::rfft(x[0], 2); }, {2, 3, 5});
    check([](in x) { return u::irfft(x[0]); }, {2, 3, 2});
    check([](in x) { return u::irfft(x[0], 2, 5); }, {2, 3, 2});
}

TEST_CASE_FIXTURE(in_graph, "fft: what does not fit is refused") {
    const auto real = untyped::placeholder(element_type::float32, {4, 3}),
               whole = untyped::placeholder(element_type::int32, {4, 2});
    const auto pairs = untyped::placeholder(element_type::float32, {4, 2});
    const auto refused = [](const auto& f, const char* words) {
        CHECK_THROWS_WITH_AS(f(), words, invalid_argument_error);
    };
    refused([&] { untyped::fft(real); }, "fft: the last dimension is not 2, for real and imaginary parts: float[4, 3]");
    refused([&] { untyped::ifft(whole); }, "ifft: elements must be float or double: int32[4, 2]");
    refused([&] { untyped::fft(pairs, 2); }, "fft: there are fewer dimensions than are to be transformed: float[4, 2]");
    refused([&] { untyped::irfft(pairs, 1, 9); },
            "irfft: there are not n / 2 + 1 numbers for a result of n: float[4, 2]");
}
