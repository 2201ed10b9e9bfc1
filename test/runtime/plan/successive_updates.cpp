#include <tenon/train/optimize/tape_writer.hpp>

#include "runtime/every_session.hpp"

// SEMANTICS 20: several updates of one variable in one step. None is lost, and what an update returns is the value after it.

using tn::literals::operator""_dev;

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: each assign_add changes what the one before left") {
    const auto v = tn::variable("v", 1.0f);
    const auto a = v.assign_add(1.0f);
    const auto b = v.assign_add(2.0f);
    const auto c = v.assign_sub(10.0f);
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        const auto [x, y] = s.run(a, b);
        CHECK(x.item() == 2);
        CHECK(y.item() == 4);
        CHECK(s.run(v).item() == 4);
        const auto [last, old, first, middle] = s.run(c, v, a, b); // asked for in any order, applied as they were made
        CHECK(first.item() == 5);
        CHECK(middle.item() == 7);
        CHECK(last.item() == -3);
        CHECK(old.item() == 4);
        CHECK(s.run(v).item() == -3);
        CHECK(s.run(c).item() == -13); // alone as ever
    });
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: untyped updates, too, change what those before left") {
    const tn::any_tensor v = tn::untyped::variable("v", tn::any_tensor(tn::constant({1.0f, 2.0f})));
    const tn::any_tensor a = tn::untyped::assign_add(v, 1);
    const tn::any_tensor b = tn::untyped::assign_sub(v, v);
    const tn::any_tensor c = tn::untyped::assign_add(v, tn::any_tensor(tn::constant(4.0f)));
    in_every_session([&](tn::session& s) {
        s.run(tn::initialize_variables());
        const std::vector<tn::any_array> got = s.run_untyped({}, {a, b, c});
        CHECK(got[0].data<float>()[1] == 3);
        CHECK(got[1].data<float>()[1] == 1); // 3 less what v was before the step
        CHECK(got[2].data<float>()[1] == 5);
        CHECK(s.run_untyped({}, {v})[0].data<float>()[0] == 5);
    });
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: equal updates are applied each") {
    const auto v = tn::variable("v", tn::constant({1.0f, 2.0f}));
    const auto a = v.assign_add(1.0f), b = v.assign_add(1.0f), c = v.assign_add(1.0f);
    const auto plain = (v + 1.0f).materialize();
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        const auto [x, y, z, old] = s.run(a, b, c, plain);
        CHECK(x(0) == 2);
        CHECK(y(0) == 3);
        CHECK(z(0) == 4);
        CHECK(z(1) == 5);
        CHECK(old(0) == 2);
        CHECK(s.run(v)(1) == 5);
    });
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 20: what a program computes of the variable itself is of the value from before the step") {
    const auto v = tn::variable("v", 1.0f);
    const auto a = v.assign(v + 1.0f);
    const auto b = v.assign(v + 1.0f);
    const auto c = v.assign_add(v * 10.0f);
    const auto twice = (v * 10.0f).materialize();
    const auto d = v.assign_add(twice);
    const auto e = v.assign_add(v);
    in_every_session([&](tn::session& s) {
        const auto begin = [&] { s.run(v.initializer()); };
        begin();
        const auto [x, y] = s.run(a, b);
        CHECK(x.item() == 2);
        CHECK(y.item() == 2);
        begin();
        const auto [first, one, named, itself] = s.run(a, c, d, e);
        CHECK(first.item() == 2);
        CHECK(one.item() == 12); // 2 + 1 * 10
        CHECK(named.item() == 22);
        CHECK(itself.item() == 23);
        CHECK(s.run(v).item() == 23);
    });
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 18, 20: what the updates before left may be the variable's first value") {
    const auto v = tn::variable("v", 1.0f);
    const auto a = v.assign(5.0f);
    const auto b = v.assign_add(1.0f);
    const auto c = v.assign_add(1.0f);
    in_every_session([&](tn::session& s) {
        CHECK_THROWS_AS(s.run(b, c), tn::failed_precondition_error);
        const auto [later, set] = s.run(c, a);
        CHECK(later.item() == 6);
        CHECK(set.item() == 5);
        s.run(v.initializer());
        const auto [x, y, z] = s.run(a, b, c);
        CHECK(y.item() == 6);
        CHECK(z.item() == 7);
    });
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 16, 20: what is fed for a variable is what its updates are computed of; a fed update does not run") {
    const auto v = tn::variable("v", 1.0f);
    const auto a = v.assign_add(1.0f);
    const auto b = v.assign_add(2.0f);
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        const auto [x, y] = s.run(tn::feed(v, 40.0f), a, b);
        CHECK(x.item() == 41);
        CHECK(y.item() == 42);
        CHECK(s.run(v).item() == 42);
        s.run(v.initializer());
        const auto [fed, after] = s.run(tn::feed(a, 100.0f), a, b);
        CHECK(fed.item() == 100);
        CHECK(after.item() == 3);
    });
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 15, 20: who is made to run between updates reads what those before left") {
    const auto v = tn::variable("v", 1.0f);
    const auto a = v.assign_add(1.0f);
    tn::tensor<float, tn::shape<>> between, b;
    {
        const tn::control_dependencies after(a);
        between = (v * 10.0f).materialize();
        b = v.assign_add(v * 100.0f); // v is read after a, as what the update is computed of is
    }
    const auto c = v.assign_add(3.0f);
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        const auto [x, y, z] = s.run(c, between, b);
        CHECK(y.item() == 20);
        CHECK(z.item() == 202);
        CHECK(x.item() == 205);
    });
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 20: updates of several variables that take their values from one node are applied together") {
    const auto v = tn::variable("v", 1.0f), w = tn::variable("w", 10.0f);
    tn::detail::tape_writer t;
    const auto of_v = t.read(tn::detail::current_value(v)), of_w = t.read(tn::detail::current_value(w));
    t.write(of_v * 2.0, tn::element_type::float32);
    t.write(of_w + of_v, tn::element_type::float32);
    const std::vector<tn::any_tensor> made = t.finish();
    std::vector<tn::operation> updates;
    for (int times = 0; times < 2; ++times) {
        updates.push_back(tn::untyped::assign(v, made[0]).operation());
        updates.push_back(tn::untyped::assign(w, made[1]).operation());
    }
    const tn::operation all = tn::group(updates);
    in_every_session([&](tn::session& s) {
        s.run(tn::initialize_variables());
        s.run(all);
        const auto [x, y] = s.run(v, w);
        CHECK(x.item() == 4);
        CHECK(y.item() == 13); // 10 + 1 + 2: w, too, is computed of v as it was before both
    });
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 20: rows are scattered into what updates before left, and those change what was scattered") {
    const auto v = tn::variable("v", tn::constant({1.0f, 2.0f}));
    const auto a = v.assign_add(1.0f);
    const auto b = v.scatter_add(tn::constant({1}), 10.0f);
    const auto c = v.assign_sub(tn::constant({2.0f, 3.0f}));
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        const auto [x, y, z] = s.run(a, b, c);
        CHECK(x(1) == 3);
        CHECK(y(0) == 2);
        CHECK(y(1) == 13);
        CHECK(z(0) == 0);
        CHECK(z(1) == 10);
    });
}

