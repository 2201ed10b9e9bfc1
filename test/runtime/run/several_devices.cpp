#include <nlohmann/json.hpp>

#include "tests.hpp"
#include "each_thread.hpp"
#include "message_at_limit.hpp"
#include "runtime/support.hpp"

// One step on several devices: what crosses, in which order, in how much memory, and what happens when it fails.

using namespace probe;

namespace {

constexpr std::size_t memory = 16 << 20;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

tn::session_options with_gpus(int count, std::size_t bytes = memory, double bandwidth = 0, double latency = 0) {
    return {.gpus = tn::simulated_gpu(count, bytes, bandwidth, latency)};
}
tn::session_options with_cpus(int count) { return {.cpu_devices = count}; }

struct span {
    std::string name, row;
    double begin, end;
};
std::vector<span> spans_of(const tn::trace& t) {
    std::vector<span> spans;
    const nlohmann::json all = nlohmann::json::parse(t.to_json());
    std::map<int, std::string> rows;
    for (const auto& e : all.at("traceEvents"))
        if (e.at("name") == "thread_name") rows[e.at("tid").get<int>()] = e.at("args").at("name").get<std::string>();
    for (const auto& e : all.at("traceEvents"))
        if (e.at("ph") == "X")
            spans.push_back({e.at("name"), rows.at(e.at("tid").get<int>()), e.at("ts"),
                             e.at("ts").get<double>() + e.at("dur").get<double>()});
    return spans;
}

// A model over the devices of a list, layer by layer; returns the loss after each of some steps.
std::vector<float> train_on(const std::vector<tn::device_name>& devices, const tn::session_options& o, int steps) {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<batch, 12>>("x");
    tn::tensor<float, tn::shape<batch, 12>> h = x;
    for (std::size_t layer = 0; layer < 4; ++layer) {
        const auto here = tn::on(devices[layer % devices.size()]);
        const auto w = tn::variable<float, tn::shape<12, 12>>("w", tn::glorot_uniform(layer + 1));
        const auto b = tn::variable<float, tn::shape<12>>("b", tn::constant_value(0.1));
        h = tanh(matmul(h, w) + b);
    }
    const auto loss = tn::on(devices.back(), [&] { return mean(square(h - 0.5f)); });
    const auto train = tn::gradient_descent(0.5f).minimize(loss);
    initialized_session s(o);
    tn::array<float, tn::shape<batch, 12>> data(7);
    std::mt19937 random(5);
    std::uniform_real_distribution<float> values(-1, 1);
    for (float& v : data.span()) v = values(random);
    auto step = s.callable(tn::feeds(x), tn::fetches(loss, train));
    std::vector<float> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(std::get<0>(step(data)).item());
    return losses;
}

} // namespace

TEST_CASE("a step over several devices gives the numbers of one device") {
    const auto expected = train_on({"/cpu:0"}, {}, 12);
    CHECK(expected.back() < expected.front());
    const auto same = [&](const std::vector<float>& losses) {
        REQUIRE(losses.size() == expected.size());
        for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(expected[i]).epsilon(1e-5));
    };
    same(train_on({"/gpu:0"}, with_gpus(1), 12));
    same(train_on({"/gpu:0", "/gpu:1"}, with_gpus(2), 12));
    same(train_on({"/cpu:0", "/gpu:0", "/gpu:1"}, with_gpus(2), 12));
    same(train_on({"/cpu:0", "/cpu:1"}, with_cpus(2), 12));
    same(train_on({"/cpu:1", "/cpu:0", "/cpu:2"}, with_cpus(3), 12));
    same(train_on({"/gpu:1", "/cpu:0"}, with_gpus(2, memory, 1e9, 20e-6), 12));
    auto alone = with_gpus(2); // nobody else works on the streams
    alone.use_per_session_threads = true;
    alone.intra_op_threads = 1;
    same(train_on({"/gpu:0", "/gpu:1"}, alone, 12));
}

