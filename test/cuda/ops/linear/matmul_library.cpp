// What is asked of cuBLASLt, and what is done where it refuses.

#include <cuda/blas/lt.hpp>

#include "tests.hpp"
#include "emulator/control.hpp"
#include "emulator/libraries/cublaslt.hpp"
#include "products.hpp"
#include "said.hpp"
#include "ops/untyped_run.hpp"

using namespace matmul_test;
namespace cublaslt = tenon::emulator::cublaslt;

TEST_CASE("products run by our own kernel, or with the bias after them, where cuBLASLt has no algorithm") {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    cublaslt::has_algorithms(false);
    for (const product& p : matrix_products(9, 20, 17)) CHECK(check_through_graph<float>(p, random) == "");
    for (const product& p : batch_products()) CHECK(check_through_graph<tn::half>(p, random) == "");
    CHECK(cublaslt::count().products == 0);

    cublaslt::has_algorithms(true, false);
    std::uint64_t products = 0;
    for (const product& p : matrix_products(9, 20, 17)) {
        CHECK(check_through_graph<double>(p, random) == "");
        CHECK(cublaslt::count().products == ++products);
    }
    cublaslt::reset();
    for (const cublasStatus_t s :
         {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_ARCH_MISMATCH}) {
        cublaslt::fail("cublasLtMatmulAlgoGetHeuristic", s);
        CHECK(check_through_graph<float>(matrix_products(9, 20, 17)[5], random) == "");
    }
    cublaslt::reset();
    REQUIRE(setenv("TENON_CUDA_PRODUCTS", "own", 1) == 0);
    CHECK(check_through_graph<float>(matrix_products(9, 20, 17)[0], random) == "");
    REQUIRE(unsetenv("TENON_CUDA_PRODUCTS") == 0);
    cublaslt::needs_workspace(std::size_t{1} << 40); // no algorithm keeps within the limit
    CHECK(check_through_graph<float>(matrix_products(9, 20, 17)[0], random) == "");
    CHECK(cublaslt::count().products == 0);
}

TEST_CASE("cuBLASLt makes products of int8 of a transposed b with n and k in fours, and our own kernel all others") {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    std::uint64_t by_library = 0;
    const auto check = [&](const product& p, bool has_library) {
        by_library += has_library;
        CHECK(check_through_graph<std::int8_t>(p, random) == "");
        CHECK_MESSAGE(cublaslt::count().products == by_library, text_of(p));
        CHECK_MESSAGE(cublaslt::count().heuristics == 2 * by_library, text_of(p)); // nor is it asked
    };
    for (const auto& [sizes, in_fours] : {std::pair{std::array{1, 4, 4}, true},
                                          {std::array{5, 8, 12}, true},
                                          {std::array{64, 20, 100}, true},
                                          {std::array{4, 6, 8}, false},
                                          {std::array{4, 9, 8}, false},
                                          {std::array{4, 8, 6}, false},
                                          {std::array{8, 8, 1}, false}})
        for (const product& p : matrix_products(sizes[0], sizes[1], sizes[2]))
            check(p, in_fours && p.transpose_b && !p.transpose_a);
    check({extents(8), extents(12, 8), false, true}, true);
    check({extents(8), extents(3, 12, 8), false, true}, true);
    check({extents(3, 5, 8), extents(3, 12, 8), false, true}, true);
    check({extents(3, 5, 8), extents(12, 8), false, true, true, true}, true);
    check({extents(5, 8), extents(3, 12, 8), false, true}, true);
    check({extents(8), extents(8, 12)}, false);
    check({extents(12, 8), extents(8)}, false); // one column
    check({extents(3, 8, 5), extents(3, 12, 8), true, true}, false);
    check({extents(3, 5, 8), extents(3, 8, 12)}, false);
    // Two dimensions of the batch, of which the library goes through one.
    cublaslt::reset();
    CHECK(check_through_graph<std::int8_t>({extents(2, 1, 5, 8), extents(1, 3, 4, 8), false, true}, random) == "");
    CHECK(cublaslt::count().products == 2);

    cublaslt::reset();
    cublaslt::has_algorithms(false);
    CHECK(check_through_graph<std::int8_t>({extents(5, 8), extents(12, 8), false, true}, random) == "");
    CHECK(cublaslt::count().products == 0);
    cublaslt::reset();
    by_library = 0;
    REQUIRE(setenv("TENON_CUDA_PRODUCTS", "own", 1) == 0);
    check({extents(5, 8), extents(12, 8), false, true}, false);
    REQUIRE(unsetenv("TENON_CUDA_PRODUCTS") == 0);
}

TEST_CASE("an algorithm is chosen once for a description on a GPU, and has the workspace that it asked for") {
    const machine m;
    std::mt19937_64 random(7);
    cublaslt::needs_workspace(100001);
    const product p{extents(12, 8), extents(8, 20)};
    const on_gpu g(p, element_type::float32);
    const any_array a = random_array<float>(p.a, random), b = random_array<float>(p.b, random);
    {
        tn::session s(g.g);
        for (int i = 0; i < 3; ++i)
            CHECK(difference(g.run(s, a, b, nullptr).data<float>(), by_formula<float>(p, a, b, nullptr)) == "");
        CHECK(cublaslt::count().heuristics == 2); // for each alignment
        CHECK(cublaslt::count().products >= 1);   // a recorded step launches what it has recorded
        CHECK(cublaslt::count().products <= 3);
        // Another step of the session with the same product plans anew, and chooses nothing.
        const any_tensor again = tn::on("/gpu:0", [&] {
            const tn::graph_scope scope(g.g);
            return tn::untyped::matmul(g.a, g.b);
        });
        (void)s.run_untyped(tn::test::fed(g.a, a, g.b, b), {again});
        CHECK(cublaslt::count().heuristics == 2);                          // for each alignment
        CHECK(cublaslt::count().largest_limit == std::uint64_t{32} << 20); // of a card with 9.0
    }
    const auto left = cublaslt::count();
    CHECK(left.handles == 0);
    CHECK(left.operations + left.layouts + left.preferences == 0);
    tn::emulator::cards({tn::emulator::card{.major = 8}});
    cublaslt::reset();
    CHECK(check_through_graph<float>(p, random) == "");
    CHECK(cublaslt::count().largest_limit == std::uint64_t{4} << 20);
}

