#include <future>

#include "tests.hpp"
#include "message_at_limit.hpp"
#include "runtime/gates.hpp"
#include "runtime/support.hpp"

using namespace probe;

namespace {

inline constexpr struct rows : tn::dim<"rows"> {} rows;

using scalar = tn::shape<>;

// What f() gives, on a thread of its own.
template <class F> auto later(F f) { return std::async(std::launch::async, std::move(f)); }

} // namespace

TEST_CASE_FIXTURE(in_graph, "a step waits without its result, and goes on where it waited") {
    auto x = tn::placeholder<float, scalar>("x");
    auto before = x + 1.0f;
    auto waited = gated("a", before.materialize());
    auto y = waited * 10.0f;
    tn::session sess(g);
    auto result = later([&] { return sess.run(tn::feed(x, 2.0f), y)(); });
    gates::get().wait_for("a");
    gates::get().open("a");
    CHECK(result.get() == 30.0f);

    const probe::open_gate open("a");
    for (int i = 0; i < 5; ++i)
        CHECK(sess.run(tn::feed(x, static_cast<float>(i)), y)() == 10.0f * static_cast<float>(1 + i));
}

TEST_CASE_FIXTURE(in_graph, "what does not depend on an op that waits does not wait for it") {
    auto x = tn::placeholder<float, scalar>("x");
    auto first = gated("first", x + 0.0f);
    auto second = gated("second", first + 1.0f);
    auto other = gated("other", x * 2.0f);
    auto both = second + other;
    tn::session sess(g);
    auto result = later([&] { return sess.run(tn::feed(x, 5.0f), both)(); });
    gates::get().wait_for("other");
    gates::get().wait_for("first");
    gates::get().open("first"); // its successor comes although the other still waits
    gates::get().wait_for("second");
    gates::get().wait_for("other");
    gates::get().open("second");
    gates::get().open("other");
    CHECK(result.get() == 16.0f);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 15: control dependencies reach over ops that wait") {
    auto x = tn::placeholder<float, scalar>("x");
    auto waited = gated("a", x + 0.0f);
    tn::operation second;
    {
        const tn::control_dependencies after(waited);
        second = probe::watched(x, "second").operation();
    }
    auto first = probe::watched(x, "first");
    tn::session sess(g);
    (void)probe::journal::get().take();
    auto result = later([&] { sess.run(tn::feed(x, 1.0f), first, second); });
    gates::get().wait_for("a");
    CHECK(probe::journal::get().take() == std::vector<std::string>{"first"});
    gates::get().open("a");
    result.get();
    CHECK(probe::journal::get().take() == std::vector<std::string>{"second"});
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 13: an op that waits runs once a step, and fetched twice gives one value twice") {
    auto x = tn::placeholder<float, scalar>("x");
    auto waited = gated("a", x + 0.0f);
    tn::session sess(g);
    const probe::open_gate open("a");
    (void)gates::get().take_arrivals("a");
    auto [p, q, r] = sess.run(tn::feed(x, 4.0f), waited, waited, waited + 1.0f);
    CHECK(p() == 4.0f);
    CHECK(q() == 4.0f);
    CHECK(r() == 5.0f);
    CHECK(gates::get().take_arrivals("a") == 1);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 16: an op that waits and is fed does not run") {
    auto x = tn::placeholder<float, scalar>("x");
    auto waited = gated("a", x + 0.0f);
    tn::session sess(g);
    CHECK(sess.run(tn::feed(waited, 7.0f), waited + 1.0f)() == 8.0f);
    CHECK(gates::get().take_arrivals("a") == 0);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 17: a step that waits too long says for what, and all stays usable") {
    auto x = tn::placeholder<float, scalar>("x");
    auto waited = gated<scalar>("late", x, "the_gate");
    tn::session sess(g);
    const std::string words = " s; it was waiting for gate \"late\"";
    const auto text = message_at_limit<tn::deadline_exceeded_error>(
        words, [&](double limit) { (void)sess.run_for(limit, tn::feed(x, 1.0f), waited); });
    CHECK_MESSAGE(contains(text, words), text);
    CHECK_MESSAGE(contains(text, "did not end within its run's time limit of "), text);
    CHECK_MESSAGE(contains(text, "[node the_gate (test_gate) on /device:CPU:0, made at "), text);
    CHECK(gates::get().waiting() == 0);
    const probe::open_gate open("late");
    CHECK(sess.run_for(5, tn::feed(x, 1.0f), waited)() == 1.0f);
}

