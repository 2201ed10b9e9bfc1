#include <chrono>

#include "tests.hpp"

// SEMANTICS 17: the updates of a step are applied all or not at all, and who is told that it was late or stopped finds every variable as
// it was.

namespace {

constexpr std::int64_t size = 50'000;
using vector = tn::shape<size>;

std::vector<tn::session_options> kinds_of_session() {
    std::vector<tn::session_options> all(4, {.intra_op_threads = 1});
    all[1].intra_op_threads = all[1].inter_op_threads = all[2].intra_op_threads = 2;
    all[2].gpus = tn::simulated_gpu(1, 64 << 20);
    all[3].check_numerics = true;
    for (tn::session_options& o : all) o.use_per_session_threads = true;
    return all;
}

struct counters {
    tn::graph graph;
    std::vector<tn::any_tensor> all;
    std::vector<tn::operation> updates;
    explicit counters(int count) {
        const tn::graph_scope in(graph);
        for (int i = 0; i < count; ++i) {
            const auto v = tn::variable<float, vector>("v" + std::to_string(i), tn::zeros());
            all.push_back(v);
            updates.push_back(v.assign_add(tn::sin(v * 0.0f) + 1.0f).operation());
        }
    }
    // What all of them hold; -1 where they differ, among each other or in themselves.
    float held(tn::session& s) const {
        const std::vector<tn::any_array> values = s.run_untyped({}, all);
        const float first = values[0].data<float>()[0];
        for (const tn::any_array& v : values)
            for (std::int64_t i = 0; i < size; ++i)
                if (v.data<float>()[i] != first) return -1;
        return first;
    }
};

// Passes its input on after so many seconds of work.
struct computing_op {
    static constexpr const char* name = "test_computing";
    static constexpr tn::op_flags flags = tn::op_flags::stateful;
    struct attributes {
        double seconds = 0;
    };
    static tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    struct kernel final : tn::kernel {
        explicit kernel(double s) : seconds(s) {}
        void run(const tn::kernel_run& r) override {
            using clock = std::chrono::steady_clock;
            for (const auto begin = clock::now(); clock::now() - begin < std::chrono::duration<double>(seconds);) {
            }
            *r.output<std::int64_t>(0) = *r.input<std::int64_t>(0);
        }
        const double seconds;
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) {
        return std::make_unique<kernel>(tn::decode<attributes>(s.attrs).seconds);
    }
};
inline const tn::op_definition& computing_definition = tn::definition_of<computing_op>();

using number = tn::tensor<std::int64_t, tn::shape<>>;

} // namespace

TEST_CASE("S17: late steps of one update and of several were applied as often as they ended well") {
    for (const tn::session_options& o : kinds_of_session())
        for (const int count : {1, 4}) {
            const counters c(count);
            tn::session s(c.graph, o);
            const tn::graph_scope in(c.graph);
            s.run(tn::initialize_variables());
            const auto step = s.callable_untyped({}, {}, c.updates);
            (void)step({});
            std::mt19937 random(3);
            int well = 1, late = 0;
            for (int i = 0; i < 300; ++i) {
                try {
                    (void)step.run_for(1e-6 * (1 + static_cast<double>(random() % 400)), {});
                    ++well;
                } catch (const tn::deadline_exceeded_error&) {
                    ++late;
                }
            }
            CAPTURE(late);
            CHECK(c.held(s) == static_cast<float>(well));
        }
}

TEST_CASE("S17: steps that are stopped at any moment were applied as often as they ended well") {
    for (const tn::session_options& o : kinds_of_session()) {
        const counters c(3);
        tn::session s(c.graph, o);
        const tn::graph_scope in(c.graph);
        s.run(tn::initialize_variables());
        const auto step = s.callable(tn::feeds(), tn::fetches(tn::group(c.updates[0], c.updates[1], c.updates[2])));
        std::mt19937 random(4);
        int well = 0, stopped = 0;
        for (int i = 0; i < 200; ++i) {
            auto pending = step.start();
            for (auto k = random() % 2000; k > 0; --k) std::atomic_signal_fence(std::memory_order_seq_cst);
            pending.stop();
            try {
                (void)pending.get();
                ++well;
            } catch (const tn::cancelled_error&) {
                ++stopped;
            }
        }
        CAPTURE(stopped);
        CHECK(c.held(s) == static_cast<float>(well));
    }
}

