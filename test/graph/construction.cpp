#include "tests.hpp"
#include "each_thread.hpp"

// How graphs are made: nodes, names, scopes, collections, seeds.

using namespace tn::literals;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE_FIXTURE(in_graph, "a graph numbers its nodes in the order they are made, inputs before what uses them") {
    CHECK(g.size() == 0);
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto y = exp(x);
    const auto z = identity(y);
    CHECK(x.node()->number == 0);
    CHECK(z.node()->inputs[0].node->number < z.node()->number);
    CHECK(g.size() == 3);
    for (std::int64_t n = 0; n < g.size(); ++n) {
        CHECK(g.at(n)->number == n);
        CHECK(g.find(g.at(n)->name) == g.at(n));
        for (const tn::node_output& from : g.at(n)->inputs) CHECK(from.node->number < n);
    }
}

TEST_CASE_FIXTURE(in_graph, "a node knows its types") {
    const auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    CHECK(to_string(x.type()) == "float[batch, 784]");
    const tn::tensor<bool, tn::shape<batch, 784>> positive = x > 0.0f;
    CHECK(to_string(positive.type()) == "bool[batch, 784]");
    CHECK(positive.rank() == 2);
}

TEST_CASE("the default graph is the one of the innermost graph_scope") {
    const tn::graph outer, inner;
    const tn::graph before = tn::graph::current();
    {
        const tn::graph_scope a(outer);
        CHECK(tn::graph::current() == outer);
        {
            const tn::graph_scope b(inner);
            CHECK(tn::graph::current() == inner);
            CHECK(tn::constant(1.0f).node()->graph == inner.state());
        }
        CHECK(tn::graph::current() == outer);
    }
    CHECK(tn::graph::current() == before);
    CHECK(outer.size() == 0);
    CHECK(inner.size() == 1);
}

TEST_CASE_FIXTURE(in_graph, "a scope belongs to its thread") {
    const tn::name_scope names("here");
    bool same = true;
    std::string name;
    std::thread([&] {
        same = tn::graph::current() == g;
        const own_graph there;
        name = tn::placeholder<float>("x").name();
    }).join();
    CHECK_FALSE(same);
    CHECK(name == "x");
}

TEST_CASE("a graph lives as long as a handle on one of its nodes") {
    tn::any_tensor kept;
    tn::operation op;
    {
        const own_graph g;
        kept = tn::placeholder<float, tn::shape<2>>("kept");
        op = kept.operation();
    }
    CHECK(kept.name() == "kept");
    CHECK(to_string(kept.type()) == "float[2]");
    CHECK(op.name() == "kept");
}

TEST_CASE_FIXTURE(in_graph, "a taken name gets the next free number") {
    CHECK(tn::placeholder<float>("x").name() == "x");
    CHECK(tn::placeholder<float>("x_1").name() == "x_1");
    CHECK(tn::placeholder<float>("x").name() == "x_2");
    CHECK(tn::placeholder<float>("x").name() == "x_3");
    CHECK(tn::placeholder<float>().name() == "placeholder");
    CHECK(tn::placeholder<float>().name() == "placeholder_1");
}

TEST_CASE_FIXTURE(in_graph, "a node without a name is called after its op, a fused one after its last instruction") {
    const auto x = tn::placeholder<float>("x");
    CHECK(tn::constant(1.0f).name() == "constant");
    const auto y = exp(x) + 1.0f;
    CHECK(y.materialize().name() == "add");
    CHECK(tanh(x).materialize().name() == "tanh");
}

TEST_CASE_FIXTURE(in_graph, "name_scope prefixes names; scopes nest; a used prefix gets a number") {
    {
        const tn::name_scope layer("layer");
        CHECK(tn::placeholder<float>("x").name() == "layer/x");
        const tn::name_scope inner("inner");
        CHECK(tn::placeholder<float>("x").name() == "layer/inner/x");
        CHECK(tn::constant(2.0f).name() == "layer/inner/constant");
    }
    {
        const tn::name_scope layer("layer");
        CHECK(tn::placeholder<float>("x").name() == "layer_1/x");
    }
    {
        const tn::name_scope taken("layer_2");
        CHECK(tn::placeholder<float>("x").name() == "layer_2/x");
    }
    {
        const tn::name_scope layer("layer");
        CHECK(tn::placeholder<float>("x").name() == "layer_3/x");
    }
    CHECK(tn::placeholder<float>("x").name() == "x");
}

TEST_CASE_FIXTURE(in_graph, "device and container scopes are kept with the node, the innermost wins") {
    const auto plain = tn::placeholder<float>();
    const auto gpu = tn::on("/gpu:0");
    const tn::container_scope box("box");
    const auto placed = tn::placeholder<float>();
    {
        const auto cpu = tn::on("/cpu:0");
        CHECK(tn::placeholder<float>().node()->device == "/cpu:0"_dev);
        CHECK(tn::placeholder<float>().node()->container == "box");
    }
    CHECK(plain.node()->device.empty());
    CHECK(plain.node()->container.empty());
    CHECK(placed.node()->device == "/gpu:0"_dev);
    CHECK(placed.node()->container == "box");
}

