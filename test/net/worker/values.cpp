#include <bit>
#include <chrono>

#include <tenon/net/net.hpp>

#include "watched_transport.hpp"

// How the values of a step go from task to task.

using namespace net_test;

namespace {

// x, when the test lets it go on: a kernel that takes as long as that.
struct held_op {
    static constexpr const char* name = "test_held";
    static constexpr tn::op_flags flags = tn::op_flags::stateful;
    static constexpr tn::element_types gpu_types = tn::no_elements;
    struct attributes {};
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) {
        return tn::inferred(in[0].element, in[0].extents);
    }
    struct held_kernel final : tn::kernel {
        explicit held_kernel(const tn::kernel_setup&) {}
        void run(const tn::kernel_run& r) override {
            std::unique_lock lock(guard);
            runs = true;
            changed.notify_all();
            (void)changed.wait_for(lock, std::chrono::minutes(1), [] { return open; });
            *static_cast<float*>(r.out[0]) = *static_cast<const float*>(r.in[0]);
        }
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return std::make_unique<held_kernel>(s); }

    static inline std::mutex guard; // of what follows
    static inline std::condition_variable changed;
    static inline bool open = false, runs = false;
};
const tn::op_definition& held_definition = tn::definition_of<held_op>();

using scalar = tn::shape<>;
using vector = tn::shape<tn::dyn>;

// The nearest bfloat16, ties to the one whose last bit is 0: of the two between which a number lies, found by looking.
float nearest_bfloat16(float x) {
    if (!std::isfinite(x)) return x;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t below_bits = bits & 0xFFFF0000U, above_bits = below_bits + 0x10000U; // in magnitude
    // Beyond the largest, what would be the next number counts, and stands for infinity.
    const auto value = [](std::uint32_t b) {
        const double m = std::ldexp(1.0 + ((b >> 16) & 0x7FU) / 128.0, static_cast<int>((b >> 23) & 0xFFU) - 127);
        const double small = std::ldexp(((b >> 16) & 0x7FU) / 128.0, -126);
        const double magnitude = ((b >> 23) & 0xFFU) == 0 ? small : m;
        return (b >> 31) != 0 ? -magnitude : magnitude;
    };
    const double exact = x, below = value(below_bits), above = value(above_bits);
    const double to_below = std::abs(exact - below), to_above = std::abs(above - exact);
    const bool up = to_above < to_below || (to_above == to_below && (below_bits & 0x10000U) != 0);
    return std::bit_cast<float>(up ? above_bits : below_bits);
}

std::vector<float> numbers_of_all_kinds(std::uint64_t seed, std::size_t count) {
    std::mt19937_64 random(seed);
    std::vector<float> all = {0.0f,
                              -0.0f,
                              1.0f,
                              1.00390625f,
                              1.01171875f,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::denorm_min(),
                              std::numeric_limits<float>::quiet_NaN()};
    while (all.size() < count) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (!std::isnan(x)) all.push_back(x);
    }
    return all;
}

template <class A> A filled(A a, float with) {
    std::fill_n(a.data(), a.size(), with);
    return a;
}

tn::array<float, vector> array_of(const std::vector<float>& all) {
    tn::array<float, vector> a(static_cast<std::int64_t>(all.size()));
    std::copy(all.begin(), all.end(), a.data());
    return a;
}

bool same(float a, float b) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

} // namespace

