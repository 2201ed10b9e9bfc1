#include "tests.hpp"
#include "message_at_limit.hpp"
#include "runtime/gates.hpp"
#include "runtime/support.hpp"

// Steps over streams: what the host does beside them, what holds a thread (the caller of run alone), and how they end.

using namespace probe;

namespace {

constexpr std::size_t memory = 16 << 20;
constexpr double days = 1e-3; // bytes a second
using scalar = tn::shape<>;
inline constexpr struct rows : tn::dim<"rows"> {} rows;

tn::session_options on_gpus(int threads, double bandwidth = 0, double latency = 0, int count = 1) {
    tn::session_options o;
    o.gpus = tn::simulated_gpu(count, memory, bandwidth, latency);
    o.use_per_session_threads = true;
    o.intra_op_threads = o.inter_op_threads = threads;
    return o;
}

// What is fed takes days to get there, but for what is empty.
struct slow_copy {
    tn::tensor<float, tn::shape<rows>> fed = tn::placeholder<float, tn::shape<rows>>("fed");
    tn::tensor<float, scalar> there = tn::on("/gpu:0", [&] { return tn::identity(sum(fed), "there"); });
    tn::array<float, tn::shape<rows>> some{tn::array<float, tn::shape<rows>>(4)};
    tn::array<float, tn::shape<rows>> nothing{tn::array<float, tn::shape<rows>>(0)};
};

struct met {
    met() { probe::present() = probe::crowd() = 0; }
    bool both() const { return probe::crowd() == 2; }
};

} // namespace

TEST_CASE("steps whose copies take days hold no thread: others go on, and each is stopped at once") {
    for (const int threads : {1, 2}) {
        CAPTURE(threads);
        const own_graph g;
        slow_copy copy;
        const auto x = tn::placeholder<float, scalar>("x");
        const auto host = tn::on("/cpu:0", [&] { return exp(x) * 0.0f + x; });
        const auto waited = tn::on("/cpu:0", [&] { return gated("go", x + 1.0f) + 1.0f; });
        tn::session s(g, on_gpus(threads, days));
        const auto slow = s.callable(tn::feeds(copy.fed), tn::fetches(copy.there));
        const auto fast = s.callable(tn::feeds(x), tn::fetches(host));
        const auto gate = s.callable(tn::feeds(x), tn::fetches(waited));
        std::vector<decltype(slow.start(copy.some))> in_flight;
        for (int i = 0; i < 10; ++i) in_flight.push_back(slow.start(copy.some));
        auto waits = gate.start(5.0f);
        gates::get().wait_for("go");
        for (int i = 0; i < 20; ++i)
            CHECK(std::get<0>(fast.start(static_cast<float>(i)).get())() == static_cast<float>(i));
        gates::get().open("go");
        CHECK(std::get<0>(waits.get())() == 7);
        for (std::size_t i = in_flight.size(); i-- > 0;) { // the last waits behind all others' copies
            CHECK_FALSE(in_flight[i].has_ended());
            in_flight[i].stop();
        }
        for (auto& p : in_flight) CHECK_ERROR(tn::cancelled_error, "the step was stopped", p.get());
    }
}

TEST_CASE(
    "a stage over streams of a step that waits holds no thread either, and is stopped in the middle of its copy") {
    for (const int threads : {1, 2}) {
        CAPTURE(threads);
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<rows>>("x");
        const auto passed = gated("go", x);
        const auto there = tn::on("/gpu:0", [&] { return sum(passed * 2.0f); });
        tn::session s(g, on_gpus(threads, days));
        const auto step = s.callable(tn::feeds(x), tn::fetches(there));
        tn::array<float, tn::shape<rows>> some(4), none(0);
        std::vector<decltype(step.start(some))> in_flight;
        for (int i = 0; i < 6; ++i) in_flight.push_back(step.start(some));
        gates::get().wait_for("go", 6);
        gates::get().open("go"); // all six segments begin, and their copies
        auto other = step.start(some);
        gates::get().wait_for("go", 1); // which somebody had to start
        for (auto& p : in_flight) CHECK_FALSE(p.has_ended());
        for (auto& p : in_flight) p.stop();
        other.stop();
        for (auto& p : in_flight) CHECK_THROWS_AS((void)p.get(), tn::cancelled_error);
        CHECK_THROWS_AS((void)other.get(), tn::cancelled_error);
    }
}