TEST_CASE_FIXTURE(
    in_graph,
    "S17: what an update needs not wait for is waited for before it all the same, so a late step has not updated") {
    const auto v = tn::variable("v", 0.0f);
    const auto w = tn::variable("w", 0.0f);
    const tn::fifo_queue<float> empty(1), other(1);
    const auto update = v.assign_add(1.0f);
    const auto by_other = w.assign_add(other.dequeue());
    initialized_session s;
    s.run(other.enqueue(2.0f));
    CHECK_THROWS_AS((void)s.run_for(0.02, empty.dequeue(), update, by_other), tn::deadline_exceeded_error);
    CHECK(s.run(v).item() == 0);
    CHECK(s.run(w).item() == 0);
    CHECK(s.run(other.size()).item() == 1); // it is there again
    s.run(empty.enqueue(5.0f));
    const auto [x, a, b] = s.run(empty.dequeue(), update, by_other);
    CHECK(x.item() == 5);
    CHECK(a.item() == 1);
    CHECK(b.item() == 2);
}

TEST_CASE_FIXTURE(in_graph, "S17: what waits after an update and is late says what has been updated") {
    const auto v = tn::variable("weights", 0.0f);
    const tn::fifo_queue<float> full(1);
    const auto put = full.enqueue(v.assign_add(1.0f));
    initialized_session s;
    s.run(put);
    for (const bool started : {false, true}) {
        const auto step = s.callable(tn::feeds(), tn::fetches(put));
        const std::string text = message_of<tn::error>([&] {
            if (started) (void)step.start_for(0.02).get();
            else (void)step.run_for(0.02);
        });
        CHECK(contains(text, "variable \"weights\" has been updated all the same"));
    }
    CHECK(s.run(v).item() == 3);
    CHECK(s.run(full.size()).item() == 1);
    // And what is stopped there.
    auto waits = s.callable(tn::feeds(), tn::fetches(put)).start();
    while (s.run(v).item() != 4) std::this_thread::yield();
    waits.stop();
    CHECK_ERROR(tn::error, "\"weights\" has been updated", waits.get());
}

TEST_CASE_FIXTURE(in_graph, "S17: what does not come after an update runs before it, also in a step that waits") {
    const auto v = tn::variable("v", std::int64_t{0});
    const auto table = tn::variable<float, tn::shape<6, 2>>("table", tn::zeros(), {.partition = {.parts = 3}});
    const tn::fifo_queue<std::int64_t> q(10);
    const auto taken = v.assign_add(q.dequeue());
    const auto scattered = table.scatter_add(tn::constant({1, 3}), 1.0f);
    const auto slow = number::unchecked(tn::add<computing_op>({0.05}, {tn::constant(std::int64_t{1})}));
    initialized_session s;
    for (const std::int64_t n : {1, 2, 3}) s.run(q.enqueue(n));
    const auto step = s.callable(tn::feeds(), tn::fetches(taken, slow));
    CHECK_THROWS_AS((void)step.run_for(0.01), tn::deadline_exceeded_error);
    CHECK_THROWS_AS((void)step.start_for(0.01).get(), tn::deadline_exceeded_error);
    CHECK_THROWS_AS((void)s.run_for(0.01, scattered, slow), tn::deadline_exceeded_error);
    auto stopped = step.start();
    while (s.run(q.size()).item() == 3) {
    }
    stopped.stop();
    CHECK_THROWS_AS((void)stopped.get(), tn::cancelled_error);
    CHECK(s.run(v).item() == 0);
    CHECK(s.run(tn::sum(table)).item() == 0);
    (void)s.run(taken, scattered, slow);
    CHECK(s.run(v).item() == 1);
    CHECK(s.run(tn::sum(table)).item() == 4);
}

