#include <tenon/resources/resources.hpp>

#include "tests.hpp"
#include "message_at_limit.hpp"
#include "runtime/support.hpp"

// Running: what runs, in which order, what comes back, and what the errors say.

using namespace probe;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 13: only what the fetches need runs") {
    const auto a = watched(tn::constant(1.0f), "a");
    const auto b = watched(a, "b");
    const auto c = watched(a, "c");
    const auto unfed = tn::placeholder<float>("unfed"); // not needed, so it need not be fed
    const auto d = watched(unfed, "d");
    tn::session s;
    journal::get().take();
    s.run(b);
    CHECK(journal::get().take() == std::vector<std::string>{"a", "b"});
    s.run(a);
    CHECK(journal::get().take() == std::vector<std::string>{"a"});
    s.run(c, b);
    CHECK(journal::get().take().size() == 3);
    s.run(tn::feed(unfed, 1.0f), d);
    CHECK(journal::get().take() == std::vector<std::string>{"d"});
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 13: a node runs once a step however many consumers it has") {
    const auto a = watched(tn::constant(2.0f), "a");
    const auto sum = watched(a, "x") + watched(a, "y") + watched(a, "z") + a;
    tn::session s;
    journal::get().take();
    CHECK(s.run(sum).item() == 8);
    const auto ran = journal::get().take();
    CHECK(std::count(ran.begin(), ran.end(), "a") == 1);
    CHECK(ran.size() == 4);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 13: fetching the same tensor twice runs it once and gives the same value") {
    const auto a = watched(tn::constant({1.0f, 2.0f}), "a");
    tn::session s;
    journal::get().take();
    auto [one, two] = s.run(a, a);
    CHECK(journal::get().take() == std::vector<std::string>{"a"});
    CHECK(one == two);
    one(0) = 7; // each is its caller's own
    CHECK(two(0) == 1);
}

TEST_CASE_FIXTURE(in_graph, "a run gives an array, a tuple of them, or nothing, with element types and sizes by type") {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto y = x * 2.0f;
    const tn::operation nothing = tn::no_op();
    tn::session s;
    const tn::array<float> v{{1, 2}};
    const auto one = s.run(tn::feed(x, v), y);
    static_assert(std::is_same_v<decltype(one), const tn::array<float, tn::shape<batch, 2>>>);
    const auto two = s.run(tn::feed(x, v), y, nothing, y > 2.0f);
    static_assert(
        std::is_same_v<decltype(two),
                       const std::tuple<tn::array<float, tn::shape<batch, 2>>, tn::array<bool, tn::shape<batch, 2>>>>);
    static_assert(std::is_void_v<decltype(s.run(nothing))>);
    const tn::any_tensor untyped = y;
    static_assert(std::is_same_v<decltype(s.run(tn::feed(x, v), untyped)), tn::any_array>);
    CHECK(one(0, 1) == 4);
    CHECK(std::get<1>(two)(0, 0) == false);
    CHECK(std::get<1>(two)(0, 1) == true);
    CHECK(s.run(tn::feed(x, v), untyped) == one);
}

TEST_CASE_FIXTURE(in_graph, "constants, feeds and variables that are fetched are copies of the caller's own") {
    const auto c = tn::constant({1.0f, 2.0f});
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    const auto v = tn::variable<float, tn::shape<2>>("v", tn::ones());
    initialized_session s;
    tn::array<float, tn::shape<2>> fed{5, 6};
    {
        auto [a, b, d] = s.run(tn::feed(x, fed), c, x, v);
        for (tn::array<float, tn::shape<2>>* each : {&a, &b, &d}) each->fill(-1);
    }
    const auto [a, b, d] = s.run(tn::feed(x, fed), c, x, v);
    CHECK(a(0) == 1);
    CHECK(b(0) == 5);
    CHECK(d(0) == 1);
    CHECK(fed(0) == 5);
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 15: nodes made under control_dependencies run after what they depend on, though no data flows") {
    const auto zero = tn::constant(0.0f);
    // Made after their dependents would be reached by number: order must come from the dependency alone.
    const auto late = watched(zero, "late");
    const auto later = watched(zero, "later");
    tn::any_tensor guarded;
    {
        const tn::control_dependencies after(late, later);
        guarded = watched(zero, "guarded");
    }
    tn::session s;
    journal::get().take();
    s.run(guarded);
    const auto ran = journal::get().take();
    REQUIRE(ran.size() == 3);
    CHECK(ran[2] == "guarded");
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 15: a = 1; b = a + 2; x and y under control_dependencies(a, b); z = x + y") {
    const auto a = watched(tn::constant(1.0f), "a");
    const auto b = watched(a + 2.0f, "b");
    tn::tensor<float, tn::shape<>> x, y;
    {
        const tn::control_dependencies after(a, b);
        x = watched(tn::constant(10.0f), "x");
        y = watched(tn::constant(20.0f), "y");
    }
    const auto z = x + y;
    tn::session s;
    journal::get().take();
    CHECK(s.run(z).item() == 30);
    const auto ran = journal::get().take();
    for (const char* first : {"a", "b"})
        for (const char* second : {"x", "y"}) CHECK(position(ran, first) < position(ran, second));
    CHECK(position(ran, "a") >= 0);
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 15: constants, identities and fused nodes keep their dependencies through every rewrite") {
    const auto first = watched(tn::constant(1.0f), "first");
    tn::tensor<float, tn::shape<>> through;
    {
        const tn::control_dependencies after(first);
        through = tn::identity(tn::constant(5.0f)); // would vanish, were it not for what it depends on
    }
    const auto last = watched(exp(through * 0.0f) + 1.0f, "last");
    tn::operation done;
    {
        const tn::control_dependencies after(last);
        done = tn::no_op();
    }
    tn::session s;
    journal::get().take();
    s.run(done);
    CHECK(journal::get().take() == std::vector<std::string>{"first", "last"});
}

