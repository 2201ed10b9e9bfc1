#include <nlohmann/json.hpp>

#include "tests.hpp"
#include "runtime/place/explained.hpp"
#include "runtime/support.hpp"

// Where nodes run, and what is said of it (SEMANTICS 3 to 8, 12).

using namespace probe;
using tn::literals::operator""_dev;

namespace {

constexpr std::size_t memory = 16 << 20;
constexpr auto cpu0 = "/job:localhost/replica:0/task:0/device:CPU:0"_dev;
constexpr auto cpu1 = "/job:localhost/replica:0/task:0/device:CPU:1"_dev;
constexpr auto gpu0 = "/job:localhost/replica:0/task:0/device:GPU:0"_dev;
constexpr auto gpu1 = "/job:localhost/replica:0/task:0/device:GPU:1"_dev;

tn::session_options with_gpus(int count) { return {.gpus = tn::simulated_gpu(count, memory)}; }

} // namespace

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 3, 4: what asks for nothing runs on GPU 0 where there is one, else on CPU 0") {
    const tn::tensor<float, tn::shape<>> x = tn::placeholder<float>("x") + 1.0f;
    tn::session with(with_gpus(2)), without;
    const auto fed = [&] { return tn::feed(g.tensor("x"), tn::any_array(tn::array<float, tn::shape<>>())); };
    CHECK(of(with.explain_placement(fed(), x), x).device == gpu0);
    CHECK(of(with.explain_placement(fed(), x), x).rule == tn::placement_rule::gpu_default);
    CHECK(of(without.explain_placement(fed(), x), x).device == cpu0);
    CHECK(of(without.explain_placement(fed(), x), x).rule == tn::placement_rule::cpu_default);
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 3: a name without a number is the first of its type, one without a type the task's default") {
    const auto a = tn::constant(1.0f);
    const auto type_only = tn::on("/device:GPU:*", [&] { return exp(a); });
    const auto task_only = tn::on("/job:localhost/task:0", [&] { return tanh(a); });
    tn::session s(with_gpus(2));
    const auto e = s.explain_placement(type_only, task_only);
    CHECK(of(e, type_only).device == gpu0);
    CHECK(of(e, task_only).device == gpu0);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 4: updates of a variable run where it is, whatever their scopes say") {
    const auto v = tn::on("/gpu:1", [] { return tn::variable("v", 3.0f); });
    const auto w = tn::on("/cpu:0", [] { return tn::variable("w", 4.0f); });
    const auto update = tn::on("/cpu:0", [&] { return v.assign_add(1.0f); });
    tn::session s(with_gpus(2));
    const auto e = s.explain_placement(update, v, w);
    CHECK(of(e, v).device == gpu1);
    CHECK(of(e, v).rule == tn::placement_rule::requested);
    CHECK(of(e, w).device == cpu0);
    CHECK(of(e, update).device == gpu1);
    CHECK(of(e, update).rule == tn::placement_rule::with_data);
    CHECK(of(e, update).group == "v");
    s.run(tn::initialize_variables());
    CHECK(s.run(update).item() == 4);
    CHECK(s.run(v + w).item() == 8);
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 4: what uses a queue runs where it is, whatever their scopes say, and that is a CPU") {
    const auto q = tn::on("/cpu:1", [] { return tn::fifo_queue<float>(3, {.name = "jobs"}); });
    const auto size = tn::on("/gpu:0", [&] { return q.size(); });
    const tn::fifo_queue<float> unpinned(3);
    const auto its_size = unpinned.size();
    tn::session_options o = with_gpus(1);
    o.cpu_devices = 2;
    tn::session s(o);
    const auto e = s.explain_placement(size, its_size);
    CHECK(of(e, size).device == cpu1);
    CHECK(of(e, size).rule == tn::placement_rule::with_data);
    CHECK(of(e, size).group == "jobs");
    CHECK(of(e, its_size).device == cpu0);
    CHECK(s.run(size).item() == 0);

    const auto on_gpu = tn::on("/gpu:0", [] { return tn::fifo_queue<float>(3, {.name = "on_gpu"}); });
    const auto size_there = on_gpu.size();
    CHECK_ERROR(tn::invalid_argument_error,
                "Cannot assign a device for operation 'on_gpu': Could not satisfy explicit "
                "device specification '/device:GPU:0' because no supported kernel for GPU",
                s.run(size_there));
    o.allow_soft_placement = true;
    CHECK(of(tn::session(o).explain_placement(size_there), size_there).device == cpu0);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 4: what an earlier run has placed stays there") {
    const auto v = tn::variable("v", 2.0f);
    initialized_session s(with_gpus(2));
    // Made later, tied to v, and asking for another device.
    const auto c = tn::colocate_with(v, [&] { return tn::on("/gpu:1", [&] { return tn::identity(v, "c"); }); });
    const std::string why = message_of<tn::invalid_argument_error>([&] { s.run(c); });
    CHECK(contains(why, "cannot place 'c' and 'v' on one device"));
    CHECK(contains(why, "v is on /job:localhost/replica:0/task:0/device:GPU:0 since an earlier run"));
    CHECK(s.run(v).item() == 2);
}

