#include <csignal>
#include <filesystem>
#include <sys/resource.h>
#include <unistd.h>

#include <tenon/debug/summary_hook.hpp>
#include <tenon/debug/summary_writer.hpp>

#include "tests.hpp"
#include "each_thread.hpp"
#include "debug/events.hpp"

using events::message;
using events::read_events;

namespace {

// Of each value of the file's summaries: its tag, its step, and itself.
struct shown {
    std::string tag;
    std::int64_t step;
    message value;
};
std::vector<shown> values_of(const std::string& path) {
    std::vector<shown> all;
    for (const message& event : read_events(path))
        if (event.has(5)) {
            const message value = event.sub(5).sub(1);
            all.push_back({value.text(1), event.number(2), value});
        }
    return all;
}

} // namespace

TEST_CASE_FIXTURE(in_folder, "an event file has its version, and scalars as floats with tag, step and time") {
    const std::string logs = folder / "run/logs";
    std::string path;
    {
        tn::summary_writer log(logs);
        path = log.path();
        log.scalar("loss", 0.1, 1);
        log.scalar("loss", -std::numeric_limits<double>::infinity(), 2);
        log.scalar("late", 1e300, -3);
    }
    const auto all = read_events(path);
    REQUIRE(all.size() == 4);
    CHECK(all[0].text(3) == "brain.Event:2");
    CHECK(all[1].real(1) > 1.6e9);
    const auto values = values_of(path);
    CHECK(values[0].tag == "loss");
    CHECK(values[0].step == 1);
    CHECK(values[0].value.real32(2) == 0.1f);
    CHECK(std::isinf(values[1].value.real32(2)));
    CHECK(values[2].step == -3);
    CHECK(std::isinf(values[2].value.real32(2)));
}

TEST_CASE("files are called as TensorBoard looks for them, and writers to one folder have each its own") {
    const temporary_folder folder;
    std::vector<std::unique_ptr<tn::summary_writer>> writers;
    for (int i = 0; i < 5; ++i) writers.push_back(std::make_unique<tn::summary_writer>(folder / ""));
    std::set<std::string> paths;
    for (const auto& w : writers) paths.insert(w->path());
    CHECK(paths.size() == 5);
    char host[256] = "";
    REQUIRE(::gethostname(host, sizeof host - 1) == 0);
    for (const std::string& p : paths) {
        const std::string name = std::filesystem::path(p).filename().string();
        CHECK(name.starts_with("events.out.tfevents."));
        CHECK(contains(name, std::string(host) + "." + std::to_string(::getpid())));
    }
    on_threads(std::size_t{5}, [&](std::size_t i) {
        for (int step = 0; step < 100; ++step) {
            writers[i]->scalar("own", step, step);
            writers[0]->scalar("shared", step, step);
        }
    });
    for (const auto& w : writers) w->flush();
    CHECK(values_of(writers[0]->path()).size() == 600);
    CHECK(values_of(writers[3]->path()).size() == 100);
}

