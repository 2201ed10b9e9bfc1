#include <doctest/doctest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/reduction.hpp>
#include <tenon/ops/state.hpp>
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