TEST_CASE_FIXTURE(in_graph,
                  "colocated nodes share the device that one of them asks for; requests that differ are both named") {
    const auto a = tn::on("/gpu:1", [] { return tn::identity(tn::constant(1.0f), "a"); });
    const auto b = tn::colocate_with(a, [&] { return tn::identity(tn::constant(2.0f), "b"); });
    const auto c = tn::colocate_with(b, [&] { return tn::identity(tn::constant(3.0f), "c"); });
    const auto bad = tn::colocate_with(a, [&] { return tn::on("/cpu:0", [&] { return tn::identity(a, "bad"); }); });
    tn::session s(with_gpus(2));
    // c brings b and a with it, though it does not read them.
    const auto e = s.explain_placement(c);
    CHECK(of(e, c).device == gpu1);
    CHECK(of(e, c).rule == tn::placement_rule::colocated);
    CHECK(of(e, c).group == "a");
    CHECK(s.run(b).item() == 2);
    tn::session fresh(with_gpus(2));
    const std::string why = message_of<tn::invalid_argument_error>([&] { fresh.run(bad); });
    CHECK(contains(why, "'bad' and 'a'"));
    CHECK(contains(why, "asked for '/device:CPU:0'"));
    CHECK(contains(why, "asked for '/device:GPU:1'"));
    CHECK(fresh.run(a).item() == 1);
    auto soft = with_gpus(2);
    soft.allow_soft_placement = true;
    CHECK(tn::session(soft).run(bad).item() == 1);
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 5: a node where no kernel is: the group, what each asked for, and the kernels that there are") {
    const auto v = tn::on("/gpu:0", [] { return tn::variable("v", tn::constant(5)); });
    const auto word = tn::constant("no");
    const auto text = tn::on("/gpu:0", [&] { return tn::identity(word, "text"); });
    tn::session s(with_gpus(1));
    const std::string why = message_of<tn::invalid_argument_error>([&] { s.run(v.initializer()); });
    CHECK(contains(why, "Cannot assign a device for operation 'v': Could not satisfy explicit device specification "
                        "'/device:GPU:0' because no supported kernel for GPU devices is available"));
    CHECK(contains(why, "\n  v (variable), int32[], asked for '/device:GPU:0'"));
    CHECK(contains(why, "\n  v/assign (assign), int32[], asked for"));
    CHECK(contains(why, "[node v (variable), made at "));
    CHECK(
        contains(why, "\n  variable: device CPU: all element types; device GPU: float, double, half, bfloat16, int64"));
    CHECK_ERROR(tn::invalid_argument_error, "operation 'text'", s.run(text));
    // Nothing was decided by halves: what can be placed still can.
    CHECK(s.run(tn::constant(1.0f) + 1.0f).item() == 2);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 6: a device that is not there: the devices that are, and how GPUs are had") {
    const auto one = tn::constant(1.0f);
    const auto a = tn::on("/gpu:2", [&] { return tn::identity(one, "a"); });
    const auto far = tn::on("/job:ps/task:1", [&] { return tn::identity(one, "far"); });
    tn::session s(with_gpus(2)), plain;
    const std::string why = message_of<tn::invalid_argument_error>([&] { s.run(a); });
    CHECK(contains(why, "operation 'a'"));
    CHECK(contains(why, "[node a (identity), made at "));
    CHECK(contains(why, "'/device:GPU:2'"));
    CHECK(contains(why, "/job:localhost/replica:0/task:0/device:CPU:0"));
    CHECK(contains(why, "/job:localhost/replica:0/task:0/device:GPU:1"));
    CHECK_ERROR(tn::invalid_argument_error,
                "This program has no GPUs: link a GPU library of Tenon, or try the program on simulated ones with "
                "session_options::gpus = simulated_gpu(count, bytes)",
                plain.run(a));
    // Soft placement is advised only where it would help: it changes no job.
    CHECK(contains(why, "set session_options::allow_soft_placement"));
    const std::string why_far = message_of<tn::invalid_argument_error>([&] { s.run(far); });
    CHECK(contains(why_far, "'/job:ps/task:1'"));
    CHECK_FALSE(contains(why_far, "allow_soft_placement"));
    const auto other_cpu = tn::on("/cpu:3", [&] { return tn::identity(one, "other"); });
    CHECK_ERROR(tn::invalid_argument_error, "session_options::cpu_devices", s.run(other_cpu));
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 7: soft placement drops type and index, the log says so; a job or task is never dropped") {
    const auto v = tn::on("/gpu:0", [] { return tn::variable("v", tn::constant(5)); });
    const auto a = tn::on("/gpu:7", [] { return tn::identity(tn::constant(1.0f), "a"); });
    const auto far = tn::on("/job:ps/gpu:0", [] { return tn::identity(tn::constant(1.0f), "far"); });
    std::vector<std::string> lines;
    auto o = with_gpus(1);
    o.allow_soft_placement = o.log_device_placement = true;
    o.placement_log = [&](const std::string& line) { lines.push_back(line); };
    tn::session s(o);
    s.run(v.initializer());
    CHECK(s.run(v).item() == 5);
    CHECK(s.run(a).item() == 1);
    std::string all;
    for (const std::string& l : lines) all += l + "\n";
    CHECK(contains(all, "v: (variable): /job:localhost/replica:0/task:0/device:CPU:0 (soft placement: it asked for "
                        "/device:GPU:0)"));
    // GPU 0 has a kernel for this one.
    CHECK(contains(all, "a: (identity): /job:localhost/replica:0/task:0/device:GPU:0 (soft placement: it asked for "
                        "/device:GPU:7)"));
    CHECK_THROWS_AS((void)s.run(far), tn::invalid_argument_error);
    // Nor where two that must share a device ask for different tasks.
    const auto p = tn::on("/task:0", [] { return tn::identity(tn::constant(1.0f), "p"); });
    const auto q = tn::colocate_with(p, [&] { return tn::on("/task:1", [&] { return tn::identity(p, "q"); }); });
    CHECK_ERROR(tn::invalid_argument_error, "cannot place 'q' and 'p' on one device", s.run(q));
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 7: without GPUs soft placement takes the CPU; what is softened is then placed with its data") {
    const auto v = tn::on("/gpu:1", [] { return tn::variable("v", 1.0f); });
    const auto update = tn::on("/gpu:5", [&] { return v.assign_add(1.0f); });
    auto o = with_gpus(2);
    o.allow_soft_placement = true;
    tn::session two(o);
    for (const auto& n : two.explain_placement(update).nodes) CHECK_MESSAGE(n.device == gpu1, n.name);
    o.gpus = nullptr;
    tn::session none(o);
    for (const auto& n : none.explain_placement(update).nodes) CHECK_MESSAGE(n.device == cpu0, n.name);
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 8: the devices when the session is made, a line for each node that is placed, once") {
    const auto a = tn::on("/cpu:0", [] { return tn::variable("a", 3.0f); });
    const tn::tensor<float, tn::shape<>> c = a * 4.0f;
    std::vector<std::string> lines;
    auto o = with_gpus(1);
    o.log_device_placement = true;
    o.placement_log = [&](const std::string& line) { lines.push_back(line); };
    tn::session s(o);
    REQUIRE(lines.size() == 2);
    CHECK(contains(lines[0], "/cpu:0 -> device: 0, name: CPU, "));
    CHECK(contains(lines[1], "/gpu:0 -> device: 0, name: simulated GPU"));
    lines.clear();
    s.run(tn::initialize_variables());
    CHECK(s.run(c).item() == 12);
    CHECK(std::find(lines.begin(), lines.end(), c.node()->name + ": (mul): " + to_string(gpu0)) != lines.end());
    CHECK(std::find(lines.begin(), lines.end(), "a: (variable): " + to_string(cpu0)) != lines.end());
    lines.clear();
    CHECK(s.run(c).item() == 12);
    CHECK(lines.empty());
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 8: a variable's helpers bear its name, and are logged when a run first needs them") {
    const tn::name_scope layer("layer");
    const auto a = tn::on("/cpu:0", [] { return tn::variable("a", 3.0f); });
    const auto w = tn::variable<float, tn::shape<2>>("w", tn::normal());
    const auto more = a.assign_add(1.0f), less = a.assign_sub(1.0f);
    const auto set = a.assign(2.0f);
    CHECK(a.initializer().name() == "layer/a/assign");
    CHECK(a.initialized_value().name() == "layer/a/initial_value");
    CHECK(w.initialized_value().name() == "layer/w/initial_value");
    CHECK(more.name() == "layer/a/assign_add");
    CHECK(less.name() == "layer/a/assign_sub");
    CHECK(set.name() == "layer/a/assign_1");
    std::vector<std::string> lines;
    auto o = with_gpus(1);
    o.log_device_placement = true;
    o.placement_log = [&](const std::string& line) { lines.push_back(line); };
    tn::session s(o);
    lines.clear();
    s.run(a.initializer());
    const std::string on_cpu = to_string(cpu0);
    CHECK(lines == std::vector<std::string>{"layer/a: (variable): " + on_cpu,
                                            "layer/a/initial_value: (constant): " + on_cpu,
                                            "layer/a/assign: (assign): " + on_cpu});
    lines.clear();
    s.run(more);
    CHECK(lines ==
          std::vector<std::string>{"layer/a/add: (add): " + on_cpu, "layer/a/assign_add: (assign): " + on_cpu});
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 2, 8: the log, the trace, an explanation and a placement function have one word for an op") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    std::vector<std::string> asked;
    const auto placed = tn::on([&](const tn::placed_op& op) {
        asked.emplace_back(op.type);
        return "/cpu:0";
    });
    const tn::tensor<float, tn::shape<2>> sum = x + 1.0f, difference = x - 1.0f, product = x * 3.0f,
                                          quotient = x / 3.0f, other = exp(x);
    CHECK(asked == std::vector<std::string>{"add", "sub", "mul", "div", "exp"});
    std::vector<std::string> lines;
    auto o = with_gpus(1);
    o.fuse = false;
    o.log_device_placement = true;
    o.placement_log = [&](const std::string& line) { lines.push_back(line); };
    tn::session s(o);
    lines.clear();
    tn::trace seen;
    s.set_trace(&seen);
    const tn::array<float, tn::shape<2>> values{1.0f, 2.0f};
    s.run(tn::feed(x, values), sum, difference, product, quotient, other);
    s.set_trace(nullptr);
    const auto e = s.explain_placement(tn::feed(x, values), sum, difference, product, quotient, other);
    const std::string text = seen.to_text();
    const tn::any_tensor all[] = {sum, difference, product, quotient, other};
    REQUIRE(lines.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(lines[i] == all[i].name() + ": (" + asked[i] + "): " + to_string(cpu0));
        CHECK(contains(text, all[i].name() + " (" + asked[i] + ")"));
        CHECK(of(e, all[i]).op == asked[i]);
    }
}