TEST_CASE_FIXTURE(in_graph, "a group runs all its members") {
    const auto a = watched(tn::constant(1.0f), "a");
    const tn::operation b = watched(tn::constant(2.0f), "b").operation();
    const tn::operation both = tn::group(a, b, tn::no_op());
    tn::session s;
    journal::get().take();
    s.run(both);
    CHECK(journal::get().take().size() == 2);
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 17: a run that exceeds its time is a deadline_exceeded_error that says what was waiting") {
    const auto x = tn::placeholder<float>("x");
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    const auto slow = watched(x, "slow", deed::dawdle);
    const auto next = watched(slow, "next");
    initialized_session s;
    using late = tn::deadline_exceeded_error;
    const char* words = "the step did not end within its run's time limit of 0.001 s; it was waiting for "
                        "[node slow (test_watched)";
    journal::get().take();
    CHECK_ERROR(late, words, s.run_for(0.001, tn::feed(x, 1.0f), next));
    CHECK(position(journal::get().take(), "next") < 0);
    // A step of one node is no exception.
    CHECK_ERROR(late, words, s.run_for(0.001, tn::feed(x, 1.0f), slow));
    CHECK_THROWS_AS(s.run_for(0.001, tn::feed(x, 1.0f), v.assign_add(slow)), late);
    // The session and the variables stay usable.
    CHECK(s.run(v).item() == 1);
    CHECK(s.run_for(1000, tn::feed(x, 1.0f), v.assign_add(next)).item() == 2);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 17: the session's operation_timeout holds for every run and callable") {
    const auto x = tn::placeholder<float>("x");
    const auto next = watched(watched(x, "slow", deed::dawdle), "next");
    tn::session s(tn::session_options{.operation_timeout = 0.001});
    using late = tn::deadline_exceeded_error;
    CHECK_ERROR(late, "session's operation_timeout", s.run(tn::feed(x, 1.0f), next));
    const auto step = s.callable(tn::feeds(x), tn::fetches(next));
    CHECK_ERROR(late, "session's operation_timeout", step(1.0f));
    // A run's own limit goes before the session's.
    CHECK(s.run_for(1000, tn::feed(x, 3.0f), next).item() == 3);
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 17: a step does not wait for a variable longer than its limit, and says for which it waited") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    const auto w = tn::variable<float, tn::shape<>>("w", tn::ones());
    const auto hold = watched(w.assign_add(1.0f), "hold", deed::stay); // reads what it has updated
    initialized_session s;
    present() = 0;
    leave() = false;
    std::thread other([&] { s.run(hold); });
    while (present() == 0) std::this_thread::yield();
    using late = tn::deadline_exceeded_error;
    const std::string words = " s; it was waiting for variable \"w\", which another step was using";
    const auto said = [&](auto run) { return message_at_limit<late>(words, run, 0.001); };
    CHECK(contains(said([&](double limit) { s.run_for(limit, v + w); }), words));
    CHECK(contains(said([&](double limit) { s.run_for(limit, v.assign(w)); }), words));
    CHECK(contains(said([&](double limit) { s.run_for(limit, w.assign_add(1.0f)); }), words));
    CHECK(s.run_for(1000, v.assign_add(1.0f)).item() == 2); // what nobody holds goes on
    leave() = true;
    other.join();
    CHECK(s.run_for(1000, v + w).item() == 4);
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 17: a kernel that is split over threads begins no further piece after the limit") {
    const auto x = tn::placeholder<float>("x");
    const auto y = watched(x, "long", deed::loop);
    tn::session s(tn::session_options{.intra_op_threads = 2, .use_per_session_threads = true});
    present() = 0;
    CHECK_ERROR(tn::deadline_exceeded_error, "[node long (test_watched)", s.run_for(0.001, tn::feed(x, 1.0f), y));
    CHECK(present() <= 2); // of 8 pieces, one a thread
    CHECK(s.run(tn::feed(x, 1.0f), y).item() == 1);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 17: a call of a callable may have a limit; a limit that is none is refused") {
    const auto x = tn::placeholder<float>("x");
    const auto y = watched(x, "slow", deed::dawdle);
    tn::session s;
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    CHECK_ERROR(tn::deadline_exceeded_error, "run's time limit of 0.001 s", step.run_for(0.001, 1.0f));
    CHECK(std::get<0>(step.run_for(1000, 1.0f)).item() == 1);
    CHECK(std::get<0>(step.run_for(0, 2.0f)).item() == 2);
    using bad = tn::invalid_argument_error;
    for (const double limit : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_ERROR(bad, "run_for: the time limit is ", s.run_for(limit, tn::feed(x, 1.0f), y));
        CHECK_ERROR(bad, "run_for: the time limit is ", step.run_for(limit, 1.0f));
        CHECK_ERROR(bad, "operation_timeout is ", tn::session(tn::session_options{.operation_timeout = limit}));
    }
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 18: reading an uninitialised variable is a failed_precondition_error naming it") {
    const auto w = tn::variable<float, tn::shape<2>>("weights", tn::zeros());
    tn::session s;
    const std::string text = message_of<tn::failed_precondition_error>([&] { s.run(w + 1.0f); });
    CHECK(contains(text, "variable \"weights\" is read before it has a value"));
    CHECK(contains(text, "initialize_variables()"));
    CHECK_ERROR(tn::failed_precondition_error, "\"weights\"", s.run(w.assign_add(1.0f)));
    CHECK_ERROR(tn::failed_precondition_error, "\"weights\"", s.run(w));
    s.run(tn::initialize_variables());
    CHECK(s.run(w + 1.0f)(0) == 1);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 19: a closed session does not run: \"Session is closed.\"") {
    const auto x = tn::placeholder<float>("x");
    const auto y = x + 1.0f;
    tn::session s;
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    CHECK(std::get<0>(step(1.0f)).item() == 2);
    s.close();
    using closed = tn::failed_precondition_error;
    CHECK(message_of<closed>([&] { s.run(tn::feed(x, 1.0f), y); }) == "Session is closed.");
    CHECK(message_of<closed>([&] { step(1.0f); }) == "Session is closed.");
    CHECK(message_of<closed>([&] { s.report(tn::feed(x, 1.0f), y); }) == "Session is closed.");
    CHECK(message_of<closed>([&] { s.callable(tn::feeds(x), tn::fetches(y)); }) == "Session is closed.");
}

