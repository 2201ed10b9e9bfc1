#include "tests.hpp"
#include "ops/random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

// What relu's gradient lets through of what comes back through a pool is asked before it is spread over the windows.

namespace {

// max_pool(relu(x + b)), what flows into it, and its gradients; relu's result is a node, as one that a convolution's kernel makes.
struct pooled_relu {
    const own_graph g;
    tn::any_tensor x, b, h, y, dy, dx, db;

    explicit pooled_relu(const tn::pool2d_options& o, const tn::extents& sizes = {2, 9, 8, 5}) :
        x(tn::untyped::placeholder(tn::element_type::float32, sizes)),
        b(tn::untyped::placeholder(tn::element_type::float32, {sizes[3].size})),
        h(tn::untyped::relu(tn::untyped::add(x, b))),
        y(tn::untyped::max_pool2d(h, o)),
        dy(tn::untyped::placeholder(tn::element_type::float32, y.extents())) {
        const tn::any_tensor dh = tn::detail::add_gradients({y}, {h}, {dy})[0];
        dx = tn::untyped::select(tn::untyped::greater(h, 0.0), dh, 0.0);
        db = tn::untyped::sum(dx, {0, 1, 2});
    }
    std::vector<tn::any_array> run(tn::session& s, const tn::any_array& values,
                                   const std::vector<tn::any_tensor>& fetches) const {
        return s.run_untyped(feeds(values), fetches);
    }
    std::vector<tn::fed_value> feeds(const tn::any_array& values) const {
        return tn::test::fed(x, values, b, tn::test::random_array<float>(b.extents(), 2), dy,
                             tn::test::random_array<float>(dy.extents(), 3));
    }
    // Whether the pool's gradient is the last that runs of those that make dx.
    bool spreads_last(tn::session& s, const tn::any_array& values) const {
        const std::vector<std::string> order = s.report_untyped(feeds(values), {dx}).order;
        return order.back().find("pool2d_gradient") != std::string::npos;
    }
};

const std::vector<tn::pool2d_options> pools{{.window = 2},
                                            {.window = 3, .stride = 2, .padding = tn::same},
                                            {.window = 2, .stride = 3},
                                            {.window = {3, 2}, .stride = 1},
                                            {.window = 4, .ceil_mode = true}};

} // namespace

TEST_CASE("what relu's gradient lets through a pool has the same bits before it is spread") {
    for (const tn::pool2d_options& o : pools) {
        const pooled_relu m(o);
        tn::any_array values = tn::test::random_array<float>(m.x.extents());
        values.data<float>()[17] = std::numeric_limits<float>::quiet_NaN();
        values.data<float>()[60] = std::numeric_limits<float>::infinity();
        tn::session fused, plain({.fuse = false});
        CHECK(m.spreads_last(fused, values));
        CHECK_FALSE(m.spreads_last(plain, values));
        const auto a = m.run(fused, values, {m.dx, m.db}), b = m.run(plain, values, {m.dx, m.db});
        CHECK(std::memcmp(a[0].data(), b[0].data(), b[0].bytes()) == 0);
        for (std::int64_t c = 0; c < 5; ++c)
            CHECK(tn::test::element<float>(a[1], c) ==
                  doctest::Approx(tn::test::element<float>(b[1], c)).epsilon(1e-5));
    }
}

TEST_CASE("a pool's gradient is right where it lies in place of what was pooled") {
    for (const std::int64_t height : {8, 9}) { // windows cover the image, or leave a row
        const pooled_relu m({.window = 2}, {2, height, 8, 5});
        const tn::any_tensor total = tn::untyped::sum(m.dx, {0});
        const tn::any_array values = tn::test::random_array<float>(m.x.extents());
        tn::session fused, plain({.fuse = false});
        const auto a = m.run(fused, values, {total}), b = m.run(plain, values, {total});
        for (std::int64_t i = 0; i < b[0].elements(); ++i)
            CHECK(tn::test::element<float>(a[0], i) ==
                  doctest::Approx(tn::test::element<float>(b[0], i)).epsilon(1e-6));
    }
}

TEST_CASE("what is read elsewhere too, or depends on more than where it came from, is asked where it was") {
    const pooled_relu m({.window = 2});
    const tn::any_array values = tn::test::random_array<float>(m.x.extents());
    const tn::any_tensor dh = tn::detail::add_gradients({m.y}, {m.h}, {m.dy})[0];
    tn::session fused, plain({.fuse = false});
    const auto check = [&](const tn::any_tensor& t, const std::vector<tn::any_tensor>& others) {
        std::vector<tn::any_tensor> fetches{t};
        fetches.insert(fetches.end(), others.begin(), others.end());
        const auto a = m.run(fused, values, fetches), b = m.run(plain, values, fetches);
        for (std::size_t f = 0; f < a.size(); ++f) CHECK(std::memcmp(a[f].data(), b[f].data(), b[f].bytes()) == 0);
    };
    check(m.dx, {dh});                                                       // the gradient is fetched
    check(tn::untyped::select(tn::untyped::greater(m.x, 0.0), dh, 0.0), {}); // of another tensor
    check(tn::untyped::select(tn::untyped::greater(m.h, 0.0), dh, 1.0), {}); // not of zeros alone
    check(tn::untyped::select(tn::untyped::greater(dh, 0.0), dh, 0.0), {});  // of what was spread
    check(tn::untyped::add(tn::untyped::select(tn::untyped::greater(m.h, 0.0), dh, 0.0), m.x), {}); // and of more
    const tn::any_tensor mean =
        tn::detail::add_gradients({tn::untyped::average_pool2d(m.h, {.window = 2})}, {m.h}, {m.dy})[0];
    check(tn::untyped::select(tn::untyped::greater(m.h, 0.0), mean, 0.0), {}); // a mean's goes everywhere
}
