#include <net/server/servers.hpp>
#include <net/server/simulated_cluster.hpp>

#include "tests.hpp"

// Who is a task of the cluster, and what is only for tasks.

namespace net = tenon::net;
using namespace std::chrono_literals;
using net_test::simulated_cluster;

namespace {

struct counter {
    own_graph graph;
    std::vector<tn::variable_tensor<std::int64_t, tn::shape<>>> x{
        tn::on("/job:ps/task:0", [] { return tn::variable("x", std::int64_t{0}); })};
    std::vector<tn::tensor<std::int64_t, tn::shape<>>> more{x[0].assign_add(std::int64_t{1})};
};

net::peer_options who_says_it_is(simulated_cluster& all, int task) {
    net::peer_options o = all.dial();
    o.self.job = "worker";
    o.self.task = task;
    return o;
}

} // namespace

TEST_CASE("A task handles every call that there is; what is damaged is answered an error that says so") {
    simulated_cluster all(1, {}, true);
    const net_test::played_task task(all);
    const auto to = net::peer::make(all.client, task.dial());
    for (int v = 0; v < static_cast<int>(net::verb::count); ++v) {
        if (net::is_note(static_cast<net::verb>(v))) continue;
        std::string why;
        try {
            (void)to->ask(static_cast<std::uint8_t>(v), net::bytes(200, std::byte{0xff}), {}, all.in(5s));
        } catch (const tn::error& e) {
            why = e.what();
        }
        INFO(net::name_of(static_cast<net::verb>(v)), ": ", why);
        CHECK(!why.empty());
        CHECK_FALSE(contains(why, "is not called"));
    }
}

TEST_CASE("A client may not call what tasks call: permission_denied_error names role and call, and nothing is done") {
    simulated_cluster all(1, {}, true);
    const auto to = net::peer::make(all.client, all.dial());
    int asked = 0;
    for (int v = 0; v < static_cast<int>(net::verb::count); ++v) {
        const auto which = static_cast<net::verb>(v);
        if (!net::is_of_tasks(which) || net::is_note(which)) continue;
        ++asked;
        // Whatever it says: it is not read.
        CHECK_ERROR(tn::permission_denied_error,
                    std::string("a client may not call ") + net::name_of(which) + " of /job:worker/task:0",
                    to->ask(static_cast<std::uint8_t>(v), net::bytes(40), {}, all.in(5s)));
    }
    CHECK(asked == 10);
    net::begin_session begin{.session = 7};
    begin.tasks.push_back({"/job:worker/task:0", {}, 0});
    CHECK_THROWS_AS(net::ask(*to, begin, all.in(5s)), tn::permission_denied_error);
    CHECK(all.servers[0]->count().of_masters.sessions == 0);

    // Notes of a client about a session that a task has begun are nothing.
    const net_test::played_task test(all);
    const auto as_task = net::peer::make(all.client, test.dial());
    (void)net::ask(*as_task, begin, all.in(5s));
    net::step_values values{.session = 7, .step = 3};
    values.values.push_back({0, tn::any_array(tn::element_type::float32, tn::extents{100})});
    const auto kept = [&] { return all.servers[0]->count().of_masters.exchanged.early_bytes; };
    net::note(*to, values);
    all.network.work_for(100ms);
    CHECK(kept() == 0);
    net::note(*as_task, values);
    all.network.work_for(100ms);
    CHECK(kept() == 400);
    net::note(*to, net::stop_step{7, 3, {tn::error_code::unavailable, "it failed elsewhere"}});
    all.network.work_for(100ms);
    CHECK(kept() == 400);
    CHECK_THROWS_AS(net::ask(*to, net::end_session{7}, all.in(5s)), tn::permission_denied_error);
    CHECK(all.servers[0]->count().of_masters.sessions == 1);
    // What is for clients it may.
    CHECK(net::ask(*to, net::ask_status{false, 1}, all.in(5s)).tasks.size() == 1);
}

TEST_CASE("Who says that it is a task is one only where the task's address in the cluster answers for it") {
    simulated_cluster all(2);
    const auto refused = [&](int task, const char* words, auto error_type) {
        using expected = decltype(error_type);
        const auto to = net::peer::make(all.client, who_says_it_is(all, task));
        CHECK_ERROR(expected, words, net::ask(*to, net::describe_task{}, all.in(20s)));
    };
    const char* const lives = "another process is /job:worker/task:1, and answers at host1:1000";
    refused(1, lives, tn::failed_precondition_error(""));
    const auto own = net::peer::make(all.client, all.dial(1));
    (void)net::ask(*own, net::open_session(), all.in(5s)); // the rightful one is linked
    CHECK(all.servers[0]->count().of_masters.sessions == 1);
    refused(1, lives, tn::failed_precondition_error(""));
    refused(0, "another process is /job:worker/task:0", tn::failed_precondition_error(""));
    refused(9, "the cluster has no /job:worker/task:9", tn::failed_precondition_error(""));
    CHECK(all.servers[0]->count().of_masters.sessions == 1); // it has lost nothing

    all.network.kill("host1");
    all.servers[1].reset();
    refused(1, "host1:1000, does not answer for it", tn::unavailable_error(""));
    all.start(1);
    const auto again = net::peer::make(all.client, all.dial(1));
    (void)net::ask(*again, net::open_session(), all.in(5s)); // a later life of it is
    refused(1, lives, tn::failed_precondition_error(""));
}

TEST_CASE("A process that asks who answers and then says something else, or nothing, is no link, and leaves none") {
    simulated_cluster all(2);
    all.network.cut("host0", "host1"); // the question is under way for long
    const auto to = net::peer::make(all.client, who_says_it_is(all, 1));
    (void)net::call(*to, net::describe_task{}, all.in(60s), [](const net::answer&) {});
    all.network.work_for(500ms);
    CHECK(all.servers[0]->count().called.handshakes == 1);
    to->close();
    all.network.work_for(60s);
    const auto c = all.servers[0]->count().called;
    CHECK(c.handshakes + c.links + c.connections == 0);
}

TEST_CASE(
    "SEMANTICS 28: a second process of a task takes nothing from the one that the cluster's address answers for") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 1);
    const counter c;
    tn::session rightful(all.target("worker", 0), c.graph, {.operation_timeout = 20});
    rightful.run(c.x[0].initializer());
    std::int64_t count = 0;
    CHECK(rightful.run(c.more[0])() == ++count);
    const auto check_goes_on = [&] {
        CHECK(rightful.run(c.more[0])() == ++count);
        tn::session another(all.target("worker", 0), c.graph, {.operation_timeout = 20});
        CHECK(another.run(c.more[0])() == ++count);
    };
    {
        tn::server_options o = net_test::quick();
        o.listen = "127.0.0.1:0";
        const tn::server second(all.cluster, "worker", 0, o); // by mistake
        CHECK_ERROR(tn::unavailable_error, "another process is /job:worker/task:0, and answers at",
                    tn::session(second.target(), c.graph, {.open_timeout = 2}));
        check_goes_on();
    }
    check_goes_on();
    // Its own next life is another matter.
    all.stop("worker", 0);
    all.start("worker", 0);
    tn::session again(all.target("worker", 0), c.graph, {.operation_timeout = 20});
    CHECK(again.run(c.more[0])() == ++count);
}