TEST_CASE("float tensors travel as bfloat16 where that is asked for, and as they are elsewhere") {
    const std::uint64_t seed = std::random_device{}();
    INFO("seed ", seed);
    const std::vector<float> values = numbers_of_all_kinds(seed, 3000);
    const watched_cluster cluster(1, 1);
    const auto local = std::vector<tn::task>{tn::task({.intra_op_threads = 2, .job = "ps", .index = 0}),
                                             tn::task({.intra_op_threads = 2, .job = "worker", .index = 0})};
    for (const bool by_net : {true, false})
        for (const tn::element_type wire : {tn::element_type::none, tn::element_type::bfloat16}) {
            const own_graph g;
            const auto x = tn::placeholder<float, vector>("x");
            tn::tensor<float, vector> there, back, on_own_task;
            tn::tensor<double, vector> wide;
            tn::tensor<std::int32_t, vector> whole;
            tn::tensor<float, scalar> one;
            {
                const tn::device_scope ps("/job:ps/task:0");
                there = tn::identity(x); // rounded once on its way
                wide = tn::identity(tn::cast<double>(there) + 0.1);
                whole = tn::identity(tn::constant<std::int32_t>({16777217, -3}));
                one = tn::identity(tn::constant(0.1f));
            }
            {
                const tn::device_scope worker("/job:worker/task:0");
                back = there * 1.0f; // again: it is there already
                on_own_task = x + 0.0f;
            }
            tn::session_options o{.wire_type = wire};
            tn::session sess = by_net ? tn::session(cluster.target("worker", 0), g, o)
                                      : tn::session(std::vector<tn::task>{local[1], local[0]}, g, o);
            const auto got = sess.run(tn::feed(x, array_of(values)), back, on_own_task, wide, whole, one);
            const auto &b = std::get<0>(got), &own = std::get<1>(got);
            const auto& w = std::get<2>(got);
            const auto& i = std::get<3>(got);
            const auto& s = std::get<4>(got);
            INFO("by net ", by_net, ", as ", tn::name_of(wire));
            for (std::size_t k = 0; k < values.size(); ++k) {
                const float expected = wire == tn::element_type::none ? values[k] : nearest_bfloat16(values[k]);
                const auto at = static_cast<std::int64_t>(k);
                REQUIRE_MESSAGE(same(b(at), expected), "of ", values[k], ": ", b(at), " and not ", expected);
                REQUIRE(same(own(at), values[k] + 0.0f));
                const double exact = static_cast<double>(expected) + 0.1;
                REQUIRE((std::isnan(exact) ? std::isnan(w(at)) : w(at) == exact));
            }
            CHECK(i(0) == 16777217);
            CHECK(i(1) == -3);
            CHECK(s() == 0.1f);
        }
    CHECK_ERROR(tn::invalid_argument_error, "wire_type",
                tn::session(cluster.target("worker", 0), {.wire_type = tn::element_type::int8}));
}

namespace {

// Variables v0, v1, ... on the parameter server, and on the worker the sum of them all.
template <int Elements> struct sum_of_variables {
    using vector = tn::shape<Elements>;
    explicit sum_of_variables(int count) {
        const tn::graph_scope in(g);
        for (int i = 0; i < count; ++i) {
            const tn::device_scope ps("/job:ps/task:0");
            all.push_back(
                tn::variable<float, vector>("v" + std::to_string(i), tn::constant_value(static_cast<float>(i))));
        }
        const tn::device_scope worker("/job:worker/task:0");
        std::vector<tn::tensor<float, vector>> values(all.begin(), all.end());
        total = tn::sum(tn::add_n(values));
        initialize = tn::initialize_variables();
    }
    tn::graph g;
    std::vector<tn::variable_tensor<float, vector>> all;
    tn::tensor<float, scalar> total;
    tn::operation initialize;
};

} // namespace

TEST_CASE(
    "what is ready together for one task goes in one message, and what is large by itself, in the order of its use") {
    const watched_cluster cluster(1, 1);
    SUBCASE("twenty small variables") {
        sum_of_variables<100> m(20);
        tn::session sess(cluster.target("worker", 0), m.g);
        sess.run(m.initialize);
        for (int step = 0; step < 5; ++step) {
            cluster.seen->forget();
            CHECK(sess.run(m.total)() == 19000.0f);
            const auto messages = cluster.seen->all(verb::step_values);
            REQUIRE(messages.size() == 1);
            CHECK(messages[0].edges.size() == 20);
            CHECK(messages[0].from == "/job:ps/task:0");
        }
    }
    SUBCASE("three large ones") {
        sum_of_variables<20000> m(3);
        tn::session sess(cluster.target("worker", 0), m.g);
        sess.run(m.initialize);
        cluster.seen->forget();
        CHECK(sess.run(m.total)() == 60000.0f);
        const auto messages = cluster.seen->all(verb::step_values);
        REQUIRE(messages.size() == 3);
        for (const auto& one : messages) CHECK(one.edges.size() == 1);
        std::vector<std::int64_t> order;
        for (const auto& one : messages) order.push_back(one.edges[0]);
        CHECK(std::is_sorted(order.begin(), order.end()));
    }
}