TEST_CASE_FIXTURE(in_graph, "S17: a step that is late, or fails, says which queues it has changed") {
    const auto v = tn::variable("v", 0.0f);
    const tn::fifo_queue<float> out(10, {.name = "out"}), never(1), old(1, {.name = "old"});
    const auto put = out.enqueue(5.0f), closed = old.close();
    const auto added = v.assign_add(never.dequeue());
    initialized_session s;
    for (const bool closes : {false, true}) {
        const std::string text = message_of<tn::deadline_exceeded_error>([&] {
            if (closes) (void)s.run_for(0.02, closed, added);
            else (void)s.run_for(0.02, put, added);
        });
        CHECK_MESSAGE(contains(text, closes ? "; \"old\" has been changed all the same"
                                            : "; \"out\" has been changed all the same"),
                      text);
        CHECK_MESSAGE(!contains(text, "updated"), text);
    }
    CHECK(s.run(out.size()).item() == 1);
    const std::string nothing = message_of<tn::deadline_exceeded_error>([&] { (void)s.run_for(0.02, added); });
    CHECK_MESSAGE(!contains(nothing, "all the same"), nothing);
}

TEST_CASE_FIXTURE(in_graph, "S17: a queue that the step itself fills after an update is not waited for before it") {
    const auto v = tn::variable("v", 0.0f);
    const tn::fifo_queue<float> q(1, {.shared_name = "own"}), same(1, {.shared_name = "own"});
    const auto put = q.enqueue(v.assign_add(1.0f));
    initialized_session s;
    const auto [x] = s.callable(tn::feeds(), tn::fetches(same.dequeue(), put)).run_for(5);
    CHECK(x.item() == 1);
}

TEST_CASE("an update that cannot be made leaves those before it undone") {
    using ids = tn::array<std::int32_t, tn::shape<2>>;
    for (const tn::session_options& o : kinds_of_session()) {
        if (o.gpus) continue; // where each says for itself, later
        const own_graph g;
        const auto a = tn::variable<float, tn::shape<4>>("a", tn::zeros()),
                   b = tn::variable<float, tn::shape<4>>("b", tn::zeros());
        const auto none = tn::variable<float, tn::shape<4>>("none", tn::zeros());
        const auto i = tn::placeholder<std::int32_t, tn::shape<2>>("i"),
                   j = tn::placeholder<std::int32_t, tn::shape<2>>("j");
        const auto to_a = a.scatter_add(i, 1.0f), to_b = b.scatter_add(j, 1.0f);
        const auto all_a = a.assign_add(1.0f), of_none = none.assign_add(1.0f);
        tn::session s(o);
        s.run(a.initializer(), b.initializer());
        CHECK_THROWS_AS(s.run(tn::feed(i, ids{0, 1}), tn::feed(j, ids{3, 4}), to_a, to_b), tn::invalid_argument_error);
        CHECK_THROWS_AS(s.run(all_a, of_none), tn::failed_precondition_error);
        for (std::int64_t k = 0; k < 4; ++k) CHECK(s.run(a)(k) == 0);
        s.run(tn::feed(i, ids{0, 1}), tn::feed(j, ids{3, 3}), to_a, to_b);
        CHECK(s.run(a)(1) == 1);
        CHECK(s.run(b)(3) == 2);
    }
}

TEST_CASE("S17: a variable without a value is found before the first update, also where what it is given is computed "
          "beside") {
    for (const tn::session_options& o : kinds_of_session()) {
        const own_graph g;
        const auto has = tn::variable<float, tn::shape<4>>("has", tn::zeros()),
                   none = tn::variable<float, tn::shape<4>>("none", tn::zeros());
        const auto i = tn::placeholder<std::int64_t, tn::shape<2>>("i");
        const auto first = has.scatter_add(i + std::int64_t{1}, 1.0f),
                   then = none.scatter_add(i * std::int64_t{2}, 1.0f);
        tn::session s(o);
        s.run(has.initializer());
        const tn::array<std::int64_t, tn::shape<2>> rows{0, 1};
        CHECK_FALSE(contains(message_of<tn::failed_precondition_error>([&] { s.run(tn::feed(i, rows), first, then); }),
                             "updated all the same"));
        for (std::int64_t k = 0; k < 4; ++k) CHECK(s.run(has)(k) == 0);
    }
}

