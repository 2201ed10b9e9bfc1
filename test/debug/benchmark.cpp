#include <stdexcept>

#include <tenon/debug/benchmark.hpp>

#include "tests.hpp"

// Kernels by themselves, and candidates in turns. Nothing here asks how long something took.

namespace {

const tn::benchmark_options quick{.seconds = 1e-3, .warm_up = 0, .rounds = 3, .peaks = false};

inline constexpr struct rows : tn::dim<"rows"> {} rows;

std::string refused(const std::vector<tn::benchmark_candidate>& candidates, const tn::benchmark_options& o) {
    return message_of<tn::invalid_argument_error>([&] { (void)tn::benchmark(candidates, o); });
}

tn::benchmark_row row_of(const char* name, std::vector<double> seconds, const char* on = "host") {
    tn::benchmark_row row;
    row.name = name;
    row.on = on;
    row.seconds = std::move(seconds);
    return row;
}

} // namespace

TEST_CASE("a node's kernel gives what a step gives, on every kind of device, with what it reads, writes and computes") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<rows, 3>>("x");
    const auto w = tn::variable<float, tn::shape<3, 2>>("w", tn::ones());
    const tn::any_tensor twice = tn::detail::as_tensor(x * 2.0f), product = tn::matmul(x, w),
                         fused = tn::detail::as_tensor((x * 2.0f - 1.0f) * x), total = tn::sum<0>(x);
    tn::session_options simulated{.gpus = tn::simulated_gpu(1, 64 << 20)};
    for (const tn::session_options& o : {tn::session_options(), simulated}) {
        tn::session s(g, o);
        s.run(w.initializer());
        const tn::array<float, tn::shape<rows, 3>> values{{1, -2, 3}, {4, 5, -6}};
        for (const tn::any_tensor& y : {twice, product, fused, total}) {
            const auto k = s.kernel_of(tn::feed(x, values), y);
            CHECK(k->on().name.type == (o.gpus ? "GPU" : "CPU"));
            CHECK(k->element() == tn::element_type::float32);
            CHECK(k->launches().empty());
            for (const bool cold : {false, true}) CHECK(k->run(2, cold) >= 0);
            const tn::any_array got = k->result(0), want = s.run(tn::feed(x, values), y);
            REQUIRE(got.type() == want.type());
            for (std::int64_t i = 0; i < got.elements(); ++i) CHECK(got.data<float>()[i] == want.data<float>()[i]);
        }
        const auto of = [&](const tn::any_tensor& y) { return s.kernel_of(tn::feed(x, values), y); };
        CHECK(of(product)->operations() == 2 * 2 * 3 * 2);
        CHECK(of(product)->bytes() == 4 * (6 + 6 + 4));
        CHECK(of(fused)->bytes() == 4 * (6 + 6)); // x is read once
        CHECK(of(fused)->operations() >= 3 * 6);  // as it is written, or with a multiply-add
        CHECK(of(fused)->operations() <= 4 * 6);
        CHECK(of(total)->operations() == 6);
    }
}

TEST_CASE("a convolution and both its gradients take two operations for each product of a window's element") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<2, 8, 8, 3>>("x");
    const auto w = tn::placeholder<float, tn::shape<3, 3, 3, 4>>("w");
    const auto y = tn::conv2d(x, w); // [2, 6, 6, 4]
    const auto slopes = tn::gradients(tn::sum(y * y), x, w);
    tn::session s;
    const tn::array<float, tn::shape<2, 8, 8, 3>> image;
    const tn::array<float, tn::shape<3, 3, 3, 4>> window;
    const auto operations = [&](const tn::any_tensor& t) {
        return s.kernel_of(tn::feed(x, image), tn::feed(w, window), t)->operations();
    };
    constexpr double all = 2.0 * (2 * 6 * 6 * 4) * (3 * 3 * 3);
    CHECK(operations(y) == all);
    CHECK(operations(std::get<0>(slopes)) == all);
    CHECK(operations(std::get<1>(slopes)) == all);
}