TEST_CASE("a fetch, target or feed from another graph is an error that names it") {
    const tn::graph mine, other;
    tn::tensor<float, tn::shape<>> foreign;
    tn::operation foreign_op;
    {
        const tn::graph_scope in(other);
        foreign = tn::placeholder<float>("foreign");
        foreign_op = tn::no_op("foreign_op");
    }
    const tn::graph_scope in(mine);
    tn::session s;
    using bad = tn::invalid_argument_error;
    CHECK_ERROR(bad, "foreign cannot be fetched: it belongs to another graph", s.run(foreign));
    CHECK_ERROR(bad, "foreign_op cannot be run: it belongs to another graph", s.run(foreign_op));
    CHECK_ERROR(bad, "foreign cannot be fed", s.run(tn::feed(foreign, 1.0f), tn::constant(1.0f)));
}

TEST_CASE_FIXTURE(
    in_graph,
    "an empty handle is an invalid_argument_error that says which argument it is, wherever a session takes one") {
    using bad = tn::invalid_argument_error;
    const auto x = tn::placeholder<float, tn::shape<>>("x");
    const auto y = x + 1.0f;
    const tn::operation nothing = tn::no_op("nothing"), no_operation;
    const tn::any_tensor no_tensor;
    const tn::tensor<float, tn::shape<>> none;
    const auto one = [] { return tn::any_array(tn::array<float>(1.0f)); };
    tn::session s;
    const auto says = [](const auto& f, const char* which) {
        CHECK(contains(message_of<bad>(f), std::string("session: ") + which + " is an empty handle; give one that"));
    };
    says([&] { s.run(no_tensor); }, "tensor 1 of 1 to be fetched");
    says([&] { s.run(none); }, "tensor 1 of 1 to be fetched");
    says([&] { s.run(tn::feed(x, 1.0f), y, x, none); }, "tensor 3 of 3 to be fetched");
    says([&] { s.run_for(10, nothing, no_operation); }, "operation 2 of 2 to be run");
    says([&] { s.run(tn::feed(x, 1.0f), tn::feed(none, 1.0f), y); }, "tensor 2 of 2 to be fed");
    says([&] { s.run(tn::feed(no_tensor, one()), y); }, "tensor 1 of 1 to be fed");
    says([&] { s.report(tn::feed(x, 1.0f), y, no_tensor); }, "tensor 2 of 2 to be fetched");
    says([&] { s.run_untyped({}, {no_tensor, y}); }, "tensor 1 of 2 to be fetched");
    says([&] { s.run_untyped({}, {}, {no_operation}); }, "operation 1 of 1 to be run");
    says([&] { s.callable(tn::feeds(x, none), tn::fetches(y)); }, "tensor 2 of 2 to be fed");
    says([&] { s.callable(tn::feeds(x), tn::fetches(y, none)); }, "tensor 2 of 2 to be fetched");
    says([&] { s.callable(tn::feeds(x), tn::fetches(no_operation, y)); }, "operation 1 of 1 to be run");
    CHECK(s.run(tn::feed(x, 1.0f), y).item() == 2);
}