TEST_CASE_FIXTURE(in_folder, "what was written is there after flush(), and at once where no time is to go by") {
    tn::summary_writer log(folder / "");
    log.scalar("a", 1, 1);
    CHECK(read_events(log.path()).size() == 1); // its version
    log.flush();
    CHECK(read_events(log.path()).size() == 2);
    tn::summary_writer eager(folder / "", {.flush_seconds = 0});
    eager.scalar("a", 1, 1);
    CHECK(read_events(eager.path()).size() == 2);
    CHECK_THROWS_AS(tn::summary_writer(folder / "", {.flush_seconds = -1}), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_folder, "a histogram has every finite element in a bucket, and its moments") {
    tn::summary_writer log(folder / "");
    std::vector<double> values = {0,
                                  1,
                                  1,
                                  1e-13,
                                  -1e-13,
                                  -2.5,
                                  1e25,
                                  -1e25,
                                  3e-5,
                                  1e-12,
                                  -1e-12,
                                  std::numeric_limits<double>::max(),
                                  std::numeric_limits<double>::denorm_min()};
    for (int i = 0; i < 500; ++i) values.push_back(std::sin(i) * std::exp(i % 40 - 20));
    const auto finite = values;
    values.push_back(std::nan(""));
    values.push_back(std::numeric_limits<double>::infinity());
    log.histogram(
        "w", tn::any_array::view(values.data(), tn::element_type::float64, {static_cast<std::int64_t>(values.size())}),
        4);
    log.histogram("none", tn::any_array(tn::element_type::float32, {0}), 4);
    log.histogram("bools", tn::array<bool, tn::shape<3>>{true, false, true}, 4);
    log.histogram("halves", tn::any_array::zeros(tn::element_type::float16, {2, 2}), 4);
    log.flush();
    const auto all = values_of(log.path());
    REQUIRE(all.size() == 4);
    const message h = all[0].value.sub(5);
    CHECK(h.real(1) == -1e25);
    CHECK(h.real(2) == std::numeric_limits<double>::max());
    CHECK(h.real(3) == static_cast<double>(finite.size()));
    CHECK(h.real(4) == std::accumulate(finite.begin(), finite.end(), 0.0));
    const auto limits = events::doubles(h.text(6)), counts = events::doubles(h.text(7));
    REQUIRE(limits.size() == counts.size());
    CHECK(std::accumulate(counts.begin(), counts.end(), 0.0) == static_cast<double>(finite.size()));
    CHECK(std::is_sorted(limits.begin(), limits.end()));
    CHECK(counts[0] == 0); // where the first begins
    for (std::size_t b = 1; b < limits.size(); ++b) {
        // Rounded: what lies at a limit may be counted on either side.
        const double slack = 1e-9;
        double least = 0, most = 0;
        for (const double v : finite) {
            const double low = limits[b - 1] + slack * std::fabs(limits[b - 1]),
                         high = limits[b] - slack * std::fabs(limits[b]);
            least += v > low && v < high;
            most += v >= limits[b - 1] - slack * std::fabs(limits[b - 1]) &&
                    v <= limits[b] * (1 + (limits[b] > 0 ? slack : -slack));
        }
        CHECK(counts[b] >= least);
        CHECK(counts[b] <= most);
    }
    CHECK(all[1].value.sub(5).real(3) == 0);
    CHECK(all[2].value.sub(5).real(4) == 2);
    CHECK(all[3].value.sub(5).real(3) == 4);
    const auto words = message_of<tn::invalid_argument_error>(
        [&] { log.histogram("texts", tn::any_array(tn::element_type::string, {2}), 1); });
    CHECK(contains(words, "texts"));
    CHECK(contains(words, "string[2]"));
}

TEST_CASE("a text is a tensor for the plugin that shows texts; what is no UTF-8 does not make the file unreadable") {
    const temporary_folder folder;
    tn::summary_writer log(folder / "");
    log.text("notes", "a **wide** layer", 3);
    log.text("bad \xff", "\xff", 4);
    log.flush();
    const auto all = values_of(log.path());
    const message tensor = all[0].value.sub(8), metadata = all[0].value.sub(9);
    CHECK(tensor.number(1) == 7);
    CHECK(tensor.text(8) == "a **wide** layer");
    CHECK(metadata.sub(1).text(1) == "text");
    CHECK(all[1].tag == "bad ?");
    CHECK(all[1].value.sub(8).text(8) == "?");
}

TEST_CASE_FIXTURE(in_folder, "images are PNG files, several with numbers in their tags; floating ones go from 0 to 1") {
    tn::summary_writer log(folder / "");
    tn::any_array pixels = tn::any_array::zeros(tn::element_type::float32, {2, 4, 5, 3});
    pixels.data<float>()[0] = 2;
    pixels.data<float>()[1] = std::nanf("");
    pixels.data<float>()[2] = 0.5f;
#if TENON_WITH_PNG
    log.image("input", pixels, 7);
    log.image("one", tn::array<std::uint8_t, tn::shape<2, 3, 1>>{}, 8);
    log.flush();
    const auto all = values_of(log.path());
    REQUIRE(all.size() == 3);
    CHECK(all[0].tag == "input/0");
    CHECK(all[1].tag == "input/1");
    CHECK(all[2].tag == "one");
    const message image = all[0].value.sub(4);
    CHECK(image.number(1) == 4);
    CHECK(image.number(2) == 5);
    CHECK(image.number(3) == 3);
    CHECK(image.text(4).starts_with("\x89PNG"));
    CHECK_ERROR(tn::invalid_argument_error, "summary_writer: the image none: ",
                log.image("none", tn::any_array::zeros(tn::element_type::uint8, {0, 6, 3}), 1));
#else
    CHECK_ERROR(tn::unimplemented_error, "libpng", log.image("input", pixels, 7));
#endif
    for (const tn::extents& e : {tn::extents{2, 2}, tn::extents{2, 2, 2}, tn::extents{1, 1, 2, 2, 3}})
        CHECK_ERROR(tn::invalid_argument_error, "odd",
                    log.image("odd", tn::any_array::zeros(tn::element_type::uint8, e), 1));
}

TEST_CASE_FIXTURE(in_graph_and_folder, "a graph has its nodes with inputs, control inputs, devices and sizes") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn, 3>>("x");
    const auto y = tn::on("/job:ps/cpu:0", [&] { return tn::identity(x * 2.0f, "y"); });
    const tn::control_dependencies after(y);
    const auto z = tn::identity(x, "z");
    tn::summary_writer log(folder / "");
    log.graph(g);
    log.flush();
    const auto all = read_events(log.path());
    const message graph = all.at(1).sub(4);
    CHECK(graph.count(1) == static_cast<std::size_t>(g.size()));
    std::map<std::string, message> nodes;
    for (std::size_t i = 0; i < graph.count(1); ++i) nodes.emplace(graph.sub(1, i).text(1), graph.sub(1, i));
    CHECK(nodes.at("x").text(2) == "placeholder");
    CHECK(nodes.at("y").text(4) == "/job:ps/device:CPU:0");
    CHECK(nodes.at("z").text(3, 0) == "x");
    CHECK(nodes.at("z").text(3, 1) == "^y");
    bool has_shapes = false;
    for (std::size_t a = 0; a < nodes.at("x").count(5); ++a) {
        const message attribute = nodes.at("x").sub(5, a);
        if (attribute.text(1) != "_output_shapes") continue;
        has_shapes = true;
        const message shape = attribute.sub(2).sub(1).sub(7);
        CHECK(shape.sub(2, 0).number(1) == -1);
        CHECK(shape.sub(2, 1).number(1) == 3);
    }
    CHECK(has_shapes);
}