TEST_CASE("a graph that was written and read applies its updates alike; texts from before variables had two outputs "
          "are read") {
    const tn::graph g;
    {
        const tn::graph_scope in(g);
        const auto v = tn::variable("v", 1.0f);
        (void)v.assign_add(1.0f);
        (void)v.assign_add(2.0f);
    }
    const tn::graph read = tn::graph_from_json(tn::to_json(g));
    const tn::graph_scope in(read);
    initialized_session s(read);
    s.run_untyped({}, {}, {tn::operation(read.find("v/assign_add")), tn::operation(read.find("v/assign_add_1"))});
    CHECK(*s.run_untyped({}, {read.tensor("v")})[0].data<float>() == 4);

    const std::string older = R"({"format": "tenon graph", "version": 1, "seed": 0, "nodes": [
        {"name": "v", "op": "variable", "attributes": {"element": {"element": "float"}, "shape": {"shape": [2]}},
         "outputs": [{"element": "float", "shape": [2]}]}], "collections": {}})";
    CHECK(tn::graph_from_json(older).find("v") != nullptr);
}

TEST_CASE_FIXTURE(in_graph, "a node that several updates evaluate is explained once, where its variable is") {
    const auto v = [] {
        const tn::device_scope there("/gpu:1"_dev);
        return tn::variable("v", 1.0f);
    }();
    const auto a = v.assign_add(1.0f), b = v.assign_add(1.0f);
    tn::session s({.gpus = tn::simulated_gpu(2, 1 << 20)});
    const tn::placement_explanation e = s.explain_placement(a, b);
    int adds = 0;
    for (const auto& n : e.nodes)
        if (n.op == "add") {
            ++adds;
            CHECK(contains(tn::to_string(n.device), "GPU:1"));
        }
    CHECK(adds == 1);
    CHECK(e.crossing_bytes() == 0);
    CHECK(e.fetched_bytes() == 2 * 4);
}
