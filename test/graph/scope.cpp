#include <stdexcept>

#include "tests.hpp"

// Scopes for devices, and which scopes a node is made in; test/graph/construction.cpp has names, containers and graphs.

using namespace tn::literals;

namespace {
tn::tensor<float, tn::shape<3>> input(const char* name) { return tn::placeholder<float, tn::shape<3>>(name); }
tn::device_name made() { return tn::placeholder<float>().node()->device; }
tn::device_name device_of(const tn::any_tensor& t) { return t.node()->device; }
} // namespace

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 2: the innermost scope that sets a field decides it, outer ones fill what is unset") {
    CHECK(made().empty());
    const auto job = tn::on("/job:worker/task:0");
    CHECK(made() == "/job:worker/task:0"_dev);
    {
        const auto task = tn::on("/task:1");
        CHECK(made() == "/job:worker/task:1"_dev);
        const auto gpu = tn::on("/gpu:0");
        CHECK(made() == "/job:worker/task:1/gpu:0"_dev);
    }
    CHECK(made() == "/job:worker/task:0"_dev);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 2: a device type does not inherit an outer scope's index") {
    const auto outer = tn::on("/job:worker/gpu:3");
    const auto inner = tn::on("/device:CPU");
    CHECK(made() == "/job:worker/device:CPU:*"_dev);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 2: an explicit empty scope drops the outer ones") {
    const auto outer = tn::on("/job:worker/gpu:3");
    const auto function = tn::on([](const tn::placed_op&) { return "/task:1"; });
    const auto none = tn::on("");
    CHECK(made().empty());
    const auto inner = tn::on("/cpu:0");
    CHECK(made() == "/cpu:0"_dev);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 1: a scope's name may come at run time; a malformed one opens no scope") {
    for (const int i : {0, 1}) {
        const auto tower = tn::on("/gpu:" + std::to_string(i));
        CHECK(made().index == i);
    }
    const std::string text = "/gpuu:0";
    CHECK(contains(message_of<tn::invalid_argument_error>([&] { const auto scope = tn::on(text); }), "\"/gpuu:0\""));
    CHECK(made().empty());
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 2: a scope may be a function, which is told the op and asked for each node made inside") {
    std::vector<std::string> asked;
    const auto outer = tn::on("/job:worker/task:7");
    const auto scope = tn::on([&](const tn::placed_op& op) {
        asked.push_back(std::string(op.type) + " " + op.name + " " + name_of(op.element) + to_string(op.extents) +
                        (op.holds_resource ? " resource" : "") + " on " + to_string(op.device));
        return op.extents.rank() == 1 ? "/task:1/gpu:0" : "/cpu:0";
    });
    const auto x = input("x");
    CHECK(device_of(x) == "/job:worker/task:1/gpu:0"_dev);
    CHECK(made() == "/job:worker/task:7/cpu:0"_dev);
    {
        const auto inner = tn::on("/gpu:5");
        CHECK(device_of(input("y")) == "/job:worker/task:1/gpu:5"_dev); // the function fills what is unset
    }
    const tn::name_scope names("layer");
    const tn::any_tensor v = tn::untyped::variable("v", tn::constant(1.0f));
    tn::no_op("last");
    CHECK(asked == std::vector<std::string>{"placeholder x float[3] on ", "placeholder placeholder float[] on ",
                                            "placeholder y float[3] on /device:GPU:5",
                                            "constant layer/constant float[] on ",
                                            "variable layer/v float[] resource on ",
                                            "assign layer/v/assign float[] on ", "no_op layer/last none[] on "});
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 2: functions nest; one may answer a device_name, text, or nothing") {
    const auto outer =
        tn::on([](const tn::placed_op& op) -> std::string { return op.device.task == 1 ? "/job:a" : ""; });
    CHECK(made().empty());
    const auto inner = tn::on([](const tn::placed_op&) { return "/task:1"_dev; });
    CHECK(made() == "/job:a/task:1"_dev);
}