TEST_CASE("SEMANTICS 12: the logical devices of a session, with type, memory and description") {
    auto o = with_gpus(2);
    o.cpu_devices = 2;
    tn::session s(o);
    const auto devices = s.list_logical_devices();
    REQUIRE(devices.size() == 4);
    CHECK(devices[0].name == cpu0);
    CHECK(devices[1].name == cpu1);
    CHECK(devices[2].name == gpu0);
    CHECK(devices[3].name == gpu1);
    CHECK(devices[3].memory == static_cast<std::int64_t>(memory));
    CHECK(contains(devices[3].description, "simulated GPU"));
}

TEST_CASE_FIXTURE(in_graph,
                  "a placement names the rule, the group, and the bytes of what crosses; as text, JSON and a picture") {
    const auto a = tn::on("/gpu:0", [] { return tn::variable<float, tn::shape<10, 10>>("a", tn::zeros()); });
    const auto p = tn::on("/gpu:1", [&] { return matmul(a, a); });
    const auto q = tn::on("/gpu:1", [&] { return exp(a); });
    const auto r = tn::on("/cpu:0", [&] { return p + q; });
    tn::session s(with_gpus(2));
    const auto e = s.explain_placement(r);
    // a crosses once for two readers; the two results cross to the CPU.
    CHECK(e.crossing_bytes() == 3 * 400);
    const std::string text = e.to_text();
    CHECK(contains(text,
                   "a (variable): /job:localhost/replica:0/task:0/device:GPU:0, requested, asked for /device:GPU:0"));
    CHECK(contains(text, "a float[10, 10] crosses from"));
    CHECK(contains(text, "in each step 1200 bytes cross"));
    const auto shifted = tn::on("/gpu:1", [&] { return q + tn::constant(1.0f); });
    const std::string of_shifted = s.explain_placement(shifted).to_text();
    CHECK(contains(of_shifted, " crosses from the host to /job:localhost/replica:0/task:0/device:GPU:1"));
    CHECK(contains(of_shifted, "/job:localhost/replica:0/task:0/device:GPU:1 to the host, fetched: 400 bytes\n"));
    CHECK(contains(of_shifted, "in each step 400 bytes cross, and 400 are fetched"));
    const auto json = nlohmann::json::parse(e.to_json());
    CHECK(json.at("crossing_bytes") == 1200);
    CHECK(json.at("nodes").size() == e.nodes.size());
    CHECK(json.at("nodes")[0].at("rule") == "requested");
    const std::string dot = e.to_dot();
    CHECK(contains(dot, "digraph"));
    CHECK(contains(dot, "cluster_/job:localhost/replica:0/task:0/device:GPU:1"));
    CHECK(contains(dot, "400 B"));
    s.run(tn::initialize_variables());
    CHECK(s.report(r).transfers == 3 + 1 - 1); // and what is fetched is on the CPU already
}

