#include "tests.hpp"
#include "runtime/support.hpp"

// Variables in a step: what a read sees, in which order updates go, and that none is ever half seen.

using namespace probe;

TEST_CASE_FIXTURE(in_graph, "updates under control_dependencies of each other go in that order") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    const auto doubled = v.assign(v * 2.0f);
    tn::tensor<float, tn::shape<>> then;
    {
        const tn::control_dependencies after(doubled);
        then = v.assign_add(5.0f);
    }
    initialized_session s;
    CHECK(s.run(then).item() == 7);
    CHECK(s.run(then).item() == 19);
}

TEST_CASE_FIXTURE(in_graph, "a chain of updates: each is of what the one before left") {
    const auto v = tn::variable<float, tn::shape<2>>("v", tn::ones());
    const auto a = v.assign_add(1.0f);
    const auto b = tn::untyped::assign(v, a * 10.0f);
    initialized_session s;
    const tn::any_array result = s.run(b);
    CHECK(result.data<float>()[0] == 20);
    CHECK(s.run(v)(0) == 20);
}

TEST_CASE_FIXTURE(in_graph, "two variables that are swapped in one step") {
    const auto a = tn::variable<float, tn::shape<4>>("a", tn::constant_value(1));
    const auto b = tn::variable<float, tn::shape<4>>("b", tn::constant_value(2));
    const tn::operation swap = tn::group(a.assign(b + 0.0f), b.assign(a + 0.0f));
    initialized_session s;
    s.run(swap);
    const auto [x, y] = s.run(a, b);
    CHECK(x(0) == 2);
    CHECK(y(0) == 1);
    const tn::operation plainly = tn::group(a.assign(b), b.assign(a));
    s.run(plainly);
    const auto [p, q] = s.run(a, b);
    CHECK(p(0) == 1);
    CHECK(q(0) == 2);
}

TEST_CASE_FIXTURE(in_graph, "an update in place is not seen by what reads the old value late") {
    // w is read by the update itself, by a product before it, and by a sum that the update does not wait for.
    const auto w = tn::variable<double, tn::shape<3, 3>>("w", tn::ones());
    const auto x = tn::constant({{1.0, 2.0, 3.0}});
    const auto y = matmul(x, w);
    const auto update = w.assign_sub(sum(y) * w);
    const auto total = sum(w * 2.0) + sum(matmul(tn::identity(w), w));
    initialized_session s;
    const auto [after, t] = s.run(update, total);
    CHECK(t.item() == 18 + 27);
    CHECK(after(0, 0) == 1.0 - 18.0);
}

TEST_CASE_FIXTURE(in_graph, "a transposed update: the new value is not written while the old is still read") {
    const auto w = tn::variable("w", tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}}));
    const auto turn = w.assign(transpose<1, 0>(w));
    const auto square = w.assign(matmul(w, w));
    initialized_session s;
    const auto t = s.run(turn);
    CHECK(t(0, 1) == 3);
    CHECK(t(1, 0) == 2);
    const auto q = s.run(square); // [[1,3],[2,4]]^2
    CHECK(q(0, 0) == 7);
    CHECK(q(0, 1) == 15);
    CHECK(q(1, 0) == 10);
    CHECK(q(1, 1) == 22);
}

TEST_CASE_FIXTURE(in_graph, "many reads and many updates of one variable in one step: all read the value from before") {
    const auto v = tn::variable<float, tn::shape<4>>("v", tn::constant_value(2));
    constexpr int many = 50;
    std::vector<tn::any_tensor> reads, updates;
    for (int i = 0; i < many; ++i) {
        reads.push_back(tn::any_tensor(sum(v * static_cast<float>(i))));
        updates.push_back(tn::any_tensor(v.assign_add(static_cast<float>(i + 1))));
    }
    // One that waits for a few of the updates sees what the last of those left, and changes nothing for the others.
    tn::any_tensor late;
    {
        const tn::control_dependencies after(updates[3].operation(), updates[7].operation());
        late = tn::identity(v);
    }
    tn::session s;
    for (const bool with_late : {false, true}) {
        s.run(tn::initialize_variables());
        std::vector<tn::any_tensor> fetches = reads;
        if (with_late) fetches.push_back(late);
        std::vector<tn::operation> targets;
        for (const tn::any_tensor& u : updates) targets.push_back(u.operation());
        const std::vector<tn::any_array> got = s.run_untyped({}, fetches, targets);
        for (int i = 0; i < many; ++i)
            CHECK(got[static_cast<std::size_t>(i)].data<float>()[0] == 8 * static_cast<float>(i));
        CHECK(s.run(v)(0) == 2 + many * (many + 1) / 2); // none is lost
        if (with_late) CHECK(got.back().data<float>()[0] == 2 + 8 * 9 / 2);
    }
}

TEST_CASE_FIXTURE(in_graph, "gradient steps by all variables at once use the weights from before the step") {
    const auto a = tn::variable<double, tn::shape<>>("a", tn::constant_value(3));
    const auto b = tn::variable<double, tn::shape<>>("b", tn::constant_value(5));
    const auto loss = a * b; // da = b, db = a
    const auto [da, db] = gradients(loss, a, b);
    const tn::operation train = tn::group(a.assign_sub(da * 0.1), b.assign_sub(db * 0.1));
    initialized_session s;
    s.run(train);
    const auto [x, y] = s.run(a, b);
    CHECK(x.item() == doctest::Approx(3 - 0.5));
    CHECK(y.item() == doctest::Approx(5 - 0.3));
}

TEST_CASE_FIXTURE(in_graph, "a failed step leaves variables usable, and a later step right") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    const auto broken = watched(v + 1.0f, "broken", deed::fail);
    const auto update = v.assign(broken);
    initialized_session s;
    CHECK_THROWS_AS(s.run(update), tn::out_of_range_error);
    CHECK(s.run(v).item() == 1);
    CHECK(s.run(v.assign_add(1.0f)).item() == 2);
}

TEST_CASE("an initial value takes no memory beside the variable: it is computed there") {
    constexpr std::size_t limit = 1 << 20; // the variable takes 640,000 bytes of it
    const auto check = [](const tn::session_options& o) {
        const own_graph g;
        const auto ones = tn::variable<float, tn::shape<400, 400>>("ones", tn::ones());
        tn::session s(o);
        s.run(ones.initializer());
        CHECK(s.run(tn::sum(ones)).item() == 160'000);
        CHECK(s.report(ones.initializer()).arena_bytes < 4096);
    };
    check({.gpus = tn::simulated_gpu(1, limit)});
    check({.memory_limit = limit});
}