TEST_CASE_FIXTURE(in_graph, "an op that waits and fails, in its completion, fails the step with its error and place") {
    auto x = tn::placeholder<float, scalar>("x");
    auto one = gated<scalar>("one", x, "one");
    auto two = gated<scalar>("two", x, "two");
    tn::session sess(g);
    auto result = later([&] { (void)sess.run(tn::feed(x, 1.0f), one + two); });
    gates::get().wait_for("one");
    gates::get().wait_for("two");
    gates::get().open("one", std::make_exception_ptr(tn::out_of_range_error("there is no more")));
    const auto text = message_of<tn::out_of_range_error>([&] { result.get(); });
    CHECK_MESSAGE(contains(text, "there is no more [node one (test_gate) on"), text);
    CHECK(gates::get().waiting() == 0); // the other was taken back
}

TEST_CASE_FIXTURE(in_graph, "closing a session, and its end, stop what waits") {
    auto x = tn::placeholder<float, scalar>("x");
    auto waited = gated("a", x + 0.0f);
    {
        tn::session sess(g);
        auto result = later([&] { (void)sess.run(tn::feed(x, 1.0f), waited); });
        gates::get().wait_for("a");
        sess.close();
        const auto text = message_of<tn::cancelled_error>([&] { result.get(); });
        CHECK_MESSAGE(contains(text, "session was closed"), text);
        CHECK(gates::get().waiting() == 0);
        CHECK_THROWS_AS((void)sess.run(tn::feed(x, 1.0f), waited), tn::failed_precondition_error);
    }
    std::future<void> result;
    {
        tn::session sess(g);
        auto step = sess.callable(tn::feeds(x), tn::fetches(waited));
        result = later([copy = step] { (void)copy(1.0f); });
        gates::get().wait_for("a");
    }
    CHECK_THROWS_AS(result.get(), tn::cancelled_error);
    CHECK(gates::get().waiting() == 0);
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 20: readers find a variable as it was before the step, wherever the step waits") {
    auto v = tn::variable("v", 1.0f);
    auto x = tn::placeholder<float, scalar>("x");
    auto added = v.assign_add(10.0f); // waits for nothing
    auto waited = gated("a", x + 0.0f);
    auto late = waited + v;                  // reads v after that, and finds what was before
    auto late_update = v.assign_add(waited); // comes second, to what the first left
    initialized_session sess(g);
    const probe::open_gate open("a");
    auto [a, l] = sess.run(tn::feed(x, 100.0f), added, late);
    CHECK(a() == 11.0f);
    CHECK(l() == 101.0f);
    auto [b, m, u] = sess.run(tn::feed(x, 100.0f), added, late, late_update);
    CHECK(b() == 21.0f);
    CHECK(m() == 111.0f);
    CHECK(u() == 121.0f);
    CHECK(sess.run(v)() == 121.0f);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: a variable that is fetched is found as it was before the step, too") {
    auto v = tn::variable("v", 1.0f);
    auto x = tn::placeholder<float, scalar>("x");
    auto update = v.assign_add(gated("a", x + 0.0f));
    auto other = exp(x); // is computed beside it
    initialized_session sess(g);
    const probe::open_gate open("a");
    for (int i = 0; i < 20; ++i) {
        auto [u, o, before] = sess.run(tn::feed(x, 2.0f), update, other, v);
        CHECK(u() == before() + 2.0f);
    }
}

