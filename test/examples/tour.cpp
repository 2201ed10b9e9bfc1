// The programs of examples/tour print what the comments above them say, and compute what they should. Those that need servers
// are run by test/processes/tour.sh.
#include <tenon/tenon.hpp>

#define main placement_program
#include "../../examples/tour/02_placement.cpp"
#undef main
#define main placement_function_program
#include "../../examples/tour/03_placement_function.cpp"
#undef main
#define main soft_placement_program
#include "../../examples/tour/04_soft_placement.cpp"
#undef main
#define main many_devices_program
#include "../../examples/tour/05_many_devices.cpp"
#undef main
#define main two_branches_program
#include "../../examples/tour/06_two_branches.cpp"
#undef main
#define main gpu_memory_program
#include "../../examples/tour/07_gpu_memory.cpp"
#undef main
#define main control_dependencies_program
#include "../../examples/tour/08_control_dependencies.cpp"
#undef main
#define main replicas_program
#include "../../examples/tour/10_replicas.cpp"
#undef main
#define main random_shuffle_queue_program
#include "../../examples/tour/13_random_shuffle_queue.cpp"
#undef main
#define main padding_queue_program
#include "../../examples/tour/14_padding_queue.cpp"
#undef main
#define main timeout_program
#include "../../examples/tour/15_timeout.cpp"
#undef main
#define main mirrored_program
#include "../../examples/tour/24_mirrored.cpp"
#undef main
#define main csv_reader_program
#include "../../examples/tour/16_csv_reader.cpp"
#undef main
#define main queue_runners_program
#include "../../examples/tour/17_queue_runners.cpp"
#undef main
#define main preloaded_program
#include "../../examples/tour/18_preloaded.cpp"
#undef main
#define main data_sets_program
#include "../../examples/tour/19_data_sets.cpp"
#undef main
#define main wavefront_program
#include "../../examples/tour/23_wavefront.cpp"
#undef main

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/said_output.hpp"
#include "examples/support.hpp"

namespace {

struct span {
    std::string name, row;
    double begin, end; // microseconds
};

std::vector<span> spans_of(const std::string& trace_json) {
    const nlohmann::json all = nlohmann::json::parse(trace_json);
    std::map<int, std::string> rows;
    std::vector<span> spans;
    for (const auto& e : all.at("traceEvents"))
        if (e.at("name") == "thread_name") rows[e.at("tid")] = e.at("args").at("name");
    for (const auto& e : all.at("traceEvents"))
        if (e.at("ph") == "X") {
            const double begin = e.at("ts"), length = e.at("dur");
            spans.push_back({e.at("name"), rows.at(e.at("tid")), begin, begin + length});
        }
    return spans;
}

std::vector<span> spans_in(const std::vector<span>& spans, const std::string& row) {
    std::vector<span> some;
    for (const span& s : spans)
        if (s.row == row) some.push_back(s);
    return some;
}

const span& span_called(const std::vector<span>& spans, const std::string& name) {
    for (const span& s : spans)
        if (s.name == name) return s;
    FAIL("no span " << name);
    return spans.front();
}

} // namespace

TEST_CASE("tour 2: what is pinned to the CPU is there, what is not on the GPU; a second run places nothing") {
    CHECK(is_as_said(output_of(placement_program), "tour/02_placement.cpp"));
}

TEST_CASE("tour 3: a function that places variables on the CPU, all else on the GPU") {
    CHECK(is_as_said(output_of(placement_function_program), "tour/03_placement_function.cpp"));
}

TEST_CASE("tour 4: SEMANTICS 5 and 7: an int32 variable pinned to a GPU is an error, or softly on the CPU") {
    const std::string output = output_of(soft_placement_program);
    CHECK(is_as_said(output, "tour/04_soft_placement.cpp"));
    CHECK(holds(output, "Cannot assign a device for operation 'n': Could not satisfy explicit device specification "
                        "'/device:GPU:0' because no supported kernel for GPU devices is available"));
}

TEST_CASE("tour 5: SEMANTICS 6 and 7: one product on one, two and four GPUs; one that is not there") {
    const std::string output = output_of(many_devices_program);
    CHECK(is_as_said(output, "tour/05_many_devices.cpp"));
    CHECK(holds(output, "Could not satisfy explicit device specification '/device:GPU:2' because no such device "
                        "exists; the devices of this session are:\n"));
    CHECK_FALSE(holds(output, "device:GPU:3"));
}