TEST_CASE("started steps over streams end by themselves, on any number of threads, kept or not") {
    for (const int threads : {1, 2, 4})
        for (const double latency : {0.0, 20e-6}) {
            CAPTURE(threads);
            CAPTURE(latency);
            const own_graph g;
            const auto x = tn::placeholder<float, scalar>("x");
            const auto count = tn::on("/gpu:1", [] { return tn::variable("count", 0.0f); });
            const auto a = tn::on("/gpu:0", [&] { return x + 1.0f; });
            const auto b = tn::on("/cpu:0", [&] { return watched(a, "b"); });
            const auto c = tn::on("/gpu:1", [&] { return tn::identity(b * 2.0f, "c"); });
            const auto more = tn::on("/gpu:1", [&] { return count.assign_add(c * 0.0f + 1.0f); });
            const auto passed = gated("open", c);
            const auto late = tn::on("/gpu:0", [&] { return passed + 1.0f; });
            gates::get().leave_open("open");
            {
                initialized_session s(g, on_gpus(threads, 0, latency, 2));
                const auto step = s.callable(tn::feeds(x), tn::fetches(c, more.operation()));
                const auto staged = s.callable(tn::feeds(x), tn::fetches(late));
                std::vector<decltype(step.start(1.0f))> all;
                std::vector<decltype(staged.start(1.0f))> all_staged;
                for (int i = 0; i < 50; ++i) {
                    all.push_back(step.start(static_cast<float>(i)));
                    all_staged.push_back(staged.start(static_cast<float>(i)));
                }
                for (std::size_t i = 0; i < all.size(); ++i) {
                    CHECK(std::get<0>(all[i].get())() == static_cast<float>(2 * i + 2));
                    CHECK(std::get<0>(all_staged[i].get())() == static_cast<float>(2 * i + 3));
                }
                CHECK(s.run(count)() == 50);
                for (int i = 0; i < 10; ++i) (void)step.start(1.0f); // nobody waits for them, nor keeps the session
            }
            gates::get().leave_open("open", false);
            (void)probe::journal::get().take();
        }
}

TEST_CASE_FIXTURE(in_graph,
                  "host nodes of a step over streams run side by side, whether it is called, started or has waited") {
    const auto x = tn::placeholder<float, scalar>("x");
    const auto there = tn::on("/gpu:0", [&] { return tn::identity(x + 1.0f, "there"); });
    const auto a = tn::on("/cpu:0", [&] { return watched(there, "a", deed::meet); });
    const auto b = tn::on("/cpu:0", [&] { return watched(there, "b", deed::meet); });
    const auto both = tn::on("/gpu:0", [&] { return tn::identity(a + b, "both"); });
    const auto passed = gated("meet", both);
    const auto again = tn::on("/gpu:0", [&] { return tn::identity(passed * 1.0f, "again"); });
    const auto c = tn::on("/cpu:0", [&] { return watched(again, "c", deed::meet); });
    const auto d = tn::on("/cpu:0", [&] { return watched(again, "d", deed::meet); });
    tn::session s(g, on_gpus(3));
    const auto step = s.callable(tn::feeds(x), tn::fetches(both));
    const auto staged = s.callable(tn::feeds(passed), tn::fetches(c, d));
    const auto waits = s.callable(tn::feeds(both), tn::fetches(c, d));
    {
        const met here;
        (void)step(1.0f);
        CHECK(here.both());
    }
    {
        const met here;
        (void)step.start(1.0f).get();
        CHECK(here.both());
    }
    gates::get().leave_open("meet");
    {
        const met here;
        (void)waits(1.0f);
        CHECK(here.both());
    }
    {
        const met here;
        (void)waits.start(1.0f).get();
        CHECK(here.both());
    }
    gates::get().leave_open("meet", false);
    (void)staged;
}

TEST_CASE_FIXTURE(in_graph, "the host does what it can while a node of its own waits for a copy") {
    slow_copy copy;
    const auto one = tn::constant(1.0f);
    const auto first = tn::on("/cpu:0", [&] { return watched(copy.there, "first"); }); // in the plan's order
    const auto second = tn::on("/cpu:0", [&] { return watched(one, "second", deed::call); });
    tn::session s(g, on_gpus(1, days));
    std::atomic<int> calls{0};
    probe::called() = [&] { ++calls; };
    CHECK_THROWS_AS((void)s.run_for(0.02, tn::feed(copy.fed, copy.some), first, second), tn::deadline_exceeded_error);
    CHECK(calls == 1);
    auto step = s.callable(tn::feeds(copy.fed), tn::fetches(first, second));
    std::atomic<bool> called{false};
    probe::called() = [&] {
        called = true;
        called.notify_all();
    };
    auto started = step.start(copy.some);
    called.wait(false);
    CHECK_FALSE(started.has_ended());
    started.stop();
    CHECK_THROWS_AS((void)started.get(), tn::cancelled_error);
    probe::called() = nullptr;
}

