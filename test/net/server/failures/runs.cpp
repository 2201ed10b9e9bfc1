#include <net/server/server_core.hpp>
#include <net/server/servers.hpp>

#include "tests.hpp"

// Runs of a cluster, and who takes part in them.

namespace net = tenon::net;
using namespace std::chrono_literals;
using net_test::servers;

namespace {

const std::vector<std::pair<std::string, int>> the_ps{{"ps", 0}};

net::membership_limits patient() { return {60s, 60s}; }

} // namespace

TEST_CASE("SEMANTICS 22: tasks of two runs refuse each other, whatever their addresses") {
    const net_test::clients_that clients;
    servers all(1, 1);
    all.stop("worker", 0);
    all.options.run = "another";
    all.start("worker", 0);
    const auto x = tn::on("/job:ps/task:0", [] { return tn::variable("x", 1.0f); });
    tn::session_options soon{.open_timeout = 1};
    const std::string why =
        message_of<tn::error>([&] { tn::session(all.at("worker", 0).target(), soon).run(x.initializer()); });
    CHECK(contains(why, "another run"));
    CHECK(contains(why, "/job:ps/task:0"));
    CHECK_ERROR(tn::failed_precondition_error, "another run", net::core_of(all.at("worker", 0)).attend(the_ps, 30s));
    // A client of one is nobody's enemy.
    tn::session here(all.at("ps", 0).target(), {.device_filters = {"/job:ps"}});
    here.run(x.initializer());
}

TEST_CASE("a task that holds variables knows who takes part, how each ends, and who is lost") {
    const net_test::clients_that clients;
    servers all(1, 2);
    net::membership& of = net::core_of(all.at("ps", 0)).attending();
    for (const int w : {0, 1}) net::core_of(all.at("worker", w)).attend(the_ps, 30s);
    CHECK(!all.log->wait_for({"/job:worker/task:0 has come"}).empty());
    net::core_of(all.at("worker", 0)).leave(0, 10s);
    all.stop("worker", 1);
    CHECK(!all.log->wait_for({"/job:worker/task:1 is lost"}).empty());
    all.start("worker", 1);
    net::core_of(all.at("worker", 1)).attend(the_ps, 30s);
    CHECK(!all.log->wait_for({"/job:worker/task:1 has come again"}).empty());
    net::core_of(all.at("worker", 1)).leave(5, 10s);
    CHECK(of.wait_until_over(patient()) == 5);
}

TEST_CASE("who takes part tells it again to one that was lost and is back") {
    const net_test::clients_that clients;
    servers all(1, 1);
    net::core_of(all.at("worker", 0)).attend(the_ps, 30s);
    all.stop("ps", 0);
    all.log = std::make_shared<net_test::told_lines>();
    all.options.log = [to = all.log](const std::string& line) { to->add(line); };
    all.start("ps", 0);
    CHECK(!all.log->wait_for({"/job:worker/task:0 has come"}).empty());
    net::core_of(all.at("worker", 0)).leave(3, 10s);
    CHECK(net::core_of(all.at("ps", 0)).attending().wait_until_over(patient()) == 3);
}

TEST_CASE("who is to be told and is not there is named in time") {
    const net_test::clients_that clients;
    servers all(1, 1);
    all.stop("ps", 0);
    const std::string why =
        message_of<tn::deadline_exceeded_error>([&] { net::core_of(all.at("worker", 0)).attend(the_ps, 200ms); });
    CHECK(contains(why, "of those that hold the variables these were not there within 200 ms:"));
    CHECK(contains(why, "/job:ps/task:0"));
}
