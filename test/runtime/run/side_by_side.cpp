#include <nlohmann/json.hpp>

#include <tenon/concurrency/thread_pool.hpp>

#include "tests.hpp"
#include "runtime/support.hpp"

// SEMANTICS 14: nodes whose inputs are ready may run at the same time.

using namespace probe;

namespace {

tn::session_options with_threads(int threads, int side_by_side) {
    return {.intra_op_threads = threads, .inter_op_threads = side_by_side, .use_per_session_threads = true};
}

} // namespace

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 14: two large branches run at the same time: each waits until the other is there") {
    const auto x = tn::placeholder<float>("x");
    const auto left = watched(x, "left", deed::meet), right = watched(x, "right", deed::meet);
    const auto met = left + right;
    tn::session s(with_threads(2, 0));
    present() = 0;
    CHECK(s.run(tn::feed(x, 0.0f), met).item() == 2);
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 14: branches with temporaries run at the same time, in a trace in rows of their own") {
    const auto x = tn::placeholder<float, tn::shape<64, 64>>("x");
    const auto branch = [&](float k, const std::string& name) {
        const auto t = watched(tanh(matmul(x, tn::identity(x * k))), name, deed::meet);
        return sum(matmul(t, t));
    };
    const auto left = branch(2, "left"), right = branch(3, "right");
    tn::array<float, tn::shape<64, 64>> v;
    v.fill(1);
    tn::session s(with_threads(4, 0));
    tn::trace trace;
    s.set_trace(&trace);
    present() = 0;
    const auto [a, b] = s.run(tn::feed(x, v), left, right);
    s.set_trace(nullptr);
    CHECK(a.item() == 64 * 64 * 64);
    CHECK(b.item() == 64 * 64 * 64);
    const nlohmann::json all = nlohmann::json::parse(trace.to_json());
    std::map<std::string, nlohmann::json> spans;
    std::set<int> named;
    for (const auto& e : all.at("traceEvents")) {
        if (e.at("ph") == "X") spans[e.at("name")] = e;
        else named.insert(e.at("tid").get<int>());
    }
    const auto begin = [&](const char* n) { return spans.at(n).at("ts").get<double>(); };
    const auto end = [&](const char* n) { return begin(n) + spans.at(n).at("dur").get<double>(); };
    CHECK(spans.at("left").at("tid") != spans.at("right").at("tid"));
    CHECK(begin("left") < end("right"));
    CHECK(begin("right") < end("left"));
    CHECK(named.contains(spans.at("left").at("tid").get<int>()));
    CHECK(named.contains(spans.at("right").at("tid").get<int>()));
}

TEST_CASE_FIXTURE(in_graph, "side by side takes more memory than in order, but never more than memory_limit") {
    const auto x = tn::placeholder<float, tn::shape<256, 256>>("x");
    const auto branch = [&](float k) {
        const auto t = tn::identity(tanh(matmul(x, tn::identity(x * k))));
        return sum(matmul(t, t));
    };
    const auto left = branch(2), right = branch(3);
    tn::array<float, tn::shape<256, 256>> v;
    for (std::int64_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i % 7) * 0.01f;
    tn::session one(with_threads(2, 1)), two(with_threads(2, 0));
    const auto in_order = one.report(tn::feed(x, v), left, right), apart = two.report(tn::feed(x, v), left, right);
    CHECK(apart.arena_bytes > in_order.arena_bytes);
    CHECK(apart.arena_bytes <= 2 * in_order.arena_bytes + (1 << 20));
    tn::session_options o = with_threads(2, 0);
    o.memory_limit = in_order.peak_bytes;
    tn::session small(o);
    CHECK(small.report(tn::feed(x, v), left, right).peak_bytes == in_order.peak_bytes);
    CHECK(small.run(tn::feed(x, v), left, right) == one.run(tn::feed(x, v), left, right));
    CHECK(two.run(tn::feed(x, v), left, right) == one.run(tn::feed(x, v), left, right));
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 14: more branches than threads overlap too, in the memory of as many as run at a time") {
    const auto x = tn::placeholder<float, tn::shape<256, 256>>("x");
    std::vector<tn::any_tensor> sums;
    for (int i = 1; i <= 6; ++i) {
        const auto t = watched(tanh(matmul(x, tn::identity(x * static_cast<float>(i)))), "branch", deed::meet);
        sums.push_back(sum(matmul(t, t)));
    }
    tn::array<float, tn::shape<256, 256>> v;
    v.fill(1);
    tn::session one(with_threads(2, 1)), two(with_threads(2, 0));
    const auto run = [&](tn::session& s, int there) {
        present() = there;
        crowd() = 0;
        std::vector<tn::fed_value> feeds;
        feeds.push_back(tn::feed(x, v));
        for (const tn::any_array& r : s.run_untyped(std::move(feeds), sums)) CHECK(*r.data<float>() == 256 * 256 * 256);
        return crowd().load();
    };
    CHECK(run(one, 2) == 1);
    CHECK(run(two, 0) == 2);
    CHECK(two.statistics().plan_bytes > one.statistics().plan_bytes);
    CHECK(two.statistics().plan_bytes <= 2 * one.statistics().plan_bytes + (1 << 20));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 14: inter_op_threads is the number of nodes that run at the same time") {
    const auto x = tn::placeholder<float>("x");
    std::vector<tn::any_tensor> branches;
    for (int i = 0; i < 6; ++i) branches.push_back(watched(watched(x, "first", deed::meet), "second", deed::meet));
    const auto run = [&](int nodes, int there) {
        tn::session s(with_threads(4, nodes));
        present() = there;
        crowd() = 0;
        std::vector<tn::fed_value> feeds;
        feeds.push_back(tn::feed(x, 1.0f));
        for (const tn::any_array& met : s.run_untyped(std::move(feeds), branches)) CHECK(*met.data<float>() == 1);
        return crowd().load();
    };
    CHECK(run(1, 2) == 1); // nobody to wait for
    CHECK(run(2, 0) == 2);
    CHECK(run(3, 0) >= 2);
    CHECK(run(3, 0) <= 3);
    CHECK(run(0, 0) >= 2);
    using bad = tn::invalid_argument_error;
    CHECK_ERROR(bad, "inter_op_threads is -3; give a positive number, or 0", tn::session(with_threads(2, -3)));
    CHECK_ERROR(bad, "intra_op_threads is -2", tn::session(with_threads(-2, 0)));
    CHECK_ERROR(bad, "intra_op_threads is -2", tn::session({.intra_op_threads = -2}));
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 14: what depends on both branches waits for both, and errors of one end the step") {
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
    CHECK_ERROR(tn::out_of_range_error, "[node broken (test_watched)", s.run(tn::feed(x, 1.0f), joined));
    CHECK(position(journal::get().take(), "joined") < 0);
    CHECK(s.run(tn::feed(x, 1.0f), both).item() == 2);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 17: a step that runs side by side ends at its deadline too") {
    const auto x = tn::placeholder<float>("x");
    const auto a = watched(watched(x, "a1", deed::dawdle), "a2", deed::dawdle);
    const auto b = watched(watched(x, "b1", deed::dawdle), "b2", deed::dawdle);
    tn::session s(with_threads(2, 0));
    CHECK_ERROR(tn::deadline_exceeded_error, "time limit", s.run_for(0.001, tn::feed(x, 1.0f), a + b));
    CHECK(s.run(tn::feed(x, 1.0f), a + b).item() == 2);
}

