#include <nlohmann/json.hpp>

#include <tenon/runtime/trace/trace_record.hpp>

#include "tests.hpp"
#include "runtime/support.hpp"
#include "trace_picture.hpp"

using namespace probe;
using namespace trace_test;

namespace {

std::vector<nlohmann::json> spans_of(const tn::trace& t) {
    std::vector<nlohmann::json> spans;
    const nlohmann::json all = nlohmann::json::parse(t.to_json());
    for (const auto& e : all.at("traceEvents"))
        if (e.at("ph") == "X") spans.push_back(e);
    return spans;
}

} // namespace

TEST_CASE_FIXTURE(
    in_graph, "a trace has an event for each node that ran, with name, op, begin and length, in the order they ran") {
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

TEST_CASE_FIXTURE(in_graph, "nothing is recorded while no trace is set; a trace may span several steps") {
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
        named = named || (e.at("name") == "thread_name" && e.at("args").at("name") == "CPU:0 thread 0");
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

TEST_CASE_FIXTURE(in_folder, "a trace is saved as a file, whole or not at all; where it cannot be, an error says why") {
    tn::trace t;
    t.add("node \"quoted\"", "op", "CPU:0", 1000, 3000);
    t.save(folder / "trace.json");
    const auto read = nlohmann::json::parse(read_bytes(folder / "trace.json"));
    CHECK(spans_of(t).size() == 1);
    CHECK(read == nlohmann::json::parse(t.to_json()));
    const std::string missing = folder / "no/such/folder/trace.json";
    CHECK_ERROR(tn::not_found_error, "trace::save: '" + missing + "': No such file or directory", t.save(missing));
    // It is another file now, so whoever reads the old one reads all of it.
    const std::string path = folder / "trace.json";
    std::filesystem::create_hard_link(path, folder / "before.json");
    t.add("other", "op", "CPU:0", 4000, 5000);
    t.save(path);
    CHECK(nlohmann::json::parse(read_bytes(folder / "before.json")) == read);
    CHECK(nlohmann::json::parse(read_bytes(path)) == nlohmann::json::parse(t.to_json()));
}

TEST_CASE_FIXTURE(in_graph, "a trace that is taken away is written to no more: set_trace waits for the steps that do") {
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

TEST_CASE_FIXTURE(in_graph, "traces and measurements come and go while threads run steps") {
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

TEST_CASE_FIXTURE(in_graph,
                  "a step that is recorded cannot wait for itself: set_trace in it is an error, and changes nothing") {
    const auto y = watched(tn::constant(1.0f), "calls", deed::call);
    tn::session s(tn::session_options{.inter_op_threads = 1}), other;
    tn::trace t;
    s.set_trace(&t);
    called() = [&] { other.set_trace(nullptr); }; // another session's is no matter
    s.run(y);
    called() = [&] { s.set_trace(nullptr); };
    const std::string words = message_of<tn::failed_precondition_error>([&] { s.run(y); });
    CHECK(contains(words, "set_trace: called from within a step that is recorded"));
    CHECK(contains(words, "calls (test_watched)"));
    CHECK(t.size() == 1);
    s.set_trace(nullptr);
    s.run(y); // no step is recorded now, so none is waited for
    called() = nullptr;
}

TEST_CASE("a task is a process of the trace, and each value from one to another an arrow with its bytes") {
    const tn::task ps{{.intra_op_threads = 1, .job = "ps", .index = 0}};
    const tn::task worker{{.intra_op_threads = 1, .job = "worker", .index = 11}};
    const own_graph g;
    const auto w = tn::on("/job:ps", [] { return tn::variable<float, tn::shape<100>>("w", tn::ones()); });
    const auto there = tn::on("/job:worker", [&] { return tn::identity(w * 2.0f, "there"); });
    const auto back = tn::on("/job:ps", [&] { return tn::identity(there + 1.0f, "back"); });
    initialized_session s(std::vector<tn::task>{ps, worker}, g);
    tn::trace t;
    s.set_trace(&t);
    for (int i = 0; i < 3; ++i) CHECK(s.run(back)(0) == 3.0f);
    s.set_trace(nullptr);
    const picture p(t);
    CHECK(p.processes == std::map<int, std::string>{{1, "/job:ps/task:0"}, {2, "/job:worker/task:11"}});
    for (const auto& e : named(p.of_kind("X"), "there")) {
        if (e.at("cat") != "send" && e.at("cat") != "receive") CHECK(p.task_of(e) == "/job:worker/task:11");
        else CHECK(e.at("args").at("bytes") == 400);
    }
    check_arrows(p, 6); // w, and there, three times
    std::map<std::string, int> to;
    for (const auto& e : p.of_kind("s")) {
        CHECK(e.at("args").at("bytes") == 400);
        ++to[e.at("args").at("to").get<std::string>()];
    }
    CHECK(to == std::map<std::string, int>{{"/job:ps/task:0", 3}, {"/job:worker/task:11", 3}});
    const std::string text = t.to_text();
    CHECK(contains(text, "/job:worker/task:11 CPU:0 waits"));
    CHECK(contains(text, "/job:ps/task:0 CPU:0 thread"));
    // Steps of one trace have numbers of their own.
    std::set<std::uint64_t> steps;
    t.each([&](const tn::trace_event& e) {
        if (e.goes != tn::trace_event::way::none) steps.insert(e.step);
    });
    CHECK(steps.size() == 3);
}

TEST_CASE("two hundred values that are waited for from the beginning, and come one after another, take a row or two") {
    tn::trace t;
    for (int i = 0; i < 200; ++i) {
        const std::string name = "w" + std::to_string(i);
        tn::trace_event e{.name = name, .op = "send", .row = "CPU:0 waits", .task = "/job:ps/task:0"};
        e.begin = 1000 * (i + 1);
        e.end = e.begin + 100;
        e.goes = tn::trace_event::way::send;
        e.step = 7;
        e.edge = i;
        e.bytes = 8;
        t.add(e);
        e.op = "receive";
        e.task = "/job:worker/task:0";
        e.begin = 500;
        e.end += 1500;
        e.goes = tn::trace_event::way::receive;
        t.add(e);
    }
    t.add("queue", "dequeue", "CPU:0 waits", 0, 1000);
    t.add("other", "dequeue", "CPU:0 waits", 10, 20);
    const picture p(t);
    CHECK(p.rows.size() == 1 + 2 + 2);
    std::set<std::string> rows;
    for (const auto& [tid, row] : p.rows) rows.insert(row);
    CHECK(rows == std::set<std::string>{"CPU:0 waits", "CPU:0 waits (2)"});
    check_arrows(p, 200);
    const auto received = named(p.of_kind("X"), "w199");
    CHECK(received.at(1).at("ts") == 200.0);
    CHECK(received.at(1).at("dur") == 1.601); // a nanosecond longer, so that the arrow's end is in it
    CHECK(received.at(1).at("args").at("waited_us") == 201.1);
    CHECK(p.processes.at(1) == "this program");
}

TEST_CASE("a trace of another process, whose clock is seconds ahead, is shown by this one's") {
    constexpr std::int64_t ahead = 5'000'000'000;
    tn::trace there;
    there.add({.name = "mul",
               .op = "mul",
               .row = "CPU:0 thread 0",
               .task = "/job:ps/task:0",
               .begin = ahead + 2000,
               .end = ahead + 3000});
    tn::trace_event e{.name = "w",
                      .op = "send",
                      .row = "CPU:0 waits",
                      .task = "/job:ps/task:0",
                      .begin = ahead + 3000,
                      .end = ahead + 3100};
    e.goes = tn::trace_event::way::send;
    e.edge = 0;
    e.bytes = 16;
    there.add(e);
    tn::trace here;
    e = {.name = "w", .op = "receive", .row = "CPU:0 waits", .task = "/job:worker/task:0", .begin = 1500, .end = 3300};
    e.goes = tn::trace_event::way::receive;
    e.step = 12;
    e.edge = 0;
    e.bytes = 16;
    here.add(e);
    here.add(there.record(ahead + 1100, ahead + 4000), "ps, its first life", 12, 1000, 4300);
    std::map<std::string, std::int64_t> begins;
    here.each([&](const tn::trace_event& each) { begins[each.op] = each.begin; });
    CHECK(std::llabs(begins.at("mul") - 2000) <= 200);
    const picture p(here);
    check_arrows(p, 1);
    CHECK(p.all.at("otherData").at("clock of /job:ps/task:0") == "aligned within 0.200 us");
    // And passed on by a master, with its own clock behind: those that it knows keep theirs.
    tn::trace client;
    client.add(here.record(900, 5000), "master", 3, 100'000'000'000, 100'000'000'000 + 4500);
    begins.clear();
    client.each([&](const tn::trace_event& each) { begins[each.op] = each.begin; });
    CHECK(begins.at("send") <= begins.at("receive") + 1800);
    CHECK(std::llabs(begins.at("receive") - begins.at("mul") + 500) <= 400);
    CHECK(std::llabs(begins.at("mul") - 100'000'000'000) < 10'000);
    check_arrows(picture(client), 1);
}

TEST_CASE("a trace holds no more than it was told to, and says how much was not kept") {
    tn::trace t({.most_events = 3});
    for (int i = 0; i < 10; ++i) t.add("n" + std::to_string(i), "exp", "CPU:0 thread 0", i * 10, i * 10 + 5);
    CHECK(t.size() == 3);
    CHECK(t.dropped() == 7);
    const picture p(t);
    CHECK(p.of_kind("X").size() == 3);
    REQUIRE(p.of_kind("i").size() == 1);
    CHECK(p.of_kind("i")[0].at("name") == "7 more events were not kept");
    CHECK(contains(p.all.at("otherData").at("dropped").get<std::string>(), "7 more events"));
    CHECK(contains(t.to_text(), "7 more events were not kept"));
    tn::trace other({.most_events = 3});
    other.add(t.record(0, 0), "there", 1, 0, 0);
    other.add(t.record(0, 0), "there", 2, 0, 0);
    CHECK(other.size() == 3); // and the second's would have no clock
    CHECK(other.dropped() == 7 + 7 + 3);
    tn::trace texts({.most_text_bytes = 40});
    for (int i = 0; i < 10; ++i) texts.add("node " + std::to_string(i), "exp", "CPU:0", i, i + 1);
    CHECK(texts.size() == 5);
    CHECK(texts.dropped() == 5);
}

TEST_CASE("names that are no UTF-8 leave the trace JSON") {
    tn::trace t;
    t.add("bad \xff\"\n", "op", "CPU:0", 1, 2);
    CHECK(picture(t).of_kind("X").at(0).at("name") == "bad ?\"\n");
}

TEST_CASE("a record from outside is checked: numbers of texts, times") {
    tn::trace from;
    from.add("n", "op", "CPU:0", 10, 20);
    const auto refused = [&](auto change) {
        tn::detail::trace_record r = from.record(5, 25);
        change(r);
        tn::trace to;
        CHECK_THROWS_AS(to.add(r, "there", 1, 0, 30), tn::data_loss_error);
        CHECK(to.size() == 0);
    };
    refused([](auto& r) { r.events[0].name = 99; });
    refused([](auto& r) { r.events[0].clock = 99; });
    refused([](auto& r) { r.events[0].end = 9; });
    refused([](auto& r) { r.events[0].begin = std::numeric_limits<std::int64_t>::min(); });
    refused([](auto& r) { r.began = std::numeric_limits<std::int64_t>::max(); });
    refused([](auto& r) { r.texts[0] = "a clock"; });
    refused([](auto& r) { r.orders.push_back({0, 99, 0, 0}); });
    refused([](auto& r) { r.texts.clear(); });
}
