#include "tests.hpp"

// A name is a node, a temporary is fused; equal nodes are one.

namespace {
int fused_nodes(const tn::graph& g) {
    int n = 0;
    for (std::int64_t i = 0; i < g.size(); ++i) n += std::string(g.at(i)->op->name) == "fused";
    return n;
}
} // namespace

TEST_CASE_FIXTURE(in_graph, "what is written in one expression is one node") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    const tn::tensor<float, tn::shape<4>> y = tanh(x * 2.0f + 1.0f) - exp(-x);
    CHECK(fused_nodes(g) == 1);
    CHECK(y.node()->inputs.size() == 2); // x in both its places
    for (const tn::node_output& from : y.node()->inputs) CHECK(from.node == x.node());
}

TEST_CASE_FIXTURE(in_graph, "an operand that has a name becomes a node first, once") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    const auto h = exp(x);
    CHECK(fused_nodes(g) == 0); // nothing is made before it is used
    const tn::tensor<float, tn::shape<4>> y = h * h + h;
    const tn::tensor<float, tn::shape<4>> z = tanh(h) - h;
    CHECK(fused_nodes(g) == 3); // h, y and z
    CHECK(y.node() != z.node());
}

TEST_CASE_FIXTURE(in_graph, "a moved expression is a temporary again") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    auto h = exp(x);
    const tn::tensor<float, tn::shape<4>> y = std::move(h) + 1.0f;
    CHECK(fused_nodes(g) == 1);
    CHECK(y.node()->inputs[0].node == x.node());
}

TEST_CASE_FIXTURE(in_graph, "expressions own what they need: one may outlive what it was made of") {
    const auto make = [] {
        const auto x = tn::constant({1.0f, 2.0f});
        const auto y = x + 1.0f;
        return y * 2.0f;
    };
    const auto e = make();
    tn::session s;
    const auto v = s.run(e);
    CHECK(v(0) == 4.0f);
    CHECK(v(1) == 6.0f);
}

TEST_CASE_FIXTURE(in_graph, "equal nodes are one: written five times, in the graph once") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    const auto make = [&] { return tn::tensor<float, tn::shape<4>>(tanh(x) * 3.0f); };
    const auto first = make();
    const std::int64_t nodes = g.size();
    for (int i = 0; i < 4; ++i) CHECK(make().node() == first.node());
    CHECK(g.size() == nodes);
    // Other numbers are another node.
    const tn::tensor<float, tn::shape<4>> other = tanh(x) * 4.0f;
    CHECK(other.node() != first.node());
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 13: a name used in five places is computed once a step") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    const auto h = tn::identity(exp(x), "h");
    tn::session s(tn::session_options{.fuse = false});
    const auto a = h + 1.0f;
    const auto b = h * 2.0f;
    const auto c = tanh(h);
    const auto d = -h;
    const auto e = sqrt(h);
    const auto once = s.report(tn::feed(x, tn::array<float, tn::shape<4>>()), h);
    const auto five = s.report(tn::feed(x, tn::array<float, tn::shape<4>>()), a, b, c, d, e);
    CHECK(once.nodes == 1);
    int exps = 0;
    for (const std::string& line : five.order) exps += line.starts_with("exp");
    CHECK(exps == 1);
    CHECK(five.nodes == 6); // exp, and what is made of it
}

TEST_CASE_FIXTURE(in_graph, "nodes that hold a state, have a value of their own or were given a name are never one") {
    CHECK(tn::placeholder<float>().node() != tn::placeholder<float>().node());
    const auto x = tn::placeholder<float>("x");
    CHECK(tn::identity(x, "a").node() != tn::identity(x, "a").node());
    CHECK(tn::identity(x).node() == tn::identity(x).node());
    CHECK(tn::print(x, "p").node() != tn::print(x, "p").node());
}

TEST_CASE_FIXTURE(in_graph,
                  "equal constants are one node, whatever array they came from; 0 and -0 are not equal, a NaN is") {
    CHECK(tn::constant({1.0f, 2.0f}).node() == tn::constant({1.0f, 2.0f}).node());
    CHECK(tn::constant({1.0f, 2.0f}).node() != tn::constant({1.0f, 3.0f}).node());
    CHECK(tn::constant({1.0f, 2.0f}).node() != tn::constant({{1.0f, 2.0f}}).node());
    CHECK(tn::constant(1.0f).node() != tn::constant(1.0).node());
    CHECK(tn::constant(0.0f).node() != tn::constant(-0.0f).node());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(tn::constant(nan).node() == tn::constant(nan).node());
    CHECK(tn::constant("text").node() == tn::constant(std::string("text")).node());
    CHECK(tn::constant("text").node() != tn::constant("other").node());
}

TEST_CASE("attributes that are numbers are compared by their bits") {
    const auto attributes_with = [](double v) {
        tn::attributes a;
        a.set("value", v);
        return a;
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(attributes_with(0.5) == attributes_with(0.5));
    CHECK(attributes_with(nan) == attributes_with(nan));
    CHECK_FALSE(attributes_with(0.0) == attributes_with(-0.0));
}

TEST_CASE_FIXTURE(in_graph, "equal nodes with other control dependencies, devices or containers stay apart") {
    const auto x = tn::placeholder<float>("x");
    const auto plain = tn::identity(x);
    const tn::operation before = tn::no_op();
    {
        const tn::control_dependencies after(before);
        CHECK(tn::identity(x).node() != plain.node());
    }
    {
        const auto device = tn::on("/gpu:0");
        CHECK(tn::identity(x).node() != plain.node());
    }
    {
        const tn::container_scope container("box");
        CHECK(tn::identity(x).node() != plain.node());
    }
    CHECK(tn::identity(x).node() == plain.node());
}
