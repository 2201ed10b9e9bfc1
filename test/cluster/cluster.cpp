#include "tests.hpp"

// Descriptions of clusters: SEMANTICS 22.

namespace {
using bad = tn::invalid_argument_error;

std::string mistake(std::initializer_list<tn::cluster::named_tasks> jobs) {
    return message_of<bad>([&] { tn::cluster c(jobs); });
}
std::string json_mistake(const std::string& text) {
    return message_of<bad>([&] { tn::cluster::from_json(text); });
}
} // namespace

TEST_CASE("SEMANTICS 22: a cluster is a map from job name to task addresses, a list or sparse by index") {
    const tn::cluster c({{"worker", {{3, "b:1"}, {0, "a:1"}}}, {"ps", {"host:2222", "host:2223"}}});
    CHECK(c.jobs() == std::vector<std::string>{"ps", "worker"});
    CHECK(c.tasks("ps") == std::vector<int>{0, 1});
    CHECK(c.tasks("worker") == std::vector<int>{0, 3});
    CHECK(c.address("ps", 1) == "host:2223");
    CHECK(c.address("worker", 3) == "b:1");
    CHECK(c.has("ps"));
    CHECK_FALSE(c.has("chief"));
    CHECK(c.has("worker", 3));
    CHECK_FALSE(c.has("worker", 1));
    CHECK_FALSE(c.has("chief", 0));
    CHECK(tn::cluster().jobs().empty());
}

TEST_CASE("a cluster may be built from what is known at run time") {
    const std::vector<std::string> workers{"a:1", "b:1"};
    const std::vector<std::pair<int, std::string>> servers{{2, "c:1"}};
    const std::vector<tn::cluster::named_tasks> jobs{{"worker", workers}, {"ps", servers}};
    CHECK(tn::cluster(jobs) == tn::cluster({{"ps", {{2, "c:1"}}}, {"worker", {"a:1", "b:1"}}}));
}

TEST_CASE("SEMANTICS 22: a cluster is read from JSON and written to it") {
    const tn::cluster c({{"ps", {"host:2222", "[::1]:2223"}}, {"worker", {{0, "a:1"}, {3, "b-1.example.org:65535"}}}});
    CHECK(c.to_json() ==
          R"({"ps": ["host:2222", "[::1]:2223"], "worker": {"0": "a:1", "3": "b-1.example.org:65535"}})");
    CHECK(tn::cluster::from_json(c.to_json()) == c);
    CHECK(tn::cluster::from_json("{\"cluster\": " + c.to_json() + "}") == c);
    CHECK(tn::cluster::from_json(R"({"worker": {"1": "b:1", "0": "a:1"}})") ==
          tn::cluster({{"worker", {"a:1", "b:1"}}}));
    // A job may be called cluster too.
    const tn::cluster named({{"cluster", {"a:1"}}});
    CHECK(tn::cluster::from_json(named.to_json()) == named);
    const tn::cluster sparse({{"cluster", {{2, "a:1"}}}});
    CHECK(tn::cluster::from_json(sparse.to_json()) == sparse);
    CHECK_FALSE(named == sparse);
}

TEST_CASE("a duplicate address names both places") {
    CHECK(mistake({{"ps", {"a:1", "b:1"}}, {"worker", {"c:1", "b:1"}}}) ==
          "cluster: /job:ps/task:1 and /job:worker/task:1 have the same address, b:1");
    CHECK(contains(mistake({{"ps", {"a:1", "a:1"}}}), "/job:ps/task:0 and /job:ps/task:1 have the same address"));
}

TEST_CASE("a gap in a list names the task, and says that sparse tasks are given by index") {
    CHECK(mistake({{"worker", {"a:1", "", "c:1"}}}) ==
          "cluster: job \"worker\": task 1 has an empty address; where some tasks are left out, give the others by "
          "index: {{0, \"host:port\"}, {3, \"host:port\"}}");
}