TEST_CASE_FIXTURE(in_graph, "one after another and side by side give the same numbers, bit by bit") {
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
    // Of as many threads: how a library splits a product among more of them may be another order of its sums.
    for (const int threads : {1, 2, 4}) {
        CAPTURE(threads);
        tn::session in_order(with_threads(threads, 1)), parallel(with_threads(threads, 0));
        const auto expected = run(in_order), got = run(parallel);
        for (std::size_t i = 0; i < expected.size(); ++i)
            for (std::size_t k = 0; k < parts.size(); ++k) REQUIRE(got[i][k] == expected[i][k]);
    }
}

TEST_CASE_FIXTURE(in_graph, "memory that two branches take over from each other is waited for") {
    // Branches of many nodes whose values are short-lived: their places in memory overlap all the time.
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
    for (std::size_t i = 1; i < sums.size(); ++i)
        total = tn::detail::add_instruction(tn::opcode::add, {total, sums[i]});
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

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 14: steps of many thousand nodes run side by side, with the same numbers") {
    const auto x = tn::placeholder<float, tn::shape<8, 8>>("x");
    std::vector<tn::any_tensor> ends;
    for (int branch = 0; branch < 50; ++branch) {
        tn::any_tensor t = tn::detail::add_instruction(
            tn::opcode::multiply, {x, tn::detail::scalar_constant(0.01 * (branch + 1), tn::element_type::float32)});
        for (int i = 0; i < 50; ++i) t = tn::detail::add_instruction(tn::opcode::tanh, {tn::untyped::matmul(t, x)});
        ends.push_back(t);
    }
    CHECK(g.size() > 5000);
    tn::array<float, tn::shape<8, 8>> v;
    for (std::int64_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>((i * 5) % 11) * 0.03f;
    const auto run = [&](tn::session& s) {
        std::vector<tn::fed_value> feeds;
        feeds.push_back(tn::feed(x, v));
        return s.run_untyped(std::move(feeds), ends);
    };
    tn::session one(with_threads(1, 1)), many(with_threads(4, 0));
    const auto expected = run(one);
    for (int i = 0; i < 3; ++i) {
        const auto got = run(many);
        for (std::size_t k = 0; k < expected.size(); ++k) REQUIRE(got[k] == expected[k]);
    }
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 14: the first session of a process makes the shared pool; sessions may have their own") {
    tn::session first;
    const int shared = first.statistics().threads;
    tn::session second(tn::session_options{.intra_op_threads = shared + 1}), own(with_threads(shared + 1, 0));
    CHECK(second.statistics().threads == shared);
    CHECK(own.statistics().threads == shared + 1);
    for (tn::session* s : {&first, &second, &own}) CHECK(s->run(tn::constant(1.0f) + 1.0f).item() == 2);
}
