// Products of matrices on a GPU, through the graph and by themselves, against their formula in float64.

#include <cuda/device/error.hpp>
#include <cuda/kernels/linear/gemm.hpp>

#include "tests.hpp"
#include "products.hpp"
#include "ops/untyped_run.hpp"

using namespace matmul_test;

TEST_CASE_TEMPLATE("matmul on a GPU equals its formula, transposed or not, with bias and relu", T, float, double,
                   tn::half, tn::bfloat16, std::int8_t, std::int32_t, std::int64_t) {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    for (const product& p : matrix_products(1, 1, 1)) CHECK(check_through_graph<T>(p, random) == "");
    for (const product& p : matrix_products(3, 5, 7)) CHECK(check_through_graph<T>(p, random) == "");
    for (const product& p : matrix_products(65, 33, 18)) CHECK(check_through_graph<T>(p, random) == "");
    for (int i = 0; i < 3; ++i) {
        const auto size = [&] { return static_cast<std::int64_t>(1 + random() % 40); };
        for (const product& p : matrix_products(size(), size(), size())) CHECK(check_through_graph<T>(p, random) == "");
    }
    if (const auto made = m.products_by_cublaslt(); made && !std::is_integral_v<T>)
        CHECK(*made >= 6 * matrix_products(1, 1, 1).size()); // all of them
}

TEST_CASE_TEMPLATE("matmul on a GPU repeats batch dimensions, and takes vectors", T, float, double, tn::half,
                   std::int8_t, std::int64_t) {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    for (const product& p : batch_products()) CHECK(check_through_graph<T>(p, random) == "");
    if (const auto made = m.products_by_cublaslt(); made && !std::is_integral_v<T>)
        CHECK(*made >= batch_products().size());
}

TEST_CASE_TEMPLATE("matmul on a GPU of nothing is nothing, and a sum of nothing is zero, or the bias", T, float, double,
                   tn::bfloat16, std::int8_t, std::int32_t) {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    for (const product& p : empty_products()) CHECK(check_through_graph<T>(p, random) == "");
}

TEST_CASE_FIXTURE(machine, "an empty variable, which lies nowhere on a GPU, has a product") {
    const own_graph g;
    const auto on_gpu = tn::on("/gpu:0");
    const any_tensor v = tn::untyped::variable("v", {element_type::float32, extents(3, 0)}, tn::zeros());
    const any_tensor w = tn::untyped::variable("w", {element_type::float32, extents(0, 7)}, tn::zeros());
    const any_tensor product = tn::untyped::matmul(v, w);
    initialized_session s(g);
    for (int i = 0; i < 3; ++i) {
        const any_array c = std::move(s.run_untyped({}, {product})[0]);
        REQUIRE(c.extents() == extents(3, 7));
        CHECK(std::all_of(c.data<float>(), c.data<float>() + 21, [](float x) { return x == 0; }));
    }
}

TEST_CASE_TEMPLATE("relu of a product keeps a NaN, whoever makes the product", T, float, double, tn::half,
                   tn::bfloat16) {
    const machine m;
    const product p{extents(16, 8), extents(8, 32), false, false, true, true};
    const auto filled = [](const extents& sizes, float value) {
        any_array a(tn::element_type_of<T>, sizes);
        std::fill_n(a.data<T>(), a.elements(), static_cast<T>(value));
        return a;
    };
    any_array a = filled(p.a, 1);
    const any_array b = filled(p.b, 1), bias = filled(extents(32), -10);
    a.data<T>()[3 * 8] = static_cast<T>(std::nanf(""));                        // row 3
    for (int l = 0; l < 8; ++l) a.data<T>()[5 * 8 + l] = static_cast<T>(2.0F); // row 5
    for (const bool own : {false, true}) {
        CAPTURE(own);
        if (own) REQUIRE(setenv("TENON_CUDA_PRODUCTS", "own", 1) == 0);
        const on_gpu g(p, tn::element_type_of<T>);
        tn::session s(g.g);
        const any_array c = g.run(s, a, b, &bias);
        REQUIRE(unsetenv("TENON_CUDA_PRODUCTS") == 0);
        for (std::int64_t i = 0; i < 16; ++i)
            for (std::int64_t j = 0; j < 32; ++j) {
                CAPTURE(i);
                const auto x = static_cast<float>(c.data<T>()[i * 32 + j]);
                if (i == 3) REQUIRE(std::isnan(x));
                else REQUIRE(x == (i == 5 ? 6.0F : 0.0F));
            }
    }
}

TEST_CASE_TEMPLATE("a product's gradients on a GPU are those that the CPU computes in double", T, float, double) {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    // The gradient of sum(y * y / 2), whose y is the product, flows by products alone, all on the GPU.
    const auto gradients_on = [&](const char* device, const product& p, element_type e, const any_array& a,
                                  const any_array& b) {
        const own_graph g;
        const any_tensor x = tn::untyped::placeholder(e, a.extents()), w = tn::untyped::placeholder(e, b.extents());
        std::vector<any_tensor> d;
        {
            const tn::device_scope inside(device);
            d = tn::detail::add_gradients({tn::untyped::matmul(x, w, p.transpose_a, p.transpose_b)}, {x, w});
        }
        tn::session_options o{.allow_soft_placement = true};
        tn::session s(g, o);
        return s.run_untyped(tn::test::fed(x, a, w, b), d);
    };
    const auto widened = [](const any_array& from) {
        any_array to(element_type::float64, from.extents());
        for (std::int64_t i = 0; i < from.elements(); ++i)
            to.data<double>()[i] = static_cast<double>(from.data<T>()[i]);
        return to;
    };
    for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
            const product p{ta ? extents(2, 9, 4) : extents(2, 4, 9), tb ? extents(7, 9) : extents(9, 7), ta, tb};
            CAPTURE(text_of(p));
            const any_array a = random_array<T>(p.a, random), b = random_array<T>(p.b, random);
            const std::vector<any_array> got = gradients_on("/gpu:0", p, tn::element_type_of<T>, a, b);
            const std::vector<any_array> wanted =
                gradients_on("/cpu:0", p, element_type::float64, widened(a), widened(b));
            for (std::size_t i = 0; i < 2; ++i) {
                REQUIRE(got[i].extents() == wanted[i].extents());
                for (std::int64_t j = 0; j < got[i].elements(); ++j)
                    REQUIRE(static_cast<double>(got[i].data<T>()[j]) ==
                            doctest::Approx(wanted[i].data<double>()[j]).epsilon(1e-5).scale(10));
            }
        }
}

