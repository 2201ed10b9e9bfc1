#include <doctest/doctest.h>

#include <memory>

#include <net/client/remote_session.hpp>
#include <net/link/asking.hpp>
#include <net/server/server_core.hpp>
#include <net/transport/simulated.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace net = tenon::net;
using namespace std::chrono_literals;

namespace {

// A cluster of tasks on hosts of their own, and a client; all of it runs on this thread, under simulated time.
struct simulated_cluster {
    explicit simulated_cluster(int tasks = 1) {
        std::vector<std::string> at;
        for (int i = 0; i < tasks; ++i) at.push_back("host" + std::to_string(i) + ":1000");
        const tn::cluster c({{"worker", at}});
        for (int i = 0; i < tasks; ++i) {
            net::server_settings s;
            s.tasks = c;
            s.job = "worker";
            s.task = i;
            s.pool = &pool;
            servers.push_back(
                std::make_unique<net::server_core>(network.start("host" + std::to_string(i)), std::move(s)));
        }
    }
    net::peer_options dial(int task = 0) {
        net::peer_options o;
        o.address = "host" + std::to_string(task) + ":1000";
        o.self.incarnation = client.random_number();
        return o;
    }
    net::time_point in(net::duration d) const { return network.now() + d; }

    tn::thread_pool pool{1};
    net::simulated_network network{1};
    net::transport& client = network.start("client");
    std::vector<std::unique_ptr<net::server_core>> servers;
};

} // namespace

TEST_CASE("What is asked of a session that has ended is aborted, of master and worker, and says so") {
    simulated_cluster all;
    const auto to = net::peer::make(all.client, all.dial());
    const auto check = [&](auto call) {
        call.session = 7;
        CHECK_THROWS_WITH_AS(net::ask(*to, call, all.in(5s)), doctest::Contains("session"), tn::aborted_error);
    };
    check(net::run_step());
    check(net::run_part());
    check(net::register_part());
}

TEST_CASE("A session ends with the last that was made of it, whatever is under way; its steps, with its owner") {
    simulated_cluster all(2);
    const tn::graph g;
    const tn::graph_scope scope(g);
    tn::detail::fetch_request r;
    {
        const tn::device_scope there("/job:worker/task:1");
        const tn::fifo_queue<tn::tensor<float, tn::shape<>>> q(1);
        r.fetches.push_back(std::get<0>(std::tuple(q.dequeue())));
    }
    const auto sessions = [&] {
        return all.servers[0]->count().sessions + all.servers[1]->count().of_masters.sessions;
    };
    auto s = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, tn::session_options());
    auto callable = s->make_callable({}, r);
    auto step = callable->start({}, 0);
    all.network.work_for(900ms);
    CHECK(sessions() == 2);
    s->end();
    s.reset();
    tn::any_array fetched[1];
    CHECK_THROWS_WITH_AS(step->get(fetched), doctest::Contains("its session has ended"), tn::cancelled_error);
    step = callable->start({}, 1); // what was made of it may go on
    callable.reset();
    all.network.work_for(900ms);
    CHECK(sessions() == 2);
    step.reset();
    all.network.work_for(50ms);
    CHECK(sessions() == 0);
    CHECK(all.servers[1]->count().of_masters.steps == 0);
}

TEST_CASE("A client that leaves while its session is opened leaves nothing of it on any task") {
    simulated_cluster all(3);
    for (int leaves = 0; leaves < 100; ++leaves) {
        const auto to = net::peer::make(all.client, all.dial());
        (void)net::call(*to, net::open_session(), all.in(5s), [](const net::answer&) {});
        all.network.work_for(leaves * 20us);
        to->close();
        all.network.work_for(1s);
        for (const auto& s : all.servers) {
            const auto c = s->count();
            CHECK(c.sessions + c.of_masters.sessions + c.of_masters.meetings.sessions == 0);
        }
    }
}

TEST_CASE("SEMANTICS 17: the limit of a step on servers is of their transport's time") {
    simulated_cluster all(2);
    const tn::graph g;
    const tn::graph_scope scope(g);
    tn::detail::fetch_request r;
    {
        const tn::device_scope there("/job:worker/task:1");
        const tn::fifo_queue<tn::tensor<float, tn::shape<>>> q(1);
        r.fetches.push_back(std::get<0>(std::tuple(q.dequeue())));
    }
    const auto s = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, tn::session_options());
    const auto began = all.network.now();
    const auto step = s->make_callable({}, r)->start({}, 1000);
    tn::any_array fetched[1];
    CHECK_THROWS_AS(step->get(fetched), tn::deadline_exceeded_error);
    CHECK(all.network.now() - began >= 1000s);
    CHECK(all.network.now() - began < 1001s);
}