TEST_CASE_FIXTURE(
    in_graph, "a tensor crosses to a device once, however many read it there; a constant when the step is planned") {
    const auto x = tn::placeholder<float, tn::shape<8, 8>>("x");
    const auto c = tn::constant(tn::array<float, tn::shape<8, 8>>());
    tn::any_tensor sum;
    {
        const auto there = tn::on("/gpu:1");
        const auto p = matmul(x, x);
        const auto q = matmul(x, c);
        const auto r = matmul(exp(x), c);
        sum = tn::tensor<float, tn::shape<8, 8>>(p + q + r);
    }
    const auto twice = tn::on("/gpu:0", [&] { return matmul(tn::tensor<float, tn::shape<8, 8>>::unchecked(sum), x); });
    tn::session s(with_gpus(2));
    tn::array<float, tn::shape<8, 8>> v;
    v.fill(0.5f);
    const auto r = s.report(tn::feed(x, v), twice);
    // x to each GPU, the sum to the other GPU, the result to the host.
    CHECK(r.transfers == 4);
    REQUIRE(r.devices.size() == 3);
    CHECK(r.devices[2].device == "/device:GPU:1");
    CHECK(r.devices[2].peak_bytes >= r.devices[2].arena_bytes + 256); // and the constant
    (void)s.run(tn::feed(x, v), twice);
}

TEST_CASE_FIXTURE(in_graph, "what is fetched and read on the host crosses once, however often it is fetched") {
    const auto v = tn::on("/gpu:0", [] { return tn::variable<float, tn::shape<2, 3>>("v", tn::constant_value(2)); });
    const auto a = tn::on("/gpu:0", [&] { return exp(v) * 0.0f + v; });
    const auto flat = tn::on("/gpu:0", [&] { return reshape<tn::shape<6>>(a); });
    const auto more = tn::on("/cpu:0", [&] { return a + 1.0f; });
    initialized_session s(with_gpus(1));
    CHECK(s.report(a, a, more, flat).transfers == 1);
    CHECK(s.report(flat).transfers == 1);
    CHECK(s.report(v, v).transfers == 1);
    auto [first, second, third, fourth] = s.run(a, a, more, flat);
    CHECK(first == second);
    CHECK(first(1, 2) == 2);
    CHECK(third(1, 2) == 3);
    CHECK(fourth(5) == 2);
    auto [old_value, new_value] = s.run(v, v.assign_add(1.0f));
    CHECK(old_value(0, 0) == 2);
    CHECK(new_value(0, 0) == 3);
}

TEST_CASE_FIXTURE(in_graph, "fed, fetched and constant tensors of every type cross between CPU devices, strings too") {
    const auto text = tn::on("/cpu:1", [] { return tn::identity(tn::constant("over there"), "text"); });
    const auto here = tn::on("/cpu:0", [&] { return tn::print(text, "shown"); });
    const auto v = tn::on("/cpu:1", [] { return tn::variable("v", tn::constant(41)); });
    const auto w = tn::on("/cpu:0", [&] { return tn::tensor<std::int32_t, tn::shape<>>(v + 1); });
    initialized_session s(with_cpus(2));
    CHECK(s.run(here).item() == "over there");
    CHECK(s.run(w).item() == 42);
    CHECK(s.run(v).item() == 41);
}

TEST_CASE_FIXTURE(in_graph, "a variable lives where it was placed, and outlives the plans") {
    const auto v = tn::on("/gpu:1", [] { return tn::variable<float, tn::shape<1000>>("v", tn::zeros()); });
    const auto more = v.assign_add(1.0f);
    auto o = with_gpus(2);
    o.kept_plans = 1;
    initialized_session s(o);
    for (int i = 0; i < 5; ++i) {
        s.run(more.operation());
        CHECK(s.run(sum(v)).item() == 1000.0f * static_cast<float>(i + 1)); // another plan each time
    }
    CHECK(s.memory_info("/gpu:1").in_use >= 4000);
    CHECK(s.memory_info("/gpu:0").limit == memory);
    CHECK_ERROR(tn::not_found_error, "has no device", s.memory_info("/gpu:2"));
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 15, 16: control dependencies order nodes of different devices, and any tensor can be fed") {
    const auto v = tn::on("/gpu:0", [] { return tn::variable("v", 1.0f); });
    const auto update = v.assign(5.0f);
    const auto read = [&] {
        const tn::control_dependencies after(update);
        return tn::on("/gpu:1", [&] { return tn::identity(v * 2.0f, "read"); });
    }();
    initialized_session s(with_gpus(2));
    CHECK(s.run(read).item() == 10);
    // In one step, who is made to run after the update crosses with the new value, all others with the old, even where
    // data has them run later.
    const auto before = tn::on("/gpu:1", [&] { return tn::identity(v * 3.0f, "before"); });
    const auto by_data = tn::on("/gpu:1", [&] { return tn::identity(v + 0.0f * update, "by_data"); });
    s.run(v.assign(2.0f).operation());
    auto [old_value, new_value, also_old] = s.run(before, read, by_data);
    CHECK(old_value.item() == 6);
    CHECK(new_value.item() == 10);
    CHECK(also_old.item() == 2);
    const auto middle = tn::on("/gpu:0", [&] { return tn::identity(exp(v), "middle"); });
    const auto end = tn::on("/gpu:1", [&] { return middle + 1.0f; });
    CHECK(s.run(tn::feed(middle, 3.0f), end).item() == 4);
}

