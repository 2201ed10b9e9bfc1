#include <nlohmann/json.hpp>

#include <net/command/ask.hpp>
#include <net/http/http_client.hpp>
#include <net/server/servers.hpp>

#include "tests.hpp"

// What servers tell: by HTTP, and in their logs.

using namespace net_test;

namespace {

// Of the line "... tells how it is at http://ADDRESS".
std::string http_of(told_lines& log, const std::string& task) {
    const std::string line = log.wait_for({task, " tells how it is at http://"});
    return line.substr(line.rfind('/') + 1);
}

double metric(const std::string& http, const std::string& series) {
    const std::string text = get(http, "/metrics");
    const std::size_t at = text.find("\n" + series + " ");
    return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + series.size() + 2, nullptr);
}

} // namespace

TEST_CASE("a server tells by HTTP what it has done: steps, parts, bytes, queues, variables, sessions") {
    const clients_that are_quick;
    tn::server_options o = quick();
    o.http = "0";
    servers all(1, 1, o);
    const std::string worker = http_of(*all.log, "/job:worker/task:0"), ps = http_of(*all.log, "/job:ps/task:0");
    while (status_of(get(worker, "/readyz")) != "HTTP/1.1 200 OK") continue; // it sees to it that it has reached the ps
    CHECK(status_of(get(ps, "/readyz")) == "HTTP/1.1 200 OK");

    const own_graph g;
    const tn::device_scope there{tn::device_name("/job:ps/task:0")};
    const auto x = tn::variable("x", std::int64_t{0});
    const auto more = x.assign_add(std::int64_t{1});
    const auto q = tn::fifo_queue<std::int64_t>(8, {.shared_name = "jobs"});
    const auto put = q.enqueue(std::int64_t{1});
    const auto take = q.dequeue();
    {
        initialized_session sess(all.target("worker", 0), g);
        for (int i = 0; i < 5; ++i) (void)sess.run(more);
        sess.run(put);
        sess.run(put);
        CHECK(metric(worker, "tenon_sessions") == 1);
        CHECK(metric(worker, "tenon_steps_total{outcome=\"ok\"}") == 8);
        CHECK(metric(worker, "tenon_step_seconds_count") == 8);
        CHECK(metric(ps, "tenon_step_parts_total{outcome=\"ok\"}") == 8);
        CHECK(metric(ps, "tenon_variable_updates_total{variable=\"x\",container=\"\",device=\"/job:ps/replica:0/task:0/"
                         "device:CPU:0\"}") == 6);
        CHECK(metric(ps, "tenon_queue_elements{queue=\"jobs\",container=\"\",device=\"/job:ps/replica:0/task:0/"
                         "device:CPU:0\"}") == 2);
        CHECK(metric(worker, "tenon_peer_sent_bytes_total{peer=\"/job:ps/task:0\"}") > 8 * 56);
        CHECK(metric(worker, "tenon_peer_received_bytes_total{peer=\"clients\"}") > 0);
        CHECK(metric(worker, "tenon_peer_silence_seconds{peer=\"/job:ps/task:0\"}") >= 0);
        CHECK(metric(worker, "tenon_memory_bytes") >= 0);
        (void)sess.run(take);
        (void)sess.run(take);
        {
            const own_graph training;
            const tn::device_scope on_ps{tn::device_name("/job:ps/task:0")};
            const auto stale = tn::staleness(tn::gradient_descent(0.1f).minimize(tn::square(tn::variable("w", 1.0f))));
            initialized_session trains(all.target("worker", 0), training);
            CHECK(trains.run(stale)() == 0);
            CHECK(trains.run(stale)() == 0);
        }
        CHECK(metric(worker, "tenon_step_staleness_bucket{le=\"0\"}") == 2);
        CHECK_THROWS_AS((void)sess.run_for(0.2, take), tn::deadline_exceeded_error);
        CHECK(metric(worker, "tenon_steps_total{outcome=\"late\"}") == 1);
        CHECK(metric(ps, "tenon_step_parts_total{outcome=\"late\"}") == 1);
    }
    const auto j = nlohmann::json::parse(body_of(get(worker, "/status.json")));
    CHECK(j["tasks"].size() == 2);
    CHECK(j["tasks"][0]["task"] == "/job:worker/task:0");
    CHECK(j["tasks"][0]["steps_ended"] == 14);
    CHECK(j["tasks"][0]["steps_failed"] == 1);
    std::string variables;
    for (const auto& v : j["tasks"][1]["variables"]) variables += v["name"].get<std::string>() + " ";
    CHECK(variables == "global_step trained_steps w x ");
    const auto by_command = nlohmann::json::parse(tn::command::status_of(all.target("worker", 0), true, 5, true).text);
    CHECK(by_command["tasks"].size() == 2);
    CHECK(by_command["tasks"][0]["steps_ended"] == 14);

    // Counters go on when links and sessions have ended.
    const double sent = metric(ps, "tenon_peer_sent_bytes_total{peer=\"/job:worker/task:0\"}");
    CHECK(sent > 0);
    all.stop("worker", 0);
    status_when(all.at("ps", 0), [](const auto& row) {
        for (const auto& h : row.heard)
            if (h.task == "/job:worker/task:0") return h.links == 0;
        return true;
    });
    CHECK(metric(ps, "tenon_peer_sent_bytes_total{peer=\"/job:worker/task:0\"}") >= sent);
    CHECK(status_of(get(ps, "/healthz")) == "HTTP/1.1 200 OK");
}