TEST_CASE("a file that may grow no more is an error that names it; what is written later can be read") {
    const temporary_folder folder;
    tn::summary_writer log(folder / "");
    log.scalar("before", 1, 1);
    log.flush();
    const auto size = std::filesystem::file_size(log.path());
    rlimit whole{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &whole) == 0);
    rlimit small = whole;
    small.rlim_cur = size + 100; // some of it fits
    const auto was = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    for (int i = 0; i < 20; ++i) log.scalar("lost", i, i);
    const auto words = message_of<tn::resource_exhausted_error>([&] { log.flush(); });
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &whole) == 0);
    std::signal(SIGXFSZ, was);
    CHECK(contains(words, log.path()));
    CHECK(contains(words, "20 records are lost"));
    CHECK(std::filesystem::file_size(log.path()) == size);
    log.scalar("after", 1, 2);
    log.flush();
    const auto all = values_of(log.path());
    REQUIRE(all.size() == 2);
    CHECK(all[1].tag == "after");
}

TEST_CASE_FIXTURE(in_folder, "a folder that cannot be made is an error that names it") {
    tn::summary_writer log(folder / "");
    CHECK_ERROR(tn::error, log.path() + "/logs", tn::summary_writer(log.path() + "/logs"));
    CHECK_THROWS_AS(tn::summary_writer("memory://logs"), tn::unimplemented_error);
}

TEST_CASE("a hook writes what steps compute by its period, how many there are a second, and the graph") {
    const temporary_folder folder;
    const own_graph g;
    auto w = tn::variable<float, tn::shape<4>>("w", tn::ones());
    const auto loss = tn::identity(sum(w * w), "loss");
    const auto train = tn::gradient_descent(0.01f).minimize(loss);
    const auto log = std::make_shared<tn::summary_writer>(folder / "logs");
    {
        tn::monitored_session s({.hooks = {tn::stop_at_step(25), tn::summary_hook(log, {.scalars = {loss},
                                                                                        .histograms = {{"weights", w}},
                                                                                        .every = {.steps = 10}})}});
        s.loop([&] { s.run(train); });
        s.close();
    }
    std::map<std::string, std::vector<std::int64_t>> steps;
    for (const shown& v : values_of(log->path())) steps[v.tag].push_back(v.step);
    CHECK(steps.at("loss") == std::vector<std::int64_t>{1, 11, 21});
    CHECK(steps.at("weights") == steps.at("loss"));
    CHECK(!steps.at("steps_per_second").empty());
    CHECK(read_events(log->path()).at(1).has(4));
    const auto words = message_of<tn::invalid_argument_error>([&] { (void)tn::summary_hook(log, {.scalars = {w}}); });
    CHECK(contains(words, "w is float[4]"));
    CHECK_THROWS_AS((void)tn::summary_hook(nullptr, {}), tn::invalid_argument_error);
}

// What test/debug/tensorboard.sh reads with TensorBoard's own package.
TEST_CASE("events for TensorBoard") {
    const char* const folder = std::getenv("TENON_EVENT_FOLDER");
    if (!folder) return;
    tn::summary_writer log(folder);
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<tn::dyn, 3>>("layer/x");
    (void)tn::identity(x * 2.0f, "layer/y");
    log.graph(g);
    for (int step = 0; step < 50; ++step) log.scalar("loss", 1.0 / (1 + step), step);
    log.restarted(40);
    for (int step = 40; step < 60; ++step) log.scalar("loss", 2.0 / (1 + step), step);
    tn::any_array weights(tn::element_type::float32, {1000});
    for (int i = 0; i < 1000; ++i) weights.data<float>()[i] = std::sin(static_cast<float>(i));
    log.histogram("w", weights, 5);
#if TENON_WITH_PNG
    log.image("input", tn::any_array::zeros(tn::element_type::uint8, {4, 6, 3}), 5);
#endif
    log.text("notes", "a **wide** layer", 5);
}