TEST_CASE("a card without products of bfloat16 makes them by our own kernels, of which one line tells") {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    const product p = matrix_products(9, 20, 17)[0];
    for (const int major : {7, 8}) {
        CAPTURE(major);
        tn::emulator::cards({tn::emulator::card{.name = "Some Card", .major = major, .minor = major == 7 ? 5 : 0}});
        cublaslt::reset();
        for (const bool first : {true, false}) {
            const std::string said =
                tenon::test::said_by([&] { CHECK(check_through_graph<tn::bfloat16>(p, random) == ""); });
            INFO(said);
            const bool tells =
                contains(said, "Some Card, of compute capability 7.5, has no products and convolutions of bfloat16");
            CHECK(tells == (first && major == 7));
        }
        CHECK(cublaslt::count().products == (major == 7 ? 0U : 2U));
        CHECK(check_through_graph<tn::half>(p, random) == "");
        CHECK(cublaslt::count().products == (major == 7 ? 1U : 3U));
    }
}

TEST_CASE("the rounding of TF32 is a choice of its own beside the exact one, on the same GPU") {
    const machine m;
    tn::cuda::gemm_description d;
    d.m = d.n = d.k = 8;
    tn::gpu_context context(0);
    const auto exact = tn::cuda::lt_product::make(context, d, false);
    const auto rounding = tn::cuda::lt_product::make(context, d, true);
    const auto again = tn::cuda::lt_product::make(context, d, true);
    CHECK((exact && rounding && again));
    CHECK(cublaslt::count().heuristics == 4); // for two alignments
}

TEST_CASE("an operand that is not aligned as was promised is no operand for cuBLASLt") {
    const machine m;
    tn::cuda::gemm_description d;
    d.m = d.n = d.k = 8;
    tn::gpu_context context(0);
    const auto p = tn::cuda::lt_product::make(context, d, false);
    REQUIRE(p);
    std::byte* memory = nullptr;
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), 4096 + p->workspace_bytes()) == cudaSuccess);
    // The emulated one refuses what is less aligned than it was told.
    for (const int from : {0, 64, 128})
        CHECK(p->run(memory + from, memory + 1024, nullptr, memory + 2048, nullptr, memory + 4096, nullptr));
    CHECK_FALSE(p->run(memory + 4, memory + 1024, nullptr, memory + 2048, nullptr, nullptr, nullptr));
    CHECK_FALSE(p->run(memory, memory + 1028, nullptr, memory + 2048, nullptr, nullptr, nullptr));
    CHECK_FALSE(p->run(memory, memory + 1024, nullptr, memory + 2052, nullptr, nullptr, nullptr));
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaFree(memory) == cudaSuccess);
}

TEST_CASE_FIXTURE(machine, "what cuBLASLt refuses is an error that names the product, its sizes and its type") {
    std::mt19937_64 random(7);
    const product p{extents(64, 784), extents(784, 30), false, false, true, true};
    const auto run = [&] { (void)check_through_graph<tn::half>(p, random); };
    using cublaslt::fail;
    fail("cublasLtMatmul", CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK_ERROR(tn::unimplemented_error, "the product [64, 784] x [784, 30] of half with bias", run());
    fail("cublasLtMatmul", CUBLAS_STATUS_ARCH_MISMATCH);
    CHECK_ERROR(tn::unimplemented_error, "CUBLAS_STATUS_ARCH_MISMATCH", run());
    fail("cublasLtMatmul", CUBLAS_STATUS_ALLOC_FAILED);
    CHECK_ERROR(tn::resource_exhausted_error, "CUBLAS_STATUS_ALLOC_FAILED", run());
    fail("cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED);
    CHECK_ERROR(tn::internal_error, "CUBLAS_STATUS_EXECUTION_FAILED", run());
    cublaslt::reset();
    fail("cublasLtCreate", CUBLAS_STATUS_NOT_INITIALIZED, 0, 1);
    CHECK_ERROR(tn::unavailable_error, "is the driver older than the library", run());
    run(); // and is asked again
    for (const char* function :
         {"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
          "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic"})
        for (std::uint64_t after = 0; after < 3; ++after) {
            cublaslt::reset();
            fail(function, CUBLAS_STATUS_ALLOC_FAILED, after, 1);
            try {
                const std::string different = check_through_graph<tn::half>(p, random); // it has not so many such calls
                CHECK(different == "");
            } catch (const tn::resource_exhausted_error& e) {
                CHECK(std::string(e.what()).find(function) != std::string::npos);
            }
            const auto left = cublaslt::count();
            CHECK(left.handles + left.operations + left.layouts + left.preferences == 0);
        }
}