TEST_CASE_FIXTURE(in_graph,
                  "a variable that a step updates before and after it waits, and does not read, lies where it lay") {
    auto v = tn::variable("v", 1.0f);
    auto x = tn::placeholder<float, scalar>("x");
    auto waited = gated("a", x + 0.0f);
    auto first = v.assign(14.0f);
    auto update = [&] {
        const tn::control_dependencies after(waited);
        return v.assign_add(18.0f);
    }();
    initialized_session sess(g, {.gpus = tn::simulated_gpu(1, std::size_t{1} << 20)});
    const probe::open_gate open("a");
    CHECK(sess.run(tn::feed(x, 2.0f), first.operation(), update)() == 32.0f);
    CHECK(sess.run(v)() == 32.0f);
}

TEST_CASE_FIXTURE(in_graph,
                  "a step that waits keeps no variable locked, and its later updates change what others left") {
    auto v = tn::variable("v", 1.0f);
    auto x = tn::placeholder<float, scalar>("x");
    auto plain = v.assign_add(100.0f);
    auto update = v.assign_add(gated("a", x + 0.0f));
    initialized_session sess(g);
    auto result = later([&] { return sess.run(tn::feed(x, 5.0f), update)(); });
    gates::get().wait_for("a");
    CHECK(sess.run(plain)() == 101.0f);
    gates::get().open("a");
    CHECK(result.get() == 106.0f);

    // Also where the same step updates it before, which waits too: its updates are made together.
    auto twice = later([&] { return sess.run(tn::feed(x, 5.0f), plain, update); });
    gates::get().wait_for("a");
    CHECK(sess.run(plain)() == 206.0f);
    gates::get().open("a");
    auto [p, u] = twice.get();
    CHECK(p() == 306.0f);
    CHECK(u() == 311.0f);
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 20: what an update is made to run after may be over long before it, and it changes what is there then") {
    const auto v = tn::variable("v", 1.0f);
    const auto x = tn::placeholder<float, scalar>("x");
    const auto plain = v.assign_add(100.0f);
    const auto taken = gated("a", x + 0.0f);
    const auto more = gated("b", taken * 2.0f); // begins when all has run that waits for the first alone
    const auto update = [&] {
        const tn::control_dependencies after(taken);
        return v.assign_add(10.0f);
    }();
    initialized_session sess(g);
    auto result = later([&] {
        const auto [u, m] = sess.run(tn::feed(x, 5.0f), update, more);
        return std::pair(u(), m());
    });
    gates::get().wait_for("a");
    gates::get().open("a");
    gates::get().wait_for("b");
    CHECK(sess.run(plain)() == 101.0f);
    gates::get().open("b");
    CHECK(result.get() == std::pair(111.0f, 10.0f));
    CHECK(sess.run(v)() == 111.0f);
}

TEST_CASE_FIXTURE(in_graph, "sizes that are known late: the rest of the step is planned for them, and kept by them") {
    auto n = tn::placeholder<float, scalar>("n");
    auto xs = repeated<tn::shape<tn::dyn>>("a", n);
    auto total = sum(xs * 2.0f);
    auto same = tn::ones_like(xs) + xs;
    tn::session sess(g);
    const probe::open_gate open("a");
    for (const float k : {3.0f, 5.0f, 3.0f, 0.0f, 1.0f}) {
        auto [t, s] = sess.run(tn::feed(n, k), total, same);
        CHECK(t() == 2 * k * k);
        REQUIRE(s.untyped().extents() == tn::extents(static_cast<std::int64_t>(k)));
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(k); ++i) CHECK(s.untyped().data<float>()[i] == k + 1);
    }
}

