#include <net/client/remote_session.hpp>
#include <net/server/servers.hpp>
#include <net/server/simulated_cluster.hpp>

#include "tests.hpp"
#include "trace_picture.hpp"

namespace net = tenon::net;
using namespace std::chrono_literals;
using net_test::simulated_cluster;
using namespace trace_test;

namespace {

// A variable on one task, which two others compute with, and a sum back there.
tn::any_tensor model(const tn::device_name& first, const tn::device_name& second, const tn::device_name& third) {
    const auto w = tn::on(first, [] { return tn::variable<float, tn::shape<50>>("w", tn::ones()); });
    const auto a = tn::on(second, [&] { return tn::identity(w * 2.0f, "a"); });
    const auto b = tn::on(third, [&] { return tn::identity(a * w, "b"); });
    return tn::on(first, [&] { return tn::identity(a + b, "c"); });
}

// By the name of what is sent: when sends began, when receives ended.
void check_order(const tn::trace& t) {
    std::map<std::pair<std::uint64_t, std::int64_t>, std::int64_t> sent;
    t.each([&](const tn::trace_event& e) {
        if (e.goes == tn::trace_event::way::send) sent[{e.step, e.edge}] = e.begin;
    });
    std::size_t received = 0;
    t.each([&](const tn::trace_event& e) {
        if (e.goes != tn::trace_event::way::receive) return;
        ++received;
        REQUIRE(sent.contains({e.step, e.edge}));
        CHECK(e.end >= sent.at({e.step, e.edge}) - 1); // middles are rounded
    });
    CHECK(received == sent.size());
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "a trace of steps on servers has a process for each task, and arrows between them") {
    net_test::servers all(1, 2);
    const tn::any_tensor c = model("/job:ps", "/job:worker/task:0", "/job:worker/task:1");
    initialized_session s(all.target("worker", 1), g);
    tn::trace t;
    t.add("mine", "a data set", "input: mine", 0, 1); // of this program
    s.set_trace(&t);
    for (int i = 0; i < 3; ++i) CHECK(s.run_untyped({}, {c})[0].data<float>()[0] == 4.0f);
    s.set_trace(nullptr);
    const picture p(t);
    std::set<std::string> tasks;
    for (const auto& [pid, task] : p.processes) tasks.insert(task);
    CHECK(tasks == std::set<std::string>{"this program", "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"});
    check_order(t);
    const std::size_t arrows = p.of_kind("s").size();
    CHECK(arrows % 3 == 0);
    CHECK(arrows >= 3 * 5); // w twice, a twice, b, and c where it is fetched
    check_arrows(p, arrows);
    for (const char* task : {"/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"})
        CHECK(p.all.at("otherData").contains("clock of " + std::string(task)));
    for (const auto& e : p.of_kind("s")) CHECK(e.at("args").at("bytes") == 200);
}

TEST_CASE("clocks that are seconds apart are aligned: a value is received after it was sent, and on the way as long as "
          "the lines say") {
    simulated_cluster all(3);
    const tn::net::duration ahead[] = {7s, -5s, 3h};
    for (int i = 0; i < 3; ++i) {
        all.servers[static_cast<std::size_t>(i)].reset();
        all.network.set_clock("host" + std::to_string(i), ahead[i]);
        all.start(i);
    }
    const own_graph g;
    tn::detail::fetch_request r;
    r.fetches.push_back(model("/job:worker/task:1", "/job:worker/task:2", "/job:worker/task:0"));
    const auto s = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, tn::session_options());
    tn::any_array fetched[2];
    tn::detail::fetch_request initial;
    initial.targets.push_back(tn::initialize_variables());
    s->make_callable({}, initial)->run(nullptr, fetched, 0);
    tn::trace t;
    s->set_trace(&t);
    const auto step = s->make_callable({}, r);
    const auto began = all.network.now().time_since_epoch() / 1ns;
    for (int i = 0; i < 5; ++i) {
        step->run(nullptr, fetched, 0);
        CHECK(fetched[0].data<float>()[0] == 4.0f);
    }
    const auto ended = all.network.now().time_since_epoch() / 1ns;
    s->set_trace(nullptr);
    check_order(t);
    const picture p(t);
    CHECK(p.processes.size() == 3);
    check_arrows(p, p.of_kind("s").size());
    for (const auto& of : p.all.at("otherData").items()) {
        const std::string task = of.key(), said = of.value().get<std::string>(); // "aligned within 31.002 us"
        CHECK_MESSAGE(std::stod(said.substr(said.rfind(' ', said.size() - 4))) < 300, task << ": " << said);
    }
    // All of it within the steps, though no clock is right; lines take 100 to 150 microseconds.
    constexpr std::int64_t line = 200'000;
    t.each([&](const tn::trace_event& e) {
        CHECK(e.begin >= began - line);
        CHECK(e.end <= ended + line);
        if (e.goes == tn::trace_event::way::send) CHECK(e.bytes == 200);
    });
}