TEST_CASE("SEMANTICS 21: random numbers are the same on every device") {
    const auto numbers = [](const tn::device_name& d, const tn::session_options& o) {
        const own_graph g;
        tn::graph::current().set_seed(7);
        const auto r = tn::on(d, [] { return tn::random_uniform<float, tn::shape<1000>>(0, 1, 3); });
        tn::session s(o);
        return s.run(r);
    };
    const auto here = numbers("/cpu:0", {});
    CHECK(here == numbers("/gpu:1", with_gpus(2)));
    CHECK(here == numbers("/cpu:1", with_cpus(2)));
}

TEST_CASE_FIXTURE(
    in_graph, "the trace has a row for each device and for each link, and shows that transfers overlap computation") {
    const auto x = tn::placeholder<float, tn::shape<64, 64>>("x");
    const auto y = tn::placeholder<float, tn::shape<64, 64>>("y");
    const auto gpu = tn::on("/gpu:0");
    const auto busy = watched(matmul(x, x), "busy", deed::dawdle); // 3 ms of the device
    const tn::tensor<float, tn::shape<64, 64>> both = matmul(y, y) + busy;
    // A copy takes 10 ms: y's begins when x's ends, and so while the device is busy with x.
    tn::session s(with_gpus(1, memory, 0, 10e-3));
    tn::array<float, tn::shape<64, 64>> v;
    v.fill(0.01f);
    tn::trace t;
    s.set_trace(&t);
    (void)s.run(tn::feed(x, v), tn::feed(y, v), both);
    s.set_trace(nullptr);
    const auto spans = spans_of(t);
    const auto find = [&](const std::string& row, const std::string& name) {
        for (const span& p : spans)
            if (p.row == row && p.name == name) return p;
        FAIL("no " << name << " in row " << row);
        return spans.front();
    };
    const span to = find("CPU:0 to GPU:0", "y"), kernel = find("GPU:0", "busy");
    CHECK(find("CPU:0 to GPU:0", "x").end <= to.begin);
    CHECK(to.end - to.begin >= 10e3);
    CHECK(kernel.begin < to.end); // it did not wait for y
    CHECK(find("GPU:0 to CPU:0", both.node()->name).begin >= to.end);
}

TEST_CASE_FIXTURE(in_graph, "two devices work at the same time, each in its own order") {
    const auto x = tn::constant(1.0f);
    const auto a = tn::on("/gpu:0", [&] { return watched(tn::identity(x), "a", deed::meet); });
    const auto b = tn::on("/gpu:1", [&] { return watched(tn::identity(x), "b", deed::meet); });
    const auto both = tn::on("/cpu:0", [&] { return a + b; });
    tn::session_options o = with_gpus(2);
    o.use_per_session_threads = true;
    o.intra_op_threads = 2;
    tn::session s(o);
    present() = crowd() = 0;
    (void)s.run(both);
    CHECK(crowd() == 2);
}