TEST_CASE("as bfloat16 half of the bytes go") {
    const watched_cluster cluster(1, 1);
    std::vector<std::size_t> bytes;
    for (const tn::element_type wire : {tn::element_type::none, tn::element_type::bfloat16}) {
        sum_of_variables<50000> m(4);
        tn::session sess(cluster.target("worker", 0), m.g, tn::session_options{.wire_type = wire});
        sess.run(m.initialize);
        cluster.seen->forget();
        CHECK(sess.run(m.total)() == 300000.0f);
        bytes.push_back(cluster.seen->bytes(verb::step_values));
        CHECK(sess.explain_placement(m.total).crossing_bytes() == (wire == tn::element_type::none ? 800000 : 400000));
    }
    CHECK(bytes[0] > 800000);
    CHECK(bytes[1] > 400000);
    CHECK(2 * bytes[1] < bytes[0] + 2000);
}

TEST_CASE("nothing waits for a value that is late: the first layer is computed before the third layer's weights come") {
    const watched_cluster cluster(2, 1);
    const own_graph g;
    using matrix = tn::shape<200, 200>;
    const auto x = tn::placeholder<float, tn::shape<1, 200>>("x");
    std::vector<tn::variable_tensor<float, matrix>> w;
    {
        const tn::device_scope ps("/job:ps/task:0");
        for (const char* name : {"w1", "w2", "w3"})
            w.push_back(tn::variable<float, matrix>(name, tn::constant_value(1.0f / 200)));
    }
    tn::tensor<float, tn::shape<1, 200>> h1, h2, h3, seen;
    {
        const tn::device_scope worker("/job:worker/task:0");
        h1 = tn::matmul(x, w[0]);
        h2 = tn::matmul(h1, w[1]);
        h3 = tn::matmul(h2, w[2]);
    }
    {
        const tn::device_scope ps("/job:ps/task:1"); // who needs the first layer's result shows that it is there
        seen = h1 * 2.0f;
    }
    initialized_session sess(cluster.target("worker", 0), g);
    const auto ones = filled(tn::array<float, tn::shape<1, 200>>(), 1.0f);
    (void)sess.run(tn::feed(x, ones), h3, seen);
    cluster.seen->forget();
    int weights = 0;
    cluster.seen->hold([&](const watch::sent& s) { return s.from == "/job:ps/task:0" && ++weights == 3; });
    auto step = sess.callable(tn::feeds(x), tn::fetches(h3, seen));
    auto started = step.start(ones);
    const tn::tensor_type row{tn::element_type::float32, tn::extents{1, 200}};
    cluster.seen->wait_for([&](const std::vector<watch::sent>& all) { // two weights, and that, in any order
        const auto weight = [](const watch::sent& s) { return s.from == "/job:ps/task:0" && !s.types.empty(); };
        return std::count_if(all.begin(), all.end(), weight) >= 2 &&
               std::any_of(all.begin(), all.end(), [&](const watch::sent& s) {
                   return s.from == "/job:worker/task:0" &&
                          std::find(s.types.begin(), s.types.end(), row) != s.types.end();
               });
    });
    CHECK_FALSE(started.wait_for(0));
    cluster.seen->release();
    const auto [last, first] = started.get();
    CHECK(last(0, 0) == doctest::Approx(1));
    CHECK(first(0, 0) == doctest::Approx(2));
}

