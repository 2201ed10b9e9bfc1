#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <net/http/status/stalls.hpp>
#include <net/http/status/status_json.hpp>

using namespace tenon::net;

namespace {

task_row task(const std::string& name) { return task_row{.task = name, .address = "127.0.0.1:2222", .reached = true}; }

wait_row waits_for(const std::string& what, double seconds, bool receives) {
    return wait_row{.node = "receive", .op = "receive", .what = what, .seconds = seconds, .edge = receives ? 0 : -1};
}

const std::string tensor =
    "tensor gradients/w from /job:ps/replica:0/task:1/device:CPU:0 to /job:worker/replica:0/task:0/device:CPU:0";

} // namespace

TEST_CASE("the task that a wait is for is read from its words") {
    CHECK(awaited_task(tensor) == "/job:ps/task:1");
    CHECK(awaited_task("its part on /job:ps/task:12") == "/job:ps/task:12");
    CHECK(awaited_task("what it runs after from /job:a/replica:0/task:3/device:GPU:1 to /job:b/task:0") ==
          "/job:a/task:3");
    CHECK(awaited_task("queue \"a from b\" to have 1 element; it has 0") == "");
    CHECK(awaited_task("queue \" from /job:no number/task:x\"") == "");
    CHECK(awaited_task("") == "");
}

TEST_CASE("a stall names who waits, for what, from whom, since when, and when that was last heard of") {
    std::vector<task_row> all = {task("/job:worker/task:0"), task("/job:ps/task:0"), task("/job:ps/task:1")};
    all[0].steps = {
        {7, 3, 12.5, 0, {waits_for("its part on /job:ps/task:1", 12.4, true), waits_for(tensor, 12.2, true)}}};
    all[0].heard = {{"/job:ps/task:0", 1, 0.5, 0, 0}, {"/job:ps/task:1", 1, 11.3, 0, 0}};
    all[2].reached = false;
    all[2].trouble = "/job:ps/task:1 has not been heard of for 11 s";
    std::vector<stall> found = stalls_of(all);
    REQUIRE(found.size() == 1);
    CHECK(found[0].words ==
          "a step on /job:worker/task:0 waits 12 s for gradients/w from /job:ps/task:1, which has not been "
          "heard of for 11 s");
    CHECK(found[0].task == "/job:worker/task:0");
    CHECK(found[0].from == "/job:ps/task:1");
    CHECK(found[0].silence == 11.3);
    CHECK(found[0].session == 7);

    all[0].steps[0].waits.pop_back(); // nothing but its part
    found = stalls_of(all);
    REQUIRE(found.size() == 1);
    CHECK(
        found[0].words ==
        "a step on /job:worker/task:0 waits 12 s for its part on /job:ps/task:1, which has not been heard of for 11 s");

    // Who answers computes, or waits for somebody else; what has not waited long is no stall.
    all[2].reached = true;
    all[0].heard[1].silence = 0.2;
    CHECK(stalls_of(all).empty());
    all[2].reached = false;
    all[0].steps[0].waits[0].seconds = 2;
    CHECK(stalls_of(all).empty());

    // One that was never heard of; and a queue, after it.
    all[0].steps[0].waits[0].seconds = 4;
    all[0].heard.clear();
    all[1].steps = {{7,
                     3,
                     100,
                     0,
                     {waits_for("queue \"jobs\" to have 1 element; it has 0", 99, false),
                      waits_for("variable v, which another step updates", 99, false)}}};
    found = stalls_of(all);
    REQUIRE(found.size() == 2);
    CHECK(found[0].words ==
          "a step on /job:worker/task:0 waits 4.0 s for its part on /job:ps/task:1, which does not answer");
    CHECK(found[1].words == "a step on /job:ps/task:0 waits 99 s for queue \"jobs\" to have 1 element; it has 0");
    CHECK(found[1].from == "");
}

TEST_CASE("status as JSON is JSON whatever names are, and bounded") {
    std::vector<task_row> all = {task("/job:worker/task:0"), task("/job:ps/task:0")};
    all[0].sessions = {{~std::uint64_t{0}, "<script>alert(1)</script>\xff", "1.2.3.4:5", 1, 0.5, 3, 1, 9}};
    all[0].resources = {{"box\x1f", "w\"\n\\", "variable", "/device:CPU:0", "float[2]", 8, 42},
                        {"", "jobs", "queue", "/device:CPU:0", "5 of 100 elements of (float)", 0, 0},
                        {"", "lines", "reader", "/device:CPU:0", "3 records", 0, 0},
                        {"", "c", "counter", "", "", 0, 0}};
    all[0].heard = {{"", 2, -1, 5, 6}, {"/job:ps/task:0", 1, 0.5, 7, 8}};
    for (std::uint64_t i = 0; i < 300; ++i) all[0].steps.push_back({1, i, static_cast<double>(i), 0, {}});
    all[1].reached = false;
    all[1].trouble = "refused";
    const auto j = nlohmann::json::parse(status_json(all, 0.25));
    CHECK(j["format"] == "tenon status");
    CHECK(j["age_seconds"] == 0.25);
    const auto& t = j["tasks"][0];
    CHECK(t["reached"] == true);
    CHECK(t["sessions"][0]["session"] == "18446744073709551615");
    CHECK(t["sessions"][0]["client"] == "<script>alert(1)</script>?");
    CHECK(t["variables"][0]["name"] == "w\"\n\\");
    CHECK(t["variables"][0]["container"] == "box\x1f");
    CHECK(t["variables"][0]["updates"] == 42);
    CHECK(t["queues"][0]["elements"] == 5);
    CHECK(t["queues"][0]["capacity"] == 100);
    CHECK(t["resources"].size() == 1);
    CHECK(t["peers"][0]["task"].is_null());
    CHECK(t["peers"][0]["silence_seconds"].is_null());
    CHECK(t["peers"][1]["silence_seconds"] == 0.5);
    CHECK(t["steps"].size() == 200);
    CHECK(t["steps"][0]["step"] == "299"); // the longest first
    CHECK(t["steps_left_out"] == 100);
    CHECK(j["tasks"][1]["reached"] == false);
    CHECK(j["tasks"][1]["trouble"] == "refused");
    CHECK_FALSE(j["tasks"][1].contains("steps"));
}