TEST_CASE("tour 6: two branches give the same numbers on one device and on two, and the trace has a row for each") {
    const temporary_folder folder;
    std::string name = "two_branches", path = folder / "trace.json";
    char* arguments[] = {name.data(), path.data(), nullptr};
    const std::string output = output_of([&] { return two_branches_program(2, arguments); });
    CHECK(is_as_said_without_numbers(output, "tour/06_two_branches.cpp"));
    const std::vector<span> spans = spans_of(read_bytes(path));
    CHECK(spans_in(spans, "GPU:0").size() == exponent - 1);
    CHECK(spans_in(spans, "GPU:1").size() == exponent - 1);
    for (const char* link : {"CPU:0 to GPU:0", "CPU:0 to GPU:1", "GPU:0 to CPU:0", "GPU:1 to CPU:0"})
        CHECK_MESSAGE(spans_in(spans, link).size() == 1, link);
}

TEST_CASE("tour 6: on two devices neither branch waits for the other: what each begins with crosses at the same time") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto a = tn::placeholder<float, tn::shape<size, size>>("a");
    const auto b = tn::placeholder<float, tn::shape<size, size>>("b");
    const matrix on_two = sum_of_powers(a, b, "/gpu:0", "/gpu:1");
    constexpr double latency = 0.2; // seconds: far longer than the machine needs to begin the second copy
    tn::session sess({.gpus = tn::simulated_gpu(2, 64 << 20, 0, latency)});
    const numbers ones = sess.run(tn::ones<float, tn::shape<size, size>>());

    // Nothing goes from one GPU to the other. What is fed is no node that runs, and on the host.
    const auto placed = sess.explain_placement(tn::feed(a, ones), tn::feed(b, ones), on_two);
    std::map<std::string, int> gpu_of;
    for (const auto& n : placed.nodes)
        if (n.device.type == "GPU") gpu_of[n.name] = n.device.index;
    CHECK(gpu_of.size() == 2 * (exponent - 1));
    for (const auto& e : placed.edges)
        if (gpu_of.contains(e.from) && gpu_of.contains(e.to)) CHECK(gpu_of[e.from] == gpu_of[e.to]);

    tn::trace seen;
    sess.set_trace(&seen);
    sess.run(tn::feed(a, ones), tn::feed(b, ones), on_two);
    sess.set_trace(nullptr);
    const std::vector<span> spans = spans_of(seen.to_json());
    const std::vector<span> to_first = spans_in(spans, "CPU:0 to GPU:0"), to_second = spans_in(spans, "CPU:0 to GPU:1");
    REQUIRE(to_first.size() == 1);
    REQUIRE(to_second.size() == 1);
    CHECK(to_first[0].begin < to_second[0].end);
    CHECK(to_second[0].begin < to_first[0].end);
    CHECK(to_first[0].end - to_first[0].begin >= latency * 1e6);
    // A branch begins when what it begins with is there.
    CHECK(spans_in(spans, "GPU:0").front().begin >= to_first[0].end);
    CHECK(spans_in(spans, "GPU:1").front().begin >= to_second[0].end);
}

TEST_CASE(
    "tour 7: SEMANTICS 11: one card as two devices, a fraction of it, memory as it is needed, and too little of it") {
    const std::string output = output_of(gpu_memory_program);
    CHECK(is_as_said(output, "tour/07_gpu_memory.cpp"));
    CHECK(holds(output, "\nfeed smaller batches"));
}

TEST_CASE("tour 8: SEMANTICS 15: x and y run after a and b, z after x and y, by the trace") {
    const temporary_folder folder;
    std::string name = "control_dependencies", path = folder / "trace.json";
    char* arguments[] = {name.data(), path.data(), nullptr};
    const std::string output = output_of([&] { return control_dependencies_program(2, arguments); });
    CHECK(is_as_said_without_numbers(output, "tour/08_control_dependencies.cpp"));
    CHECK(holds(output, "z = 7\n"));

    const std::vector<span> spans = spans_of(read_bytes(path));
    REQUIRE(spans.size() == 5);
    const span &a = span_called(spans, "constant"), &b = span_called(spans, "add"),
               &x = span_called(spans, "constant_1"), &y = span_called(spans, "constant_2"),
               &z = span_called(spans, "add_1");
    CHECK(a.end <= b.begin);
    for (const span* after : {&x, &y}) {
        CHECK(a.end <= after->begin);
        CHECK(b.end <= after->begin);
        CHECK(after->end <= z.begin);
    }
}

