#include <net/server/servers.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"

TEST_CASE_FIXTURE(in_graph, "TOUR 1, SEMANTICS 22: a local server, and a session on it") {
    tn::server s = tn::server::create_local_server();
    const auto hello = tn::constant(std::string("Hello distributed Tenon!"));
    tn::session sess(s.target(), g);
    CHECK(sess.run(hello)() == "Hello distributed Tenon!");
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 24: a session on a server behaves as a local one") {
    tn::server s = tn::server::create_local_server();
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const auto v = tn::variable<float, tn::shape<>>("v", tn::zeros());
    const auto add = v.assign_add(tn::sum(x));
    initialized_session sess(s.target(), g);
    auto step = sess.callable(tn::feeds(x), tn::fetches(add));
    const tn::array<float, tn::shape<tn::dyn>> three{1.0f, 1.0f, 1.0f};
    for (int i = 1; i <= 5; ++i) {
        auto [sum] = step(three);
        CHECK(sum() == 3.0f * static_cast<float>(i));
    }
    CHECK(sess.run(v)() == 15.0f);
    CHECK_THROWS_AS(sess.run(x + 1.0f), tn::invalid_argument_error);
    const auto w = tn::variable<float, tn::shape<>>("w", tn::zeros());
    CHECK_THROWS_AS(sess.run(w), tn::failed_precondition_error); // SEMANTICS 18, in a graph that has grown
    sess.close();
    CHECK_THROWS_WITH_AS(sess.run(v), "Session is closed.", tn::failed_precondition_error);
}

TEST_CASE("a report has what became of the recordings of a step's parts, on whichever task they are") {
    tn::server_options o = net_test::quick();
    o.gpus = tn::simulated_gpu(1, 16 << 20);
    net_test::servers all(1, 2, o);
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<8>>("x");
    const auto here = tn::on("/job:worker/task:0/gpu:0", [&] { return tn::add_n(x, x); });
    const auto there = tn::on("/job:worker/task:1/gpu:0", [&] { return tn::add_n(x, x, x); });
    tn::session s(all.target("worker", 0), g);
    tn::array<float, tn::shape<8>> fed;
    std::fill(fed.begin(), fed.end(), 2.0f);
    const auto told = [&] { return s.report(tn::feed(x, fed), here, there).recordings; };
    CHECK(told() == tn::recording_counts{});
    for (int i = 0; i < 6; ++i) {
        const auto [a, b] = s.run(tn::feed(x, fed), here, there);
        CHECK(a(7) == 4);
        CHECK(b(0) == 6);
    }
    CHECK(told() == tn::recording_counts{.recorded = 2, .replayed = 10});
}
