// A step waits for a task that is stopped: what another one tells by HTTP names it. Starts `tenon serve` for each task.
// Where SHOWN_BY is a command, it runs in the middle of it, with the page's address behind it, and must succeed.

#include <chrono>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include <net/http/http_client.hpp>
#include <processes/programs/tasks.hpp>

#include "tests.hpp"

namespace {

// Of the line "... tells how it is at http://ADDRESS".
std::string http_of(task& t) {
    const std::string words = " tells how it is at http://";
    REQUIRE(t.wait_for(words));
    const std::string told = t.told();
    const std::size_t at = told.find(words) + words.size();
    return told.substr(at, told.find('\n', at) - at);
}

nlohmann::json status(const std::string& http) {
    return nlohmann::json::parse(net_test::body_of(net_test::get(http, "/status.json")));
}

} // namespace

TEST_CASE("a task that is stopped is named, with what waits for it, within seconds; and no more when it goes on") {
    tn::set_client_options({.heartbeat = 0.3, .lease = 600});
    processes all(2, 1, {.lease = "600", .more = {"--http", "0"}});
    const std::string worker = http_of(all.at("worker", 0));
    const own_graph g;
    const auto of = [](const char* where, auto&& make) { return tn::on(where, make); };
    const auto a = of("/job:ps/task:0", [] { return tn::variable("a", std::int64_t{1}); });
    // A name that is HTML must be shown as it is.
    const auto b = of("/job:ps/task:1", [] { return tn::variable("<i>gradients</i>/w", std::int64_t{2}); });
    const auto sum = of("/job:worker/task:0", [&] { return a + b; });
    initialized_session sess(all.target(), g);
    CHECK(sess.run(sum)() == 3);
    CHECK(status(worker)["stalls"].empty());

    all.at("ps", 1).stop_still();
    const auto step = sess.callable(tn::feeds(), tn::fetches(sum)).start();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    nlohmann::json seen;
    do {
        seen = status(worker);
        REQUIRE(std::chrono::steady_clock::now() < until);
    } while (seen["stalls"].empty());
    const auto& stall = seen["stalls"][0];
    MESSAGE(stall["words"].get<std::string>());
    CHECK(stall["task"] == "/job:worker/task:0");
    CHECK(stall["from"] == "/job:ps/task:1");
    CHECK(contains(stall["what"].get<std::string>(), "<i>gradients</i>/w"));
    CHECK(stall["seconds"] >= 3);
    CHECK(stall["silence_seconds"] >= 3);
    CHECK(contains(stall["words"].get<std::string>(), "from /job:ps/task:1, which has not been heard of for "));
    // It is served meanwhile as ever, and says which task does not answer.
    CHECK(net_test::status_of(net_test::get(worker, "/healthz")) == "HTTP/1.1 200 OK");
    for (const auto& t : seen["tasks"]) CHECK(t["reached"] == (t["task"] != "/job:ps/task:1"));
    CHECK(contains(net_test::get(worker, "/metrics"), "tenon_peer_silence_seconds{peer=\"/job:ps/task:1\"} "));

    if (const char* command = std::getenv("SHOWN_BY"))
        CHECK(std::system((std::string(command) + " http://" + worker + "/").c_str()) == 0);
    all.at("ps", 1).signal(SIGCONT);
    CHECK(std::get<0>(step.get())() == 3);
    while (!status(worker)["stalls"].empty())
        REQUIRE(std::chrono::steady_clock::now() < until + std::chrono::seconds(60));
}