TEST_CASE("tour 10: SEMANTICS 9: variables go to the parameter servers in turn, what is computed to the workers") {
    CHECK(is_as_said(output_of(replicas_program), "tour/10_replicas.cpp"));
}

TEST_CASE("tour 13: a shuffle queue keeps ten, and a dequeue of three too many waits for exactly three") {
    const std::string output = output_of(random_shuffle_queue_program);
    CHECK(is_as_said(output, "tour/13_random_shuffle_queue.cpp"));
    CHECK(holds(output, "queue \"numbers\" to have 15 elements, of which 10 stay; it has 12"));
}

TEST_CASE("tour 14: a padding queue makes one batch of 3x2, 1x1 and 2x4") {
    CHECK(is_as_said(output_of(padding_queue_program), "tour/14_padding_queue.cpp"));
}

TEST_CASE("tour 15: SEMANTICS 16, 17: what is fed takes nothing, and what waits ends in time") {
    const std::string output = output_of(timeout_program);
    CHECK(is_as_said(output, "tour/15_timeout.cpp"));
    CHECK(holds(output, "after 1 s: "));
    CHECK(holds(output, "queue \"numbers\" to have 1 element; it has 0"));
}

TEST_CASE("tour 16: SEMANTICS 35, 36: lines of a CSV file, with defaults, through a shuffle queue by twos") {
    CHECK(is_as_said(output_of(csv_reader_program), "tour/16_csv_reader.cpp"));
}

TEST_CASE("tour 17: SEMANTICS 37: five threads on a reader, then five readers on five files, each instance once") {
    CHECK(is_as_said(output_of(queue_runners_program), "tour/17_queue_runners.cpp"));
}

TEST_CASE("tour 18: SEMANTICS 20: a training set in a variable that is neither trained nor saved") {
    const std::string output = output_of(preloaded_program);
    CHECK(is_as_said(output, "tour/18_preloaded.cpp"));
    CHECK(holds(output, "y = 2.0 x1 - 1.0 x2 + 0.5\n"));
    CHECK(holds(output, "variables that are saved: w b global_step\n"));
}

TEST_CASE("tour 19: SEMANTICS 38: repeated, batched, interleaved; one element a step; lines that ops take apart") {
    const std::string output = output_of(data_sets_program);
    CHECK(is_as_said(output, "tour/19_data_sets.cpp"));
    CHECK(holds(output, "iterator \"iterator\" is at its end"));
}

TEST_CASE("tour 24: copies of a model on four devices learn the same weights, as one device would") {
    CHECK(is_as_said(output_of(mirrored_program), "tour/24_mirrored.cpp"));
}

TEST_CASE("tour 23: S43: a wave goes through a recurrent network with a layer on each device, and its trace shows it") {
    const temporary_folder folder;
    std::string name = "wavefront", path = folder / "trace.json";
    char* arguments[] = {name.data(), path.data(), nullptr};
    CHECK(is_as_said(output_of([&] { return wavefront_program(2, arguments); }), "tour/23_wavefront.cpp"));
    // Each device runs its layer's times in order, and each cell after the one below it; nothing else is waited for.
    const std::vector<span> spans = spans_of(read_bytes(path));
    std::map<std::pair<int, int>, span> cells; // the last node of each
    for (int layer = 0; layer < layers; ++layer)
        for (const span& s : spans_in(spans, "GPU:" + std::to_string(layer)))
            for (int time = 0; time < times; ++time)
                if (s.name.starts_with("layer_" + std::to_string(layer) + "_time_" + std::to_string(time) + "/")) {
                    span& c = cells[{layer, time}];
                    if (c.name.empty() || c.begin < s.begin) c = s;
                }
    REQUIRE(cells.size() == static_cast<std::size_t>(layers * times));
    for (const auto& [at, c] : cells) {
        const auto [layer, time] = at;
        if (time > 0) CHECK(cells.at({layer, time - 1}).end <= c.begin);
        if (layer > 0) CHECK(cells.at({layer - 1, time}).end <= c.begin);
    }
}
