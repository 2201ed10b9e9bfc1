#include <doctest/doctest.h>

#include <tenon/kernel/thread_pool.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/reduction.hpp>
#include <tenon/ops/state.hpp>
#include <tenon/runtime/session.hpp>

#include "runtime/support.hpp"

// SEMANTICS 14: nodes whose inputs are ready may run at the same time.

namespace tn = tenon;
using namespace probe;

namespace {

tn::session_options with_threads(int threads, int side_by_side) {
    return {.intra_op_threads = threads, .inter_op_threads = side_by_side, .use_per_session_threads = true};
}

} // namespace

TEST_CASE("SEMANTICS 14: two large branches run at the same time: each waits until the other is there") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float>("x");
    const auto left = watched(x, "left", deed::meet), right = watched(x, "right", deed::meet);
    const auto met = left + right;
    tn::session s(with_threads(2, 0));
    present() = 0;
    CHECK(s.run(tn::feed(x, 0.0f), met).item() == 2);
}

TEST_CASE("SEMANTICS 14: what depends on both branches waits for both, and errors of one end the step") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float>("x");
    const auto slow = watched(x, "slow", deed::dawdle), other = watched(x, "other", deed::dawdle);
    const auto both = watched(slow + other, "both");
    tn::session s(with_threads(2, 0));
    for (int i = 0; i < 20; ++i) {
        journal::get().take();
        CHECK(s.run(tn::feed(x, 1.0f), both).item() == 2);
        const auto ran = journal::get().take();
        REQUIRE(ran.size() == 3);
        CHECK(ran[2] == "both");
    }
    const auto broken = watched(watched(x, "slow2", deed::dawdle), "broken", deed::fail);
    const auto joined = watched(broken + watched(x, "fine", deed::dawdle), "joined");
    journal::get().take();
    CHECK(has(words_of<tn::out_of_range_error>([&] { s.run(tn::feed(x, 1.0f), joined); }), "[node broken (test_watched)"));
    CHECK(position(journal::get().take(), "joined") < 0);
    CHECK(s.run(tn::feed(x, 1.0f), both).item() == 2);
}

TEST_CASE("SEMANTICS 17: a step that runs side by side ends at its deadline too") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float>("x");
    const auto a = watched(watched(x, "a1", deed::dawdle), "a2", deed::dawdle);
    const auto b = watched(watched(x, "b1", deed::dawdle), "b2", deed::dawdle);
    tn::session s(with_threads(2, 0));
    CHECK(has(words_of<tn::deadline_exceeded_error>([&] { s.run_for(0.001, tn::feed(x, 1.0f), a + b); }), "time limit"));
    CHECK(s.run(tn::feed(x, 1.0f), a + b).item() == 2);
}

TEST_CASE("one after another and side by side give the same numbers, bit by bit") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto w = tn::variable<float, tn::shape<96, 96>>("w", tn::glorot_uniform(7));
    const auto v = tn::variable<float, tn::shape<96, 96>>("v", tn::glorot_uniform(8));
    const auto x = tn::placeholder<float, tn::shape<96, 96>>("x");
    tn::tensor<float, tn::shape<96, 96>> a = x, b = x;
    std::vector<tn::any_tensor> parts;
    for (int i = 0; i < 6; ++i) {
        a = tanh(matmul(a, w) + 0.5f);
        b = sigmoid(matmul(b, v) - 0.5f) * a;
        parts.push_back(sum<0>(a));
        parts.push_back(sum<1>(b));
    }
    parts.push_back(a);
    parts.push_back(b);
    // Each also updates a variable that the other branch reads.
    const auto step = tn::group(w.assign_sub(a * 0.001f), v.assign_sub(b * 0.001f));
    tn::array<float, tn::shape<96, 96>> input;
    for (std::int64_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 17) * 0.1f - 0.8f;

    const auto run = [&](tn::session& s) {
        s.run(tn::initialize_variables());
        std::vector<std::vector<tn::any_array>> results;
        for (int i = 0; i < 5; ++i) {
            std::vector<tn::fed_value> feeds;
            feeds.push_back(tn::feed(x, input));
            results.push_back(s.run_untyped(std::move(feeds), parts, {step}));
        }
        return results;
    };
    tn::session one(with_threads(1, 1)), in_order(with_threads(2, 1)), parallel(with_threads(2, 0)), many(with_threads(4, 0));
    const auto expected = run(one);
    for (tn::session* s : {&in_order, &parallel, &many}) {
        const auto got = run(*s);
        for (std::size_t i = 0; i < expected.size(); ++i)
            for (std::size_t k = 0; k < parts.size(); ++k) REQUIRE(got[i][k] == expected[i][k]);
    }
}

TEST_CASE("memory that two branches take over from each other is waited for") {
    // Branches of many nodes whose values are short-lived: their places in memory overlap all the time.
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, tn::shape<64, 64>>("x");
    std::vector<tn::any_tensor> sums;
    for (int branch = 0; branch < 4; ++branch) {
        tn::any_tensor t = x;
        for (int i = 0; i < 8; ++i) {
            t = tn::untyped::matmul(t, x);
            t = tn::detail::add_instruction(tn::opcode::tanh, {t});
        }
        sums.push_back(t);
    }
    tn::any_tensor total = sums[0];
    for (std::size_t i = 1; i < sums.size(); ++i) total = tn::detail::add_instruction(tn::opcode::add, {total, sums[i]});
    // The four are equal nodes, so give each its own start.
    std::vector<tn::any_tensor> apart;
    for (int branch = 0; branch < 4; ++branch) {
        tn::any_tensor t = tn::detail::add_instruction(
            tn::opcode::multiply, {x, tn::detail::scalar_constant(0.1 * (branch + 1), tn::element_type::float32)});
        for (int i = 0; i < 8; ++i) t = tn::detail::add_instruction(tn::opcode::tanh, {tn::untyped::matmul(t, x)});
        apart.push_back(t);
    }
    tn::array<float, tn::shape<64, 64>> v;
    for (std::int64_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>((i * 7) % 13) * 0.02f;
    const auto run = [&](tn::session& s) {
        std::vector<tn::fed_value> feeds;
        feeds.push_back(tn::feed(x, v));
        auto all = apart;
        all.push_back(total);
        return s.run_untyped(std::move(feeds), all);
    };
    tn::session one(with_threads(1, 1)), many(with_threads(4, 0));
    const auto expected = run(one);
    for (int i = 0; i < 10; ++i) {
        const auto got = run(many);
        for (std::size_t k = 0; k < expected.size(); ++k) REQUIRE(got[k] == expected[k]);
    }
}

TEST_CASE("SEMANTICS 14: the first session of a process makes the shared pool; sessions may have their own") {
    tn::session first, second;
    tn::session own(with_threads(3, 0));
    const tn::graph g;
    const tn::graph_scope in(g);
    tn::session here(with_threads(2, 0));
    CHECK(here.run(tn::constant(1.0f) + 1.0f).item() == 2);
}
