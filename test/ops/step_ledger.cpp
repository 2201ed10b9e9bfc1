#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

#include "messages.hpp"

// Step ledgers as ops, in graphs that are not made by sync_replicas (SEMANTICS 41). What the resource does by itself is in
// kernel/step_ledger.cpp.

namespace tn = tenon;

namespace {

constexpr double soon = 0.02, long_enough = 20;

// One replica of one, which commits gradients that nobody looks at.
struct user {
    explicit user(const tn::task& on) : sess({on}, g) {
        const tn::graph_scope in(g);
        const tn::untyped::step_ledger ledger("train", {1, 1, "w"}, 0, 1);
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

TEST_CASE("S41: a step that pauses, and ends well, pauses no longer") {
    const tn::task task;
    user a(task), b(task);
    a.sess.run_for(long_enough, a.pause);
    a.sess.callable_untyped({}, {a.after_pause}).run_for(long_enough, {});
    b.sess.run_for(long_enough, b.pause);
    b.sess.run(b.commit);
    CHECK(b.applied() > 0);
}
