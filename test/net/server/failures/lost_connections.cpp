#include <future>

#include <net/server/servers.hpp>

#include "tests.hpp"

// What a network does between clients, masters and workers that themselves are well.

using namespace net_test;
using fate = tcp_proxy::fate;
using way = tcp_proxy::way;
using frame = tcp_proxy::frame;

namespace {

using counter = tn::variable_tensor<std::int64_t, tn::shape<>>;

// x is on ps 0; `more` adds 1 to it.
struct counting {
    counting() {
        const tn::device_scope ps("/job:ps/task:0");
        x.emplace_back(tn::variable("x", std::int64_t{0}));
        more.emplace_back(x[0].assign_add(std::int64_t{1}));
    }
    own_graph graph;
    std::vector<counter> x;
    std::vector<tn::tensor<std::int64_t, tn::shape<>>> more;
};

// One ps and one worker, each behind a network of its own: between the client and its master, and between the master and the ps.
struct two_networks {
    explicit two_networks(tn::server_options o = quick(), double clients_lease = 1) :
        are_quick({}, clients_lease), all(1, 1, std::move(o), true) {}
    tn::session open(const tn::graph& g) { return tn::session(all.target("worker", 0), g); }
    // A session that goes past the networks.
    std::int64_t value() {
        counting c;
        tn::session sess("tenon://" + all.at("ps", 0).address(), c.graph, {.device_filters = {"/job:ps"}});
        return sess.run(c.x[0])();
    }
    void judge_by(const tcp_proxy::judge& j) {
        to_master().judge_by(j);
        to_ps().judge_by(j);
    }
    tcp_proxy& to_master() { return all.proxy("worker", 0); }
    tcp_proxy& to_ps() { return all.proxy("ps", 0); }
    const clients_that are_quick;
    servers all;
};

// The replies to calls of this verb.
struct replies_to {
    tn::net::verb which;
    std::set<std::pair<int, std::uint64_t>> asked = {};
    bool operator()(const frame& f) {
        if (f.goes == way::to_server && f.is_call(which)) asked.emplace(f.connection, f.head.request);
        return f.goes == way::to_client && f.type() == tn::net::message_type::reply &&
               asked.contains({f.connection, f.head.request});
    }
};

} // namespace

TEST_CASE("SEMANTICS 29: a connection that is cut between an assign_add and its reply: it is applied once") {
    for (const bool of_client : {true, false}) {
        CAPTURE(of_client);
        for (const fate how : {fate::cut, fate::cut_inside}) {
            two_networks net;
            counting c;
            tn::session sess = net.open(c.graph);
            sess.run(tn::initialize_variables());
            std::atomic<int> cuts{0}, seen{0};
            (of_client ? net.to_master() : net.to_ps())
                .judge_by([&, is = replies_to{of_client ? tn::net::verb::run_step : tn::net::verb::run_part}](
                              const frame& f) mutable {
                    if (!is(f) || ++seen % 3) return fate::pass;
                    ++cuts;
                    return how;
                });
            for (std::int64_t i = 1; i <= 30; ++i) REQUIRE(sess.run(c.more[0])() == i);
            CHECK(cuts >= 10);
            CHECK(net.value() == 30);
        }
    }
}

TEST_CASE(
    "SEMANTICS 29: connections that are cut anywhere, in handshakes, calls and replies: each step is applied once") {
    for (const unsigned seed : {1u, 2u}) {
        CAPTURE(seed);
        two_networks net;
        counting c;
        tn::session sess = net.open(c.graph);
        sess.run(tn::initialize_variables());
        net.judge_by([dice = std::mt19937(seed)](const frame&) mutable {
            const auto n = dice() % 24;
            return n == 0 ? fate::cut : n == 1 ? fate::cut_inside : fate::pass;
        });
        for (std::int64_t i = 1; i <= 60; ++i) REQUIRE(sess.run(c.more[0])() == i);
        net.judge_by({});
        CHECK(net.to_master().connections() > 2);
        CHECK(net.to_ps().connections() > 2);
        CHECK(net.value() == 60);
    }
}

TEST_CASE("SEMANTICS 29: frames that come twice, and behind later ones, change nothing") {
    for (const unsigned seed : {1u, 2u}) {
        CAPTURE(seed);
        two_networks net;
        counting c;
        tn::session sess = net.open(c.graph);
        sess.run(tn::initialize_variables());
        std::atomic<int> odd{0};
        net.judge_by([&, dice = std::mt19937(seed)](const frame& f) mutable {
            if (!f.is_of_link()) return fate::pass;
            const auto n = dice() % 8;
            if (n < 3) ++odd;
            return n < 2 ? fate::twice : n == 2 ? fate::after_next : fate::pass;
        });
        auto step = sess.callable(tn::feeds(), tn::fetches(c.more[0]));
        std::int64_t sum = 0;
        for (int round = 0; round < 8; ++round) { // several are under way, so that there is what to overtake
            std::vector<decltype(step.start())> some;
            for (int i = 0; i < 8; ++i) some.push_back(step.start());
            for (const auto& s : some) sum += std::get<0>(s.get())();
        }
        CHECK(sum == 64 * 65 / 2); // each number was seen once
        net.judge_by({});
        CHECK(odd > 20);
        CHECK(net.value() == 64);
    }
}

