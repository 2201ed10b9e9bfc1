#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/dense/gemm.hpp>

#include "messages.hpp"
#include "each_thread.hpp"
#include "dense_support.hpp"

using namespace tenon;
using namespace tenon::dense;

namespace {

struct operands_of {
    std::int64_t a, b, c;
};

operands_of sizes_of(const gemm_description& d) {
    return {d.batch_stride_a * (d.batch - 1) + d.m * d.k, d.batch_stride_b * (d.batch - 1) + d.k * d.n,
            d.batch * d.m * d.n};
}

template <class T>
std::vector<double> naive(const gemm_description& d, const std::vector<T>& a, const std::vector<T>& b,
                          const std::vector<T>& bias, const std::vector<T>& before) {
    std::vector<double> c(static_cast<std::size_t>(d.batch * d.m * d.n));
    for (std::int64_t q = 0; q < d.batch; ++q) {
        for (std::int64_t i = 0; i < d.m; ++i) {
            for (std::int64_t j = 0; j < d.n; ++j) {
                const auto at = static_cast<std::size_t>((q * d.m + i) * d.n + j);
                double sum = 0.0;
                for (std::int64_t p = 0; p < d.k; ++p) {
                    const auto ai = q * d.batch_stride_a + (d.transpose_a ? p * d.m + i : i * d.k + p);
                    const auto bi = q * d.batch_stride_b + (d.transpose_b ? j * d.k + p : p * d.n + j);
                    sum += static_cast<double>(a[static_cast<std::size_t>(ai)]) *
                           static_cast<double>(b[static_cast<std::size_t>(bi)]);
                }
                sum *= d.scale;
                if (d.accumulate) sum += static_cast<double>(before[at]);
                if (adds_bias(d.after)) sum += static_cast<double>(bias[static_cast<std::size_t>(j)]);
                if (clips(d.after)) sum = std::max(sum, 0.0);
                c[at] = sum;
            }
        }
    }
    return c;
}

thread_pool& pool_of(int threads) {
    static thread_pool two(2);
    static thread_pool five(5);
    return threads == 2 ? two : five;
}

/// Checks one product on one thread and on several; the numbers must not depend on how many.
template <class T> void check_product(gemm_description d) {
    if (d.with == backend::libxsmm && d.transpose_b && d.n * d.k > 4096) return; // it has none
    d.element = element_type_of<T>;
    INFO(said_by(d));
    const auto size = sizes_of(d);
    const auto a = random_numbers<T>(size.a, 1);
    const auto b = random_numbers<T>(size.b, 2);
    const auto bias = random_numbers<T>(d.n, 3);
    const auto before = random_numbers<T>(size.c, 4);
    const auto expected = naive(d, a, b, bias, before);
    const double tolerance = allowed<T>() * static_cast<double>(d.k + 2);
    for (const int threads : {1, 2, 5}) {
        CAPTURE(threads);
        d.threads = threads;
        const gemm product(d);
        // One element more on each side shows whether anything is written outside c.
        std::vector<T> c(static_cast<std::size_t>(size.c) + 2, T(77));
        for (int round = 0; round < 2; ++round) {
            std::copy(before.begin(), before.end(), c.begin() + 1);
            product.run(a.data(), b.data(), bias.data(), c.data() + 1, threads == 1 ? nullptr : &pool_of(threads));
            CHECK(c.front() == T(77));
            CHECK(c.back() == T(77));
            CHECK(worst_error(std::vector<T>(c.begin() + 1, c.end() - 1), expected) <= tolerance);
        }
    }
}

std::vector<backend> backends_for(element_type element) {
    std::vector<backend> all{backend::eigen};
    if (has_backend(backend::onednn) && element == element_type::float32) all.push_back(backend::onednn);
    if (has_backend(backend::libxsmm)) all.push_back(backend::libxsmm);
    return all;
}

} // namespace

TEST_CASE_TEMPLATE("gemm equals the naive product for sizes around those of tiles, whatever is transposed", T, float,
                   double) {
    for_each_isa([](simd::isa isa) {
        CAPTURE(simd::name_of(isa));
        for (const auto with : backends_for(element_type_of<T>)) {
            for (const std::int64_t m : {1, 2, 3, 8, 15, 16}) {
                for (const std::int64_t n : {1, 4, 7, 16, 31, 48, 52, 67, 100}) {
                    for (const std::int64_t k : {1, 5, 32}) {
                        for (const int transposed : {0, 1, 2, 3}) {
                            gemm_description d{.m = m,
                                               .n = n,
                                               .k = k,
                                               .transpose_a = (transposed & 1) != 0,
                                               .transpose_b = (transposed & 2) != 0,
                                               .with = with};
                            check_product<T>(d);
                        }
                    }
                }
            }
        }
    });
}

