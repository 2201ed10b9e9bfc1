#include <nlohmann/json.hpp>

#include "tests.hpp"
#include "runtime/support.hpp"

// What nodes and transfers took: taken in steps, kept, written and read.

using namespace probe;

namespace {

using square = tn::shape<8, 8>;
using matrix = tn::tensor<float, square>;

tn::cost_measurements some() {
    tn::cost_measurements m;
    for (const int ns : {500, 400, 600}) m.add_kernel("CPU: one", "exp float[8] -> float[8]", ns);
    m.add_kernel("GPU: \"two\"", "exp float[8] -> float[8]", 100);
    m.add_transfer("CPU: one", "GPU: \"two\"", 4096, 2000);
    m.add_transfer("CPU: one", "GPU: \"two\"", 1 << 20, 100000);
    return m;
}

} // namespace

TEST_CASE("of a node's times the median of the last nine counts") {
    tn::cost_measurements m;
    CHECK_FALSE(m.kernel_seconds("CPU", "exp"));
    m.add_kernel("CPU", "exp", 1'000'000); // cold
    CHECK(*m.kernel_seconds("CPU", "exp") == doctest::Approx(1e-3));
    for (int i = 0; i < 4; ++i) m.add_kernel("CPU", "exp", 1000);
    CHECK(*m.kernel_seconds("CPU", "exp") == doctest::Approx(1e-6));
    for (int i = 0; i < 5; ++i) m.add_kernel("CPU", "exp", 3000); // the machine is slower now
    CHECK(*m.kernel_seconds("CPU", "exp") == doctest::Approx(3e-6));
    CHECK_FALSE(m.kernel_seconds("CPU", "tanh"));
    CHECK_FALSE(m.kernel_seconds("GPU", "exp"));
    CHECK(m.kernels() == 1);
}