TEST_CASE_FIXTURE(in_graph,
                  "control_dependencies are kept with the nodes made inside, each once, and end with the scope") {
    const auto a = tn::placeholder<float>("a");
    const tn::operation b = tn::no_op("b");
    tn::any_tensor inside, after;
    {
        const tn::control_dependencies first(a, b);
        const tn::control_dependencies again(a);
        inside = tn::placeholder<float>();
    }
    after = tn::placeholder<float>();
    REQUIRE(inside.node()->controls.size() == 2);
    CHECK(inside.node()->controls[0] == a.node());
    CHECK(inside.node()->controls[1] == b.node());
    CHECK(after.node()->controls.empty());
}

TEST_CASE_FIXTURE(in_graph, "an expression can be depended on: it becomes a node") {
    const auto x = tn::placeholder<float>("x");
    const tn::control_dependencies first(exp(x));
    const auto y = tn::placeholder<float>("y");
    REQUIRE(y.node()->controls.size() == 1);
    CHECK(y.node()->controls[0]->name == "exp");
}

TEST_CASE("nodes of two graphs do not mix, and the error names the stranger") {
    const tn::graph one, two;
    tn::any_tensor x;
    {
        const tn::graph_scope in(one);
        x = tn::placeholder<float>("stranger");
    }
    const tn::graph_scope in(two);
    const auto y = tn::placeholder<float>("y");
    using bad = tn::invalid_argument_error;
    CHECK_ERROR(bad, "input stranger belongs to another graph", tn::untyped::identity(x));
    CHECK(contains(message_of<bad>([&] { const tn::control_dependencies c(x); }), "stranger belongs to another graph"));
    CHECK_ERROR(bad, "stranger belongs to another graph", tn::graph(two).add_to_collection("c", x));
    CHECK_ERROR(bad, "input 0 is empty: ", tn::untyped::identity(tn::any_tensor()));
    CHECK(message_of<bad>([&] { tn::untyped::concat({}, 0); }) == "concat: more operands are needed");
    CHECK(two.size() == 1);
}

TEST_CASE("an expression becomes a node of its operands' graph, wherever it is used first") {
    const tn::graph g;
    const auto e = [&] {
        const tn::graph_scope in(g);
        return exp(tn::placeholder<float>("x")) + 1.0f;
    }();
    CHECK(e.materialize().node()->graph == g.state());
}

TEST_CASE_FIXTURE(in_graph,
                  "a rule's fault is an invalid_argument_error with the op, the shapes and the inputs' names") {
    const tn::any_tensor a = tn::placeholder<float, tn::shape<batch, 784>>("a");
    const tn::any_tensor b = tn::placeholder<float, tn::shape<300>>("b");
    const std::int64_t nodes = g.size();
    const std::string text = message_of<tn::invalid_argument_error>([&] {
        tn::detail::add_instruction(tn::opcode::add, {a, b});
    });
    CHECK(text == "add: sizes do not broadcast: [batch, 784] x [300] (inputs a b)");
    CHECK(g.size() == nodes); // nothing was added
}

TEST_CASE_FIXTURE(in_graph, "find and tensor look nodes up by name; not_found_error lists similar names") {
    const auto x = tn::placeholder<float>("weights");
    CHECK(g.find("weights") == x.node());
    CHECK(g.tensor("weights").output() == x.output());
    CHECK(g.tensor("weights:0").output() == x.output());
    CHECK_ERROR(tn::not_found_error, "similar names: weights", g.find("weight"));
    CHECK_ERROR(tn::invalid_argument_error, "weights has 1 output", g.tensor("weights:1"));
    CHECK_ERROR(tn::invalid_argument_error, "numbered from 0", g.tensor("weights:x"));
    tn::no_op("nothing");
    CHECK_ERROR(tn::invalid_argument_error, "operation without a tensor", g.tensor("nothing"));
}

TEST_CASE_FIXTURE(in_graph, "collections keep their members in order") {
    CHECK(g.collection("losses").empty());
    CHECK(g.collections().empty());
    const auto a = tn::placeholder<float>("a"), b = tn::placeholder<float>("b");
    g.add_to_collection("losses", b);
    g.add_to_collection("losses", a);
    g.add_to_collection("inputs", a);
    REQUIRE(g.collection("losses").size() == 2);
    CHECK(g.collection("losses")[0].name() == "b");
    CHECK(g.collection("losses")[1].name() == "a");
    CHECK(g.collections() == std::vector<std::string>{"inputs", "losses"});
}

TEST_CASE("a graph's seed is 0 until it is set") {
    tn::graph g;
    CHECK(g.seed() == 0);
    g.set_seed(0xffffffffffffffffULL);
    CHECK(g.seed() == 0xffffffffffffffffULL);
}

TEST_CASE("a graph may be built from several threads") {
    const tn::graph g;
    constexpr int threads = 4, each = 200;
    on_threads(threads, [&g](int) {
        const tn::graph_scope in(g);
        tn::any_tensor last = tn::placeholder<float>("x");
        for (int i = 0; i < each; ++i) last = tn::untyped::identity(last, "step");
    });
    CHECK(g.size() == threads * (each + 1));
    for (std::int64_t n = 0; n < g.size(); ++n) {
        CHECK(g.at(n)->number == n);
        CHECK(g.find(g.at(n)->name) == g.at(n));
    }
}