TEST_CASE_FIXTURE(in_graph, "a step that waits says so on its master, for a queue and for the part of another task") {
    const clients_that are_quick;
    servers all(1, 1);
    const auto q = [] {
        const tn::device_scope there{tn::device_name("/job:ps/task:0")};
        return tn::fifo_queue<std::int64_t>(8, {.shared_name = "jobs"});
    }();
    const auto sum = [&] {
        const tn::device_scope here{tn::device_name("/job:worker/task:0")};
        return q.dequeue() + std::int64_t{1};
    }();
    tn::session sess(all.target("worker", 0), g);
    const auto step = sess.callable(tn::feeds(), tn::fetches(sum)).start();
    const auto row = status_when(all.at("worker", 0),
                                 [](const auto& r) { return r.steps.size() == 1 && r.steps[0].waits.size() >= 2; });
    std::string waits;
    for (const auto& w : row.steps[0].waits) waits += w.what + "\n";
    CHECK_MESSAGE(contains(waits, " from /job:ps/replica:0/task:0/device:CPU:0"), waits);
    CHECK_MESSAGE(contains(waits, "its part on /job:ps/task:0"), waits);
    const auto there =
        status_when(all.at("ps", 0), [](const auto& r) { return r.steps.size() == 1 && r.steps[0].waits.size() == 1; });
    CHECK(there.steps[0].waits[0].what == "queue \"jobs\" to have 1 element; it has 0");
    sess.run(q.enqueue(std::int64_t{6}));
    CHECK(std::get<0>(step.get())() == 7);
    CHECK(status_when(all.at("worker", 0), [](const auto& r) { return r.steps.empty(); }).steps_ended == 2);
}

TEST_CASE("a log has what should be looked at; links, clients and probes are said below that") {
    const clients_that are_quick;
    const auto log = std::make_shared<told_lines>(), verbose = std::make_shared<told_lines>();
    tn::server_options o = quick();
    o.token = "secret";
    o.http = "0";
    o.log = [log](const std::string& line) { log->add(line); };
    o.log_verbose = [verbose](const std::string& line) { verbose->add(line); };
    tn::server s = tn::server::create_local_server(std::move(o));
    const std::string http = http_of(*log, "/job:local/task:0");
    const std::string before = log->text();
    { // a probe that connects and goes
        const raw_socket probe(s.address()), other(http);
    }
    (void)answer_to(s.address(), "GET /healthz HTTP/1.1\r\nHost: localhost\r\nUser-Agent: some-probe/1.0\r\n\r\n");
    (void)answer_to(s.address(), "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + std::string(600, 'x')); // TLS
    (void)get(http, "/healthz");
    tn::set_client_options({.token = "secret", .heartbeat = 0.2, .lease = 1});
    CHECK(tn::command::status_of(s.target(), true, 5).is_whole);
    const std::string linked = verbose->wait_for({"link ", "a client (127.0.0.1:", " is there"});
    CHECK(linked != "");
    CHECK(verbose->wait_for({"link ", " is lost: said goodbye"}) != "");
    CHECK(verbose->wait_for({"no link with 127.0.0.1:", "does not begin as one"}) != "");
    CHECK(verbose->wait_for({"no link with 127.0.0.1:", "the other side closed the connection"}) != "");
    CHECK(log->text() == before);

    tn::set_client_options({.token = "wrong", .heartbeat = 0.2, .lease = 1});
    CHECK_THROWS_AS((void)tn::command::status_of(s.target(), true, 5), tn::permission_denied_error);
    CHECK(log->wait_for({"refused 127.0.0.1:", "the token is not the cluster's"}) != "");
}

TEST_CASE("a server's place for HTTP is refused, or said to be taken, before anybody relies on it") {
    tn::server_options o = quick();
    o.http = "everywhere";
    CHECK_ERROR(tn::invalid_argument_error, "server_options::http=\"everywhere\"", tn::server::create_local_server(o));
    o.http = "0.0.0.0:0";
    o.insecure = true;
    CHECK_ERROR(tn::permission_denied_error, "give the server a token", tn::server::create_local_server(o));
    ::setenv("TENON_HTTP", "0.0.0.0:0", 1);
    o.http.clear();
    CHECK_ERROR(tn::permission_denied_error, "TENON_HTTP=\"0.0.0.0:0\"", tn::server::create_local_server(o));
    ::unsetenv("TENON_HTTP");
}
