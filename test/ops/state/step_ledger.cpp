#include "tests.hpp"

// Step ledgers as ops, in graphs that are not made by sync_replicas (SEMANTICS 41). What the resource does by itself is in
// resources/step_ledger.cpp.

namespace {

constexpr double soon = 0.02, long_enough = 20;

// One replica of one, which commits gradients that nobody looks at.
struct user {
    explicit user(const tn::task& on) : sess({on}, g) {
        const tn::graph_scope in(g);
        const tn::untyped::step_ledger ledger({1, 1, "w", "train"}, 0, 1);
        const tn::any_tensor zero = tn::constant(std::int64_t{0}), one = tn::constant(std::int64_t{1});
        commit = ledger.commit(ledger.begin(zero));
        tickets = ledger.apply(zero);
        pause = ledger.pause();
        step = ledger.state().step;
        {
            const tn::control_dependencies after(tickets.step);
            advance = ledger.advance(one);
        }
        const auto then = [&](const tn::operation& o) {
            const tn::control_dependencies after(o);
            return tn::untyped::identity(one);
        };
        after_apply = then(tickets.step.operation());
        after_pause = then(pause);
    }
    // The ticket that a step was given, which ended well and did not advance.
    std::int64_t applied(const std::vector<tn::any_tensor>& more = {}) {
        std::vector<tn::any_tensor> fetches{tickets.numbers};
        fetches.insert(fetches.end(), more.begin(), more.end());
        return sess.callable_untyped({}, fetches).run_for(long_enough, {})[0].data<std::int64_t>()[0];
    }
    tn::graph g;
    tn::operation commit, pause, advance;
    tn::untyped::step_ledger::tickets tickets;
    tn::any_tensor step, after_apply, after_pause;
    tn::session sess;
};

} // namespace

TEST_CASE("S41: a step that applies, ends well and has not advanced holds the ledger no longer: the next is given the "
          "same") {
    const tn::task task;
    user a(task), b(task);
    a.sess.run(a.commit);
    const std::int64_t ticket = a.applied();     // of a step of that alone
    CHECK(a.applied({a.after_apply}) == ticket); // of one that goes on after it
    CHECK(b.applied({b.after_apply}) == ticket);
    a.sess.run_for(long_enough, a.advance);
    CHECK(a.sess.run_untyped({}, {a.step})[0].data<std::int64_t>()[0] == 1);
    CHECK_THROWS_AS(a.sess.run_for(soon, a.advance), tn::deadline_exceeded_error);
}

TEST_CASE("numbers that make no sense are refused when a node is made, of a text, too, with op, attribute and value") {
    const own_graph g;
    const tn::any_tensor step = tn::constant(std::int64_t{0}), why = tn::constant(std::string());
    const tn::any_tensor ledger = tn::add<tn::step_ledger_op>({1, 2, "w", "train"}, {}, "ledger");
    const auto refused = [](const auto& make) { return message_of<tn::invalid_argument_error>(make); };
    const auto made = [&](std::int64_t aggregate, std::int64_t total) {
        return refused([&] { tn::add<tn::step_ledger_op>({aggregate, total, "w", "train"}, {}); });
    };
    CHECK(made(0, -3) == "step_ledger: total must be 1 to 100000: total -3");
    CHECK(made(0, std::int64_t{1} << 60) == "step_ledger: total must be 1 to 100000: total 1152921504606846976");
    CHECK(made(3, 2) == "step_ledger: aggregate must be 0 to total: aggregate 3, total 2");
    CHECK(made(-1, 2) == "step_ledger: aggregate must be 0 to total: aggregate -1, total 2");
    const tn::detail::ledger_replica below{-1, 7}, beyond{tn::most_replicas, 7}, nobody{0, 0};
    const auto of = [&]<class Op>(Op, const auto& by, const std::vector<tn::any_tensor>& inputs) {
        return refused([&] { tn::add_node(tn::definition_of<Op>(), inputs, tn::encode(typename Op::attributes{by})); });
    };
    const std::string replica = ": replica must be 0 to 99999: int64[]";
    CHECK(of(tn::ledger_join_op(), below, {ledger, step}) ==
          "ledger_join" + replica + " x int64[], replica -1 (inputs ledger constant)");
    CHECK(of(tn::ledger_begin_op(), beyond, {ledger, step})
              .starts_with("ledger_begin" + replica + " x int64[], replica 100000"));
    CHECK(of(tn::ledger_await_op(), below, {ledger}).starts_with("ledger_await" + replica + ", replica -1"));
    CHECK(of(tn::ledger_apply_op(), below, {ledger, step}).starts_with("ledger_apply" + replica));
    CHECK(of(tn::ledger_leave_op(), below, {ledger, why}).starts_with("ledger_leave" + replica));
    CHECK(
        contains(of(tn::ledger_join_op(), nobody, {ledger, step}), "process must not be 0, which is nobody's number"));
    for (const std::int64_t most : {std::int64_t{-1}, std::int64_t{0}, tn::most_replicas + 1})
        CHECK_ERROR(tn::invalid_argument_error,
                    "ledger_apply: most must be 1 to 100000: int64[] x int64[], most " + std::to_string(most),
                    tn::add<tn::ledger_apply_op>({{0, 7}, most}, {ledger, step}));
    CHECK_ERROR(tn::invalid_argument_error, "ledger_state: total must be 1 to 100000: int64[], total -2",
                tn::add<tn::ledger_state_op>({-2}, {ledger}));
    std::string text = tn::to_json(g);
    const std::string good = "\"total\":2", bad = "\"total\":-2";
    REQUIRE(contains(text, good));
    text.replace(text.find(good), good.size(), bad);
    CHECK_ERROR(tn::invalid_argument_error, "step_ledger: total must be 1 to 100000: total -2",
                tn::graph_from_json(text));
}

TEST_CASE("a turn of another size, and the state of other replicas than the ledger has, are refused by the step") {
    const tn::graph_scope in{tn::graph()};
    const tn::any_tensor ledger = tn::add<tn::step_ledger_op>({1, 2, "w", "train"}, {}, "ledger");
    const tn::any_tensor turn = tn::constant({std::int64_t{0}, std::int64_t{1}});
    const tn::operation commit(tn::add_node(tn::definition_of<tn::ledger_commit_op>(), {ledger, turn}, {}));
    const tn::any_tensor of_three = tn::add<tn::ledger_state_op>({3}, {ledger});
    tn::session s;
    CHECK_ERROR(tn::invalid_argument_error, "a turn is a replica, its ticket and its step, not int64[2]",
                s.run(commit));
    CHECK_ERROR(tn::invalid_argument_error, "of 3 replicas is asked what 2", s.run(of_three));
}

TEST_CASE("S41: a step that pauses, and ends well, pauses no longer") {
    const tn::task task;
    user a(task), b(task);
    a.sess.run_for(long_enough, a.pause);
    a.sess.callable_untyped({}, {a.after_pause}).run_for(long_enough, {});
    b.sess.run_for(long_enough, b.pause);
    b.sess.run(b.commit);
    CHECK(b.applied() > 0);
}