TEST_CASE("what is large is sent when it is there, while the stage that made it goes on; what is small goes with it") {
    const watched_cluster cluster(1, 1);
    const own_graph g;
    using wide = tn::shape<30000>;
    std::vector<tn::variable_tensor<float, wide>> w;
    std::vector<tn::variable_tensor<float, scalar>> b;
    {
        const tn::device_scope ps("/job:ps/task:0");
        w.push_back(tn::variable<float, wide>("w", tn::zeros()));
        for (const char* name : {"b", "c"}) b.push_back(tn::variable<float, scalar>(name, tn::zeros()));
    }
    const auto x = tn::placeholder<float, scalar>("x");
    tn::tensor<float, scalar> small, late;
    tn::tensor<float, wide> gradient;
    {
        const tn::device_scope worker("/job:worker/task:0");
        small = x * 3.0f;
        gradient = tn::broadcast_to<wide>(x * 2.0f);
        const tn::control_dependencies after(small, gradient);
        late = tn::tensor<float, scalar>::unchecked(tn::add<held_op>({}, {x}));
    }
    const auto train = tn::group(w[0].assign_add(gradient), b[0].assign_add(small), b[1].assign_add(late));
    initialized_session sess(cluster.target("worker", 0), g);
    auto step = sess.callable(tn::feeds(x), tn::fetches(train));
    auto started = step.start(tn::array<float, scalar>(1.0f));
    const tn::tensor_type row{tn::element_type::float32, wide::extents};
    cluster.seen->wait_for([&](const std::vector<watch::sent>& all) {
        return std::any_of(all.begin(), all.end(), [&](const watch::sent& s) {
            return std::find(s.types.begin(), s.types.end(), row) != s.types.end();
        });
    });
    {
        const std::unique_lock lock(held_op::guard);
        CHECK_FALSE(held_op::open);
    }
    std::size_t values = 0;
    for (const auto& m : cluster.seen->all(verb::step_values))
        if (m.from == "/job:worker/task:0") values += m.edges.size();
    CHECK(values == 2); // the gradient, and the small one that was there before it
    CHECK_FALSE(started.wait_for(0));
    {
        const std::lock_guard lock(held_op::guard);
        held_op::open = true;
        held_op::changed.notify_all();
    }
    started.get();
    CHECK(sess.run(b[1])() == 1.0f);
    CHECK(sess.run(w[0])(29999) == 2.0f);
}

TEST_CASE("SEMANTICS 20: a variable is sent as it lies, by two steps at a time, and an update meanwhile changes "
          "nothing of that") {
    const watched_cluster cluster(1, 2);
    constexpr int elements = 40000;
    sum_of_variables<elements> m(1), same(1);
    const own_graph g;
    const tn::device_scope ps("/job:ps/task:0");
    auto v = tn::variable<float, tn::shape<elements>>("v0", tn::zeros());
    const auto more = tn::group(v.assign_add(1.0f));
    tn::session first(cluster.target("worker", 0), m.g), second(cluster.target("worker", 0), same.g),
        third(cluster.target("worker", 1), g);
    first.run(m.initialize);
    third.run(more);
    CHECK(first.run(m.total)() == elements);
    CHECK(second.run(same.total)() == elements);
    cluster.seen->hold([](const watch::sent& s) { return s.from == "/job:ps/task:0"; });
    auto one = first.callable(tn::feeds(), tn::fetches(m.total)).start();
    auto two = second.callable(tn::feeds(), tn::fetches(same.total)).start();
    cluster.seen->wait_until_held(2);
    const std::vector<const void*> at = cluster.seen->held_at();
    REQUIRE(at.size() == 2);
    CHECK(at[0] == at[1]);
    for (int i = 0; i < 3; ++i) third.run(more); // does not wait for those who read
    CHECK_FALSE(one.wait_for(0));
    cluster.seen->release();
    CHECK(std::get<0>(one.get())() == elements);
    CHECK(std::get<0>(two.get())() == elements);
    CHECK(first.run(m.total)() == 4 * elements);
    // Its own memory, and one to write to beside readers: nothing is left of what was sent.
    for (int i = 0; i < 20; ++i) {
        third.run(more);
        CHECK(first.run(m.total)() == static_cast<float>((5 + i) * elements));
    }
    const std::size_t held = first.memory_info("/job:ps/task:0/device:CPU:0").in_use; // which its master asks that task
    CHECK(held >= sizeof(float) * elements);
    CHECK(held <= 4 * sizeof(float) * elements);
    CHECK_THROWS_AS((void)first.memory_info("/job:ps/task:7/device:CPU:0"), tn::not_found_error);
}

TEST_CASE("a large value is read to where the part that receives it has memory for it, each step to the same place") {
    const watched_cluster cluster(1, 1);
    sum_of_variables<40000> m(2);
    tn::session sess(cluster.target("worker", 0), m.g);
    sess.run(m.initialize);
    (void)sess.run(m.total);
    cluster.seen->forget();
    for (int step = 0; step < 20; ++step) CHECK(sess.run(m.total)() == 40000.0f);
    std::map<const void*, int> used;
    for (const void* p : cluster.seen->places()) ++used[p];
    CHECK(used.size() <= 4); // two steps' memory: one may begin before the one before it has given its own back
    CHECK(cluster.seen->places().size() >= 2); // but for values that came before their step
    // What is handed out is not read to memory of the step.
    cluster.seen->forget();
    CHECK(sess.run(m.all[1])(0) == 1.0f);
    CHECK(cluster.seen->places().empty());
}

