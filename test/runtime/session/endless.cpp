#include <tenon/input.hpp>

#include "tests.hpp"
#include "runtime/support.hpp"

// Steps that compute without end: whatever ends a step ends them, too.

namespace {

using row = tn::shape<64>;
tn::array<float, row> filled(float x) {
    tn::array<float, row> a;
    a.fill(x);
    return a;
}

// Runs for ever once it has begun, which began() finds; x is not NaN.
struct endless {
    const char* name;
    std::function<tn::tensor<float, row>(const tn::tensor<float, row>&)> loop;
};

std::atomic<int>& begun() {
    static std::atomic<int> n{0};
    return n;
}
void wait_until_begun(int count = 1) {
    while (begun() < count) std::this_thread::yield();
}
tn::tensor<float, row> said(const tn::tensor<float, row>& x) { return probe::watched(x, "begins", probe::deed::call); }

// By the interpreter of tapes, by bodies run after run, in a loop, in a branch, in a scan, and its gradient.
std::vector<endless> loops() {
    static const auto elementwise = [](const auto& x) {
        return tn::while_loop([](const auto& n, const auto&) { return n >= 0; },
                              [](const auto& n, const auto& v) { return std::tuple(n * 1, v * 1.0f); }, tn::constant(0),
                              x);
    };
    static const auto of_products = [](const auto& x) {
        const auto one = tn::ones<float, tn::shape<64, 64>>();
        return tn::while_loop(
            [](const auto& v) { return sum(v) < 1e30f; },
            [&](const auto& v) { return tn::reshape<row>(tn::matmul(tn::expand_dims<0>(v), one)) * 0.0f; }, x);
    };
    return {
        {"elementwise", [](const auto& x) { return std::get<1>(elementwise(x)); }},
        {"products", [](const auto& x) { return of_products(x); }},
        {"in a loop",
         [](const auto& x) {
             return tn::while_loop([](const auto& v) { return sum(v) < 1e30f; },
                                   [](const auto& v) { return of_products(v); }, x);
         }},
        {"in a branch",
         [](const auto& x) {
             return tn::cond(
                 sum(x) < 1e30f, [&] { return of_products(x); }, [&] { return x * 2.0f; });
         }},
        {"in a scan",
         [](const auto& x) {
             return tn::scan([](const auto& c, const auto& s) { return std::pair(of_products(c) + s, s); }, x,
                             tn::expand_dims<0>(x))
                 .first;
         }},
    };
}

// A graph with such a loop, which says when it begins.
struct endless_graph {
    explicit endless_graph(const endless& e) : y(e.loop(said(x))) {
        begun() = 0;
        probe::called() = [] { ++begun(); };
    }
    const tn::graph g{};
    const tn::graph_scope in{g};
    const tn::tensor<float, row> x = tn::placeholder<float, row>("x");
    const tn::tensor<float, row> y;
    const tn::array<float, row> value = filled(0.0f);
};

tn::session_options threads(int n) { return {.intra_op_threads = n, .use_per_session_threads = true}; }

} // namespace

TEST_CASE("close() ends what computes without end, whoever runs it") {
    for (const endless& e : loops())
        for (const int n : {1, 3}) {
            CAPTURE(e.name);
            CAPTURE(n);
            const endless_graph of(e);
            tn::session s(of.g, threads(n));
            const auto step = s.callable(tn::feeds(of.x), tn::fetches(of.y));
            std::string run, called;
            std::thread first(
                [&] { run = message_of<tn::cancelled_error>([&] { s.run(of.y, tn::feed(of.x, of.value)); }); });
            std::thread second([&] { called = message_of<tn::cancelled_error>([&] { step(of.value); }); });
            wait_until_begun(2);
            s.close();
            first.join();
            second.join();
            CHECK_MESSAGE(contains(run, "the step was stopped: its session was closed"), run);
            CHECK_MESSAGE(contains(called, "the step was stopped: its session was closed"), called);
        }
}

TEST_CASE("what was started and computes without end ends with its session, closed or not, and when it is stopped") {
    for (const endless& e : loops())
        for (const int way : {0, 1, 2}) {
            CAPTURE(e.name);
            CAPTURE(way);
            const endless_graph of(e);
            auto s = std::make_unique<tn::session>(of.g, threads(2));
            auto pending = s->callable(tn::feeds(of.x), tn::fetches(of.y)).start(of.value);
            wait_until_begun();
            if (way == 0) s->close();
            if (way == 1) s.reset();
            if (way == 2) pending.stop();
            const std::string text = message_of<tn::cancelled_error>([&] { (void)pending.get(); });
            const char* const why[] = {"its session was closed", "its session has ended", "the step was stopped"};
            CHECK_MESSAGE(contains(text, why[way]), text);
        }
}