TEST_CASE("an address has a host and a port from 1 to 65535") {
    const auto fault = [](const char* address) { return mistake({{"ps", {{0, address}}}}); };
    CHECK(fault("host") == "cluster: job \"ps\": task 0: its address \"host\" has no port; give \"host:port\"");
    CHECK(contains(fault("[::1]"), "has no port"));
    CHECK(contains(fault(":1"), "has no host before its port"));
    for (const char* address :
         {"host:", "host:0", "host:65536", "host:-1", "host:0x1", "host: 1", "host:123456", "a:1 "})
        CHECK(contains(fault(address), "has a port that is no number from 1 to 65535"));
    for (const char* address : {"::1:22", "a b:1", "http://a:1", "[::1:22", "\"a\":1"})
        CHECK(contains(fault(address), "has a host that is neither a name nor an IP address"));
}

TEST_CASE("jobs have names and tasks, indices are not negative, and nothing is given twice") {
    CHECK(contains(mistake({{"p s", {"a:1"}}}), "job \"p s\": a job's name is a letter, then letters, digits"));
    CHECK(contains(mistake({{"", {"a:1"}}}), "job \"\": a job's name"));
    CHECK(contains(mistake({{std::string(48, 'a'), {"a:1"}}}), "at most 47 characters"));
    CHECK(contains(mistake({{"ps", std::vector<std::string>()}}), "job \"ps\" has no tasks"));
    CHECK(contains(mistake({{"ps", {{-1, "a:1"}}}}), "a task's index is -1; it must be from 0"));
    CHECK(contains(mistake({{"ps", {{1, "a:1"}, {1, "b:1"}}}}), "task 1 is given twice, at a:1 and b:1"));
    CHECK(contains(mistake({{"ps", {"a:1"}}, {"ps", {"b:1"}}}), "job \"ps\" is given twice"));
}

TEST_CASE("who asks for what is not there is told what is") {
    const tn::cluster c({{"ps", {"host:2222"}}, {"worker", {{0, "a:1"}, {3, "b:1"}}}});
    using lost = tn::not_found_error;
    CHECK(message_of<lost>([&] { c.address("chief", 0); }) == "the cluster has no job \"chief\"; it has ps, worker");
    CHECK(message_of<lost>([&] { c.tasks("chief"); }) == "the cluster has no job \"chief\"; it has ps, worker");
    CHECK(message_of<lost>([&] { c.address("worker", 1); }) ==
          "the cluster's job \"worker\" has no task 1; it has 0, 3");
    CHECK(message_of<lost>([&] { tn::cluster().tasks("ps"); }) ==
          "the cluster has no job \"ps\"; it has none: set TENON_CLUSTER, or start the program by tenon launch");
}

TEST_CASE("JSON that is no cluster is refused") {
    CHECK_ERROR(tn::data_loss_error, "cluster JSON: it is no JSON at byte", tn::cluster::from_json("{\"ps\": "));
    CHECK(json_mistake("[]") == "cluster JSON: a cluster must be an object of jobs, not a list");
    CHECK(json_mistake("{}") == "cluster JSON: there are no jobs");
    CHECK(json_mistake(R"({"cluster": {}})") == "cluster JSON: there are no jobs");
    CHECK(contains(json_mistake(R"({"cluster": {"ps": ["a:1"]}, "task": 0})"), "job \"cluster\""));
    CHECK(contains(json_mistake(R"({"ps": "a:1"})"),
                   "job \"ps\": its tasks must be a list or an object of addresses, not the text \"a:1\""));
    CHECK(contains(json_mistake(R"({"ps": [1]})"), "an address must be a text \"host:port\", not 1"));
    CHECK(contains(json_mistake(R"({"ps": [null]})"), "an address must be a text \"host:port\", not null"));
    for (const char* index : {"-1", "x", "", "01", "1.0", "1234567890"})
        CHECK(contains(json_mistake("{\"ps\": {\"" + std::string(index) + "\": \"a:1\"}}"),
                       "a task's index is \"" + std::string(index) + "\"; it must be a decimal number"));
    CHECK(contains(json_mistake(R"({"ps": {"0": "a:1", "0": "b:1"}})"), "the member \"0\" twice"));
    CHECK(contains(json_mistake(R"({"ps": []})"), "job \"ps\" has no tasks"));
}