TEST_CASE("memory of a step that was cancelled is not written to while what was on its way still has it") {
    received_memory memory;
    const tn::tensor_type type{tn::element_type::float32, {30000}};
    CHECK_FALSE(memory.place(3, type)); // it is not of this part
    memory.plan(3);
    tn::any_array on_its_way = memory.place(3, type);
    REQUIRE(on_its_way);
    const void* const where = on_its_way.data();
    CHECK_FALSE(memory.place(3, type));
    on_its_way = tn::any_array();
    CHECK(memory.place(3, type).data() == where);
    CHECK(memory.place(3, {tn::element_type::float32, {40000}}).elements() == 40000); // sizes that vary
}

TEST_CASE(
    "values that come before their step are kept up to a limit; beyond it the step fails when it comes, with sizes") {
    exchange meetings(1000);
    auto tasks = std::make_shared<session_tasks>();
    tasks->session = 7;
    tasks->tasks.resize(1);
    meetings.begin_session(7);
    const auto edges = std::make_shared<step_edges>(2);
    const auto come = [&](std::uint64_t step, std::int64_t edge) {
        step_values v{7, step, {}};
        v.values.push_back({edge, tn::any_array(tn::element_type::float32, tn::extents{150})});
        meetings.arrived(std::move(v));
        return meetings.count().early_bytes;
    };
    CHECK(come(1, 0) == 600);
    CHECK(come(2, 0) == 600);
    CHECK(come(2, 1) == 600);
    CHECK_ERROR(tn::resource_exhausted_error, "step 2: values came before it did, and more than 1000 ",
                meetings.open(tasks, 2, edges));
    CHECK(come(2, 1) == 600); // it has ended
    CHECK(meetings.open(tasks, 1, edges) != nullptr);
    CHECK(meetings.count().early_bytes == 0);
    CHECK(come(3, 0) == 600);
    CHECK(come(3, 1) == 0); // what is there of it goes, too
    meetings.close(7, 3);
    CHECK(come(3, 0) == 0);
    CHECK(come(4, 0) == 600);
}

TEST_CASE("a part is sent once: a second session, and one that comes after both, register it by its hash") {
    const watched_cluster cluster(1, 1);
    const auto build = [](tn::graph& g) {
        const tn::graph_scope in(g);
        tn::tensor<float, tn::shape<100, 100>> c;
        {
            const tn::device_scope ps("/job:ps/task:0");
            const auto x = tn::variable<float, tn::shape<>>("x", tn::constant_value(2.0f));
            c = x * tn::constant(filled(tn::array<float, tn::shape<100, 100>>(), 0.5f));
        }
        const tn::device_scope worker("/job:worker/task:0");
        return std::pair(tn::sum(c), tn::initialize_variables());
    };
    const auto run = [&](const tn::graph& g, const auto& what) {
        tn::session sess(cluster.target("worker", 0), g);
        sess.run(what.second);
        CHECK(sess.run(what.first)() == doctest::Approx(10000));
        return sess;
    };
    const auto registered = [&] {
        const std::vector<watch::sent> all = cluster.seen->all(verb::register_part);
        std::size_t bytes = 0;
        for (const watch::sent& s : all) bytes += s.bytes;
        cluster.seen->forget();
        return std::pair(all.size(), bytes);
    };
    tn::graph a, b, c;
    const auto of_a = build(a), of_b = build(b), of_c = build(c);
    {
        const tn::session first = run(a, of_a);
        const auto [calls, bytes] = registered();
        CHECK(calls == 4); // of two parts, each by its hash, then with its program
        CHECK(bytes > 40000);
        const tn::session second = run(b, of_b);
        const auto [again, fewer] = registered();
        CHECK(again == 2);
        CHECK(fewer < 1000);
    }
    const tn::session third = run(c, of_c);
    const auto [again, fewer] = registered();
    CHECK(again == 2);
    CHECK(fewer < 1000);
}
