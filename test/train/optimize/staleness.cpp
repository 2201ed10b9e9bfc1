#include "tests.hpp"

namespace {

using scalar = tn::shape<>;

} // namespace

TEST_CASE("SEMANTICS 42: a worker that is alone is never stale; steps are counted in one variable of the graph") {
    const own_graph g;
    const auto w = tn::variable("w", 1.0f);
    const auto down = tn::staleness(tn::gradient_descent(0.1f).minimize(tn::square(w)));
    const auto up = tn::staleness(tn::gradient_descent(-0.1f).minimize(tn::square(w)));
    REQUIRE(g.collection("trained_steps").size() == 1);
    const tn::variable_tensor<std::int64_t, scalar> steps(g.collection("trained_steps").front());
    initialized_session sess(g);
    for (int i = 1; i <= 4; ++i) CHECK(sess.run(i % 2 ? down : up).item() == 0);
    CHECK(sess.run(steps).item() == 4);
    CHECK(sess.run(w).item() == doctest::Approx(0.8 * 1.2 * 0.8 * 1.2));
    bool trained = false;
    for (const tn::any_tensor& v : g.collection("trainable_variables")) trained = trained || v.name() == steps.name();
    CHECK_FALSE(trained);
}

TEST_CASE("SEMANTICS 42: staleness is how often others trained between what a step read and what it updated") {
    const own_graph g;
    const auto w = tn::variable("w", 1.0f);
    const tn::fifo_queue<float> has_read(1), gate(1);
    // A slow worker: it says that it has read w, and computes until it is let go on.
    const auto let_go = [&] {
        const tn::control_dependencies said(has_read.enqueue(w));
        return gate.dequeue();
    }();
    const auto slow = tn::staleness(tn::gradient_descent(0.1f).minimize(tn::square(w) * let_go));
    const auto fast = tn::staleness(tn::gradient_descent(0.1f).minimize(tn::square(w)));
    const auto open = gate.enqueue(1.0f);
    const auto wait = has_read.dequeue();
    initialized_session sess(g);
    for (const int others : {0, 1, 5}) {
        CAPTURE(others);
        auto step = sess.callable(tn::feeds(), tn::fetches(slow)).start();
        sess.run(wait);
        for (int i = 0; i < others; ++i) CHECK(sess.run(fast).item() == 0);
        sess.run(open);
        auto [stale] = step.get();
        CHECK(stale.item() == others);
    }
}
