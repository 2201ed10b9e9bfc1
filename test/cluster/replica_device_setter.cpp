#include "tests.hpp"
#include "each_thread.hpp"

// Variables on parameter servers: SEMANTICS 9.

using namespace tn::literals;

namespace {
tn::device_name device_of(const tn::any_tensor& t) { return t.node()->device; }

// The tasks of so many variables, made one after another.
std::vector<int> tasks_of(int variables) {
    std::vector<int> tasks;
    for (int i = 0; i < variables; ++i) tasks.push_back(device_of(tn::variable("v", 0.0f)).task);
    return tasks;
}

template <int N> int task_of_sized() { return device_of(tn::variable<float, tn::shape<N>>("v", tn::zeros())).task; }
} // namespace

TEST_CASE("SEMANTICS 9: variables go to the tasks in turn, everything else to the worker, inner scopes override") {
    const own_graph g;
    const auto placed = tn::on(tn::replica_device_setter(2));
    const auto v1 = tn::variable("v1", 1.0f), v2 = tn::variable("v2", 2.0f), v3 = tn::variable("v3", 3.0f),
               v4 = tn::variable("v4", 4.0f), v5 = tn::variable("v5", 5.0f);
    int turn = 0;
    for (const auto& v : {v1, v2, v3, v4, v5}) {
        CHECK(device_of(v) == tn::device_name("/job:ps/task:" + std::to_string(turn)));
        turn = 1 - turn;
    }
    const auto s = v1 + v2;
    CHECK(to_string(device_of(s)) == "/job:worker");
    {
        const auto task = tn::on("/task:1");
        const auto p = 2.0f * s;
        CHECK(to_string(device_of(p)) == "/job:worker/task:1");
        const auto cpu = tn::on("/cpu:0");
        const auto q = 3.0f * s;
        CHECK(to_string(device_of(q)) == "/job:worker/task:1/device:CPU:0");
    }
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 9: an explicit task wins but takes its turn in the round") {
    const auto placed = tn::on(tn::replica_device_setter(3));
    CHECK(tasks_of(1) == std::vector<int>{0});
    CHECK(tn::on("/job:ps/task:0", [] { return tasks_of(1); }) == std::vector<int>{0});
    CHECK(tasks_of(2) == std::vector<int>{2, 0});
    // A variable of another job is none of the servers'.
    const auto local = tn::on("/job:worker", [] { return tn::variable("local", 0.0f); });
    CHECK(device_of(local) == "/job:worker"_dev);
    CHECK(tasks_of(1) == std::vector<int>{1});
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 9: least-loaded counts bytes; ties go to the lowest index") {
    const auto placed = tn::on(tn::replica_device_setter(3, {.strategy = tn::ps_strategy::least_loaded}));
    CHECK(task_of_sized<100>() == 0);
    CHECK(task_of_sized<10>() == 1);
    CHECK(task_of_sized<20>() == 2);
    CHECK(task_of_sized<10>() == 1); // 100, 20, 20
    CHECK(task_of_sized<1>() == 1);
    CHECK(task_of_sized<1>() == 2);
    CHECK(tn::on("/task:2", [] { return task_of_sized<200>(); }) == 2);
    CHECK(task_of_sized<50>() == 1); // the pinned one counts where it is
    CHECK(task_of_sized<50>() == 1);
    CHECK(task_of_sized<50>() == 0);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 9: zero ps tasks have no effect") {
    const auto gpu = tn::on("/gpu:1");
    const auto placed = tn::on(tn::replica_device_setter(0));
    CHECK(device_of(tn::variable("v", 0.0f)) == "/gpu:1"_dev);
    CHECK(device_of(tn::constant(1.0f)) == "/gpu:1"_dev);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 9: a cluster gives the tasks that its job has, also sparse ones") {
    const tn::cluster c({{"servers", {{1, "a:1"}, {4, "b:1"}}}, {"worker", {"c:1", "d:1"}}});
    const auto placed = tn::on(
        tn::replica_device_setter(c, {.ps_device = "/job:servers/cpu:0", .worker_device = "/job:worker/task:1/gpu:0"}));
    CHECK(tasks_of(3) == std::vector<int>{1, 4, 1});
    CHECK(device_of(tn::variable("v", 0.0f)) == "/job:servers/task:4/cpu:0"_dev);
    CHECK(device_of(tn::constant(1.0f)) == "/job:worker/task:1/gpu:0"_dev);
}

TEST_CASE("what a setter cannot do is an error when it is made") {
    const tn::cluster c({{"servers", {"a:1"}}});
    CHECK(message_of<tn::not_found_error>([&] { tn::replica_device_setter s(c); }) ==
          "the cluster has no job \"ps\"; it has servers");
    using bad = tn::invalid_argument_error;
    CHECK(contains(message_of<bad>([&] { tn::replica_device_setter s(c, {.ps_device = "/cpu:0"}); }),
                   "ps_device /device:CPU:0 names no job of the cluster"));
    CHECK(contains(message_of<bad>([] { tn::replica_device_setter s(-1); }), "ps_tasks is -1; give 0 or more"));
    CHECK(contains(message_of<bad>([] { tn::replica_device_setter s(2, {.ps_device = "/job:ps/task:1"}); }),
                   "ps_device /job:ps/task:1 sets a task; it chooses the task itself"));
}

TEST_CASE("copies of a setter share the turn, in several threads too") {
    const tn::replica_device_setter setter(2);
    const tn::graph one;
    {
        const tn::graph_scope in(one);
        CHECK(tn::on(setter, [] { return tasks_of(1); }) == std::vector<int>{0});
        CHECK(tn::on(setter, [] { return tasks_of(2); }) == std::vector<int>{1, 0});
    }
    constexpr int threads = 4, each = 100; // an even number in all
    std::vector<std::vector<int>> tasks(threads);
    on_threads(threads, [&](int t) {
        const tn::graph_scope in(one);
        tasks[static_cast<std::size_t>(t)] = tn::on(setter, [] { return tasks_of(each); });
    });
    int ones = 0;
    for (const std::vector<int>& of : tasks)
        for (const int task : of) ones += task;
    CHECK(ones == threads * each / 2);
}
