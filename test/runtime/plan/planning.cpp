#include <limits>
#include <stdexcept>

#include <tenon/op/wait.hpp>

#include "tests.hpp"
#include "runtime/support.hpp"

// What the planner folds, fuses and shares, and how much memory a step takes, as session::report tells it.

using namespace probe;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

bool runs(const tn::step_report& r, const std::string& what) {
    for (const std::string& line : r.order)
        if (line.find(what) != std::string::npos) return true;
    return false;
}

// Nodes that run side by side need more memory.
const tn::session_options in_order{.inter_op_threads = 1};

// What a report of a step in order must never contradict.
void check_memory(const tn::step_report& r) {
    CHECK(r.arena_bytes >= r.lower_bound);
    CHECK(static_cast<double>(r.arena_bytes) <= 1.1 * static_cast<double>(r.lower_bound));
    CHECK(r.peak_bytes >= r.arena_bytes);
    CHECK(static_cast<int>(r.order.size()) == r.nodes);
}

struct unprepared_op {
    static constexpr const char* name = "test_unprepared";
    using attributes = tn::no_attributes;
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    static tn::kernel_pointer prepare(const tn::kernel_setup&) { return nullptr; }
};
struct idle_kernel final : tn::kernel {
    void run(const tn::kernel_run&) override {}
};
struct without_wait final : tn::waiting_kernel {
    std::unique_ptr<tn::wait> make_wait() const override { return nullptr; }
};
struct only_said_to_wait_op : unprepared_op {
    static constexpr const char* name = "test_only_said_to_wait";
    static constexpr tn::op_flags flags = tn::op_flags::waits;
    static tn::kernel_pointer prepare(const tn::kernel_setup&) { return std::make_unique<idle_kernel>(); }
};
struct secretly_waiting_op : unprepared_op {
    static constexpr const char* name = "test_secretly_waiting";
    static tn::kernel_pointer prepare(const tn::kernel_setup&) { return std::make_unique<without_wait>(); }
};
struct without_wait_op : only_said_to_wait_op {
    static constexpr const char* name = "test_no_wait";
    static tn::kernel_pointer prepare(const tn::kernel_setup&) { return std::make_unique<without_wait>(); }
};
struct greedy_kernel final : tn::kernel {
    void run(const tn::kernel_run&) override {}
    std::size_t scratch_bytes() const override { return std::numeric_limits<std::size_t>::max(); }
};
struct greedy_op : unprepared_op {
    static constexpr const char* name = "test_greedy";
    static tn::kernel_pointer prepare(const tn::kernel_setup&) { return std::make_unique<greedy_kernel>(); }
};
template <class Error> struct throwing_prepare_op : unprepared_op {
    static constexpr const char* name =
        std::is_base_of_v<tn::error, Error> ? "test_refusing_prepare" : "test_throwing_prepare";
    static tn::kernel_pointer prepare(const tn::kernel_setup&) { throw Error("no kernel today"); }
};

} // namespace

TEST_CASE_FIXTURE(in_graph, "what can be computed from constants alone is computed once, when the step is planned") {
    const auto x = tn::placeholder<float>("x");
    const auto c = tn::identity(exp(tn::constant(0.0f)) + tn::constant(1.0f), "c");
    const auto y = x + tanh(c) * 0.0f + c;
    tn::session folding, plain(tn::session_options{.fold_constants = false});
    const auto r = folding.report(tn::feed(x, 1.0f), y);
    CHECK(r.folded > 0);
    CHECK(r.nodes == 1);
    const auto p = plain.report(tn::feed(x, 1.0f), y);
    CHECK(p.folded == 0);
    CHECK(p.nodes > 1);
    CHECK(folding.run(tn::feed(x, 1.0f), y).item() == 3);
    CHECK(plain.run(tn::feed(x, 1.0f), y).item() == 3);
}

TEST_CASE_FIXTURE(in_graph, "a constant that is fed is not folded into what uses it") {
    const auto c = tn::constant(2.0f);
    const auto y = exp(c) * 0.0f + c;
    tn::session s;
    CHECK(s.run(y).item() == 2);
    CHECK(s.run(tn::feed(c, 5.0f), y).item() == 5);
}

TEST_CASE_FIXTURE(in_graph, "stateful nodes are never folded") {
    const auto y = watched(tn::constant(1.0f), "w") + 1.0f;
    tn::session s;
    journal::get().take();
    s.run(y);
    s.run(y);
    CHECK(journal::get().take().size() == 2);
}

