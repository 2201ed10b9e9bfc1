#include "runtime/every_session.hpp"

// SEMANTICS 15, 16 and 20: which value of a variable a read gives, whatever a session does to the graph.

namespace {

using scalar = tn::tensor<float, tn::shape<>>;

} // namespace

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: a read through views gives the value from before the updates") {
    const auto v = tn::variable("v", 1.0f);
    const auto w = tn::variable("w", tn::constant({1.f, 2.f, 3.f, 4.f}));
    const auto update = v.assign_add(1.0f);
    const auto difference = (update - tn::identity(v)).materialize();
    const auto stopped = (update - tn::stop_gradient(v)).materialize();
    const auto product = matmul(tn::reshape<tn::shape<2, 2>>(w),
                                tn::reshape<tn::shape<2, 2>>(w.assign(tn::constant({9.f, 9.f, 9.f, 9.f}))));
    in_every_session([&](tn::session& s) {
        for (const scalar& t : {difference, stopped}) {
            s.run(v.initializer());
            CHECK(s.run(t).item() == 1);
        }
        s.run(w.initializer());
        const auto p = s.run(product); // [[1, 2], [3, 4]] x [[9, 9], [9, 9]]
        CHECK(p(0, 0) == 27);
        CHECK(p(1, 1) == 63);
    });
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 15, 20: what was read before is not read again by what is made to run after the update") {
    const auto v = tn::variable("v", 1.0f);
    const auto update = v.assign_add(1.0f);
    const auto old = tn::identity(v);
    scalar of_old, view_of_old, of_new, view_of_new;
    {
        const tn::control_dependencies after(update);
        of_old = (old * 10.0f).materialize();
        view_of_old = tn::identity(old);
        of_new = (v * 10.0f).materialize();
        view_of_new = tn::identity(v);
    }
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        const auto [a, b, c, d] = s.run(of_old, view_of_old, of_new, view_of_new);
        CHECK(a.item() == 10);
        CHECK(b.item() == 1);
        CHECK(c.item() == 20);
        CHECK(d.item() == 2);
    });
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 20: a read that is fused into what comes later gives the value from before the updates") {
    const auto v = tn::variable("v", tn::constant({2.0f, 2.0f}));
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    const auto a = (v * x).materialize();
    const auto update = v.assign(x * x);
    const auto add = v.assign_add(1.0f);
    const auto product = (update * a).materialize();
    const auto sum_of = (a + add).materialize();
    const auto repeated = (a * sum(update)).materialize();
    const auto one = (v * 2.0f + v.assign_add(1.0f)).materialize();
    tn::array<float, tn::shape<2>> three{3.f, 3.f};
    in_every_session([&](tn::session& s) {
        const auto first = [&](const auto& t) {
            s.run(v.initializer());
            return s.run(tn::feed(x, three), t)(0);
        };
        CHECK(first(product) == 54);
        CHECK(first(sum_of) == 9);
        CHECK(first(repeated) == 108);
        CHECK(first(one) == 7); // one expression, and one node: 2 * 2 + (2 + 1)
    });
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 15: who waits for what runs after an update reads what the update left") {
    const auto v = tn::variable("v", 1.0f);
    const auto update = v.assign(5.0f);
    const auto later = (update * 2.0f).materialize(); // by data
    const auto read = [&] {
        const tn::control_dependencies after(later);
        return (v + 0.5f).materialize();
    }();
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        CHECK(s.run(read).item() == 5.5f);
    });
    tn::session s; // nobody reads the value from before, so there need be none
    CHECK(s.run(read).item() == 5.5f);
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 20: updates of one variable in a step go one after another, and each returns what it left") {
    const auto w = tn::variable("w", 1.0f);
    const auto x = tn::placeholder<float, tn::shape<>>("x");
    const auto a = w.assign(x + 1.0f), b = w.assign(x + 2.0f), c = w.assign(x + 3.0f);
    in_every_session([&](tn::session& s) {
        s.run(w.initializer());
        const auto [p, q, r, before] = s.run(tn::feed(x, 10.0f), a, b, c, w);
        CHECK(p.item() == 11);
        CHECK(q.item() == 12);
        CHECK(r.item() == 13);
        CHECK(before.item() == 1);
        const float left = s.run(w).item();
        CHECK((left == 11 || left == 12 || left == 13));
    });
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 20: rows that are scattered over the variable that they are read from are those from before") {
    const auto v = tn::variable("v", tn::constant({1.f, 2.f, 3.f}));
    const auto turn = v.scatter_update(tn::constant({1, 2, 0}), tn::identity(v));
    const auto twice = v.scatter_add(tn::constant({2, 2, 0}), v);
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        const auto turned = s.run(turn);
        CHECK(turned(0) == 3);
        CHECK(turned(1) == 1);
        CHECK(turned(2) == 2);
        s.run(v.initializer());
        const auto added = s.run(twice);
        CHECK(added(0) == 4);
        CHECK(added(1) == 2);
        CHECK(added(2) == 6);
    });
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 15: constants can be made to run after others, and are fetched") {
    const auto v = tn::variable("v", 1.0f);
    const auto update = v.assign_add(1.0f);
    const auto after_update = [&](auto make) {
        const tn::control_dependencies after(update);
        return make();
    };
    const auto number = after_update([] { return tn::constant(42.0f); });
    const auto text = after_update([] { return tn::constant("text"); });
    const auto range = after_update([] { return tn::arange<std::int32_t, 3>(); });
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        CHECK(s.run(number).item() == 42);
        CHECK(s.run(v).item() == 2);
        CHECK(s.run(text).item() == "text");
        CHECK(s.run(v).item() == 3);
        const auto [x, y, z] = s.run(number, range, v);
        CHECK(x.item() == 42);
        CHECK(y(2) == 2);
        CHECK(z.item() == 3);
        CHECK(s.run(v).item() == 4);
        CHECK(s.run((number + 1.0f).materialize()).item() == 43); // what reads it waits too
        CHECK(s.run(v).item() == 5);
    });
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 16: what is fed does not run, whatever asks for it, and nobody waits for it") {
    const auto p = tn::placeholder<float, tn::shape<>>("p");
    const auto q = (p * 2.0f).materialize();
    const auto after_p = [&] {
        const tn::control_dependencies after(p);
        return (q + 1.0f).materialize();
    }();
    const auto v = tn::variable("v", 1.0f);
    const auto update = v.assign_add(1.0f);
    const auto after_update = [&] {
        const tn::control_dependencies after(update);
        return (v * 10.0f).materialize();
    }();
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        CHECK(s.run(tn::feed(p, 1.0f), after_p).item() == 3);
        CHECK(s.run(tn::feed(update, 50.0f), after_update).item() == 10);
        s.run(tn::feed(update, 50.0f), update.operation());
        CHECK(s.run(v).item() == 1);
        CHECK(s.run(after_update).item() == 20);
        CHECK_THROWS_AS(s.run(after_p), tn::invalid_argument_error);
    });
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 15: an update that waits for what fails does not run: its variable is as it was") {
    const auto v = tn::variable("v", 1.0f);
    const auto sum = (v + 1.0f).materialize();
    const auto never = tn::variable("never", 1.0f); // made later: by itself it would run after the sum
    const auto update = [&] {
        const tn::control_dependencies after(never);
        return v.assign(sum);
    }();
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        CHECK_THROWS_AS(s.run(update), tn::failed_precondition_error);
        CHECK(s.run(v).item() == 1);
        s.run(never.initializer());
        CHECK(s.run(update).item() == 2);
    });
}
TEST_CASE_FIXTURE(in_graph, "strings between nodes are objects, step after step") {
    const auto v = tn::variable("v", 1.0f);
    const auto update = v.assign_add(1.0f);
    const auto text = tn::placeholder<std::string, tn::shape<2>>("text");
    const auto after_update = [&](const auto& x) {
        const tn::control_dependencies after(update);
        return tn::identity(x);
    };
    const auto copy = after_update(text), again = after_update(copy);
    const tn::array<std::string, tn::shape<2>> fed{"a text that is too long to lie in the string itself", "b"};
    in_every_session([&](tn::session& s) {
        s.run(v.initializer());
        for (int i = 0; i < 3; ++i) {
            CHECK(s.run(tn::feed(text, fed), again)(0) == fed(0));
            s.run(tn::feed(text, fed), copy.operation());
        }
        CHECK(s.run(v).item() == 7);
    });
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 13: what is run for itself runs, and says so where it fails, although nobody reads it") {
    const auto rows = tn::constant({1.0f, 2.0f});
    const auto index = tn::placeholder<std::int32_t, tn::shape<1>>("index");
    const auto picked = tn::gather(rows, index);
    in_every_session([&](tn::session& s) {
        s.run(tn::feed(index, tn::array<std::int32_t, tn::shape<1>>{1}), picked.operation());
        CHECK_THROWS_AS(s.run(tn::feed(index, tn::array<std::int32_t, tn::shape<1>>{2}), picked.operation()),
                        tn::invalid_argument_error);
    });
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 15, 18: who waits for a variable waits for the value from before the updates; without one the "
              "step fails") {
    const auto v = tn::variable("v", 1.0f);
    const auto update = v.assign(5.0f);
    scalar waiting;
    {
        const tn::control_dependencies after(v);
        waiting = tn::identity(tn::constant(2.0f));
    }
    in_every_session([&](tn::session& s) {
        CHECK_THROWS_AS(s.run(update, waiting), tn::failed_precondition_error);
        CHECK_THROWS_AS(s.run(v), tn::failed_precondition_error); // nothing was assigned
        s.run(update);
        const auto [five, two] = s.run(update, waiting);
        CHECK(two.item() == 2);
    });
}