TEST_CASE_FIXTURE(in_graph, "what is no kernel of its operands alone is refused, and the session goes on") {
    const auto v = tn::variable<float, tn::shape<2>>("v", tn::zeros());
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    const auto some = tn::boolean_mask<tn::dyn>(x, x > 0.0f);
    tn::session s;
    s.run(v.initializer());
    const auto words = [&](auto... asked) {
        return message_of<tn::invalid_argument_error>([&] { (void)s.kernel_of(tn::feed(x, {1, 2}), asked...); });
    };
    for (const tn::any_tensor& t :
         {tn::any_tensor(v), tn::any_tensor(x), tn::any_tensor(some), tn::any_tensor(v.assign_add(1.0f)),
          tn::any_tensor(tn::random_normal<float, tn::shape<2>>())})
        CHECK(contains(words(t), "is no kernel of its operands alone; time a step"));
    CHECK(contains(words(), "give it one tensor"));
    CHECK(contains(words(tn::detail::as_tensor(x + 1.0f), tn::detail::as_tensor(x + 2.0f)), "here are 2 tensors"));
    CHECK(contains(message_of<tn::invalid_argument_error>([&] { (void)s.kernel_of(tn::detail::as_tensor(x + 1.0f)); }),
                   "x")); // which is not fed
    const auto k = s.kernel_of(tn::feed(x, {1, 2}), tn::detail::as_tensor(x + 1.0f));
    CHECK_ERROR(tn::invalid_argument_error, "has 1 outputs", k->result(1));
    CHECK(s.run(tn::feed(x, {1, 2}), x + 1.0f)(1) == 3);
}

TEST_CASE_FIXTURE(in_graph, "a kernel outlives its session") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    std::shared_ptr<tn::timed_kernel> k;
    {
        tn::session s({.gpus = tn::simulated_gpu(1, 64 << 20)});
        k = s.kernel_of(tn::feed(x, {1, 2}), tn::detail::as_tensor(x + 1.0f));
    }
    (void)k->run(1);
    CHECK(k->result(0).data<float>()[1] == 3);
}

TEST_CASE("candidates are run in turns, each as often in all rounds") {
    int first = 0, second = 0, changes = 0, last = 0;
    const auto counted = [&](int& count, int which) {
        return [&, which] {
            ++count;
            changes += std::exchange(last, which) != which;
        };
    };
    tn::benchmark_options o = quick;
    o.rounds = 40;
    const auto r = tn::benchmark({{"first", counted(first, 1)}, {"second", counted(second, 2), {.bytes = 8}}}, o);
    REQUIRE(r.rows.size() == 2);
    CHECK(first >= 40);
    CHECK(second >= 40);
    CHECK(changes > 20); // not all of one and then all of the other
    for (const tn::benchmark_row& row : r.rows) {
        CHECK(row.on == "host");
        CHECK(row.seconds.size() == 40);
        CHECK(row.middle_half().first <= row.median());
        CHECK(row.median() <= row.middle_half().second);
    }
    CHECK(r.rows[0].bytes_per_second() == 0);
    CHECK(r.rows[1].work.bytes == 8);
    CHECK(tn::benchmark([] {}, quick).rows[0].name == "call");
}

TEST_CASE("what a candidate throws comes out, and what makes no sense is said") {
    CHECK_THROWS_AS((void)tn::benchmark([] { throw std::runtime_error("no"); }, quick), std::runtime_error);
    const tn::benchmark_candidate nothing("a", [] {});
    CHECK(contains(refused({}, quick), "nothing to time"));
    CHECK(contains(refused({nothing, nothing}, quick), "two candidates are called \"a\""));
    CHECK(contains(refused({{"", [] {}}}, quick), "candidate 1 has no name"));
    CHECK(contains(refused({{"\xff", [] {}}}, quick), "the name of candidate 1 is not UTF-8"));
    CHECK(contains(refused({{"a", [] {}, {.bytes = -1}}}, quick), "-1"));
    CHECK(contains(refused({nothing}, {.seconds = 0}), "options.seconds is 0"));
    CHECK(contains(refused({nothing}, {.warm_up = -1}), "options.warm_up is -1"));
    CHECK(contains(refused({nothing}, {.rounds = 0}), "options.rounds is 0"));
    CHECK(contains(message_of<tn::invalid_argument_error>(
                       [] { const tn::benchmark_candidate c("k", std::shared_ptr<tn::timed_kernel>()); }),
                   "session::kernel_of"));
    CHECK_ERROR(tn::invalid_argument_error, "session::kernel_of",
                tn::benchmark(std::shared_ptr<tn::timed_kernel>(), quick));
    void (*const none)() = nullptr;
    CHECK_ERROR(tn::invalid_argument_error, "\"f\" is an empty function", tn::benchmark({{"f", none}}, quick));
    CHECK_ERROR(tn::invalid_argument_error, "\"call\" is an empty function",
                tn::benchmark(std::function<void()>(), quick));
    CHECK_ERROR(tn::out_of_range_error, "benchmark of \"b\": no more",
                tn::benchmark({nothing, {"b", [] { throw tn::out_of_range_error("no more"); }}}, quick));
}