TEST_CASE_FIXTURE(in_graph, "elementwise nodes that feed each other alone run as one pass") {
    const auto x = tn::placeholder<float, tn::shape<batch, 8>>("x");
    // Names make nodes; the planner joins them again, since nothing else reads them.
    tn::any_tensor t = x;
    constexpr int steps = 10;
    for (int i = 0; i < steps; ++i)
        t = tn::detail::add_instruction(i % 2 ? tn::opcode::negative : tn::opcode::relu, {t});
    tn::session fusing, plain(tn::session_options{.fuse = false});
    const tn::array<float> v({{1, 2, 3, 4, 5, 6, 7, 8}});
    CHECK(fusing.report(tn::feed(x, v), t).nodes == 1);
    CHECK(fusing.report(tn::feed(x, v), t).fused == steps - 1);
    CHECK(plain.report(tn::feed(x, v), t).nodes == steps);
    CHECK(fusing.run(tn::feed(x, v), t) == plain.run(tn::feed(x, v), t));
}

TEST_CASE_FIXTURE(in_graph,
                  "a node that two others read, or that is fetched, is not computed twice for the sake of fusion") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    const auto h = exp(x);
    const auto a = h + 1.0f;
    const auto b = h * 2.0f;
    tn::session s;
    const tn::array<float> v{0, 1, 2, 3};
    CHECK(s.report(tn::feed(x, v), a, b).nodes == 3);
    CHECK(s.report(tn::feed(x, v), a).nodes == 1);
    CHECK(s.report(tn::feed(x, v), a, h).nodes == 2);
}

TEST_CASE_FIXTURE(in_graph, "identities and reshapes cost nothing") {
    const auto x = tn::placeholder<float, tn::shape<batch, 4>>("x");
    const auto y = tn::stop_gradient(tn::identity(exp(x)));
    const auto z = exp(reshape<tn::shape<tn::dyn, 2, 2>>(y));
    tn::session s;
    const tn::array<float> v({{0, 1, 2, 3}});
    const auto r = s.report(tn::feed(x, v), z);
    CHECK_FALSE(runs(r, "identity"));
    CHECK_FALSE(runs(r, "stop_gradient"));
    CHECK_FALSE(runs(r, "reshape"));
}

TEST_CASE_FIXTURE(in_graph, "the bias and the activation after a product run with it") {
    const auto x = tn::placeholder<float, tn::shape<batch, 16>>("x");
    const auto w = tn::variable<float, tn::shape<16, 8>>("w", tn::constant_value(0.01));
    const auto b = tn::variable<float, tn::shape<8>>("b", tn::constant_value(0.5));
    const auto y = relu(matmul(x, w) + b);
    tn::session fusing, plain(tn::session_options{.fuse = false});
    tn::array<float, tn::shape<batch, 16>> v(5);
    v.fill(1);
    for (tn::session* s : {&fusing, &plain}) s->run(tn::initialize_variables());
    const auto r = fusing.report(tn::feed(x, v), y), p = plain.report(tn::feed(x, v), y);
    CHECK(runs(r, "matmul_bias"));
    CHECK(r.nodes < p.nodes);
    CHECK(all_close(fusing.run(tn::feed(x, v), y), plain.run(tn::feed(x, v), y), 1e-6));
}

TEST_CASE_FIXTURE(in_graph, "the memory of a chain is that of its two largest neighbours, not of the whole chain") {
    const auto x = tn::placeholder<float, tn::shape<batch, 64>>("x");
    const auto w = tn::variable<float, tn::shape<64, 64>>("w", tn::constant_value(0.01));
    tn::tensor<float, tn::shape<batch, 64>> t = x;
    for (int i = 0; i < 20; ++i) t = matmul(t, w);
    initialized_session s;
    tn::array<float, tn::shape<batch, 64>> v(32);
    const auto r = s.report(tn::feed(x, v), sum(t));
    check_memory(r);
    const std::size_t one = 32 * 64 * sizeof(float);
    CHECK(r.arena_bytes >= 2 * one);
    CHECK(r.arena_bytes < 4 * one);
    CHECK(r.variable_bytes == 64 * 64 * sizeof(float));
}

TEST_CASE_FIXTURE(in_graph, "elementwise results are written where an operand ends") {
    const auto x = tn::placeholder<float, tn::shape<1024>>("x");
    tn::any_tensor t = x;
    for (int i = 0; i < 8; ++i) t = tn::detail::add_instruction(tn::opcode::exp, {t});
    tn::session s(tn::session_options{.fuse = false});
    const auto r = s.report(tn::feed(x, tn::array<float, tn::shape<1024>>()), sum(tn::as<float, tn::shape<1024>>(t)));
    check_memory(r);
    CHECK(r.arena_bytes < 2 * 1024 * sizeof(float));
}

