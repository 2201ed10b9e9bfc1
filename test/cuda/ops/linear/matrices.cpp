#include "../both_devices.hpp"
#include "ops/linear/matrix_checks.hpp"

// Decompositions and systems of equations on a GPU: what they must satisfy, and what is said of matrices that have none.

using namespace tenon;
using test::drawn_seed, test::run_on_gpu;

namespace {

const test::matrix_runner on_gpu = [](const auto& values, const auto& build) { return run_on_gpu(values, build); };
const std::int64_t sizes[] = {1, 2, 5, 33, 70};

} // namespace

TEST_CASE_TEMPLATE("on a GPU: l l^T = a, and systems of triangles and of any matrix are solved", T, float, double) {
    for (const std::int64_t n : sizes) test::check_systems<T>(on_gpu, n, 1 + n % 40);
}

TEST_CASE("on a GPU: systems where rows must be exchanged, of each form and of repeated batches") {
    std::mt19937_64 random(drawn_seed());
    any_array a = test::numbers<double>(extents(1, 3, 40, 40), random);
    for (std::int64_t i = 0; i < 3 * 40 * 40; ++i)
        if (i % 1600 % 41 == 0) a.data<double>()[i] = 0;
    const any_array b = test::numbers<double>(extents(2, 1, 40, 3), random),
                    one = test::numbers<double>(extents(40), random);
    CHECK(test::steps_on("/gpu:0", 1, 0, {&a, &b, &one},
                         [](const auto& in) {
                             return std::vector{untyped::solve(in[0], in[1]), untyped::solve(in[0], in[2])};
                         })[0][0]
              .extents() == extents(2, 3, 40, 3));
    for (const bool transposed_too : {false, true}) {
        const auto solved = [&](const auto& in) {
            return std::vector{tenon::add<solve_op>({transposed_too}, {in[0], in[1]}),
                               tenon::add<solve_op>({transposed_too}, {in[0], in[2]})};
        };
        const auto host = std::move(test::steps_on("/cpu:0", 1, 0, {&a, &b, &one}, solved)[0]);
        const std::vector<any_array> gpu = run_on_gpu({&a, &b, &one}, solved);
        for (std::size_t o = 0; o < 2; ++o)
            for (std::int64_t i = 0; i < host[o].elements(); ++i)
                CHECK(gpu[o].data<double>()[i] == doctest::Approx(host[o].data<double>()[i]).epsilon(1e-9));
    }
}

TEST_CASE("on a GPU: determinants of numbers beyond a double's range are in logarithms, and of nothing are 1") {
    any_array large(element_type::float64, extents(2, 3, 3));
    const double values[] = {0, 1e200, 0, 1e200, 0, 0, 0, 0, 1e200, 1, 2, 3, 4, 5, 6, 7, 8, 10};
    std::copy(std::begin(values), std::end(values), large.data<double>());
    const any_array nothing(element_type::float64, extents(2, 0, 0));
    const auto got = run_on_gpu({&large, &nothing}, [](const auto& in) {
        const auto parts = untyped::slogdet(in[0]);
        return std::vector{untyped::determinant(in[0]), parts[0], parts[1], untyped::determinant(in[1])};
    });
    CHECK(got[0].data<double>()[0] == -std::numeric_limits<double>::infinity());
    CHECK(got[0].data<double>()[1] == doctest::Approx(-3));
    CHECK(got[1].data<double>()[0] == -1);
    CHECK(got[2].data<double>()[0] == doctest::Approx(600 * std::log(10)));
    CHECK(got[3].data<double>()[0] == 1);
    CHECK(got[3].data<double>()[1] == 1);
}

TEST_CASE_TEMPLATE("on a GPU: q r, u diag(s) vt and v diag(w) v^T are the matrix, and their vectors orthonormal", T,
                   float, double) {
    for (const auto& [m, n] : {std::pair{1, 1}, {4, 3}, {3, 5}, {40, 33}, {20, 47}})
        test::check_factors<T>(on_gpu, m, n);
    for (const std::int64_t n : sizes) test::check_eigenvectors<T>(on_gpu, n);
}

TEST_CASE("on a GPU: matrices without full rank, with equal values, of nothing but 0, and of large and small numbers") {
    test::check_hard_decompositions(on_gpu);
}

TEST_CASE("on a GPU: a matrix for which there is no result is named as on the host, also in a step that is replayed") {
    test::check_refused_matrices("/gpu:0");
}