TEST_CASE("SEMANTICS 29: a frame that is damaged on its way is sent again over another connection, and who sent it is "
          "named") {
    two_networks net;
    counting c;
    tn::session sess = net.open(c.graph);
    sess.run(tn::initialize_variables());
    net.judge_by([dice = std::mt19937(1)](const frame& f) mutable {
        return f.is_of_link() && dice() % 10 == 0 ? fate::damaged : fate::pass;
    });
    for (std::int64_t i = 1; i <= 60; ++i) REQUIRE(sess.run(c.more[0])() == i);
    net.judge_by({});
    CHECK(net.value() == 60);
    CHECK(net.all.log->wait_for({"link ", "a client (127.0.0.1:", "has lost its connection", "checksum"}) != "");
}

TEST_CASE("SEMANTICS 29: a reply that is lost with its server: the outcome is unknown, and nothing is applied again") {
    two_networks net;
    counting c;
    {
        tn::session sess = net.open(c.graph);
        sess.run(tn::initialize_variables(), c.more[0]);
    }
    std::promise<void> answered;
    tn::session sess = net.open(c.graph);
    (void)sess.run(c.x[0]);
    net.to_master().judge_by([&, is = replies_to{tn::net::verb::run_step}, lost = false](const frame& f) mutable {
        if (is(f) && !std::exchange(lost, true)) answered.set_value();
        return lost && f.goes == way::to_client ? fate::drop : fate::pass;
    });
    const auto step = sess.callable(tn::feeds(), tn::fetches(c.more[0])).start();
    answered.get_future().wait();
    net.all.stop("worker", 0);
    net.to_master().judge_by({});
    net.to_master().cut_all();
    net.all.start("worker", 0);
    try {
        (void)step.get();
        FAIL("the reply was lost");
    } catch (const tn::error& e) {
        const std::string words = e.what();
        CAPTURE(words);
        CHECK((e.code() == tn::error_code::aborted || e.code() == tn::error_code::unavailable));
        CHECK(contains(words, net.to_master().address()));
        CHECK(contains(words, "whether the call took effect is unknown"));
    }
    CHECK(net.value() == 2);
    // And what is lost between master and worker: its step fails, and names the worker.
    tn::session again = net.open(c.graph);
    (void)again.run(c.x[0]);
    std::promise<void> applied;
    net.to_ps().judge_by([&, is = replies_to{tn::net::verb::run_part}, lost = false](const frame& f) mutable {
        if (is(f) && !std::exchange(lost, true)) applied.set_value();
        return lost && f.goes == way::to_client ? fate::drop : fate::pass;
    });
    const auto other = again.callable(tn::feeds(), tn::fetches(c.more[0])).start();
    applied.get_future().wait();
    CHECK(net.value() == 3);
    net.all.stop("ps", 0);
    net.to_ps().judge_by({});
    net.to_ps().cut_all();
    net.all.start("ps", 0);
    CHECK_ERROR(tn::error, "/job:ps/task:0", other.get());
    CHECK_THROWS_AS(net.value(), tn::failed_precondition_error); // it is a new one, to which nothing was sent again
}

TEST_CASE(
    "SEMANTICS 28: a network that loses what goes one way ends sessions after the lease, on both sides; it heals") {
    for (const bool of_client : {true, false})
        for (const way lost : {way::to_server, way::to_client}) {
            CAPTURE(of_client);
            CAPTURE(lost);
            two_networks net;
            counting c;
            tn::session sess = net.open(c.graph);
            sess.run(tn::initialize_variables());
            CHECK(sess.run(c.more[0])() == 1);
            tcp_proxy& where = of_client ? net.to_master() : net.to_ps();
            where.judge_by([&](const frame& f) { return f.goes == lost ? fate::drop : fate::pass; });
            const std::string named = of_client ? where.address() : "/job:ps/task:0";
            CHECK_ERROR(tn::unavailable_error, named, sess.run(c.more[0]));
            // Whoever does not hear the other gives back what it held for it.
            if (of_client) status_when(net.all.at("worker", 0), [](const auto& row) { return row.sessions.empty(); });
            where.judge_by({});
            where.cut_all();
            const std::int64_t before = net.value();
            CHECK(before == (lost == way::to_server ? 1 : 2));
            tn::session again = net.open(c.graph);
            CHECK(again.run(c.more[0])() == before + 1);
        }
}
