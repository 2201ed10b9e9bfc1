// Steps down gradients that are products, on a GPU: the product's kernel takes them.

#include "tests.hpp"
#include "products.hpp"
#include "ops/untyped_run.hpp"

using namespace matmul_test;

namespace {

enum class way { plain, fetched, from_itself, written_apart };

// The weights after three steps down the gradient of sum(y * y / 2), y = x w: w -= rate * x' x w.
template <class T> std::vector<double> trained(const char* device, way how, const any_array& x, const any_array& w) {
    const own_graph g;
    const any_tensor in = tn::untyped::placeholder(x.element(), x.extents());
    std::vector<any_tensor> fetched;
    tn::operation step;
    any_tensor kept;
    {
        const tn::device_scope there(device);
        kept = tn::untyped::variable("w", {w.element(), w.extents()}, tn::zeros());
        const any_tensor d = how == way::from_itself
                                 ? tn::untyped::matmul(kept, kept)
                                 : tn::untyped::matmul(in, tn::untyped::matmul(in, kept), true, false);
        step = tn::gradient_descent(0.125).apply_gradients({{d, kept}}, {.advance_global_step = false});
        if (how == way::fetched) fetched.push_back(d);
    }
    tn::session_options o{.allow_soft_placement = true};
    o.check_numerics = how == way::written_apart; // then it is written into the variable afterwards
    tn::session s(g, o);
    const any_tensor start = tn::untyped::placeholder(w.element(), w.extents());
    s.run_untyped(tn::test::fed(start, w), {tn::untyped::assign(kept, start)});
    std::vector<double> numbers;
    const auto take = [&](const any_array& a) {
        for (std::int64_t i = 0; i < a.elements(); ++i) numbers.push_back(static_cast<double>(a.data<T>()[i]));
    };
    for (int i = 0; i < 3; ++i) {
        for (const any_array& a : s.run_untyped(tn::test::fed(in, x), fetched, {step})) take(a);
    }
    take(s.run_untyped({}, {kept})[0]);
    return numbers;
}

} // namespace

TEST_CASE_TEMPLATE("a step down a gradient that is a product is taken in the product's pass", T, float, double) {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    for (const bool own : {false, true})
        for (const way how : {way::plain, way::fetched, way::from_itself, way::written_apart}) {
            CAPTURE(own);
            CAPTURE(static_cast<int>(how));
            const extents of_w = how == way::from_itself ? extents(20, 20) : extents(20, 33);
            any_array x = random_array<T>(extents(6, 20), random), w = random_array<T>(of_w, random);
            for (any_array* a : {&x, &w})
                for (std::int64_t i = 0; i < a->elements(); ++i) a->data<T>()[i] /= 4;
            if (own) REQUIRE(setenv("TENON_CUDA_PRODUCTS", "own", 1) == 0);
            const auto launches = m.launches();
            const std::vector<double> got = trained<T>("/gpu:0", how, x, w);
            if (!own && how == way::plain) CHECK(m.launches() == launches); // there is no other pass for w
            REQUIRE(unsetenv("TENON_CUDA_PRODUCTS") == 0);
            const std::vector<double> wanted = trained<T>("/cpu:0", how, x, w);
            REQUIRE(got.size() == wanted.size());
            for (std::size_t i = 0; i < got.size(); ++i)
                REQUIRE(got[i] == doctest::Approx(wanted[i]).epsilon(1e-4).scale(10));
        }
}
