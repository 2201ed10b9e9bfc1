#include <net/command/launch_plan.hpp>

#include "tests.hpp"

// What `tenon launch` is to start.

using namespace tenon::command;

namespace {

using list = std::vector<std::string>;

launch_options options(int ps, int workers) {
    return launch_options{.ps = ps, .workers = workers, .program = {"train", "--epochs", "3"}};
}
std::string mistake(const launch_options& o, std::size_t ports) {
    return message_of<tn::invalid_argument_error>([&] { plan_launch(o, "tenon", std::vector<int>(ports, 1), {}); });
}

} // namespace

TEST_CASE("launch: each task is told the cluster and its place in it, parameter servers first") {
    const auto plans = plan_launch(options(1, 2), "/bin/tenon", {11, 12, 13}, {});
    REQUIRE(plans.size() == 3);
    CHECK(plans[0].name() == "ps 0");
    CHECK(plans[0].arguments == list{"/bin/tenon", "serve"});
    CHECK(plans[2].name() == "worker 1");
    CHECK(plans[2].arguments == list{"train", "--epochs", "3"});
    CHECK(plans[2].variables.at("TENON_CLUSTER") ==
          R"({"ps": ["127.0.0.1:11"], "worker": ["127.0.0.1:12", "127.0.0.1:13"]})");
    CHECK(plans[2].variables.at("TENON_JOB") == "worker");
    CHECK(plans[2].variables.at("TENON_TASK") == "1");
}

TEST_CASE("launch: parameter servers run what they are told to") {
    launch_options o = options(1, 1);
    o.ps_command = "server";
    CHECK(plan_launch(o, "tenon", {1, 2}, {})[0].arguments == list{"server"});
    o.ps_command.clear();
    o.ps_run_program = true;
    CHECK(plan_launch(o, "tenon", {1, 2}, {})[0].arguments == o.program);
    o.ps_command = "server";
    CHECK(contains(mistake(o, 2), "give one"));
}

TEST_CASE("SEMANTICS 22: parameter servers are given no GPU, workers share those of the machine") {
    const auto gpus_of = [](int ps, int workers, const list& gpus) {
        std::vector<int> ports;
        for (int i = 0; i < ps + workers; ++i) ports.push_back(i + 1);
        list all;
        for (const task_plan& p : plan_launch(options(ps, workers), "tenon", ports, gpus))
            all.push_back(p.variables.contains("CUDA_VISIBLE_DEVICES") ? p.variables.at("CUDA_VISIBLE_DEVICES")
                                                                       : "unset");
        return all;
    };
    CHECK(gpus_of(1, 2, {"0", "1", "2", "GPU-5f"}) == list{"", "0,1", "2,GPU-5f"});
    CHECK(gpus_of(0, 2, {"0", "1", "2"}) == list{"0,1", "2"});
    CHECK(gpus_of(1, 3, {"4", "5"}) == list{"", "4", "5", "4"});
    CHECK(gpus_of(1, 1, {}) == list{"", "unset"});
    launch_options none = options(0, 1);
    none.gpus = "none";
    CHECK(plan_launch(none, "tenon", {1}, read_gpus("none"))[0].variables.at("CUDA_VISIBLE_DEVICES").empty());
}

TEST_CASE("launch: lists of GPUs") {
    CHECK(read_gpus("0,2,GPU-5f") == list{"0", "2", "GPU-5f"});
    CHECK(read_gpus("").empty());
    CHECK(read_gpus("none").empty());
    CHECK(read_gpus("1,-1,0") == list{"1"});
    for (const char* wrong : {"0,", ",", "0,0", "0 1"}) CHECK_THROWS_AS(read_gpus(wrong), tn::invalid_argument_error);
}

TEST_CASE("launch: what cannot be started is refused") {
    CHECK(contains(mistake(options(0, 0), 0), "there is nothing to start"));
    CHECK(contains(mistake(options(-1, 1), 0), "--ps is -1; it must be from 0 to 1000"));
    launch_options o = options(0, 1);
    o.program.clear();
    CHECK(contains(mistake(o, 1), "what workers run is missing; write it behind two dashes"));
    CHECK_NOTHROW(plan_launch([] { return launch_options{.ps = 1, .workers = 0}; }(), "tenon", {1}, {}));
}

TEST_CASE("launch: tasks on several hosts are dealt out in turn, and meet by their ranks") {
    launch_options o = options(1, 4);
    o.hosts = "a,ada@b,c=10.0.0.3";
    const auto hosts_of = [&] {
        list all;
        for (const task_plan& p : plan_on_hosts(o, "/bin/tenon", 20001)) all.push_back(p.name() + ": " + p.login);
        return all;
    };
    CHECK(hosts_of() == list{"ps 0: a", "worker 0: ada@b", "worker 1: c", "worker 2: a", "worker 3: ada@b"});
    const auto plans = plan_on_hosts(o, "/bin/tenon", 20001);
    CHECK(plans[0].arguments == list{"/bin/tenon", "serve"});
    const auto& of_worker = plans[2].variables;
    CHECK(of_worker.at("TENON_RANK") == "2");
    CHECK(of_worker.at("TENON_TASKS") == "ps=1,worker=4");
    CHECK(of_worker.at("TENON_RENDEZVOUS") == "a:20001");
    CHECK(of_worker.at("TENON_HOST") == "10.0.0.3");
    for (const char* unset : {"CUDA_VISIBLE_DEVICES", "TENON_PORT", "TENON_INSECURE", "TENON_CLUSTER", "PATH"})
        CHECK_FALSE(of_worker.contains(unset));
    CHECK(addresses_of_hosts(o) == list{"a", "b", "10.0.0.3"});

    o.ps_hosts = "fd00::7";
    o.worker_hosts = "d,e";
    CHECK(hosts_of() == list{"ps 0: fd00::7", "worker 0: d", "worker 1: e", "worker 2: d", "worker 3: e"});
    o.port_base = 4000;
    o.insecure = true;
    o.env = {"PATH"};
    o.remote_tenon = "bin/tenon";
    o.gpus = "0,1,2";
    const auto other = plan_on_hosts(o, "/bin/tenon", 4000);
    CHECK(other[0].variables.at("TENON_RENDEZVOUS") == "[fd00::7]:4000");
    CHECK(other[0].variables.at("TENON_HOST") == "[fd00::7]");
    CHECK(other[0].variables.at("CUDA_VISIBLE_DEVICES").empty());
    CHECK(other[0].arguments == list{"bin/tenon", "serve"});
    CHECK(other[1].variables.at("TENON_PORT") == "4001");
    CHECK(other[1].variables.at("TENON_INSECURE") == "1");
    CHECK(other[1].variables.contains("PATH"));
    const char* const gpus[] = {"0,1", "0,1", "2", "2"}; // of each host
    for (std::size_t w = 0; w < 4; ++w) CHECK(other[w + 1].variables.at("CUDA_VISIBLE_DEVICES") == gpus[w]);
    CHECK(addresses_of_hosts(o) == list{"a", "b", "10.0.0.3", "fd00::7", "d", "e"});
}