TEST_CASE("a candidate may give something, which nobody takes, and may be a function that is there") {
    int calls = 0;
    const std::function<int()> counted = [&] { return ++calls; };
    CHECK(tn::benchmark({{"lambda", [&] { return ++calls; }}, {"function", counted}}, quick).rows.size() == 2);
    CHECK(calls >= 6);
}

TEST_CASE_FIXTURE(in_graph, "a placement by costs learns from kernels that were timed") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    tn::session s;
    tn::cost_measurements learned;
    tn::benchmark_options o = quick;
    o.measurements = &learned;
    const tn::any_tensor y = tn::detail::as_tensor(x + 1.0f);
    const auto r = tn::benchmark({{"k", s.kernel_of(tn::feed(x, {1, 2}), y)}, {"call", [] {}}}, o);
    CHECK(learned.kernels() == 1);
    // By the name under which a measured step adds the node's time, too.
    s.set_measurements(&learned);
    (void)s.run(tn::feed(x, {1, 2}), y);
    s.set_measurements(nullptr);
    CHECK(learned.kernels() == 1);
}

TEST_CASE_FIXTURE(in_graph, "a machine's peaks are positive where something is known of a kernel") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    tn::session s;
    tn::benchmark_options o = quick;
    o.peaks = true;
    const auto r = tn::benchmark({{"k", s.kernel_of(tn::feed(x, {1, 2}), tn::detail::as_tensor(x + 1.0f))},
                                  {"known", [] {}, {.bytes = 1}},
                                  {"call", [] {}}},
                                 o);
    for (const std::size_t known : {std::size_t{0}, std::size_t{1}}) {
        CHECK(r.rows[known].peak.bytes_per_second > 1e6);
        CHECK(r.rows[known].peak.operations_per_second > 1e6);
    }
    CHECK(r.rows[2].peak.bytes_per_second == 0);
    // Of each number of threads its own.
    std::vector<tn::device_peak> peaks;
    for (const int threads : {1, 2}) {
        tn::session own(g, {.intra_op_threads = threads, .use_per_session_threads = true});
        peaks.push_back(own.kernel_of(tn::feed(x, {1, 2}), tn::detail::as_tensor(x + 1.0f))->peak());
    }
    CHECK(peaks[0].operations_per_second != peaks[1].operations_per_second);
}

