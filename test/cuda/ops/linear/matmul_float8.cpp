// Products of operands of 8 bits on a GPU: cuBLASLt's where the card has them, and the same numbers where it has not.

#include "tests.hpp"
#include "emulator/control.hpp"
#include "emulator/libraries/cublaslt.hpp"
#include "ops/linear/float8_products.hpp"
#include "products.hpp"
#include "ops/untyped_run.hpp"

using namespace matmul_test;
namespace cublaslt = tenon::emulator::cublaslt;
namespace f8 = float8_test;

namespace {

struct float8_sizes {
    std::int64_t m, n, k;
    bool ta = false, tb = false;
};

// The product, and its gradients in a and b where c flows in, on the GPU, by their formulas.
template <class T> void check(const float8_sizes& z, std::mt19937_64& random) {
    CAPTURE(z.m);
    CAPTURE(z.n);
    CAPTURE(z.k);
    CAPTURE(z.ta);
    CAPTURE(z.tb);
    const own_graph g;
    const any_array a = f8::drawn<T>(z.ta ? extents(z.k, z.m) : extents(z.m, z.k), random, 0.01F);
    const any_array b = f8::drawn<T>(z.tb ? extents(z.n, z.k) : extents(z.k, z.n), random, 3);
    const any_array c = f8::drawn<T>(extents(z.m, z.n), random, 1);
    const any_tensor x = tn::untyped::placeholder(a.element(), a.extents());
    const any_tensor w = tn::untyped::placeholder(b.element(), b.extents());
    const any_tensor dy = tn::untyped::placeholder(c.element(), c.extents());
    std::vector<any_tensor> fetched;
    {
        const tn::device_scope there("/gpu:0");
        const any_tensor y = tn::untyped::matmul_float8(x, w, z.ta, z.tb);
        fetched = tn::detail::add_gradients({tn::untyped::sum(tn::untyped::multiply(y, dy))}, {x, w});
        fetched.push_back(y);
    }
    tn::session s(g);
    const std::vector<any_array> got = s.run_untyped(tn::test::fed(x, a, w, b, dy, c), fetched);
    const std::vector<double> ra = f8::rounded<T>(a, true), rb = f8::rounded<T>(b, true), rc = f8::rounded<T>(c, false);
    const auto at_a = [&](auto i, auto l) { return z.ta ? l * z.m + i : i * z.k + l; };
    const auto at_b = [&](auto l, auto j) { return z.tb ? j * z.k + l : l * z.n + j; };
    const auto at_c = [&](auto i, auto j) { return i * z.n + j; };
    const auto turned = [](auto at) { return [at](auto i, auto j) { return at(j, i); }; };
    CHECK(f8::is_near<T>(got[2], f8::product(ra, rb, z.m, z.n, z.k, at_a, at_b), z.k));
    CHECK(f8::is_near<T>(got[0],
                         z.ta ? f8::product(rb, rc, z.k, z.m, z.n, at_b, turned(at_c))
                              : f8::product(rc, rb, z.m, z.k, z.n, at_c, turned(at_b)),
                         z.n));
    CHECK(f8::is_near<T>(got[1],
                         z.tb ? f8::product(rc, ra, z.n, z.k, z.m, turned(at_c), at_a)
                              : f8::product(ra, rc, z.k, z.n, z.m, turned(at_a), at_c),
                         z.m));
}

} // namespace

TEST_CASE_TEMPLATE("cuBLASLt makes products of 8 bits where the card has them and sizes are multiples of 16", T, float,
                   tn::half, tn::bfloat16) {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    for (const int capability : {80, 89, 90}) {
        tn::emulator::cards({tn::emulator::card{.major = capability / 10, .minor = capability % 10}});
        for (const bool ta : {false, true})
            for (const bool tb : {false, true}) {
                cublaslt::reset();
                check<T>({48, 32, 16, ta, tb}, random);
                CHECK(cublaslt::count().products == 3);
                CHECK(cublaslt::count().of_float8 == (capability < 89 ? 0U : 3U));
            }
        cublaslt::reset();
        for (const float8_sizes& z : {float8_sizes{48, 32, 20, false, true}, {48, 20, 32, true}, {7, 32, 16}})
            check<T>(z, random);
        CHECK(cublaslt::count().products == 9);
        CHECK(cublaslt::count().of_float8 == 0);
    }
}

TEST_CASE_FIXTURE(machine, "products of 8 bits are made without cuBLASLt, and without its algorithms") {
    std::mt19937_64 random(5);
    cublaslt::has_algorithms(false);
    check<tn::bfloat16>({32, 16, 48}, random);
    cublaslt::reset();
    REQUIRE(setenv("TENON_CUDA_PRODUCTS", "own", 1) == 0);
    check<tn::bfloat16>({32, 16, 48, true, true}, random);
    REQUIRE(unsetenv("TENON_CUDA_PRODUCTS") == 0);
    CHECK(cublaslt::count().products == 0);
}

TEST_CASE_FIXTURE(machine, "products of 8 bits in a batch, into the middle of another tensor, and of nothing") {
    std::mt19937_64 random(6);
    using T = tn::bfloat16;
    for (const std::int64_t batch : {2, 0}) {
        const own_graph g;
        const any_array a = f8::drawn<T>(extents(batch, 16, 32), random, 1),
                        b = f8::drawn<T>(extents(batch, 32, 16), random, 1);
        const any_array before = f8::drawn<T>(extents(3), random, 1);
        const any_tensor x = tn::untyped::placeholder(a.element(), a.extents());
        const any_tensor w = tn::untyped::placeholder(b.element(), b.extents());
        const any_tensor first = tn::untyped::placeholder(before.element(), before.extents());
        const any_tensor y = tn::on("/gpu:0", [&] {
            const any_tensor c = tn::untyped::reshape(tn::untyped::matmul_float8(x, w), {batch * 256});
            return tn::untyped::concat({tn::untyped::negative(first), c}, 0);
        });
        tn::session s(g);
        const any_array got = std::move(s.run_untyped(tn::test::fed(x, a, w, b, first, before), {y})[0]);
        REQUIRE(got.elements() == 3 + batch * 256);
        if (batch == 0) continue;
        CHECK(cublaslt::count().of_float8 == 1);
        const std::vector<double> ra = f8::rounded<T>(a, true), rb = f8::rounded<T>(b, true);
        f8::expected_product e;
        for (std::int64_t p = 0; p < batch; ++p) {
            const auto one = f8::product(
                ra, rb, 16, 16, 32, [&](auto i, auto l) { return p * 512 + i * 32 + l; },
                [&](auto l, auto j) { return p * 512 + l * 16 + j; });
            e.values.insert(e.values.end(), one.values.begin(), one.values.end());
            e.sizes.insert(e.sizes.end(), one.sizes.begin(), one.sizes.end());
        }
        any_array c(a.element(), extents(batch * 256));
        std::copy_n(got.data<T>() + 3, batch * 256, c.data<T>());
        CHECK(f8::is_near<T>(c, e, 32));
    }
}