TEST_CASE("a small step over two devices wakes no other thread") {
    const auto threads_of = [](const tn::device_name& first, const tn::device_name& second, const auto& o) {
        const own_graph g;
        const auto a = tn::on(first, [] { return watched(tn::constant(1.0f), "a"); });
        const auto b = tn::on(second, [&] { return watched(a, "b"); });
        const auto c = tn::on(first, [&] { return watched(b, "c"); });
        tn::session s(o);
        (void)s.run(c);
        (void)journal::get().take_threads();
        for (int i = 0; i < 100; ++i) (void)s.run(c);
        return journal::get().take_threads();
    };
    const std::set<std::thread::id> mine{std::this_thread::get_id()};
    CHECK(threads_of("/cpu:0", "/cpu:1", with_cpus(2)) == mine);
    CHECK(threads_of("/gpu:0", "/gpu:1", with_gpus(2)) == mine);
    CHECK(threads_of("/cpu:0", "/gpu:0", with_gpus(1)) == mine);
}

TEST_CASE_FIXTURE(in_graph,
                  "a kernel that fails on a device fails the step, by name and device, and the session goes on") {
    const auto v = tn::on("/gpu:0", [] { return tn::variable("v", 1.0f); });
    const auto bad = tn::on("/gpu:1", [&] { return watched(v + 1.0f, "bad", deed::fail); });
    const auto short_of = tn::on("/gpu:1", [&] { return watched(v + 2.0f, "short", deed::fail_memory); });
    const auto after = tn::on("/gpu:0", [&] { return exp(bad); });
    const auto raw = tn::on("/gpu:0", [] { return tn::variable("raw", 1.0f); });
    tn::session s(with_gpus(2));
    s.run(v.initializer());
    for (int i = 0; i < 3; ++i) {
        CHECK_ERROR(tn::out_of_range_error, "bad (test_watched) on /device:GPU:1", s.run(after));
        CHECK_ERROR(tn::resource_exhausted_error, "short (test_watched) on /device:GPU:1", s.run(short_of));
        CHECK_ERROR(tn::failed_precondition_error, "variable \"raw\"", s.run(raw));
        CHECK(s.run(v).item() == 1);
    }
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 17: a step whose copies take longer than its time limit says what it was waiting for") {
    const auto x = tn::placeholder<float, tn::shape<8>>("x");
    const auto y = tn::on("/gpu:0", [&] { return tn::identity(exp(x), "y"); });
    tn::session s(with_gpus(1, memory, 0, 0.2));
    tn::array<float, tn::shape<8>> v;
    v.fill(0);
    const std::string words =
        "it was waiting for the transfer of x, float[8], from /device:CPU:0 to /device:GPU:0 [node ";
    CHECK(contains(message_at_limit<tn::deadline_exceeded_error>(
                       words, [&](double limit) { (void)s.run_for(limit, tn::feed(x, v), y); }, 5e-3),
                   words));
    CHECK(s.run(tn::feed(x, v), y)[0] == 1);
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 17: a time limit ends a copy that would take days, to a device and from it; then all goes on") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto v = tn::on("/gpu:0", [] { return tn::variable("v", 1.0f); });
    const auto add = tn::on("/gpu:0", [&] { return v.assign_add(sum(x)); });
    const auto wide = tn::on("/gpu:0", [&] { return tn::identity(v + tn::ones<float, tn::shape<1 << 20>>(), "wide"); });
    tn::session s(with_gpus(1, memory, 20)); // bytes a second
    s.run(v.initializer());
    tn::array<float> large(tn::extents{1 << 20}), small{2};
    large.fill(1);
    using late = tn::deadline_exceeded_error;
    for (int i = 0; i < 3; ++i) {
        const std::string there = " s; it was waiting for the transfer of x, float[1048576], from /device:CPU:0 to "
                                  "/device:GPU:0 [node ",
                          back = "from /device:GPU:0 to /device:CPU:0 [node ";
        CHECK(contains(
            message_at_limit<late>(there, [&](double limit) { (void)s.run_for(limit, tn::feed(x, large), add); }),
            there));
        CHECK(contains(message_at_limit<late>(back, [&](double limit) { (void)s.run_for(limit, wide); }), back));
        CHECK(s.run(v).item() == static_cast<float>(1 + 2 * i)); // not updated
        CHECK(s.run(tn::feed(x, small), add).item() == static_cast<float>(3 + 2 * i));
    }
}

