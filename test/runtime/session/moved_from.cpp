#include "tests.hpp"

// What was moved from says so: no function of it crashes, and it can end or be assigned to.

namespace {

template <class F> bool says(const char* what, F f) {
    const std::string words = message_of<tn::failed_precondition_error>(f);
    if (words == std::string("the ") + what + " was moved from; use the one that it was moved to") return true;
    MESSAGE(words);
    return false;
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "a session that was moved from") {
    const auto x = tn::constant(1.0f);
    tn::session a;
    const auto call = a.callable(tn::feeds(), tn::fetches(x));
    tn::session b(std::move(a));
    CHECK(says("session", [&] { a.run(x); }));
    CHECK(says("session", [&] { a.run_for(1, x); }));
    CHECK(says("session", [&] { a.run_untyped({}, {x}); }));
    CHECK(says("session", [&] { (void)a.callable(tn::feeds(), tn::fetches(x)); }));
    CHECK(says("session", [&] { (void)a.report(x); }));
    CHECK(says("session", [&] { (void)a.explain_placement(x); }));
    CHECK(says("session", [&] { (void)a.statistics(); }));
    CHECK(says("session", [&] { (void)a.list_logical_devices(); }));
    CHECK(says("session", [&] { (void)a.memory_info("/cpu:0"); }));
    CHECK(says("session", [&] { a.set_trace(nullptr); }));
    CHECK(says("session", [&] { a.set_measurements(nullptr); }));
    CHECK(says("session", [&] { a.close(); }));
    CHECK(says("session", [&] { (void)a.bound_graph(); }));
    CHECK(std::get<0>(call()).item() == 1); // the session lives in b
    a = std::move(b);
    CHECK(a.run(x).item() == 1);
    CHECK(says("session", [&] { b.run(x); }));
}

TEST_CASE_FIXTURE(in_graph, "a callable that was moved from") {
    const auto x = tn::placeholder<float>("x");
    tn::session s;
    auto call = s.callable(tn::feeds(x), tn::fetches(x));
    auto moved = std::move(call);
    CHECK(says("callable", [&] { call(1.0f); }));
    CHECK(says("callable", [&] { call.run_for(1, 1.0f); }));
    call = moved;
    CHECK(std::get<0>(call(2.0f)).item() == 2);
}

TEST_CASE("a graph that was moved from") {
    tn::graph g;
    tn::graph h(std::move(g));
    CHECK(says("graph", [&] { (void)g.size(); }));
    CHECK(says("graph", [&] { (void)g.at(0); }));
    CHECK(says("graph", [&] { (void)g.find("x"); }));
    CHECK(says("graph", [&] { (void)g.tensor("x"); }));
    CHECK(says("graph", [&] { (void)g.collection("c"); }));
    CHECK(says("graph", [&] { (void)g.collections(); }));
    CHECK(says("graph", [&] { g.set_seed(1); }));
    CHECK(says("graph", [&] { (void)g.seed(); }));
    CHECK(says("graph", [&] { (void)tn::to_json(g); }));
    CHECK(says("graph", [&] { const tn::graph_scope in(g); }));
    CHECK(says("graph", [&] { tn::session s(g); }));
    {
        const tn::graph_scope in(h);
        const auto x = tn::constant(1.0f);
        CHECK(says("graph", [&] { g.add_to_collection("c", x); }));
    }
    const tn::graph copy(g);
    CHECK(copy == g);
    CHECK_FALSE(g == h);
    g = h;
    CHECK(g.size() == 1);
}

TEST_CASE("measurements and a mirrored strategy that were moved from") {
    tn::cost_measurements m;
    tn::cost_measurements n(std::move(m));
    CHECK(says("cost_measurements object", [&] { m.add_kernel("d", "n", 1); }));
    CHECK(says("cost_measurements object", [&] { m.add_transfer("d", "e", 1, 1); }));
    CHECK(says("cost_measurements object", [&] { (void)m.kernel_seconds("d", "n"); }));
    CHECK(says("cost_measurements object", [&] { (void)m.link("d", "e"); }));
    CHECK(says("cost_measurements object", [&] { (void)m.kernels(); }));
    CHECK(says("cost_measurements object", [&] { (void)m.links(); }));
    CHECK(says("cost_measurements object", [&] { (void)m.to_json(); }));
    m = std::move(n);
    CHECK(m.kernels() == 0);

    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    tn::mirrored_strategy s({"/cpu:0", "/cpu:1"});
    tn::mirrored_strategy t(std::move(s));
    CHECK(says("mirrored_strategy", [&] { (void)s.replicas(); }));
    CHECK(says("mirrored_strategy", [&] { (void)s.devices(); }));
    CHECK(says("mirrored_strategy", [&] { (void)s.distribute(x); }));
    CHECK(t.replicas() == 2);
}