TEST_CASE("sums of int8 on a GPU are exact up to the end of int32 and wrap around beyond it") {
    const machine m;
    for (const bool transpose_b : {false, true})
        for (const std::int64_t k : {std::int64_t{131068}, std::int64_t{131072}}) {
            CAPTURE(k);
            CAPTURE(transpose_b);
            const product p{extents(k), transpose_b ? extents(4, k) : extents(k, 4), false, transpose_b};
            any_array a(element_type::int8, p.a), b(element_type::int8, p.b);
            for (const any_array* x : {&a, &b})
                for (std::int64_t i = 0; i < x->elements(); ++i)
                    const_cast<any_array*>(x)->data<std::int8_t>()[i] = -128;
            const on_gpu g(p, element_type::int8);
            tn::session s(g.g);
            const any_array c = g.run(s, a, b, nullptr);
            REQUIRE(c.element() == element_type::int32);
            REQUIRE(c.extents() == extents(4));
            for (int i = 0; i < 4; ++i)
                CHECK(c.data<std::int32_t>()[i] == static_cast<std::int32_t>(static_cast<std::uint32_t>(k) << 14));
        }
    if (const auto made = m.products_by_cublaslt()) CHECK(*made == 1); // 131068 by a transposed b
}

TEST_CASE("float products are exact where TF32 is not asked for") {
    const machine m;
    // 1 + 2^-12 is 1 with 10 bits of fraction.
    const product p{extents(64, 64), extents(64, 64)};
    any_array a(element_type::float32, p.a), b(element_type::float32, p.b);
    for (std::int64_t i = 0; i < 64 * 64; ++i) {
        a.data<float>()[i] = 1 + 0x1p-12F;
        b.data<float>()[i] = i % 65 == 0 ? 1.0F : 0.0F;
    }
    const on_gpu g(p, element_type::float32);
    tn::session_options o;
    tn::session exact(g.g, o);
    const any_array c = g.run(exact, a, b, nullptr);
    for (std::int64_t i = 0; i < c.elements(); ++i) REQUIRE(c.data<float>()[i] == 1 + 0x1p-12F);
    o.allow_tf32 = true;
    tn::session rounding(g.g, o);
    const any_array near = g.run(rounding, a, b, nullptr);
    const float off = m.is_emulated() ? 0 : 0x1p-12F; // a GPU need not have it
    for (std::int64_t i = 0; i < near.elements(); ++i) REQUIRE(std::fabs(near.data<float>()[i] - 1) <= off);
}

namespace {
// A product by itself, in memory of its own.
template <class T>
std::string check_alone(const product& p, const tn::cuda::gemm_description& d, std::mt19937_64& random) {
    const any_array a = random_array<T>(p.a, random), b = random_array<T>(p.b, random);
    const any_array bias = random_array<product_t<T>>(extents(d.n), random);
    const expected e = by_formula<T>(p, a, b, p.bias ? &bias : nullptr);
    std::vector<void*> memory;
    const auto to_gpu = [&](const any_array& from) {
        void* at = nullptr;
        const auto bytes = static_cast<std::size_t>(from.elements()) * size_of(from.element());
        tn::cuda::check(cudaMalloc(&at, bytes + 1), "cudaMalloc");
        tn::cuda::check(cudaMemcpy(at, from.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        memory.push_back(at);
        return at;
    };
    using R = product_t<T>;
    any_array c(tn::element_type_of<R>, e.sizes);
    void *x = to_gpu(a), *y = to_gpu(b), *z = to_gpu(bias), *to = to_gpu(c);
    tn::cuda::gemm(d, x, y, p.bias ? z : nullptr, to, nullptr);
    tn::cuda::check(
        cudaMemcpy(c.data<R>(), to, static_cast<std::size_t>(c.elements()) * sizeof(R), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    for (void* at : memory) (void)cudaFree(at);
    const std::string different = difference(c.data<R>(), e);
    return different.empty() ? "" : text_of(p) + ": " + different;
}

} // namespace

TEST_CASE_TEMPLATE("our own kernel has all products, of whatever type", T, float, double, tn::half, tn::bfloat16,
                   std::int8_t, std::int32_t, std::int64_t) {
    const machine m;
    const std::uint64_t seed = fresh_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    m.draw_from(seed);
    for (const auto& sizes :
         {std::array{1, 1, 1}, std::array{16, 16, 16}, std::array{17, 17, 1}, std::array{80, 70, 35}})
        for (const product& p : matrix_products(sizes[0], sizes[1], sizes[2])) {
            tn::cuda::gemm_description d;
            d.element = tn::element_type_of<T>;
            d.m = sizes[0];
            d.n = sizes[1];
            d.k = sizes[2];
            d.transpose_a = p.transpose_a;
            d.transpose_b = p.transpose_b;
            d.bias = p.bias;
            d.relu = p.relu;
            CHECK(check_alone<T>(p, d, random) == "");
        }
}