TEST_CASE("a link's latency and bandwidth are those of the line through the times of its sizes") {
    tn::cost_measurements m;
    CHECK_FALSE(m.link("CPU", "GPU"));
    for (const std::size_t bytes : {1000u, 10'000u, 1'000'000u}) // 5 us, and 1 GB/s
        m.add_transfer("CPU", "GPU", bytes, 5000 + static_cast<std::int64_t>(bytes));
    const tn::link_speed speed = *m.link("CPU", "GPU");
    CHECK(speed.latency == doctest::Approx(5e-6));
    CHECK(speed.bandwidth == doctest::Approx(1e9));
    CHECK(speed.seconds(2'000'000) == doctest::Approx(2.005e-3));
    CHECK_FALSE(m.link("GPU", "CPU"));
}

TEST_CASE("neither latency nor bandwidth is below zero; one size tells one of them") {
    tn::cost_measurements m;
    m.add_transfer("a", "b", 1000, 9000); // the larger was faster
    m.add_transfer("a", "b", 2000, 8000);
    CHECK(m.link("a", "b")->bandwidth == 0);
    CHECK(m.link("a", "b")->latency == doctest::Approx(8.5e-6).epsilon(0.05));
    m.add_transfer("c", "d", 1000, 1);
    m.add_transfer("c", "d", 1'000'000, 1'000'000);
    CHECK(m.link("c", "d")->latency >= 0);
    CHECK(m.link("c", "d")->bandwidth > 0);
    m.add_transfer("small", "one", 4, 3000);
    CHECK(m.link("small", "one")->latency == doctest::Approx(3e-6));
    CHECK(m.link("small", "one")->bandwidth == 0);
    m.add_transfer("large", "one", 1'000'000, 1'000'000);
    CHECK(m.link("large", "one")->latency == 0);
    CHECK(m.link("large", "one")->bandwidth == doctest::Approx(1e9));
}

TEST_CASE("names and times that make no sense are refused") {
    tn::cost_measurements m;
    CHECK_ERROR(tn::invalid_argument_error, "a name is empty", m.add_kernel("", "exp", 1));
    CHECK_ERROR(tn::invalid_argument_error, "a time of -1 ns", m.add_kernel("CPU", "exp", -1));
    CHECK_ERROR(tn::invalid_argument_error, "a name is empty", m.add_transfer("a", "", 1, 1));
    m.add_kernel("CPU", "\xff", 1);
    CHECK_ERROR(tn::invalid_argument_error, "not UTF-8", m.to_json());
}

TEST_CASE("written as JSON and read again, they are the same; so they are from a file") {
    const tn::cost_measurements m = some();
    const std::string text = m.to_json();
    const tn::cost_measurements again = tn::cost_measurements::from_json(text);
    CHECK(again.to_json() == text);
    CHECK(again.kernels() == 2);
    CHECK(again.links() == 1);
    CHECK(*again.kernel_seconds("CPU: one", "exp float[8] -> float[8]") == doctest::Approx(5e-7));
    CHECK(again.link("CPU: one", "GPU: \"two\"")->bandwidth == m.link("CPU: one", "GPU: \"two\"")->bandwidth);
    const auto json = nlohmann::json::parse(text);
    CHECK(json.at("kernels")[0].at("count") == 3);
    CHECK(json.at("kernels")[0].at("nanoseconds") == nlohmann::json::array({500, 400, 600}));

    const temporary_folder folder;
    m.save(folder / "costs.json");
    CHECK(tn::cost_measurements::load(folder / "costs.json").to_json() == text);
    const std::string missing = folder / "none.json";
    CHECK_ERROR(tn::not_found_error, missing, tn::cost_measurements::load(missing));
    write_bytes(folder / "bad.json", "{}");
    CHECK_ERROR(tn::invalid_argument_error, "bad.json: cost measurements: the whole: has no \"format\"",
                tn::cost_measurements::load(folder / "bad.json"));
    CHECK(tn::cost_measurements::from_json(tn::cost_measurements().to_json()).kernels() == 0);
}

TEST_CASE("what is no such text is refused, by entry and member") {
    const auto refused = [](const std::string& text) {
        return message_of<tn::invalid_argument_error>([&] { (void)tn::cost_measurements::from_json(text); });
    };
    const auto with = [](const std::string& kernels, const std::string& links = {}) {
        return "{\"format\": \"tenon cost measurements\", \"version\": 1, \"kernels\": [" + kernels +
               "], \"links\": [" + links + "]}";
    };
    const std::string good = R"({"device": "CPU", "node": "exp", "count": 1, "nanoseconds": [7]})";
    CHECK_NOTHROW((void)tn::cost_measurements::from_json(with(good)));
    CHECK_THROWS_AS((void)tn::cost_measurements::from_json("{"), tn::data_loss_error);
    CHECK(contains(refused("[]"), "the whole: must be an object, not a list"));
    CHECK(contains(refused(R"({"format": "tenon graph", "version": 1})"), "\"format\" is \"tenon graph\""));
    CHECK(contains(refused(R"({"format": "tenon cost measurements", "version": 2})"), "\"version\""));
    CHECK(contains(refused(with("7")), "kernel 1: must be an object, not 7"));
    CHECK(contains(refused(with(good + "," + good)), "kernel 2: it is there twice"));
    CHECK(contains(refused(with(R"({"node": "exp", "count": 1, "nanoseconds": [7]})")), "kernel 1: has no \"device\""));
    CHECK(contains(refused(with(R"({"device": "", "node": "exp", "count": 1, "nanoseconds": [7]})")),
                   "\"device\" must be"));
    CHECK(contains(refused(with(R"({"device": "CPU", "node": "exp", "count": 1, "nanoseconds": []})")),
                   "must be 1 to 9"));
    CHECK(contains(refused(with(R"({"device": "CPU", "node": "exp", "count": 1, "nanoseconds": [-7]})")), "not -7"));
    CHECK(contains(refused(with(R"({"device": "CPU", "node": "exp", "count": 1, "nanoseconds": [0.5]})")),
                   "not the number 0.5"));
    CHECK(contains(refused(with(R"({"device": "CPU", "node": "exp", "count": 0, "nanoseconds": [7]})")), "\"count\""));
    CHECK(contains(refused(with(R"({"device": "CPU", "node": "e", "count": 1, "nanoseconds": [7], "x": 1})")),
                   "kernel 1: \"x\" is not known"));
    CHECK(contains(refused(with("", R"({"from": "a", "to": "b", "bytes": -1, "count": 1, "nanoseconds": [7]})")),
                   "link 1: \"bytes\""));
}

TEST_CASE_FIXTURE(in_graph, "nodes with the same op, attributes, types and sizes are timed as one") {
    const auto x = tn::placeholder<float, square>("x"), y = tn::placeholder<float, square>("y");
    const auto z = tn::placeholder<float, tn::shape<8, 4>>("z");
    const matrix a = matmul(x, y), b = matmul(y, x), c = tn::matmul<tn::transpose_a>(x, y), d = tanh(x), e = tanh(y),
                 f = exp(x);
    const auto narrow = matmul(x, z);
    const auto text = [](const tn::any_tensor& t) { return tn::timed_as(*t.node()); };
    CHECK(text(a) == text(b));
    CHECK(text(a) != text(c));
    CHECK(text(a) != text(narrow));
    CHECK(text(d) == text(e));
    CHECK(text(d) != text(f));
    CHECK(contains(text(a), "matmul(transpose_a=0, transpose_b=0) float[8, 8], float[8, 8] -> float[8, 8]"));
}

TEST_CASE_FIXTURE(in_graph, "a step that is measured has a time for each node that ran and each link that was used") {
    const auto x = tn::placeholder<float, square>("x");
    const matrix a = tn::on("/gpu:0", [&] { return matrix(matmul(x, x)); });
    const matrix b = tn::on("/gpu:1", [&] { return matrix(tanh(a)); });
    const matrix c = tn::on("/cpu:0", [&] { return matrix(exp(b)); });
    tn::session s(tn::session_options{.gpus = tn::simulated_gpu(2, 16 << 20)});
    tn::array<float, square> v;
    v.fill(0.5f);
    const std::string cpu = tn::timed_on(s.list_logical_devices()[0]), gpu = tn::timed_on(s.list_logical_devices()[1]);
    CHECK(contains(cpu, "CPU: CPU, "));
    CHECK(gpu == "GPU: simulated GPU, played by the CPU");
    tn::cost_measurements m;
    s.set_measurements(&m);
    const auto first = s.run(tn::feed(x, v), c);
    s.set_measurements(nullptr);
    CHECK(m.kernel_seconds(gpu, tn::timed_as(*a.node())));
    CHECK(m.kernel_seconds(gpu, tn::timed_as(*b.node())));
    CHECK(m.kernel_seconds(cpu, tn::timed_as(*c.node())));
    CHECK(m.kernels() == 3);
    CHECK(m.link(cpu, gpu));
    CHECK(m.link(gpu, gpu));
    CHECK(m.link(gpu, cpu));
    const std::string text = m.to_json();
    CHECK(s.run(tn::feed(x, v), c)(0, 0) == first(0, 0));
    CHECK(m.to_json() == text); // nothing is taken any more
}

TEST_CASE_FIXTURE(
    in_graph, "while times are taken each node runs alone; a callable takes them too, and is fused again afterwards") {
    const auto x = tn::placeholder<float, square>("x");
    const matrix a = tanh(x);
    const matrix b = exp(a);
    tn::session s;
    tn::array<float, square> v;
    v.fill(0.5f);
    const auto step = s.callable(tn::feeds(x), tn::fetches(b));
    (void)step(v);
    tn::cost_measurements m;
    const int fused = s.report(tn::feed(x, v), b).nodes;
    s.set_measurements(&m);
    CHECK(s.report(tn::feed(x, v), b).nodes == 2);
    (void)step(v);
    (void)step(v);
    s.set_measurements(nullptr);
    (void)step(v);
    CHECK(fused == 1);
    CHECK(m.kernels() == 2);
    CHECK(nlohmann::json::parse(m.to_json()).at("kernels")[0].at("count") == 2);
    CHECK(s.report(tn::feed(x, v), b).nodes == 1);
}