TEST_CASE_FIXTURE(in_graph, "a placement function is asked once for a node, however often that is used") {
    const auto x = input("x");
    int asked = 0;
    const auto scope = tn::on([&](const tn::placed_op&) { return ++asked, "/gpu:0"; });
    const auto y = x + 1.0f;
    const auto a = y * y;
    const auto b = y - 2.0f;
    CHECK(a.materialize().node()->inputs[0] == b.materialize().node()->inputs[0]);
    CHECK(asked == 3);
    {
        const auto again = tn::on("/gpu:0"); // a node that is there already on that device is no other
        const std::int64_t nodes = g.size();
        (void)y.materialize();
        CHECK(g.size() == nodes);
    }
}

TEST_CASE_FIXTURE(in_graph, "a placement function that throws leaves the graph as it was") {
    const auto x = input("x");
    bool broken = true;
    const auto scope = tn::on([&](const tn::placed_op& op) -> const char* {
        if (broken) throw std::out_of_range(op.name);
        return "/cpu:0";
    });
    CHECK_THROWS_WITH_AS(input("y"), "y", std::out_of_range);
    CHECK_THROWS_WITH_AS((void)exp(x).materialize(), "exp", std::out_of_range);
    CHECK(g.size() == 1);
    broken = false;
    CHECK(input("y").name() == "y");
    CHECK(tn::identity(x).node()->device == "/cpu:0"_dev);
}

TEST_CASE_FIXTURE(in_graph, "a placement function that answers nonsense is named with the op and its answer") {
    const auto scope = tn::on([](const tn::placed_op&) { return std::string("/job:ps/gpuu:0"); });
    CHECK_ERROR(tn::invalid_argument_error,
                "the placement function, asked for x (placeholder), answers no device's name: device name "
                "\"/job:ps/gpuu:0\": a part is none of",
                input("x"));
    const auto null = tn::on([](const tn::placed_op&) -> const char* { return nullptr; });
    CHECK_ERROR(tn::invalid_argument_error, "answers a null pointer", input("x"));
    CHECK(g.size() == 0);
}

TEST_CASE_FIXTURE(in_graph, "a placement function that makes nodes in its own scope is refused, not asked for ever") {
    const auto scope = tn::on([](const tn::placed_op&) { return to_string(made()); });
    CHECK_ERROR(tn::invalid_argument_error, "a placement function makes a node", input("x"));
    CHECK(g.size() == 0);
}

TEST_CASE_FIXTURE(in_graph, "on(device, body) runs body inside, and gives what it returns; an expression is a node") {
    const auto x = input("x");
    const tn::tensor<float, tn::shape<3>> y = tn::on("/gpu:1", [&] { return x + 1.0f; });
    CHECK(device_of(y) == "/gpu:1"_dev);
    const auto z = tn::on("/gpu:1", [&] { return x * 2.0f; }) + 3.0f;
    CHECK(device_of(z).empty());
    CHECK(device_of(tn::any_tensor(z.materialize().node()->inputs[0])) == "/gpu:1"_dev);
    int runs = 0;
    tn::on("/cpu:0", [&] { ++runs; });
    CHECK(runs == 1);
    CHECK(tn::on([](const tn::placed_op&) { return "/cpu:0"; }, [] { return made(); }) == "/cpu:0"_dev);
    CHECK(tn::on(std::string("/gpu:2"), [] { return made(); }) == "/gpu:2"_dev);
    CHECK_THROWS_AS(tn::on("/gpu:0", [] { throw std::runtime_error("no"); }), std::runtime_error);
    CHECK(made().empty());
}