TEST_CASE("a report is read as it was written") {
    tn::benchmark_report r;
    r.cold = true;
    r.machine = "a processor, 2 threads";
    r.rows.push_back(row_of("a \"row\"", {1e-6, 2.5e-7, 3}, "/device:GPU:0"));
    r.rows.back().work = {12, 1e9};
    r.rows.back().peak = {1e12, 0};
    r.rows.back().launches = {{"k", 3, 256, 32, 1024, 8, 0.75}, {}};
    r.rows.push_back(row_of("b", {0}));
    const std::string text = r.to_json();
    CHECK(tn::benchmark_report::from_json(text).to_json() == text);
    const temporary_folder folder;
    r.save(folder / "r.json");
    CHECK(tn::benchmark_report::load(folder / "r.json").to_json() == text);
    CHECK_THROWS_AS((void)tn::benchmark_report::load(folder / "none.json"), tn::not_found_error);
    CHECK_THROWS_AS((void)tn::benchmark_report::from_json("{"), tn::data_loss_error);
    const auto words = [&](std::string from, const std::string& to) {
        std::string other = text;
        other.replace(other.find(from), from.size(), to);
        return message_of<tn::invalid_argument_error>([&] { (void)tn::benchmark_report::from_json(other); });
    };
    CHECK(contains(words("\"version\": 1", "\"version\": 2"), "\"version\": a whole number from 1 to 1"));
    CHECK(contains(words("\"cold\": true", "\"cold\": 1"), "\"cold\" must be true or false"));
    CHECK(contains(words("\"a processor, 2 threads\"", "3"), "\"machine\" must be a text, not 3"));
    std::string before = text; // there were reports that say no machine
    const std::string machine = " \"machine\": \"a processor, 2 threads\",\n";
    before.erase(before.find(machine), machine.size());
    CHECK(tn::benchmark_report::from_json(before).machine.empty());
    CHECK(contains(words("\"bytes\": 12.0", "\"bytes\": -1"), "row 1: \"bytes\": a number from 0 on is needed"));
    CHECK(contains(words("\"blocks\": 3", "\"blocks\": -3"), "a launch of row 1"));
    CHECK(contains(words("\"on\"", "\"where\""), "row 1: has no \"on\""));
}

TEST_CASE("a table: medians, the middle half, how often as fast as the first, rates with their shares of the peaks, "
          "launches") {
    tn::benchmark_report r;
    r.rows.push_back(row_of("fast", {1e-6, 2e-6, 3e-6, 2e-6, 2e-6}, "/device:GPU:0"));
    r.rows[0].work = {2000, 0};
    r.rows[0].peak = {4e9, 0};
    r.rows[0].launches = {{"fused_17", 132, 256, 40, 0, 16, 0.5}};
    r.rows.push_back(row_of("slow", {4e-6}));
    r.rows.push_back(row_of("\xc3\xa9\n", {4e-6})); // one column and a blank
    const std::string text = r.to_text();
    CAPTURE(text);
    CHECK(contains(text, "\nslow           host    4 us"));
    CHECK(contains(text, "\n\xc3\xa9              host    4 us"));
    CHECK(contains(text, "2 us"));
    CHECK(contains(text, "2 us to 2 us"));
    CHECK(contains(text, "0.5"));
    CHECK(contains(text, "1 GB"));
    CHECK(contains(text, "25 %"));
    CHECK(contains(text, "fast launches fused_17: 132 blocks of 256 threads, 40 registers"));
    CHECK(contains(text, "16 spilled by a thread, occupancy 50 %"));
}

TEST_CASE("two reports: what is faster, slower, the same, new, gone, elsewhere") {
    tn::benchmark_report before, now;
    before.rows = {row_of("faster", {4, 4.1, 4.2}),
                   row_of("slower", {1, 1, 1}),
                   row_of("same", {1, 2, 3}),
                   row_of("gone", {1}),
                   row_of("moved", {1}),
                   row_of("nothing", {1})};
    now.rows = {row_of("faster", {2, 2.1, 2.2}),       row_of("slower", {2, 2, 2}),
                row_of("same", {2, 2.5, 3}),           row_of("new", {1}),
                row_of("moved", {3}, "/device:GPU:0"), row_of("nothing", {0})};
    const std::string text = tn::compare(before, now);
    CAPTURE(text);
    const auto line = [&](const std::string& name) {
        const std::size_t at = text.find(name + " ");
        return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
    };
    CHECK(contains(line("faster"), "1.95  faster"));
    CHECK(contains(line("slower"), "0.5  slower"));
    CHECK(contains(line("same"), "the same"));
    CHECK(contains(line("new"), "-  new"));
    CHECK(contains(line("gone"), "-  gone"));
    CHECK(contains(line("nothing"), "1 s   0 ns      -  faster"));
    CHECK(contains(line("moved"), "slower, on /device:GPU:0 and not host"));
    CHECK(!contains(text, "machine"));
    now.machine = "this";
    CHECK(tn::compare(before, now) == text); // of what was before it is not known
    before.machine = "that";
    CHECK(contains(tn::compare(before, now), "\nTwo machines: that before, this now.\n"));
    now.cold = true;
    CHECK(contains(tn::compare(before, now), "this compares two things"));
}