TEST_CASE("options of devices that make no sense are refused, by name") {
    const auto refused = [](auto change) {
        tn::session_options o;
        change(o);
        return message_of<tn::invalid_argument_error>([&] { tn::session s(o); });
    };
    CHECK(contains(refused([](auto& o) { o.cpu_devices = 0; }), "session_options::cpu_devices is 0"));
    CHECK(contains(refused([](auto& o) { o.memory_limit = std::size_t{1} << 62; }), "session_options::memory_limit"));
    CHECK(contains(refused([](auto& o) {
                       o.gpus = tn::simulated_gpu(1, memory);
                       o.gpu_memory.limit = memory + 1;
                   }),
                   "limit"));
    CHECK(contains(refused([](auto& o) {
                       o.gpus = tn::simulated_gpu(1, memory);
                       o.gpu_memory.fraction = 1.5;
                   }),
                   "fraction"));
    CHECK_ERROR(tn::invalid_argument_error, "a count of 0", tn::simulated_gpu(0, memory));
    CHECK_ERROR(tn::invalid_argument_error, "a memory of 0 bytes", tn::simulated_gpu(1, 0));
    CHECK_ERROR(tn::invalid_argument_error, "this machine has", tn::simulated_gpu(1, std::size_t{1} << 62));
    CHECK_ERROR(tn::invalid_argument_error, "bandwidth", tn::simulated_gpu(1, memory, -1));
    CHECK_ERROR(tn::invalid_argument_error, "latency", tn::simulated_gpu(1, memory, 0, -1));
}