TEST_CASE_FIXTURE(in_graph, "a time limit ends the copies of its own step alone") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto y = tn::on("/gpu:0", [&] { return sum(x); });
    tn::session s(with_gpus(1, memory, 4000)); // bytes a second
    on_threads(3, [&](int t) {
        const tn::array<float> large(tn::extents{1 << 20}), small{static_cast<float>(t)};
        for (int i = 0; i < 5; ++i)
            if (t == 0) CHECK_THROWS_AS(s.run_for(0.01, tn::feed(x, large), y), tn::deadline_exceeded_error);
            else CHECK(s.run(tn::feed(x, small), y).item() == static_cast<float>(t));
    });
}

TEST_CASE_FIXTURE(in_graph, "a step over two devices is recorded, also where the host takes its feeds apart") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, tn::extents(6)),
                         y = tn::untyped::placeholder(tn::element_type::float32, tn::extents(6));
    const auto half = [](const tn::any_tensor& of) {
        return tn::on("/cpu:0", [&] { return tn::untyped::split_evenly(of, 2); });
    };
    const auto of_x = half(x), of_y = half(y);
    const auto left = tn::on("/gpu:0", [&] { return tn::untyped::concat({of_x[0], of_y[0]}, 0); });
    const auto right = tn::on("/gpu:1", [&] { return tn::untyped::concat({left, of_x[1], of_y[1]}, 0); });
    tn::session s(g, with_gpus(2));
    const auto fed = [](float first) {
        tn::any_array a(tn::element_type::float32, tn::extents(6));
        std::iota(a.data<float>(), a.data<float>() + 6, first);
        return a;
    };
    const auto feeds = [&](float first) {
        std::vector<tn::fed_value> f;
        for (const auto& [of, from] : {std::pair(x, first), std::pair(y, first + 100)}) f.push_back({of, fed(from)});
        return f;
    };
    for (int i = 0; i < 5; ++i) {
        const float b = static_cast<float>(i);
        const auto got = s.run_untyped(feeds(b), {right});
        CHECK(std::vector<float>(got[0].data<float>(), got[0].data<float>() + 12) ==
              std::vector<float>{b, b + 1, b + 2, b + 100, b + 101, b + 102, b + 3, b + 4, b + 5, b + 103, b + 104,
                                 b + 105});
    }
    CHECK(s.report_untyped(feeds(0), {right}).recordings == tn::recording_counts{.recorded = 1, .replayed = 4});
}