TEST_CASE_FIXTURE(in_graph, "named sizes that are known late have one value in a step") {
    auto n = tn::placeholder<float, scalar>("n");
    auto m = tn::placeholder<float, scalar>("m");
    auto a = repeated<tn::shape<rows>>("a", n, "from_a");
    auto y = tn::placeholder<float, tn::shape<rows>>("y");
    auto b = repeated<tn::shape<rows>>("a", m, "from_b");
    auto ones = tn::ones_like(y);
    tn::session sess(g);
    const probe::open_gate open("a");
    CHECK(sess.run(tn::feed(n, 3.0f), tn::feed(m, 3.0f), sum(a * b))() == 27.0f);
    auto text = message_of<tn::invalid_argument_error>(
        [&] { (void)sess.run(tn::feed(n, 3.0f), tn::feed(m, 4.0f), sum(a), sum(b)); });
    CHECK_MESSAGE(contains(text, "size rows is"), text);
    CHECK_MESSAGE(contains(text, "from_a"), text);
    CHECK_MESSAGE(contains(text, "from_b"), text);
    text = message_of<tn::invalid_argument_error>([&] {
        (void)sess.run(tn::feed(n, 3.0f), tn::feed(y, tn::array<float, tn::shape<rows>>({1, 2})), sum(a + y));
    });
    CHECK_MESSAGE(contains(text, "size rows is 2 in y and 3 in from_a"), text);
    // What has a named size, and is not fed because nobody reads it, has it when the name has a value.
    CHECK(sess.run(tn::feed(n, 3.0f), sum(a + ones))() == 12.0f);
    CHECK(std::get<1>(sess.run(tn::feed(n, 2.0f), a, sum(ones)))() == 2.0f);
}

TEST_CASE_FIXTURE(in_graph, "sizes that do not agree with those known late are an error that names both") {
    auto n = tn::placeholder<float, scalar>("n");
    auto y = tn::placeholder<float, tn::shape<tn::dyn>>("y");
    auto a = repeated<tn::shape<tn::dyn>>("a", n);
    tn::session sess(g);
    const probe::open_gate open("a");
    const tn::array<float, tn::shape<tn::dyn>> two({1, 2});
    const auto text =
        message_of<tn::invalid_argument_error>([&] { (void)sess.run(tn::feed(n, 3.0f), tn::feed(y, two), a + y); });
    CHECK_MESSAGE(contains(text, "[3]"), text);
    CHECK_MESSAGE(contains(text, "[2]"), text);
    CHECK(sess.run(tn::feed(n, 2.0f), tn::feed(y, two), sum(a + y))() == 7.0f);
}

TEST_CASE_FIXTURE(in_graph, "many threads wait in one callable, each for its own") {
    auto x = tn::placeholder<float, scalar>("x");
    auto y = gated("a", x + 1.0f) * 2.0f;
    tn::session sess(g);
    auto step = sess.callable(tn::feeds(x), tn::fetches(y));
    constexpr int threads = 20;
    std::vector<std::future<float>> results;
    for (int i = 0; i < threads; ++i)
        results.push_back(later([&, i] { return std::get<0>(step(static_cast<float>(i)))(); }));
    gates::get().wait_for("a", threads);
    gates::get().open("a");
    for (int i = 0; i < threads; ++i)
        CHECK(results[static_cast<std::size_t>(i)].get() == 2.0f * (static_cast<float>(i) + 1));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 14: a stage that becomes ready runs beside one that runs already") {
    auto x = tn::placeholder<float, scalar>("x");
    auto first = probe::watched(gated("one", x + 0.0f), "first", probe::deed::meet);
    auto second = probe::watched(gated("two", x + 0.0f), "second", probe::deed::meet);
    tn::session sess(g, {.intra_op_threads = 3, .use_per_session_threads = true});
    (void)probe::journal::get().take();
    probe::present() = 0;
    auto result = later([&] { return sess.run(tn::feed(x, 1.0f), first, second); });
    gates::get().wait_for("one");
    gates::get().wait_for("two");
    gates::get().open("one");
    while (probe::present() == 0) std::this_thread::yield(); // the first is there, and waits for the second
    gates::get().open("two");
    auto [a, b] = result.get();
    CHECK(a() == 1.0f); // they met
    CHECK(b() == 1.0f);
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 25: a step that has begun ends with the variables that it knows, also in stages planned late") {
    auto n = tn::placeholder<float, scalar>("n");
    auto v = tn::variable("v", 5.0f);
    auto total = sum(repeated<tn::shape<tn::dyn>>("reset", n) * v);
    tn::task shared;
    initialized_session sess(shared, g);
    auto result = later([&] { return sess.run(tn::feed(n, 3.0f), total)(); });
    gates::get().wait_for("reset");
    shared.reset();
    gates::get().open("reset");
    CHECK(result.get() == 45.0f);
    CHECK_THROWS_AS((void)sess.run(v), tn::failed_precondition_error);
}