TEST_CASE(
    "what fails on a stream or on the host fails a started step, by name; updates that come after are not applied") {
    for (const int threads : {1, 3}) {
        const own_graph g;
        const auto x = tn::placeholder<float, scalar>("x");
        const auto v = tn::on("/gpu:0", [] { return tn::variable("v", 1.0f); });
        const auto there = tn::on("/gpu:0", [&] { return tn::identity(x + 1.0f, "there"); });
        const auto on_stream = tn::on("/gpu:0", [&] { return watched(there, "on_stream", deed::fail); });
        const auto on_host = tn::on("/cpu:0", [&] { return watched(there, "on_host", deed::fail); });
        const auto one = tn::on("/gpu:0", [&] { return v.assign_add(on_stream); });
        const auto two = tn::on("/gpu:0", [&] { return v.assign_add(on_host); });
        const auto passed = gated("fail", there);
        const auto late = tn::on("/gpu:0", [&] { return watched(passed, "late", deed::fail); });
        gates::get().leave_open("fail");
        initialized_session s(g, on_gpus(threads));
        const auto fails = [&](const auto& fetched, const std::string& where) {
            const auto step = s.callable(tn::feeds(x), tn::fetches(fetched));
            for (int i = 0; i < 5; ++i) {
                CHECK_ERROR(tn::out_of_range_error, where, step.start(1.0f).get());
                CHECK_ERROR(tn::out_of_range_error, where, step(1.0f));
            }
            CHECK(s.run(v)() == 1);
        };
        fails(one, "on_stream (test_watched) on /device:GPU:0");
        fails(two, "on_host (test_watched) on /device:CPU:0");
        fails(late, "late (test_watched) on /device:GPU:0");
        gates::get().leave_open("fail", false);
        (void)probe::journal::get().take();
    }
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 17: a deadline ends a copy of a started step, and of a stage, and names what is copied") {
    const auto x = tn::placeholder<float, tn::shape<rows>>("x");
    const auto there = tn::on("/gpu:0", [&] { return sum(x); });
    const auto passed = gated("go", x);
    const auto late = tn::on("/gpu:0", [&] { return sum(passed * 2.0f); });
    const probe::open_gate open("go");
    tn::session s(g, on_gpus(2, days));
    tn::array<float, tn::shape<rows>> some(4);
    const auto step = s.callable(tn::feeds(x), tn::fetches(there));
    const auto staged = s.callable(tn::feeds(x), tn::fetches(late));
    const std::string words = "it was waiting for the transfer of ";
    const auto check = [&](const std::function<void(double)>& run) {
        const std::string text = message_at_limit<tn::deadline_exceeded_error>(words, run);
        CHECK_MESSAGE(contains(text, words), text);
        CHECK_MESSAGE(contains(text, "time limit of "), text);
    };
    for (int i = 0; i < 3; ++i) {
        check([&](double limit) { (void)step.start_for(limit, some).get(); });
        check([&](double limit) { (void)staged.start_for(limit, some).get(); });
        check([&](double limit) { (void)staged.run_for(limit, some); });
    }
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 19: closing a session, or its end, stops a stage in the middle of its copy") {
    const auto x = tn::placeholder<float, tn::shape<rows>>("x");
    const auto passed = gated("go", x);
    const auto late = tn::on("/gpu:0", [&] { return sum(passed * 2.0f); });
    const probe::open_gate open("go");
    tn::array<float, tn::shape<rows>> some(4);
    for (const bool close : {true, false})
        for (const int threads : {1, 2}) {
            auto s = std::make_unique<tn::session>(g, on_gpus(threads, days));
            const auto staged = s->callable(tn::feeds(x), tn::fetches(late));
            auto one = staged.start(some), two = staged.start(some);
            if (close) s->close();
            else s.reset();
            for (auto* p : {&one, &two}) CHECK_ERROR(tn::cancelled_error, "its session ", p->get());
        }
}