TEST_CASE_FIXTURE(in_graph, "check_numerics finds the first node that is not finite on a device") {
    const auto x = tn::placeholder<float>("x");
    const auto gpu = tn::on("/gpu:0");
    const tn::tensor<float, tn::shape<>> l = log(x);
    const tn::tensor<float, tn::shape<>> e = exp(l) + 1.0f;
    auto o = with_gpus(1);
    o.check_numerics = true;
    tn::session s(o);
    CHECK(s.run(tn::feed(x, 1.0f), e).item() == 2);
    CHECK_ERROR(tn::invalid_argument_error, l.node()->name + " (log) on /device:GPU:0", s.run(tn::feed(x, -1.0f), e));
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 11: a step that cannot fit a device is refused before it runs, with what takes its memory") {
    const auto x = tn::placeholder<float, tn::shape<batch, 256>>("x");
    const auto w = tn::on("/gpu:0", [] { return tn::variable<float, tn::shape<256, 256>>("w", tn::zeros()); });
    const auto h = tn::on("/gpu:0", [&] { return tn::identity(matmul(x, w), "h"); });
    const auto y = tn::on("/gpu:0", [&] { return sum(tanh(matmul(h, w))); });
    initialized_session s(with_gpus(1, 1 << 20));
    tn::array<float, tn::shape<batch, 256>> fits(100), large(2000);
    fits.fill(0);
    large.fill(0);
    CHECK(s.run(tn::feed(x, fits), y).item() == 0);
    const std::string why = message_of<tn::resource_exhausted_error>([&] { (void)s.run(tn::feed(x, large), y); });
    CHECK(contains(why, "bytes on /device:GPU:0 beside the 262144 of variables, of which 1048576 may be used"));
    CHECK(contains(why, "float[2000, 256]"));
    CHECK(contains(why, "w float[256, 256], variable"));
    CHECK(s.run(tn::feed(x, fits), y).item() == 0);
    // A variable that does not fit is refused too, and takes nothing.
    const auto huge = tn::on("/gpu:0", [] { return tn::variable<float, tn::shape<1000, 1000>>("huge", tn::zeros()); });
    CHECK_ERROR(tn::resource_exhausted_error, "variable \"huge\"", s.run(huge.initializer()));
    CHECK(s.run(tn::feed(x, fits), y).item() == 0);
    const auto r = s.report(tn::feed(x, fits), y);
    CHECK(r.devices[1].variable_bytes == 262144);
    CHECK(s.memory_info("/gpu:0").peak <= (1 << 20));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 11: a fraction of a GPU, or a limit in bytes, is all that is used") {
    const auto w = tn::on("/gpu:0", [] { return tn::variable<float, tn::shape<257, 256>>("w", tn::zeros()); });
    auto o = with_gpus(1, 1 << 20);
    o.gpu_memory.fraction = 0.25;
    tn::session quarter(o);
    CHECK(quarter.memory_info("/gpu:0").limit == 1 << 18);
    CHECK_THROWS_AS(quarter.run(w.initializer()), tn::resource_exhausted_error);
    o.gpu_memory = {.growth = false, .limit = 600'000};
    tn::session limited(o);
    limited.run(w.initializer());
    CHECK(limited.memory_info("/gpu:0").limit == 600'000);
    CHECK(limited.memory_info("/gpu:0").in_use <= 600'000);
}

TEST_CASE_FIXTURE(in_graph, "plans that nobody holds give their memory of a device back when another step needs it") {
    const auto x = tn::placeholder<float, tn::shape<batch, 64>>("x");
    const auto w = tn::on("/gpu:0", [] { return tn::variable<float, tn::shape<64, 64>>("w", tn::zeros()); });
    const auto y = tn::on("/gpu:0", [&] { return sum(exp(matmul(x, w))); });
    initialized_session s(with_gpus(1, 1 << 20));
    for (const std::int64_t rows : {1000, 1100, 1200, 1300}) { // each takes more than a third of it
        tn::array<float, tn::shape<batch, 64>> v(rows);
        v.fill(1);
        CHECK(s.run(tn::feed(x, v), y).item() == static_cast<float>(64 * rows));
    }
}

TEST_CASE_FIXTURE(in_graph, "several threads run steps over the same devices at the same time") {
    const auto x = tn::placeholder<float, tn::shape<16, 16>>("x");
    const auto count = tn::on("/gpu:1", [] { return tn::variable("count", 0.0f); });
    const auto more = count.assign_add(1.0f);
    const auto a = tn::on("/gpu:0", [&] { return matmul(x, x); });
    const auto b = tn::on("/gpu:1", [&] { return matmul(a, x); });
    const auto c = tn::on("/gpu:0", [&] { return sum(b + a); });
    initialized_session s(with_gpus(2, memory, 1e9, 5e-6));
    tn::array<float, tn::shape<16, 16>> v;
    v.fill(0.25f);
    const float expected = s.run(tn::feed(x, v), c).item();
    std::atomic<int> wrong{0};
    on_threads(4, [&](int) {
        for (int i = 0; i < 50; ++i) {
            auto [value, number] = s.run(tn::feed(x, v), c, more);
            if (value.item() != expected || number.item() < 1) ++wrong;
        }
    });
    CHECK(wrong == 0);
    CHECK(s.run(count).item() == 200);
}

TEST_CASE_FIXTURE(in_graph, "what fails in one thread's step does not touch another's on the same devices") {
    const auto x = tn::placeholder<float, tn::shape<16, 16>>("x");
    const auto good = tn::on("/gpu:0", [&] { return sum(tn::on("/gpu:1", [&] { return matmul(x, x); })); });
    const auto bad = tn::on("/gpu:0", [&] { return watched(tn::identity(good), "bad", deed::fail); });
    tn::session s(with_gpus(2));
    tn::array<float, tn::shape<16, 16>> v;
    v.fill(1);
    std::atomic<int> failed{0}, wrong{0};
    std::thread other([&] {
        for (int i = 0; i < 100; ++i) try {
                (void)s.run(tn::feed(x, v), bad);
            } catch (const tn::out_of_range_error&) {
                ++failed;
            }
    });
    for (int i = 0; i < 100; ++i)
        if (s.run(tn::feed(x, v), good).item() != 4096) ++wrong;
    other.join();
    CHECK(failed == 100);
    CHECK(wrong == 0);
}
