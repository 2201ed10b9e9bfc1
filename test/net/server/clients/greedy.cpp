#include <net/client/remote_session.hpp>
#include <net/server/simulated_cluster.hpp>

#include "tests.hpp"

// One client's waiting steps stand before nobody: not before other clients' calls, nor its own, nor its end.

namespace net = tenon::net;
using namespace std::chrono_literals;
using net_test::simulated_cluster;

namespace {

constexpr int thousands = 4200; // more than link_limits::calls

// Steps that wait on another task than the master's, for what never comes unless somebody puts it there.
struct waiting_client {
    explicit waiting_client(simulated_cluster& all) : of(all) {
        const tn::graph_scope scope(g);
        const tn::device_scope there("/job:worker/task:1");
        const tn::fifo_queue<std::int64_t> q(1 << 20, {.shared_name = "q"});
        take.fetches.push_back(q.dequeue() + std::int64_t{0});
        put.targets.push_back(q.enqueue(std::int64_t{7}));
        s = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, tn::session_options());
        step = s->make_callable({}, take);
        for (int i = 0; i < thousands; ++i) begun.push_back(step->start({}, 0));
        all.network.work_until([&] { return under_way() == thousands; }, all.in(60s));
    }
    std::size_t under_way() const { return of.servers[1]->count().of_masters.steps; }
    int ended() const {
        int n = 0;
        for (const auto& one : begun) n += one->wait_for(0);
        return n;
    }

    simulated_cluster& of;
    const tn::graph g;
    tn::detail::fetch_request take, put;
    std::shared_ptr<net::remote_session> s;
    std::shared_ptr<tn::detail::callable_state> step;
    std::vector<std::shared_ptr<tn::detail::pending_state>> begun;
};

// Another client of the same master adds on the same task.
void check_other_is_served(simulated_cluster& all) {
    const own_graph g;
    const auto v = tn::on("/job:worker/task:1", [] { return tn::variable("v", std::int64_t{1}); });
    tn::detail::run_request r;
    r.targets.push_back(v.initializer());
    r.timeout = 2;
    const auto began = all.network.now();
    const auto s = std::make_shared<net::remote_session>(all.client, all.dial(), "another", g, tn::session_options());
    CHECK_NOTHROW((void)s->run(std::move(r)));
    CHECK(all.network.now() - began < 1s);
}

} // namespace

TEST_CASE("SEMANTICS 24: thousands of steps of one client that wait keep no other client out, nor its own step that "
          "they wait for") {
    simulated_cluster all(2);
    waiting_client greedy(all);
    CHECK(greedy.under_way() == thousands);
    check_other_is_served(all);
    for (int i = 0; i < 3; ++i) {
        tn::detail::run_request r;
        r.targets = greedy.put.targets;
        r.timeout = 2;
        CHECK_NOTHROW((void)greedy.s->run(std::move(r)));
    }
    all.network.work_for(1s);
    CHECK(greedy.ended() == 3);
    CHECK(greedy.under_way() == thousands - 3);
}

TEST_CASE("close() ends all steps of the session, here and there, however many wait") {
    simulated_cluster all(2);
    waiting_client greedy(all);
    const auto began = all.network.now();
    greedy.s->close();
    CHECK(all.network.now() - began < 1s);
    CHECK(greedy.ended() == thousands);
    tn::any_array fetched[1];
    for (const auto& one : greedy.begun) CHECK_ERROR(tn::cancelled_error, "its session was closed", one->get(fetched));
    check_other_is_served(all);
    all.network.work_for(2s);
    for (const auto& server : all.servers) {
        const auto c = server->count();
        CHECK(c.steps + c.of_masters.steps == 0);
        CHECK(c.called.calls == 0);
    }
}

TEST_CASE("close() of a session whose server is not heard ends its steps here") {
    simulated_cluster all(2);
    waiting_client greedy(all);
    all.network.cut("client", "host0");
    all.network.cut("host0", "client");
    greedy.s->close();
    CHECK(greedy.ended() == thousands);
}

TEST_CASE("limits: a session has as many steps under way as its server takes, more are refused by name; others are "
          "served, and there is room again when some have ended") {
    simulated_cluster all(2, [](net::server_settings& s) { s.of_master.steps = 8; });
    waiting_client greedy(all);
    CHECK(greedy.under_way() == 8);
    CHECK(greedy.ended() == thousands - 8);
    tn::any_array fetched[1];
    CHECK_ERROR(tn::resource_exhausted_error,
                "session: 8 of its steps are under way, which is as many as "
                "/job:worker/task:0 takes",
                greedy.begun.back()->get(fetched));
    check_other_is_served(all);
    greedy.begun.front()->stop();
    all.network.work_for(1s);
    const auto again = greedy.step->start({}, 0);
    all.network.work_for(1s);
    CHECK_FALSE(again->wait_for(0));
    CHECK(greedy.under_way() == 8);
}