TEST_CASE("a step that waits for a variable which another step's copy keeps locked holds no thread") {
    for (const int threads : {1, 2}) {
        CAPTURE(threads);
        const own_graph g;
        slow_copy copy;
        const auto x = tn::placeholder<float, scalar>("x");
        const auto v = tn::on("/cpu:0", [] { return tn::variable("v", 1.0f); });
        const auto by_copy = v.assign_add(tn::on("/gpu:0", [&] { return copy.there + 0.0f; }));
        const auto by_host = v.assign_add(x);
        const auto by_gpu = v.assign_add(tn::on("/gpu:0", [&] { return tn::identity(x * 1.0f, "scaled"); }));
        const auto waited = v.assign_add(gated("go", x));
        const auto other = tn::on("/cpu:0", [&] { return exp(x) * 0.0f + x; });
        gates::get().leave_open("go");
        initialized_session s(g, on_gpus(threads, days));
        const auto locks = s.callable(tn::feeds(copy.fed), tn::fetches(by_copy));
        const auto host = s.callable(tn::feeds(x), tn::fetches(by_host));
        const auto staged = s.callable(tn::feeds(x), tn::fetches(waited));
        const auto free = s.callable(tn::feeds(x), tn::fetches(other));
        auto first = locks.start(copy.some);
        std::vector<decltype(host.start(1.0f))> waiting;
        std::vector<decltype(staged.start(1.0f))> also;
        for (int i = 0; i < 5; ++i) {
            waiting.push_back(host.start(1.0f));
            also.push_back(staged.start(1.0f));
        }
        auto never = host.start(100.0f);
        CHECK(std::get<0>(free.start(3.0f).get())() == 3);
        for (auto& p : waiting) CHECK_FALSE(p.has_ended());
        never.stop();
        CHECK_THROWS_AS((void)never.get(), tn::cancelled_error);
        const std::string words = "it was waiting for variable \"v\"";
        CHECK(contains(message_at_limit<tn::deadline_exceeded_error>(
                           words, [&](double limit) { (void)host.start_for(limit, 100.0f).get(); }),
                       words));
        first.stop();
        CHECK_THROWS_AS((void)first.get(), tn::cancelled_error);
        for (auto& p : waiting) (void)p.get();
        for (auto& p : also) (void)p.get();
        CHECK(s.run(v)() == 11);
        gates::get().leave_open("go", false);
        (void)by_gpu;
    }
}

TEST_CASE("SEMANTICS 20: many started steps with slow copies update the same variables, and none is lost") {
    for (const int threads : {1, 2, 4}) {
        const own_graph g;
        const auto x = tn::placeholder<float, scalar>("x");
        const auto a = tn::on("/gpu:0", [] { return tn::variable("a", 0.0f); });
        const auto b = tn::on("/cpu:0", [] { return tn::variable("b", 0.0f); });
        const auto add_a = a.assign_add(tn::on("/gpu:0", [&] { return x * 1.0f; }));
        const auto add_b = b.assign_add(tn::on("/gpu:0", [&] { return tn::identity(x * 1.0f, "x1"); }));
        const auto on_host = b.assign_add(x);
        initialized_session s(g, on_gpus(threads, 0, 50e-6));
        const auto both = s.callable(tn::feeds(x), tn::fetches(add_a, add_b));
        const auto host = s.callable(tn::feeds(x), tn::fetches(on_host));
        std::vector<decltype(both.start(1.0f))> all;
        std::vector<decltype(host.start(1.0f))> hosts;
        for (int i = 0; i < 20; ++i) {
            all.push_back(both.start(1.0f));
            hosts.push_back(host.start(1.0f));
            if (i % 5 == 0) (void)both(1.0f); // the caller's thread waits among them
        }
        for (auto& p : all) (void)p.get();
        for (auto& p : hosts) (void)p.get();
        auto [at_a, at_b] = s.run(a, b);
        CHECK(at_a() == 24);
        CHECK(at_b() == 44);
    }
}

TEST_CASE_FIXTURE(in_graph, "a trace of a step that waits shows what its stages do on streams and beside them") {
    const auto x = tn::placeholder<float, scalar>("x");
    const auto passed = gated("go", x);
    const auto there = tn::on("/gpu:0", [&] { return tn::identity(passed * 2.0f, "there"); });
    const auto here = tn::on("/cpu:0", [&] { return watched(there, "here"); });
    gates::get().leave_open("go");
    tn::session s(g, on_gpus(2));
    tn::trace t;
    s.set_trace(&t);
    CHECK(s.run(tn::feed(x, 3.0f), here)() == 6);
    s.set_trace(nullptr);
    const std::string text = t.to_json();
    for (const char* part : {"CPU:0 to GPU:0", "GPU:0 to CPU:0", "\"here\"", "\"GPU:0\""}) CHECK(contains(text, part));
    gates::get().leave_open("go", false);
    (void)probe::journal::get().take();
}
