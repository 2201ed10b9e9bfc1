// What is asked of cuSOLVER, and what is done where it refuses.

#include <doctest/doctest.h>

#if defined(TENON_WITH_CUSOLVER)

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <cuda/device/context.hpp>
#include <cuda/solver/solver.hpp>
#include <tenon/core/error.hpp>
#include <tenon/tenon.hpp>

#include "../../environment.hpp"
#include "../both_devices.hpp"
#include "emulator/control.hpp"
#include "emulator/libraries/cusolver.hpp"
#include "messages.hpp"

using namespace tenon;
using test::drawn_seed, test::environment, test::machine, test::run_on_gpu;
namespace cusolver = tenon::emulator::cusolver;

namespace {

// Of each op on matrices: what is asked for, the number of calls that it takes of a matrix, and of those one by name.
struct asked {
    std::string op;
    std::function<std::vector<any_tensor>(const any_tensor&)> of;
    std::uint64_t calls;
    std::string function;
};
const std::vector<asked>& all() {
    static const std::vector<asked> every = {
        {"cholesky", [](const any_tensor& a) { return std::vector{untyped::cholesky(a)}; }, 1, "cusolverDnDpotrf"},
        {"solve", [](const any_tensor& a) { return std::vector{untyped::solve(a, a)}; }, 2, "cusolverDnDgetrs"},
        {"solve, transposed",
         [](const any_tensor& a) {
             return std::vector{tenon::add<solve_op>({true}, {a, untyped::slice(a, {{}, {}, {0, 3}})})};
         },
         2, "cusolverDnDgetrf"},
        {"inverse", [](const any_tensor& a) { return std::vector{untyped::inverse(a)}; }, 2, "cusolverDnDgetrs"},
        {"determinant", [](const any_tensor& a) { return std::vector{untyped::determinant(a)}; }, 1,
         "cusolverDnDgetrf"},
        {"slogdet", [](const any_tensor& a) { return untyped::slogdet(a); }, 1, "cusolverDnDgetrf"},
        {"qr", [](const any_tensor& a) { return untyped::qr(a); }, 2, "cusolverDnDorgqr"},
        {"qr, wide",
         [](const any_tensor& a) {
             return untyped::qr(untyped::slice(a, {{}, {0, 66}}));
         },
         2, "cusolverDnDgeqrf"},
        {"svd",
         [](const any_tensor& a) {
             return untyped::svd(untyped::slice(a, {{}, {}, {0, 65}}));
         },
         1, "cusolverDnDgesvd"},
        {"svd, wide",
         [](const any_tensor& a) {
             return untyped::svd(untyped::slice(a, {{}, {0, 65}}));
         },
         1, "cusolverDnDgesvd"},
        {"singular values", [](const any_tensor& a) { return std::vector{untyped::singular_values(a)}; }, 1,
         "cusolverDnDgesvd"},
        {"eigh", [](const any_tensor& a) { return untyped::eigh(a); }, 1, "cusolverDnDsyevd"}};
    return every;
}

// [2, 70, 70]: positive definite, of values that are not near each other, and not symmetric by 1e-3.
any_array large(element_type e, double scale = 1) {
    any_array a(e, extents(2, 70, 70));
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t i = 0; i < 70; ++i)
            for (std::int64_t j = 0; j < 70; ++j) {
                const double v = i == j ? 3 + 0.4 * static_cast<double>(i + 20 * b)
                                        : std::sin(static_cast<double>(3 * (i + j) + i * j + b)) / 9 +
                                              1e-3 * static_cast<double>(i < j);
                const std::int64_t at = (b * 70 + i) * 70 + j;
                if (e == element_type::float64) a.data<double>()[at] = scale * v;
                else a.data<float>()[at] = static_cast<float>(scale * v);
            }
    return a;
}

} // namespace

TEST_CASE(
    "cuSOLVER decomposes few large matrices, as the host does, in memory of the plan, and nothing of it is recorded") {
    for (const element_type e : {element_type::float32, element_type::float64})
        for (const asked& one : all()) {
            INFO(one.op, " of ", name_of(e));
            const machine m;
            const any_array a =
                large(e, one.op.find("det") == std::string::npos || e == element_type::float64 ? 1 : 0.1);
            const auto build = [&](const std::vector<any_tensor>& in) { return one.of(in[0]); };
            const auto host = std::move(test::steps_on("/cpu:0", 1, 0, {&a}, build)[0]);
            const auto gpu = test::steps_on("/gpu:0", 3, 0, {&a}, build);
            CHECK(cusolver::calls() == 3 * 2 * one.calls);
            CHECK(machine::replays() == 0);
            for (const auto& step : gpu)
                for (std::size_t o = 0; o < host.size(); ++o) {
                    std::vector<double> wanted;
                    double most = 1;
                    for (std::int64_t i = 0; i < host[o].elements(); ++i) {
                        wanted.push_back(test::number_at(host[o], i));
                        most = std::max(most, std::fabs(wanted.back()));
                    }
                    CHECK(test::difference(step[o], wanted,
                                           [&](std::int64_t) { return 2000 * test::spacing(e) * most; }) == "");
                }
        }
    CHECK(cusolver::handles() == 0);
}