TEST_CASE_TEMPLATE("gemm equals the naive product where k is cut into blocks and threads share it", T, float, double) {
    for_each_isa([](simd::isa isa) {
        CAPTURE(simd::name_of(isa));
        for (const auto with : backends_for(element_type_of<T>)) {
            for (const int transposed : {0, 1, 2, 3}) {
                gemm_description d{.m = 70,
                                   .n = 129,
                                   .k = 2100,
                                   .transpose_a = (transposed & 1) != 0,
                                   .transpose_b = (transposed & 2) != 0,
                                   .after = transposed == 3 ? epilogue::bias_relu : epilogue::none,
                                   .with = with};
                check_product<T>(d);
            }
            check_product<T>(gemm_description{.m = 9, .n = 1700, .k = 130, .transpose_b = true, .with = with});
            // rows of b are a multiple of 4 KiB apart
            check_product<T>(gemm_description{.m = 65, .n = 1024, .k = 70, .with = with});
        }
    });
}

TEST_CASE_TEMPLATE("gemm's epilogues add the bias of the column, clip at zero, or both; accumulate adds to c", T, float,
                   double) {
    for (const auto with : backends_for(element_type_of<T>)) {
        for (const auto after : {epilogue::none, epilogue::bias, epilogue::relu, epilogue::bias_relu}) {
            for (const std::int64_t n : {10, 64, 77}) {
                check_product<T>(gemm_description{.m = 50, .n = n, .k = 100, .after = after, .with = with});
            }
        }
        gemm_description sum{.m = 33, .n = 65, .k = 40, .accumulate = true, .with = with};
        check_product<T>(sum);
        sum.k = 3000;
        check_product<T>(sum);
        if (with == backend::libxsmm) continue; // it has no scale
        sum.scale = -0.25;
        check_product<T>(sum);
        sum.accumulate = false;
        sum.after = epilogue::relu;
        check_product<T>(sum);
        if (with == backend::onednn) continue; // it would scale the bias
        sum.after = epilogue::bias_relu;
        check_product<T>(sum);
    }
}

TEST_CASE_TEMPLATE("gemm takes batches, with operands of their own or shared", T, float, double) {
    for (const auto with : backends_for(element_type_of<T>)) {
        for (const int shared : {0, 1, 2, 3}) {
            for (const std::int64_t batch : {1, 3, 40}) {
                gemm_description d{.batch = batch, .m = 37, .n = 70, .k = 29};
                d.batch_stride_a = (shared & 1) != 0 ? 0 : d.m * d.k;
                d.batch_stride_b = (shared & 2) != 0 ? 0 : d.k * d.n;
                d.transpose_b = shared == 0;
                d.after = epilogue::bias;
                d.with = with;
                check_product<T>(d);
            }
        }
    }
}

TEST_CASE("gemm without terms gives the epilogue of zero, without elements nothing") {
    const gemm product(gemm_description{.m = 3, .n = 5, .k = 0, .after = epilogue::bias_relu});
    const std::vector<float> bias{1, -1, 2, -2, 0};
    std::vector<float> c(15, 9.0F);
    product.run(nullptr, nullptr, bias.data(), c.data(), nullptr);
    for (std::size_t i = 0; i < 15; ++i) CHECK(c[i] == std::max(bias[i % 5], 0.0F));
    for (const int empty : {0, 1, 2}) {
        gemm_description none{.batch = empty == 2 ? 0 : 1, .m = empty == 0 ? 0 : 4, .n = empty == 1 ? 0 : 4, .k = 4};
        float nothing = 0;
        gemm(none).run(&nothing, &nothing, nullptr, &nothing, nullptr);
        CHECK(nothing == 0);
    }
}

TEST_CASE("a NaN or infinity in an operand reaches the elements that depend on it, and no others") {
    for (const auto with : backends_for(element_type::float32)) {
        gemm_description d{.m = 11, .n = 37, .k = 20, .with = with};
        auto a = random_numbers<float>(d.m * d.k, 1);
        const auto b = random_numbers<float>(d.k * d.n, 2);
        a[3 * 20 + 7] = NAN;
        std::vector<float> c(static_cast<std::size_t>(d.m * d.n));
        gemm(d).run(a.data(), b.data(), nullptr, c.data(), nullptr);
        for (std::size_t i = 0; i < c.size(); ++i) CHECK(std::isnan(c[i]) == (i / 37 == 3));
    }
}