TEST_CASE_FIXTURE(
    in_graph,
    "colocate_with: nodes made inside name what they share their device with; outer device scopes do not count") {
    const auto x = input("x");
    const tn::operation op = tn::no_op("op");
    const auto gpu = tn::on("/gpu:1");
    {
        const auto with = tn::colocate_with(x);
        const auto a = tn::identity(x);
        CHECK(a.node()->colocated == std::vector<tn::node*>{x.node()});
        CHECK(device_of(a).empty());
        const auto also = tn::colocate_with(op);
        const auto again = tn::colocate_with(x);
        CHECK(tn::identity(x).node()->colocated == std::vector<tn::node*>{x.node(), op.node()});
        const auto cpu = tn::on("/cpu:0");
        CHECK(device_of(tn::identity(x)) == "/cpu:0"_dev);
    }
    CHECK(tn::identity(x).node()->colocated.empty());
    CHECK(device_of(tn::identity(x)) == "/gpu:1"_dev);
    const auto y = tn::colocate_with(op, [&] { return x + 1.0f; });
    CHECK(y.node()->colocated == std::vector<tn::node*>{op.node()});
    const auto z = tn::colocate_with(exp(x), [&] { return x + 1.0f; }); // an expression is a node
    CHECK(z.node()->colocated[0]->name == "exp");
    CHECK(z.node() != y.node());
}

TEST_CASE("colocate_with refuses what is empty, and what is of another graph") {
    const tn::graph g, other;
    const auto stranger = [&] {
        const tn::graph_scope in(other);
        return input("stranger");
    }();
    const tn::graph_scope in(g);
    using bad = tn::invalid_argument_error;
    CHECK(contains(message_of<bad>([&] { const auto scope = tn::colocate_with(stranger); }),
                   "colocate_with: stranger belongs to another graph"));
    CHECK(contains(message_of<bad>([&] { const auto scope = tn::colocate_with(tn::operation()); }), "is empty"));
}

TEST_CASE_FIXTURE(in_graph, "devices and colocated nodes are written as JSON and read again") {
    const auto x = input("x");
    const auto with = tn::colocate_with(x);
    const auto gpu = tn::on("/job:ps/device:gpu");
    tn::identity(x, "y");
    const std::string text = tn::to_json(g);
    const tn::graph read = tn::graph_from_json(text);
    CHECK(tn::to_json(read) == text);
    CHECK(read.find("y")->device == "/job:ps/device:GPU:*"_dev);
    CHECK(read.find("y")->colocated == std::vector<tn::node*>{read.find("x")});
    std::string wrong = text;
    wrong.replace(wrong.find("/job:ps/device:GPU:*"), 20, "/job:ps/gpuu:0");
    CHECK_ERROR(tn::invalid_argument_error, "node \"y\" (identity): device name \"/job:ps/gpuu:0\": a part is none of",
                tn::graph_from_json(wrong));
}

TEST_CASE_FIXTURE(
    in_graph, "an expression with a name is a node of the scopes in which it was written, wherever it is used first") {
    const auto x = input("x");
    const tn::operation before = tn::no_op("before");
    const auto outside = x + 1.0f;
    const auto [device, control, name, box] = [&] {
        const auto on_gpu = [&] {
            const auto gpu = tn::on("/gpu:0");
            return x + 2.0f;
        };
        const auto after = [&] {
            const tn::control_dependencies first(before);
            return x + 3.0f;
        };
        const auto named = [&] {
            const tn::name_scope layer("layer");
            return x + 4.0f;
        };
        const auto boxed = [&] {
            const tn::container_scope container("box");
            return x + 5.0f;
        };
        return std::tuple(on_gpu(), after(), named(), boxed());
    }();
    const auto cpu = tn::on("/cpu:0");
    const tn::control_dependencies late(x);
    const tn::name_scope other("other");
    CHECK(device_of(device) == "/gpu:0"_dev);
    CHECK(control.materialize().node()->controls == std::vector<tn::node*>{before.node()});
    CHECK(name.materialize().name() == "layer/add");
    CHECK(box.materialize().node()->container == "box");
    // What was written outside and is used inside is of the outside.
    const tn::node& n = *outside.materialize().node();
    CHECK(n.device.empty());
    CHECK(n.controls.empty());
    CHECK_FALSE(contains(n.name, "other"));
    // What uses them is of the inside.
    const auto sum = device + outside;
    CHECK(device_of(sum) == "/cpu:0"_dev);
    CHECK(device_of(tn::any_tensor(sum.materialize().node()->inputs[0])) == "/gpu:0"_dev);
    CHECK(sum.materialize().node()->controls == std::vector<tn::node*>{x.node()});
}

