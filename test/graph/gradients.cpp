#include "tests.hpp"

// Gradients are graph code: which nodes they are, what shapes they have, where they end.

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE_FIXTURE(in_graph, "a gradient has its input's element type and sizes, by type") {
    const auto x = tn::placeholder<double, tn::shape<batch, 3>>("x");
    const auto b = tn::placeholder<double, tn::shape<3>>("b");
    const auto loss = sum(exp(x) * b);
    const auto [dx, db] = gradients(loss, x, b);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(dx)>, tn::tensor<double, tn::shape<batch, 3>>>);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(db)>, tn::tensor<double, tn::shape<3>>>);
    CHECK(dx.type() == x.type());
    CHECK(db.type() == b.type());
}

TEST_CASE_FIXTURE(in_graph, "gradients are right where a broadcast operand was repeated: they are summed") {
    const auto x = tn::placeholder<double, tn::shape<batch, 2>>("x");
    const auto b = tn::placeholder<double, tn::shape<2>>("b");
    const auto loss = sum(x * b);
    const auto [dx, db] = gradients(loss, x, b);
    tn::session s;
    const auto [vx, vb] =
        s.run(tn::feed(x, tn::array<double>{{1, 2}, {3, 4}, {5, 6}}), tn::feed(b, tn::array<double>{10, 20}), dx, db);
    CHECK(vb(0) == 9);
    CHECK(vb(1) == 12);
    for (int i = 0; i < 3; ++i) {
        CHECK(vx(i, 0) == 10);
        CHECK(vx(i, 1) == 20);
    }
}

TEST_CASE_FIXTURE(in_graph, "what flows along several ways is added") {
    const auto x = tn::placeholder<double>("x");
    const auto y = x * x;
    const auto z = y + y * x; // d/dx (x^2 + x^3)
    const auto [dx] = gradients(z, x);
    tn::session s;
    CHECK(s.run(tn::feed(x, 2.0), dx).item() == doctest::Approx(2 * 2 + 3 * 4));
}

TEST_CASE_FIXTURE(in_graph, "a gradient with respect to what is in the middle") {
    const auto x = tn::placeholder<double>("x");
    const tn::tensor<double, tn::shape<>> h = exp(x);
    const auto loss = h * 3.0;
    const auto [dh, dx] = gradients(loss, h, x);
    tn::session s;
    const auto [vh, vx] = s.run(tn::feed(x, 0.0), dh, dx);
    CHECK(vh.item() == doctest::Approx(3));
    CHECK(vx.item() == doctest::Approx(3));
}

TEST_CASE_FIXTURE(in_graph,
                  "a tensor that does not matter has zeros for gradient; with respect to the loss itself it is 1") {
    const auto x = tn::placeholder<float>("x");
    const auto other = tn::placeholder<float, tn::shape<2>>("other");
    const tn::tensor<float, tn::shape<>> loss = x * 2.0f;
    const auto [d, one] = gradients(loss, other, loss);
    tn::session s;
    const auto v = s.run(tn::feed(other, tn::array<float>{5, 6}), d);
    CHECK(v(0) == 0);
    CHECK(v(1) == 0);
    CHECK(s.run(tn::feed(x, 1.0f), one).item() == 1);
}

TEST_CASE_FIXTURE(in_graph, "no gradient flows through stop_gradient, comparisons and integers") {
    const auto x = tn::placeholder<float>("x");
    const auto stopped = tn::stop_gradient(x * 5.0f);
    const auto [d] = gradients(stopped * x + tn::cast<float>(x > 0.0f) + tn::cast<float>(tn::cast<int>(x)), x);
    tn::session s;
    CHECK(s.run(tn::feed(x, 3.0f), d).item() == 15);
}

TEST_CASE_FIXTURE(in_graph, "identities, prints and defaults pass gradients on") {
    const auto x = tn::placeholder<float>("x");
    const auto y = tn::placeholder_with_default(tn::identity(x), "y");
    const auto [d] = gradients(y * 4.0f, x);
    tn::session s;
    CHECK(s.run(tn::feed(x, 3.0f), d).item() == 4);
}

TEST_CASE_FIXTURE(in_graph, "gradient nodes are named under gradients/") {
    const auto x = tn::placeholder<float>("x");
    const auto [d] = gradients(exp(x), x);
    CHECK(d.name().starts_with("gradients/"));
    const auto [e] = gradients(tanh(x), x);
    CHECK(e.name().starts_with("gradients_1/"));
}

TEST_CASE_FIXTURE(
    in_graph,
    "a backward pass reads no more nodes than it needs: a chain in one expression is one node forward, one back") {
    const auto x = tn::placeholder<float, tn::shape<8>>("x");
    const tn::tensor<float, tn::shape<8>> y = tanh(exp(x) * 2.0f + 1.0f);
    const auto loss = sum(y);
    const std::int64_t before = g.size();
    const auto [d] = gradients(loss, x);
    int fused = 0;
    for (std::int64_t n = before; n < g.size(); ++n) fused += std::string(g.at(n)->op->name) == "fused";
    CHECK(fused == 1);
    CHECK(d.node()->op == &tn::fused_definition);
}

TEST_CASE_FIXTURE(in_graph, "what is differentiated is a floating scalar") {
    const tn::any_tensor x = tn::placeholder<float, tn::shape<2>>("x"), n = tn::placeholder<std::int32_t>("n");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::gradients(x, {x}); }) ==
          "gradients: what is differentiated must be a scalar: [2] (x)");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              tn::gradients(n, {x});
          }).starts_with("gradients: element type must be float"));
}

TEST_CASE_FIXTURE(in_graph, "second derivatives") {
    const auto x = tn::placeholder<double>("x");
    const auto [d] = gradients(sin(x), x);
    const auto [dd] = gradients(d, x);
    tn::session s;
    CHECK(s.run(tn::feed(x, 0.7), dd).item() == doctest::Approx(-std::sin(0.7)));
}