TEST_CASE("small matrices, many of them, and all where it is wished, are decomposed by our own kernels") {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    const any_array small = test::numbers<double>(extents(1, 63, 63), random),
                    many = test::numbers<double>(extents(5, 64, 64), random),
                    one = test::numbers<double>(extents(4, 64, 64), random);
    const auto run = [](const any_array& a) {
        return run_on_gpu({&a}, [](const auto& in) { return std::vector{untyped::inverse(in[0])}; });
    };
    run(small);
    run(many);
    CHECK(cusolver::calls() == 0);
    {
        const environment own("TENON_CUDA_MATRICES", "own");
        run(one);
    }
    CHECK(cusolver::calls() == 0);
    run(one);
    CHECK(cusolver::calls() == 8);
}

TEST_CASE("a large matrix for which there is no result is named as a small one is") {
    struct refused {
        std::function<any_tensor(const any_tensor&, called_from)> of;
        double value; // of the second matrix, at [5, 5], and all of its row and column are 0 else
        std::string words;
    };
    const double nan = std::nan("");
    const refused every[] = {
        {untyped::cholesky, -1, "cholesky: matrix [1] of the batch [2] is not positive definite"},
        {untyped::cholesky, nan, "cholesky: matrix [1] of the batch [2] is not positive definite"},
        {untyped::inverse, 0, "inverse: matrix [1] of the batch [2] is singular"},
        {untyped::inverse, nan, "inverse: matrix [1] of the batch [2] is singular"},
        {[](const any_tensor& a, called_from) { return untyped::solve(a, a); }, 0,
         "solve: matrix [1] of the batch [2] is singular"},
        {untyped::singular_values, nan, "svd: matrix [1] of the batch [2] has elements that are not finite"},
        {[](const any_tensor& a, called_from) { return untyped::eigh(a)[0]; }, nan,
         "eigh: matrix [1] of the batch [2] has elements that are not finite"}};
    for (const refused& r : every) {
        INFO(r.words);
        const machine m;
        any_array a = large(element_type::float64);
        for (std::int64_t i = 0; i < 70; ++i)
            for (const std::int64_t at : {(70 + i) * 70 + 5, (70 + 5) * 70 + i})
                a.data<double>()[at] = i == 5 ? r.value : 0;
        for (const char* device : {"/cpu:0", "/gpu:0"}) {
            const std::string said = message_of<invalid_argument_error>([&] {
                (void)test::steps_on(device, 1, 0, {&a},
                                     [&](const auto& in) { return std::vector{r.of(in[0], caller())}; });
            });
            CHECK_MESSAGE(said.find(r.words) != std::string::npos, said);
        }
        CHECK(cusolver::calls() > 0);
    }
}

TEST_CASE("cuSOLVER is asked for its memory on the GPU that it is for, whichever is the current one") {
    const machine two(2);
    gpu_context first(0), second(1);
    const auto by = cuda::solver::of(second, 70, 70, 1);
    REQUIRE(by);
    const std::function<std::size_t()> asked[] = {
        [&] { return by->cholesky_bytes(element_type::float32, 70); },
        [&] { return by->pivots_bytes(element_type::float64, 70); }, [&] { return by->qr_bytes(70, 70); },
        [&] { return by->eigh_bytes(70); }, [&] { return by->svd_bytes(70, 70); }};
    for (const auto& ask : asked) {
        first.use();
        CHECK(ask() > 0);
    }
}

TEST_CASE("a large matrix whose decomposition does not converge has no result") {
    struct iterated {
        const char *function, *op;
        std::function<any_tensor(const any_tensor&)> of;
    };
    for (const iterated& one :
         {iterated{"cusolverDnDsyevd", "eigh", [](const any_tensor& a) { return untyped::eigh(a)[0]; }},
          iterated{"cusolverDnDgesvd", "svd", [](const any_tensor& a) { return untyped::singular_values(a); }}}) {
        const machine m;
        cusolver::diverge(one.function, 3);
        const any_array a = large(element_type::float64);
        const std::string said = message_of<invalid_argument_error>(
            [&] { (void)run_on_gpu({&a}, [&](const auto& in) { return std::vector{one.of(in[0])}; }); });
        CHECK_MESSAGE(said.find(std::string(one.op) +
                                ": matrix [0] of the batch [2] has elements that are not finite, or "
                                "its decomposition by cuSOLVER does not converge") != std::string::npos,
                      said);
    }
}

TEST_CASE("what cuSOLVER answers beside success is an error that names the call and the node") {
    for (const asked& one : all()) {
        INFO(one.op);
        const machine m;
        const any_array a = large(element_type::float64);
        const auto run = [&] {
            (void)run_on_gpu(
                {&a}, [&](const auto& in) { return one.of(in[0]); }, true);
        };
        cusolver::fail(one.function, CUSOLVER_STATUS_INTERNAL_ERROR);
        const std::string said = message_of<internal_error>(run);
        CHECK_MESSAGE(said.find(one.function + " answered 7 (cusolverStatus_t)") != std::string::npos, said);
        CHECK(said.find("[node ") != std::string::npos);
    }
    const machine m;
    cusolver::fail("cusolverDnCreate", CUSOLVER_STATUS_ALLOC_FAILED);
    const any_array a = large(element_type::float64);
    CHECK(message_of<resource_exhausted_error>([&] {
              (void)run_on_gpu({&a}, [](const auto& in) { return std::vector{untyped::inverse(in[0])}; });
          }).find("memory is short") != std::string::npos);
}

#endif