TEST_CASE_FIXTURE(in_graph,
                  "planned memory is within a tenth of the least possible: a training step of a dense network") {
    const auto x = tn::placeholder<float, tn::shape<batch, 196>>("x");
    const auto y = tn::placeholder<float, tn::shape<batch, 10>>("y");
    const auto w1 = tn::variable<float, tn::shape<196, 120>>("w1", tn::glorot_uniform(1));
    const auto b1 = tn::variable<float, tn::shape<120>>("b1", tn::zeros());
    const auto w2 = tn::variable<float, tn::shape<120, 60>>("w2", tn::glorot_uniform(2));
    const auto b2 = tn::variable<float, tn::shape<60>>("b2", tn::zeros());
    const auto w3 = tn::variable<float, tn::shape<60, 10>>("w3", tn::glorot_uniform(3));
    const auto h1 = relu(matmul(x, w1) + b1);
    const auto h2 = tanh(matmul(h1, w2) + b2);
    const auto loss = mean(square(matmul(h2, w3) - y));
    const auto [d1, e1, d2, e2, d3] = gradients(loss, w1, b1, w2, b2, w3);
    const tn::operation train = tn::group(w1.assign_sub(d1 * 0.1f), b1.assign_sub(e1 * 0.1f), w2.assign_sub(d2 * 0.1f),
                                          b2.assign_sub(e2 * 0.1f), w3.assign_sub(d3 * 0.1f));
    for (const std::int64_t n : {1, 8, 100, 500}) {
        initialized_session s(in_order);
        const tn::array<float, tn::shape<batch, 196>> v(n);
        const tn::array<float, tn::shape<batch, 10>> t(n);
        const auto r = s.report(tn::feed(x, v), tn::feed(y, t), train, loss);
        CAPTURE(n);
        check_memory(r);
        s.run(tn::feed(x, v), tn::feed(y, t), train, loss); // and what was planned can be run
    }
}

TEST_CASE_FIXTURE(
    in_graph, "planned memory is within a tenth of the least possible: branches of different sizes that meet again") {
    const auto x = tn::placeholder<float, tn::shape<64, 64>>("x");
    const auto w = tn::variable<float, tn::shape<64, 64>>("w", tn::ones());
    std::vector<tn::any_tensor> ends;
    for (int i = 1; i <= 6; ++i) {
        tn::any_tensor t = x;
        for (int k = 0; k < i; ++k) t = tn::untyped::matmul(t, w);
        ends.push_back(t);
    }
    tn::any_tensor all = ends[0];
    for (std::size_t i = 1; i < ends.size(); ++i) all = tn::untyped::matmul(all, ends[i]);
    tn::session s(in_order);
    check_memory(s.report(tn::feed(x, tn::array<float, tn::shape<64, 64>>()), all));
}

TEST_CASE_FIXTURE(in_graph, "planned memory is within a tenth of the least possible: a chain of thousands of nodes") {
    const auto x = tn::placeholder<float, tn::shape<4, 4>>("x");
    tn::tensor<float, tn::shape<4, 4>> before = x, h = tanh(x);
    for (int i = 0; i < 5000; ++i) { // each is read twice, so that it stays a node
        const tn::tensor<float, tn::shape<4, 4>> next = matmul(h, before);
        before = h;
        h = next;
    }
    tn::session s(in_order);
    const tn::array<float, tn::shape<4, 4>> value;
    const tn::step_report r = s.report(tn::feed(x, value), h);
    CHECK(r.nodes == 5001);
    CHECK(r.arena_bytes == 3 * 64);
    check_memory(r);
}