TEST_CASE_FIXTURE(in_graph, "a step that fails after its updates says so") {
    const auto v = tn::variable<std::int32_t, tn::shape<1>>("v", tn::zeros());
    const auto up = v.assign_add(1);
    const auto outside = [&] {
        const tn::control_dependencies after(up);
        return tn::gather(tn::constant({1.0f, 2.0f}), v * 1);
    }();
    tn::session s;
    s.run(v.initializer());
    CHECK(s.run(outside)(0) == 2);
    CHECK_ERROR(tn::error, "variable \"v\" has been updated all the same", s.run(outside));
    CHECK(s.run(v)(0) == 2);
}

TEST_CASE("S15, S17: what an update waits for comes before what is written in its place, wherever both are") {
    for (const char* of_variable : {"/cpu:0", "/gpu:0"})
        for (const char* of_value : {"/cpu:0", "/gpu:0"}) {
            CAPTURE(of_variable);
            CAPTURE(of_value);
            const own_graph g;
            const auto v =
                tn::on(std::string(of_variable), [] { return tn::variable("v", tn::full<tn::shape<64>>(1.0f)); });
            const auto value = tn::on(std::string(of_value), [&] { return (v * 0.0f).materialize(); });
            const auto holds = tn::assert_true(tn::sum(value) > 0.5f, "it is false");
            const auto update = [&] {
                const tn::control_dependencies after{holds};
                return v.assign(value);
            }();
            initialized_session s(g, {.gpus = tn::simulated_gpu(2, 1 << 24), .allow_soft_placement = true});
            CHECK_THROWS_AS((void)s.run(update), tn::invalid_argument_error);
            CHECK(s.run(v)(1) == 1.0f);
        }
}

TEST_CASE("S17: a step over two tasks that is late while it updates ends when it waits again, wherever that is") {
    const tn::task here({.intra_op_threads = 2, .job = "here"}), there({.intra_op_threads = 2, .job = "there"});
    for (const bool other_updates : {false, true}) // and sends to the first part, which waits then
        for (const bool other_waits : {false, true}) {
            CAPTURE(other_updates);
            CAPTURE(other_waits);
            const own_graph g;
            const auto on = [](bool other, const auto& make) {
                const tn::device_scope scope(other ? "/job:there" : "/job:here");
                return make();
            };
            const auto queue = [](std::int64_t capacity) {
                return [capacity] { return tn::fifo_queue<std::int64_t>(capacity); };
            };
            const auto v = on(other_updates, [] { return tn::variable("v", std::int64_t{0}); });
            const auto full = on(other_waits, queue(1)), free = on(!other_waits, queue(5));
            const auto updated = on(other_updates, [&] {
                return number::unchecked(tn::add<computing_op>({0.2}, {v.assign_add(std::int64_t{1})}));
            });
            const auto waits = on(other_waits, [&] { return full.enqueue(updated); });
            const auto beside = on(!other_waits, [&] { return free.enqueue(std::int64_t{7}); });
            initialized_session s(std::vector<tn::task>{here, there}, g);
            s.run(on(other_waits, [&] { return full.enqueue(std::int64_t{0}); }));
            for (const bool started : {false, true}) {
                const auto step = s.callable(tn::feeds(), tn::fetches(waits, beside));
                const std::int64_t before = s.run(v).item();
                const std::string why = message_of<tn::deadline_exceeded_error>([&] {
                    if (started) (void)step.start_for(0.05).get();
                    else (void)step.run_for(0.05);
                });
                const bool says_so = contains(why, "has been updated all the same") || contains(why, "was applied on");
                CHECK(s.run(v).item() == before + says_so);
            }
        }
}
