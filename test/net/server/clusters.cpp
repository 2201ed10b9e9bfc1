#include <net/server/servers.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"

TEST_CASE_FIXTURE(in_graph, "TOUR 9: nodes on three tasks; what one computes the next reads") {
    net_test::servers all(2, 3);
    const auto a = tn::on("/job:ps", [&] { return tn::variable("a", 2.0f); });
    const auto b = tn::on("/job:worker", [&] { return a + 2.0f; });
    const auto c = tn::on("/job:worker/task:1", [&] { return b - a + 2.0f; });
    initialized_session sess(all.target("ps", 0), g);
    CHECK(sess.run(c)() == 4.0f);
    const std::string where = sess.explain_placement(c).to_text();
    CHECK(contains(where, "/job:worker/replica:0/task:1/device:CPU:0"));
    for (int i = 0; i < 50; ++i) CHECK(sess.run(c)() == 4.0f);
}

TEST_CASE("SEMANTICS 25: variables live on their task and outlive the session; another server's session finds them") {
    net_test::servers all(1, 2);
    const auto make = [] {
        const tn::device_scope ps("/job:ps");
        return tn::variable("x", std::int64_t{0});
    };
    {
        const own_graph g;
        const auto x = make();
        const auto more = x.assign_add(std::int64_t{1});
        initialized_session sess(all.target("worker", 0), g);
        CHECK(sess.run(more)() == 1);
    }
    const own_graph g;
    const auto x = make();
    const auto more = x.assign_add(std::int64_t{1});
    tn::session sess(all.target("worker", 1), g);
    CHECK(sess.run(more)() == 2);
    tn::session::reset(all.target("worker", 0));
    CHECK_THROWS_AS(sess.run(more), tn::failed_precondition_error);
}

TEST_CASE("SEMANTICS 25: a reset that names no container clears the default one of every task, and no other") {
    const net_test::clients_that are_quick;
    net_test::servers all(2, 1);
    for (const char* task : {"/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0"}) {
        CAPTURE(task);
        const own_graph g;
        const tn::device_scope there{tn::device_name(task)};
        const auto x = tn::variable("x", std::int64_t{1});
        const auto kept = [] {
            const tn::container_scope in("box");
            return tn::variable("kept", std::int64_t{2});
        }();
        tn::session sess(all.target("worker", 0), g);
        sess.run(x.initializer(), kept.initializer());
        tn::session::reset(all.target("ps", 0), {});
        CHECK_THROWS_AS(sess.run(x), tn::failed_precondition_error);
        CHECK(sess.run(kept)() == 2);
    }
}

TEST_CASE("SEMANTICS 24: a session whose tasks are missing fails at its deadline and names them") {
    const std::vector<std::string> at = free_addresses(3);
    const tn::server ps(tn::cluster({{"ps", {at[0], at[1]}}, {"worker", {at[2]}}}), "ps", 0);
    CHECK_ERROR(tn::unavailable_error, "/job:ps/task:1", tn::session(ps.target(), {.open_timeout = 0.5}));
    const tn::session alone(ps.target(), {.device_filters = {"/job:ps/task:0"}, .open_timeout = 0.5});
}

TEST_CASE("SEMANTICS 24: a filter that names no task of the cluster is refused, with the tasks that there are; where a "
          "device's "
          "task is left out the message says by what") {
    net_test::servers all(1, 2);
    const own_graph g;
    for (const char* f : {"/job:pss", "/job:worker/task:2"})
        CHECK_ERROR(tn::not_found_error,
                    std::string("session_options::device_filters has \"") + f +
                        "\", which names no task of the cluster; it has /job:worker/task:0, /job:ps/task:0, "
                        "/job:worker/task:1",
                    tn::session(all.target("worker", 0), g, {.device_filters = {"/job:ps", f}}));
    const auto v = tn::on("/job:ps/task:0", [] { return tn::variable("v", 1.0f); });
    tn::session without(all.target("worker", 0), g, {.device_filters = {"/job:worker"}});
    CHECK_ERROR(tn::invalid_argument_error, "session_options::device_filters leave it out",
                without.run(v.initializer()));
}

TEST_CASE("control flow runs on the task of its node, of variables of another, with its gradient, and stops there") {
    net_test::servers all(1, 1);
    tn::array<float, tn::shape<tn::dyn, 3, 2>> steps(5);
    tn::array<float, tn::shape<3, 2>> first;
    float value = -1;
    for (float& v : steps) v = value += 0.07f;
    for (float& v : first) v = value -= 0.1f;
    // The loss and its gradients, and again after a loop without an end was stopped.
    const auto results = [&](const std::string& target, const char* ps, const char* worker) {
        const own_graph g;
        const auto w = tn::on(ps, [] { return tn::variable<float, tn::shape<2, 2>>("w", tn::constant_value(0.5)); });
        const auto x = tn::placeholder<float, tn::shape<tn::dyn, 3, 2>>("x");
        const auto start = tn::placeholder<float, tn::shape<3, 2>>("start");
        const auto run = [&](const auto& c, const auto& v) {
            const auto next = tanh(tn::matmul(c, w) + v);
            return std::pair(next, next);
        };
        const auto h = tn::on(worker, [&] { return tn::scan(run, start, x).first; });
        const auto loss = tn::cond(
            sum(h) > 1000.0f, [&] { return sum(h); }, [&] { return sum(h * h); });
        const auto [dw, dx] = tn::gradients(loss, w, x);
        const auto endless = tn::on(worker, [&] {
            return tn::while_loop([](const auto& v) { return sum(v) < 1e9f; }, [](const auto& v) { return v * 1.0f; },
                                  start);
        });
        initialized_session s(target, g);
        const auto [l, a, b] = s.run(loss, dw, dx, tn::feed(x, steps), tn::feed(start, first));
        CHECK_THROWS_AS(s.run_for(0.2, endless, tn::feed(start, first)), tn::deadline_exceeded_error);
        CHECK(s.run(loss, tn::feed(x, steps), tn::feed(start, first)) == l);
        return std::tuple(l.copy(), a.copy(), b.copy());
    };
    const auto here = results("", "/cpu:0", "/cpu:0");
    const auto there = results(all.target("worker", 0), "/job:ps", "/job:worker");
    CHECK(std::get<0>(here) == std::get<0>(there));
    CHECK(std::get<1>(here) == std::get<1>(there));
    CHECK(std::get<2>(here) == std::get<2>(there));
}
