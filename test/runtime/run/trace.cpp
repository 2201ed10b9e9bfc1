#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/reduction.hpp>
#include <tenon/ops/state.hpp>
#include <tenon/runtime/plan/cost_measurements.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/runtime/run/trace.hpp>

#include "runtime/support.hpp"
#include "temporary_folder.hpp"

namespace tn = tenon;
using namespace probe;

namespace {

std::vector<nlohmann::json> spans_of(const tn::trace& t) {
    std::vector<nlohmann::json> spans;
    const nlohmann::json all = nlohmann::json::parse(t.to_json());
    for (const auto& e : all.at("traceEvents"))
        if (e.at("ph") == "X") spans.push_back(e);
    return spans;
}

} // namespace

TEST_CASE("a trace has an event for each node that ran, with name, op, begin and length, in the order they ran") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto a = watched(tn::constant(1.0f), "first");
    const auto b = watched(a, "second", deed::dawdle);
    const auto c = watched(b, "third");
    tn::session s;
    tn::trace t;
    s.set_trace(&t);
    s.run(c);
    s.set_trace(nullptr);
    const auto spans = spans_of(t);
    REQUIRE(spans.size() == 3);
    CHECK(t.size() == 3);
    const char* names[] = {"first", "second", "third"};
    double end = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(spans[i].at("name") == names[i]);
        CHECK(spans[i].at("cat") == "test_watched");
        CHECK(spans[i].at("args").at("op") == "test_watched");
        CHECK(spans[i].at("ts").get<double>() >= end);
        end = spans[i].at("ts").get<double>() + spans[i].at("dur").get<double>();
    }
    CHECK(spans[1].at("dur").get<double>() >= 3000); // microseconds
    CHECK(spans[0].at("ts").get<double>() == 0);
}

TEST_CASE("nothing is recorded while no trace is set; a trace may span several steps") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float>("x");
    const auto y = watched(x, "y");
    tn::session s;
    tn::trace t;
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    step(1.0f);
    CHECK(t.size() == 0);
    s.set_trace(&t);
    step(1.0f);
    step(1.0f);
    s.set_trace(nullptr);
    step(1.0f);
    CHECK(t.size() == 2);
    // The rows have names.
    bool named = false;
    const nlohmann::json all = nlohmann::json::parse(t.to_json());
    for (const auto& e : all.at("traceEvents"))
        named = named || (e.at("ph") == "M" && e.at("args").at("name") == "CPU:0 thread 0");
    CHECK(named);
}

TEST_CASE("an empty trace is JSON too") {
    const tn::trace t;
    CHECK(nlohmann::json::parse(t.to_json()).at("traceEvents").empty());
}

TEST_CASE("a trace as text: a line for each run, in the order in which they began, in microseconds from the first") {
    tn::trace t;
    CHECK(t.to_text() == "     begins       takes  row  node (op)\n");
    t.add("second", "exp", "GPU:0", 6500, 7500);
    t.add("first", "copy", "CPU:0 to GPU:0", 1000, 3250);
    CHECK(t.to_text() == "     begins       takes  row             node (op)\n"
                         "       0.00        2.25  CPU:0 to GPU:0  first (copy)\n"
                         "       5.50        1.00  GPU:0           second (exp)\n");
}

TEST_CASE("a trace is saved as a file; where it cannot be, unavailable_error names the file") {
    const temporary_folder folder;
    tn::trace t;
    t.add("node \"quoted\"", "op", "CPU:0", 1000, 3000);
    t.save(folder / "trace.json");
    const auto read = nlohmann::json::parse(read_bytes(folder / "trace.json"));
    CHECK(read.at("traceEvents").size() == 2);
    const std::string missing = folder / "no/such/folder/trace.json";
    CHECK(has(words_of<tn::unavailable_error>([&] { t.save(missing); }), missing));
}

TEST_CASE("a trace that is taken away is written to no more: set_trace waits for the steps that do") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto y = watched(tn::constant(1.0f), "stays", deed::stay);
    tn::session s;
    tn::trace t;
    s.set_trace(&t);
    present() = 0;
    leave() = false;
    std::thread step([&] { s.run(y); });
    while (present() == 0) std::this_thread::yield();
    std::size_t seen = 0;
    std::thread taker([&] {
        s.set_trace(nullptr);
        seen = t.size();
    });
    leave() = true;
    taker.join();
    CHECK(seen == 1); // written before it was taken away
    step.join();
    CHECK(t.size() == seen);
}

TEST_CASE("traces and measurements come and go while threads run steps") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float>("x");
    const tn::tensor<float, tn::shape<>> y = tn::tanh(x) * 2.0f;
    tn::session s(tn::session_options{.fuse = false});
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    std::atomic<bool> stop{false};
    std::atomic<int> runs{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            while (!stop) {
                step(0.0f);
                ++runs;
            }
        });
    // Two threads that set them: each waits for the steps of the other's.
    for (int k = 0; k < 2; ++k)
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) {
                tn::trace seen, next;
                s.set_trace(&seen);
                s.set_trace(&next);
                tn::cost_measurements times;
                s.set_measurements(&times);
                const int until = runs + 2;
                while (runs < until) std::this_thread::yield();
                s.set_measurements(nullptr);
                s.set_trace(nullptr);
                seen.size();
            }
        });
    for (std::size_t t = 3; t < 5; ++t) threads[t].join();
    stop = true;
    for (std::size_t t = 0; t < 3; ++t) threads[t].join();
    CHECK(runs > 0);
}

TEST_CASE("a step that is recorded cannot wait for itself: set_trace in it is an error, and changes nothing") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto y = watched(tn::constant(1.0f), "calls", deed::call);
    tn::session s(tn::session_options{.inter_op_threads = 1}), other;
    tn::trace t;
    s.set_trace(&t);
    called() = [&] { other.set_trace(nullptr); }; // another session's is no matter
    s.run(y);
    called() = [&] { s.set_trace(nullptr); };
    const std::string words = words_of<tn::failed_precondition_error>([&] { s.run(y); });
    CHECK(has(words, "set_trace: called from within a step that is recorded"));
    CHECK(has(words, "calls (test_watched)"));
    CHECK(t.size() == 1);
    s.set_trace(nullptr);
    s.run(y); // no step is recorded now, so none is waited for
    called() = nullptr;
}