TEST_CASE("one gemm may be run by several threads at once") {
    for (const auto with : backends_for(element_type::float32)) {
        gemm_description d{.m = 40, .n = 60, .k = 64, .transpose_b = true, .threads = 2, .with = with};
        const gemm product(d);
        const auto b = random_numbers<float>(d.k * d.n, 2);
        std::atomic<int> wrong{0};
        on_threads(4U, [&](unsigned t) {
            const auto a = random_numbers<float>(d.m * d.k, 10 + t);
            const auto expected = naive<float>(d, a, b, {}, {});
            std::vector<float> c(static_cast<std::size_t>(d.m * d.n));
            for (int round = 0; round < 50; ++round) {
                product.run(a.data(), b.data(), nullptr, c.data(), &pool_of(2));
                if (worst_error(c, expected) > allowed<float>() * 66) ++wrong;
            }
        });
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("gemm refuses what it cannot compute, in words that name the product") {
    gemm_description d{.m = 2, .n = 3, .k = 4, .element = element_type::int32};
    CHECK_ERROR(invalid_argument_error, "[2, 4] * [4, 3]", gemm{d});
    d.element = element_type::float32;
    d.accumulate = true;
    d.after = epilogue::relu;
    CHECK_THROWS_AS(gemm{d}, invalid_argument_error);
    d.accumulate = false;
    d.k = -4;
    CHECK_THROWS_AS(gemm{d}, invalid_argument_error);
    d.k = 4;
    d.with = backend::onednn;
    d.element = element_type::float64;
    CHECK_THROWS_AS(gemm{d}, unimplemented_error);
}

TEST_CASE("the best backend of small products is libxsmm where this build has it, of others it is not") {
    gemm_description d{.m = 32, .n = 32, .k = 32};
    const backend of_float = has_backend(backend::onednn) ? backend::onednn : backend::eigen;
    const backend small =
        has_backend(backend::libxsmm) && simd::best_isa() != simd::isa::baseline ? backend::libxsmm : of_float;
    CHECK(gemm(d).chosen() == small);
    d.transpose_b = true;
    CHECK(gemm(d).chosen() == small);
    CHECK(gemm(d).scratch_bytes() == 0);
    d.scale = 0.5;
    CHECK(gemm(d).chosen() == of_float);
    d = {.m = 100, .n = 300, .k = 784};
    CHECK(gemm(d).chosen() == of_float);
    d = {.m = 100, .n = 300, .k = 500, .element = element_type::float64};
    CHECK(gemm(d).chosen() == (small == backend::libxsmm ? small : backend::eigen));
    d.k = 1000;
    CHECK(gemm(d).chosen() == backend::eigen);
}

TEST_CASE("libxsmm's products of many sizes: what is compiled for them ends somewhere, and then others serve") {
    if (!has_backend(backend::libxsmm)) return;
    int others = 0;
    for (std::int64_t n = 1; n <= 70; ++n)
        for (std::int64_t m = 1; m <= 64; ++m) others += gemm({.m = m, .n = n, .k = 3}).chosen() != backend::libxsmm;
    CHECK(others > 0);
    check_product<float>(gemm_description{.m = 63, .n = 70, .k = 3});
}

#if defined(__linux__)
TEST_CASE("where written code may not run, products are computed without") {
    std::vector<gemm_description> all;
    for (const element_type e : {element_type::float32, element_type::float64})
        for (const std::int64_t n : {4, 16, 70}) all.push_back({.m = n, .n = n, .k = n, .element = e});
    const auto good = [](const gemm_description& d, auto zero) {
        using T = decltype(zero);
        const auto size = sizes_of(d);
        const auto a = random_numbers<T>(size.a, 1), b = random_numbers<T>(size.b, 2),
                   none = random_numbers<T>(size.c, 4);
        std::vector<T> c(static_cast<std::size_t>(size.c));
        gemm(d).run(a.data(), b.data(), nullptr, c.data(), nullptr);
        return worst_error(c, naive(d, a, b, none, none)) <= allowed<T>() * static_cast<double>(d.k + 2);
    };
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        constexpr int refuse = 65; // PR_SET_MDWE, of Linux 6.3
        if (::prctl(refuse, 1, 0, 0, 0) != 0) ::_exit(0);
        bool well = true;
        for (const gemm_description& d : all)
            well = well && (d.element == element_type::float32 ? good(d, 0.0f) : good(d, 0.0)) &&
                   gemm(d).chosen() == backend::eigen;
        ::_exit(well ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(tenon::dense::detail::is_executable(reinterpret_cast<const void*>(&std::abort)));
    CHECK_FALSE(tenon::dense::detail::is_executable(all.data()));
}
#endif