TEST_CASE("an expression written in a graph_scope is a node of that graph, in another scope and in another thread") {
    const tn::graph g, other;
    const auto e = [&] {
        const tn::graph_scope in(g);
        const auto gpu = tn::on("/gpu:0");
        return exp(input("x")) + 1.0f;
    }();
    const tn::graph_scope in(other);
    const auto cpu = tn::on("/cpu:0");
    std::thread([&] {
        CHECK(e.materialize().node()->graph == g.state());
        CHECK(device_of(e) == "/gpu:0"_dev);
    }).join();
    CHECK(device_of(e) == "/gpu:0"_dev);
    CHECK(g.size() == 2);
    CHECK(other.size() == 0);
}

TEST_CASE_FIXTURE(in_graph,
                  "a temporary is part of the expression that takes it, and of the scopes in which that is written") {
    const auto x = input("x");
    const auto twice = [&] {
        const auto gpu = tn::on("/gpu:0");
        return x * 2.0f;
    };
    const auto cpu = tn::on("/cpu:0");
    const auto y = exp(twice()); // one node: the product is no node of its own
    CHECK(device_of(y) == "/cpu:0"_dev);
    CHECK(y.materialize().node()->inputs[0].node == x.node());
    const auto named = twice();
    const auto z = exp(named);
    CHECK(device_of(z) == "/cpu:0"_dev);
    CHECK(device_of(tn::any_tensor(z.materialize().node()->inputs[0])) == "/gpu:0"_dev);
}

TEST_CASE_FIXTURE(in_graph, "gradients are nodes of the scopes in which they are asked for") {
    const auto x = tn::placeholder<float>("x");
    const tn::operation before = tn::no_op("before");
    const auto y = exp(x);
    const auto gpu = tn::on("/gpu:1");
    const tn::control_dependencies after(before);
    const tn::name_scope tower("tower");
    const auto [dx] = gradients(y, x);
    CHECK(device_of(dx) == "/gpu:1"_dev);
    CHECK(dx.node()->controls == std::vector<tn::node*>{before.node()});
    CHECK(dx.name().starts_with("tower/gradients/"));
}

TEST_CASE_FIXTURE(in_graph, "a placement function outlives its scope for the expressions that were written there") {
    const auto x = input("x");
    const auto e = [&] {
        const std::string text = "/job:somewhere/task:1";
        const auto scope = tn::on([text](const tn::placed_op&) { return text; });
        return x + 1.0f;
    }();
    CHECK(device_of(e) == "/job:somewhere/task:1"_dev);
}

TEST_CASE("scopes may end in any order, and in other threads: what was opened last of those that live is in force") {
    struct model {
        own_graph graph;
    };
    auto a = std::make_unique<model>(), b = std::make_unique<model>();
    const auto made_in = [](const tn::graph& g) {
        const std::int64_t before = g.size();
        (void)input("x");
        return g.size() == before + 1;
    };
    a.reset();
    CHECK(made_in(b->graph));
    auto c = std::make_unique<model>();
    CHECK(made_in(c->graph));
    std::thread([&] { b.reset(); }).join();
    CHECK(made_in(c->graph));
    c.reset();
    CHECK(made_in(tn::graph::current()));

    const own_graph g;
    auto job = std::make_unique<tn::device_scope>(tn::device_name("/job:worker"));
    auto task = std::make_unique<tn::device_scope>(tn::device_name("/task:1"));
    auto names = std::make_unique<tn::name_scope>("layer");
    job.reset();
    CHECK(made() == "/job:worker/task:1"_dev);
    task.reset();
    CHECK(made() == "/job:worker/task:1"_dev);
    CHECK(input("x").node()->name == "layer/x");
    names.reset();
    CHECK(made().empty());
    CHECK(input("y").node()->name == "y");
}