TEST_CASE_FIXTURE(in_graph, "an exception in a kernel keeps its type and names the node; the session goes on") {
    const auto x = tn::placeholder<float>("x");
    tn::session s;
    const auto run = [&](deed d, const char* name) { s.run(tn::feed(x, 1.0f), watched(x, name, d)); };
    CHECK_ERROR(tn::out_of_range_error, "the end is reached [node broken (test_watched) on /device:CPU:0, made at ",
                run(deed::fail, "broken"));
    CHECK_ERROR(tn::internal_error,
                "an error of another library [node foreign (test_watched) on /device:CPU:0, made at ",
                run(deed::fail_std, "foreign"));
    CHECK_ERROR(tn::resource_exhausted_error, "[node large (test_watched)", run(deed::fail_memory, "large"));
    CHECK(s.run(tn::feed(x, 1.0f), x + 1.0f).item() == 2);
}

TEST_CASE_FIXTURE(in_graph, "the graph may grow between runs") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    initialized_session s;
    CHECK(s.run(v).item() == 1);
    const auto w = tn::variable<float, tn::shape<>>("w", tn::constant_value(5));
    s.run(tn::initialize_variables(w));
    CHECK(s.run(v + w).item() == 6);
}

TEST_CASE_FIXTURE(in_graph, "sessions of one graph have variables of their own") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    tn::session a, b;
    a.run(tn::initialize_variables());
    a.run(v.assign_add(1.0f));
    CHECK(a.run(v).item() == 2);
    CHECK_THROWS_AS(b.run(v), tn::failed_precondition_error);
}

TEST_CASE("SEMANTICS 26: one identity with two types is an error naming both") {
    tn::resource_manager r;
    (void)r.variable("", "v", {tn::element_type::float32, {2}});
    CHECK_ERROR(tn::invalid_argument_error, "variable \"v\" exists as float[2], not as float[3]",
                r.variable("", "v", {tn::element_type::float32, {3}}));
    CHECK_NOTHROW((void)r.variable("box", "v", {tn::element_type::float32, {3}}));
    CHECK(r.bytes() == 20);
}

TEST_CASE_FIXTURE(in_graph, "variables of one name in two containers are two") {
    const auto a = tn::variable<float, tn::shape<>>("v", tn::constant_value(1));
    tn::any_tensor b;
    {
        const tn::container_scope box("box");
        b = tn::variable<float, tn::shape<>>("v", tn::constant_value(2));
    }
    CHECK(a.name() == "v");
    CHECK(b.name() == "v_1"); // names of nodes are one set; identity is container and name
    initialized_session s;
    CHECK(s.run(a).item() == 1);
    CHECK(*s.run(b).data<float>() == 2);
}