TEST_CASE("a callable goes on after its session has ended, though what it had begun by then did not") {
    const endless_graph of(loops()[1]);
    auto s = std::make_unique<tn::session>(of.g, threads(2));
    const auto step = s->callable(tn::feeds(of.x), tn::fetches(of.y));
    auto pending = step.start(of.value);
    wait_until_begun();
    s.reset();
    CHECK_THROWS_AS((void)pending.get(), tn::cancelled_error);
    const auto large = filled(1e30f);
    CHECK(std::get<0>(step(large))(0) == 1e30f);
}

TEST_CASE(
    "a step that is closed before its updates leaves variables as they were, one that updates makes all of them") {
    const own_graph g;
    const auto x = tn::placeholder<float, row>("x");
    const auto a = tn::variable("a", filled(0.0f)), b = tn::variable("b", filled(0.0f));
    const auto late = loops()[1].loop(said(x));
    const auto both = tn::group({a.assign_add(x).operation(), b.assign_add(late).operation()});
    const auto plain = tn::group({a.assign_add(x).operation(), b.assign_add(x * 1.0f).operation()});
    const auto one = filled(1.0f), zero = filled(0.0f);
    const tn::task shared;
    initialized_session reader(shared, g);
    {
        tn::session s(shared, g);
        begun() = 0;
        probe::called() = [] { ++begun(); };
        std::thread runs([&] { CHECK_THROWS_AS(s.run(both, tn::feed(x, zero)), tn::cancelled_error); });
        wait_until_begun();
        s.close();
        runs.join();
    }
    CHECK(reader.run(a)(0) == 0);
    for (int round = 0; round < 50; ++round) {
        tn::session s(shared, g);
        const auto step = s.callable(tn::feeds(x), tn::fetches(plain));
        std::thread runs([&] {
            try {
                for (;;) step(one);
            } catch (const tn::error&) { // it is closed
            }
        });
        while (reader.run(a)(0) == 0) std::this_thread::yield();
        s.close();
        runs.join();
        const auto [va, vb] = reader.run(a, b);
        CHECK(va == vb);
        CHECK(va(0) == va(63));
    }
}

TEST_CASE("a loop of constants without end is no part of planning: it ends at its step's limit, and with its session") {
    const own_graph g;
    const auto y =
        tn::while_loop([](const auto& n) { return n >= 0; }, [](const auto& n) { return n * 1; }, tn::constant(0));
    const auto known =
        tn::while_loop([](const auto& n) { return n < 1000; }, [](const auto& n) { return n + 1; }, tn::constant(0));
    tn::session s(g);
    CHECK(s.report(y).folded == 0);
    bool folded = false; // where the machine lets it go on for that long
    for (int i = 0; i < 50 && !folded; ++i) folded = tn::session(g).report(known).folded > 0;
    CHECK(folded);
    CHECK_THROWS_AS(s.run_for(0.05, y), tn::deadline_exceeded_error);
    std::thread runs([&] { CHECK_THROWS_AS(s.run(y), tn::error); });
    s.close();
    runs.join();
}

TEST_CASE("a data set's function that computes without end ends with who goes through the set") {
    // The first element is none on which it does.
    const auto set = [](int parallel) {
        tn::array<float, tn::shape<tn::dyn, 64>> rows(8);
        rows.fill(0);
        for (std::int64_t k = 0; k < 64; ++k) rows(0, k) = 1e30f;
        const auto often = [](const auto& x) { return loops()[1].loop(said(x)); };
        begun() = 0;
        probe::called() = [] { ++begun(); };
        return tn::data::slices(rows).map(often, {parallel});
    };
    for (const int parallel : {1, 3}) {
        CAPTURE(parallel);
        {
            const auto ahead = set(parallel).prefetch(2);
            auto it = ahead.begin();
            CHECK((*it)(0) == 1e30f);
            wait_until_begun(2);
        }
        for (const bool closed : {true, false}) {
            CAPTURE(closed);
            const own_graph g;
            const auto next = tn::make_one_shot_iterator(set(parallel)).get_next();
            tn::session s(g, threads(2));
            CHECK(s.run(next)(0) == 1e30f);
            if (closed) {
                std::thread runs([&] { CHECK_THROWS_AS(s.run(next), tn::error); }); // it may have been closed before
                wait_until_begun(2);
                s.close();
                runs.join();
            } else CHECK_THROWS_AS(s.run_for(0.05, next), tn::deadline_exceeded_error);
        }
    }
}