TEST_CASE_FIXTURE(
    in_graph,
    "a step that needs more than memory_limit is refused before it runs, by tensor, and the session goes on") {
    const auto x = tn::placeholder<float, tn::shape<batch, 1000>>("x");
    const auto h = tn::identity(x * 2.0f, "huge");
    const auto y = matmul(h, tn::variable<float, tn::shape<1000, 4>>("w", tn::zeros()));
    initialized_session s(tn::session_options{.memory_limit = 1 << 20});
    const tn::array<float, tn::shape<batch, 1000>> small(10), large(1000);
    CHECK(s.run(tn::feed(x, small), y).size() == 40);
    const std::string text = message_of<tn::resource_exhausted_error>([&] { s.run(tn::feed(x, large), y); });
    CHECK(contains(text, "this step needs "));
    CHECK(contains(text, "1048576 may be used; the largest tensors:"));
    CHECK(contains(text, "4000000 bytes: mul float[1000, 1000]"));
    CHECK(contains(text, "feed smaller batches, fetch less, or raise session_options::memory_limit"));
    // What is computed and fetched is counted and named, and so is a variable.
    CHECK_ERROR(tn::resource_exhausted_error, "4000000 bytes: huge float[1000, 1000], fetched",
                s.run(tn::feed(x, large), h));
    const auto v = tn::variable<float, tn::shape<600, 600>>("big", tn::zeros());
    CHECK_ERROR(tn::resource_exhausted_error,
                "variable \"big\", float[600, 600]: 1440000 bytes are too many: of the 1048576", s.run(v));
    CHECK_THROWS_AS(s.report(tn::feed(x, large), y), tn::resource_exhausted_error);
    CHECK(s.run(tn::feed(x, small), y).size() == 40);
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 11: variables count against memory_limit; the error names them, and none is made that does not fit") {
    const auto x = tn::placeholder<float, tn::shape<batch, 100>>("x");
    const auto w = tn::variable<float, tn::shape<100, 1000>>("w", tn::zeros()); // 400000 bytes
    const auto y = tn::identity(matmul(x, w), "y");
    const auto total = sum(y);
    initialized_session s(tn::session_options{.memory_limit = 500'000});
    const auto feed = [](std::int64_t rows) { return tn::array<float, tn::shape<batch, 100>>(rows); };
    const auto report = s.report(tn::feed(x, feed(10)), total);
    CHECK(report.variable_bytes == 400'000);
    CHECK(report.peak_bytes < 100'000);
    CHECK(s.run(tn::feed(x, feed(20)), total).item() == 0);
    const std::string text = message_of<tn::resource_exhausted_error>([&] { s.run(tn::feed(x, feed(30)), total); });
    CHECK(contains(text, " bytes on /device:CPU:0 beside the 400000 of variables, of which 500000 may be used"));
    CHECK(contains(text, "400000 bytes: w float[100, 1000], variable"));
    CHECK(contains(text, "float[30, 1000]"));
    const auto more = tn::variable<float, tn::shape<1000, 100>>("more", tn::zeros());
    const std::string refused = message_of<tn::resource_exhausted_error>([&] { s.run(more.initializer()); });
    CHECK(contains(refused,
                   "variable \"more\", float[1000, 100]: 400000 bytes are too many: of the 500000 that may be used "
                   "(session_options::memory_limit), variables hold 400000 and steps 0"));
    CHECK(contains(refused, "400000 bytes: w float[100, 1000], variable"));
    CHECK(s.statistics().variable_bytes == 400'000);
    CHECK(s.run(tn::feed(x, feed(20)), total).item() == 0);
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 11: memory of kept steps counts against memory_limit, and is given back where it is needed") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto total = sum(tn::identity(exp(x), "y") * tn::identity(sin(x), "z"));
    constexpr std::size_t limit = 100'000;
    tn::session s(tn::session_options{.memory_limit = limit, .fuse = false});
    const auto run = [&](std::int64_t n) {
        s.run(tn::feed(x, tn::array<float, tn::shape<batch>>(n)), total);
        CHECK(s.statistics().plan_bytes + s.statistics().variable_bytes <= limit);
    };
    for (std::int64_t n = 1000; n <= 8000; n += 1000) run(n); // together several times the limit
    CHECK(s.statistics().plans < 8);
    CHECK(s.statistics().plan_bytes > limit / 2);
    // A variable takes what steps keep.
    const auto v = tn::variable<float, tn::shape<20000>>("v", tn::zeros());
    s.run(v.initializer());
    CHECK(s.statistics().variable_bytes == 80'000);
    run(1000);
    // What a callable holds for its next call is not taken away.
    tn::session other(tn::session_options{.memory_limit = limit, .fuse = false});
    const auto step = other.callable(tn::feeds(x), tn::fetches(total));
    const tn::array<float, tn::shape<batch>> held(7000);
    step(held);
    const std::string text = message_of<tn::resource_exhausted_error>(
        [&] { other.run(tn::feed(x, tn::array<float, tn::shape<batch>>(8000)), total); });
    CHECK(contains(text, "no memory for this step: /device:CPU:0: "));
    CHECK(contains(text, "that may be used (session_options::memory_limit), variables hold 0 and steps "));
    CHECK(contains(text, "float[8000]"));
    CHECK(std::get<0>(step(held)).item() == 0);
}

TEST_CASE_FIXTURE(
    in_graph,
    "a tensor that no machine can hold is a resource_exhausted_error that names it, and the session goes on") {
    const auto column = tn::placeholder<float, tn::shape<tn::dyn, 1>>("column");
    const auto row = tn::placeholder<float, tn::shape<1, tn::dyn>>("row");
    const auto outer = tn::identity(column * row, "outer");
    const auto total = sum(outer * outer);
    tn::session s(tn::session_options{.fuse = false});
    const std::int64_t n = 2000000; // n * n floats: 16 TB
    const tn::array<float, tn::shape<tn::dyn, 1>> c(n);
    const tn::array<float, tn::shape<1, tn::dyn>> r(n);
    const std::string text =
        message_of<tn::resource_exhausted_error>([&] { s.run(tn::feed(column, c), tn::feed(row, r), outer); });
    CHECK(contains(text, "no memory for what is fetched of outer, float[2000000, 2000000]"));
    CHECK_ERROR(tn::resource_exhausted_error, "float[2000000, 2000000]",
                s.run(tn::feed(column, c), tn::feed(row, r), total));
    const tn::array<float, tn::shape<tn::dyn, 1>> c2(2);
    CHECK(s.run(tn::feed(column, c2), tn::feed(row, tn::array<float>{{1, 2}}), total).item() == 0);
}

TEST_CASE_FIXTURE(in_graph,
                  "an op that prepares no kernel, or not the kind that it says, is told so, by node and device") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {2}, "x");
    tn::session s;
    const auto run = [&](const tn::any_tensor& y) {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({x, tn::any_array::zeros(tn::element_type::float32, {2})});
        (void)s.run_untyped(std::move(feeds), {y});
    };
    CHECK_ERROR(tn::invalid_argument_error,
                "mine (test_unprepared) on /device:CPU:0: its op's prepare has returned no kernel",
                run(tn::add<unprepared_op>({}, {x}, "mine")));
    CHECK_ERROR(tn::invalid_argument_error,
                "has returned a kernel that is no waiting_kernel, as op_flags::waits asks for",
                run(tn::add<only_said_to_wait_op>({}, {x})));
    CHECK_ERROR(tn::invalid_argument_error, "has returned a waiting_kernel, and has no op_flags::waits",
                run(tn::add<secretly_waiting_op>({}, {x})));
    CHECK_ERROR(
        tn::invalid_argument_error,
        "large (test_greedy) on /device:CPU:0: its op's prepare has returned a kernel whose scratch_bytes() are more",
        run(tn::add<greedy_op>({}, {x}, "large")));
    CHECK_ERROR(
        tn::invalid_argument_error,
        "its kernel's make_wait has returned nothing; return what the step starts [node never (test_no_wait) on",
        run(tn::add<without_wait_op>({}, {x}, "never")));
    CHECK_ERROR(tn::internal_error, "no kernel today [node late (test_throwing_prepare) on /device:CPU:0, made at ",
                run(tn::add<throwing_prepare_op<std::runtime_error>>({}, {x}, "late")));
    CHECK_ERROR(tn::unimplemented_error,
                "no kernel today [node later (test_refusing_prepare) on /device:CPU:0, made at ",
                run(tn::add<throwing_prepare_op<tn::unimplemented_error>>({}, {x}, "later")));
    run(x);
}

TEST_CASE_FIXTURE(in_graph, "sizes that overflow in a step are an error, not a small number") {
    // Views of one element, repeated: no memory is needed to ask for too much of it.
    const auto a = tn::placeholder<std::int8_t, tn::shape<tn::dyn, 1, 1, 1>>("a");
    const auto b = tn::placeholder<std::int8_t, tn::shape<tn::dyn, 1, 1>>("b");
    const auto c = tn::placeholder<std::int8_t, tn::shape<tn::dyn, 1>>("c");
    const auto d = tn::placeholder<std::int8_t, tn::shape<tn::dyn>>("d");
    const auto all = a + b + c + d;
    tn::session s;
    const std::int64_t n = 100000; // n^4 = 10^20 elements
    const tn::array<std::int8_t> va(tn::extents{n, 1, 1, 1}), vb(tn::extents{n, 1, 1}), vc(tn::extents{n, 1}),
        vd(tn::extents{n});
    CHECK_ERROR(tn::invalid_argument_error, "more than 2^62 bytes",
                s.run(tn::feed(a, va), tn::feed(b, vb), tn::feed(c, vc), tn::feed(d, vd), all));
}

TEST_CASE_FIXTURE(in_graph, "memory is planned with what is fetched apart: peak_bytes is both") {
    const auto x = tn::placeholder<float, tn::shape<256>>("x");
    tn::session s;
    const auto r = s.report(tn::feed(x, tn::array<float, tn::shape<256>>()), exp(x));
    CHECK(r.peak_bytes >= 256 * sizeof(float));
    CHECK(r.peak_bytes < 256 * sizeof(float) + 256);
}
