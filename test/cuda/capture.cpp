#include "tests.hpp"
#include "each_thread.hpp"
#include "emulator/control.hpp"

#include "environment.hpp"
#include "left_behind.hpp"
#include "machine.hpp"
#include "own_ops.hpp"
#include "ops/untyped_run.hpp"

// A step that gives its streams all at once is recorded as a CUDA graph in its second run, and replayed in later ones.

namespace emulator = tenon::emulator;

namespace {

constexpr int n = 6;
using row = tn::tensor<float, tn::shape<n>>;
using numbers = tn::array<float, tn::shape<n>>;

std::size_t launched() { return emulator::count_calls("cudaGraphLaunch"); }
std::size_t recorded() { return emulator::count_calls("cudaStreamEndCapture"); }

std::mt19937& random_source() {
    static std::mt19937 random = [] {
        const unsigned seed = std::random_device()();
        MESSAGE("seed " << seed);
        return std::mt19937(seed);
    }();
    return random;
}
float draw() { return static_cast<float>(std::uniform_int_distribution<int>(-50, 50)(random_source())); }
numbers draw_row() {
    numbers r;
    for (int i = 0; i < n; ++i) r(i) = draw();
    return r;
}

// What a step does: y = a number of additions to x, some of which meet again.
row some_work(const row& x, int additions) {
    std::vector<row> all{x};
    for (int i = 0; i < additions; ++i) all.push_back(tn::add_n(all.back(), all[all.size() / 2]));
    return all.back();
}
float some_work_on(float x, int additions) {
    std::vector<float> all{x};
    for (int i = 0; i < additions; ++i) all.push_back(all.back() + all[all.size() / 2]);
    return all.back();
}

// A variable that grows by what is fed, and what it was before, beside other work.
struct growing {
    explicit growing(const tn::session_options& o = {}) : s(g, o) { s.run(tn::initialize_variables()); }
    const own_graph g;
    const tn::device_scope where{"/gpu:0"};
    tn::tensor<float, tn::shape<n>> x = tn::placeholder<float, tn::shape<n>>("x");
    tn::variable_tensor<float, tn::shape<n>> w = tn::variable("w", tn::constant(numbers()));
    row more = w.assign(tn::add_n(w, x));
    row work = some_work(x, 5);
    tn::session s;
    std::vector<float> wanted = std::vector<float>(n);

    void step(const numbers& by) {
        const auto [now, worked] = s.run(tn::feed(x, by), more, work);
        for (int i = 0; i < n; ++i) {
            wanted[static_cast<std::size_t>(i)] += by(i);
            REQUIRE(now(i) == wanted[static_cast<std::size_t>(i)]);
            REQUIRE(worked(i) == some_work_on(by(i), 5));
        }
    }
    tn::recording_counts told() { return s.report(tn::feed(x, numbers()), more, work).recordings; }
};

} // namespace

TEST_CASE("a step is given as it is in its first run, recorded in its second, and replayed from then on, and the "
          "report says so") {
    const tn::test::machine fresh;
    growing program;
    const std::size_t before = launched();
    program.step(draw_row());
    CHECK(launched() == before);
    CHECK(program.told() == tn::recording_counts{});
    for (int i = 0; i < 30; ++i) program.step(draw_row());
    CHECK(launched() == before + 30);
    CHECK(recorded() <= 4); // a variable has few places
    CHECK(program.told() == tn::recording_counts{.recorded = recorded(), .replayed = 30});
}

TEST_CASE("a recorded step costs as many calls as a graph of its own would") {
    emulator::reset();
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<n>>("x");
    const auto y = tn::on("/gpu:0", [&] { return some_work(x, 300); });
    tn::session s(g);
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    for (int i = 0; i < 3; ++i) (void)step(draw_row());
    const std::size_t before = emulator::calls().size();
    (void)step(draw_row());
    std::size_t calls = 0;
    const auto all = emulator::calls();
    for (std::size_t c = before; c < all.size(); ++c)
        calls += all[c].name != "cudaEventQuery" && all[c].name != "cudaSetDevice";
    CHECK(calls == 2); // the graph, and an event behind it
}

TEST_CASE(
    "kernels of a recorded step that need not wait for each other do not, and a chain of them stays on one stream") {
    const auto streams_of = [](int chains, const char* how) {
        const tn::test::machine fresh;
        const tn::test::environment wish("TENON_CUDA_RECORDINGS", how);
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<n>>("x");
        const tn::device_scope there("/gpu:0");
        std::vector<row> ends;
        for (int c = 0; c < chains; ++c) {
            ends.push_back(tn::add_n(x, x));
            for (int i = 0; i < 4 + 2 * c; ++i) ends.back() = tn::reverse<0>(tn::add_n(ends.back(), x));
        }
        for (std::size_t c = 1; c < ends.size(); ++c) ends[0] = tn::add_n(ends[0], ends[c]);
        tn::session s(g);
        const auto step = s.callable(tn::feeds(x), tn::fetches(ends[0]));
        for (int i = 0; i < 6; ++i) {
            const numbers by = draw_row();
            const auto [got] = step(by);
            // Of 2 m times that x is added and all is reversed: 2 + m times x, and m times x reversed.
            for (int k = 0; k < n; ++k) {
                float wanted = 0;
                for (int c = 0; c < chains; ++c)
                    wanted += static_cast<float>(4 + c) * by(k) + static_cast<float>(2 + c) * by(n - 1 - k);
                CHECK(got(k) == wanted);
            }
        }
        std::set<cudaStream_t> used;
        bool records = false;
        for (const emulator::call& c : emulator::calls()) {
            if (c.name == "cudaStreamBeginCapture") records = true;
            if (c.name == "cudaStreamEndCapture") records = false;
            if (records && c.name == "cudaLaunchKernel") used.insert(c.stream);
        }
        return used.size();
    };
    CHECK(streams_of(1, "") == 1);
    CHECK(streams_of(3, "") > 1);
    CHECK(streams_of(3, "in_order") == 1);
}

TEST_CASE("large feeds of a recorded step arrive whole, whichever of the session's threads copied them") {
    for (const std::int64_t size : {1, 131071, 131072, 300001}) {
        CAPTURE(size);
        const own_graph g;
        const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, tn::extents{size});
        const tn::any_tensor y = tn::on("/gpu:0", [&] { return tn::untyped::add_n({x, tn::untyped::add_n({x, x})}); });
        tn::session_options o{.intra_op_threads = 3, .use_per_session_threads = true};
        tn::session s(g, o);
        for (int run = 0; run < 4; ++run) {
            tn::any_array fed(tn::element_type::float32, tn::extents{size});
            for (std::int64_t i = 0; i < size; ++i) fed.data<float>()[i] = draw();
            const std::vector<tn::any_array> found = s.run_untyped(tn::test::fed(x, fed), {y});
            std::int64_t wrong = 0;
            for (std::int64_t i = 0; i < size; ++i) wrong += found[0].data<float>()[i] != 3 * fed.data<float>()[i];
            REQUIRE(wrong == 0);
        }
    }
}

TEST_CASE("what kernels tell their device in each step is told once, recorded or not, in order") {
    for (const bool recorded : {true, false}) {
        CAPTURE(recorded);
        emulator::reset();
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<n>>("x");
        const auto y = tn::on("/gpu:0", [&] { return own::told(some_work(x, 3), recorded); });
        tn::session s(g);
        const std::size_t before = launched();
        for (int i = 0; i < 12; ++i) {
            const numbers by = draw_row();
            const auto got = s.run(tn::feed(x, by), y);
            for (int k = 0; k < n; ++k) CHECK(got(k) == some_work_on(by(k), 3) + static_cast<float>(i));
        }
        CHECK(launched() - before == (recorded ? 11 : 0));
    }
}

TEST_CASE("SEMANTICS 20: recorded steps of several threads update one variable, and none is lost or seen half done") {
    for (int round = 0; round < 4; ++round) {
        const tn::test::machine fresh;
        emulator::seed(random_source()());
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<n>>("x");
        const auto on_gpu = tn::on("/gpu:0");
        const auto w = tn::variable("w", tn::constant(numbers()));
        const auto v = tn::variable("v", tn::constant(numbers()));
        const auto more = w.assign(tn::add_n(w, x)), less = v.assign(tn::add_n(v, x));
        const auto both = tn::add_n(tn::identity(w), tn::identity(v)); // of one moment: twice the same
        initialized_session s(g);
        const auto update = s.callable(tn::feeds(x), tn::fetches(more, less));
        const auto read = s.callable(tn::feeds(), tn::fetches(both, tn::identity(w)));
        constexpr int threads = 3, steps = 12;
        const std::size_t before = launched();
        std::vector<std::string> wrong(threads);
        on_threads(threads, [&](int t) {
            numbers one;
            for (int i = 0; i < n; ++i) one(i) = 1;
            float last = 0;
            for (int i = 0; i < steps; ++i) {
                const auto [a, b] = update(one);
                if (a(0) != b(0) || a(n - 1) != a(0) || a(0) <= last) wrong[static_cast<std::size_t>(t)] += "update ";
                last = a(0);
                const auto [sum, half] = read();
                if (sum(0) != 2 * half(0) || sum(n - 1) != sum(0) || half(0) < last)
                    wrong[static_cast<std::size_t>(t)] += "read ";
            }
        });
        for (const std::string& text : wrong) CHECK(text == "");
        CHECK(s.run(w)(0) == threads * steps);
        CHECK(launched() > before);
    }
}

TEST_CASE("random steps over two variables on random cards give the same, recorded or not, in any order that streams "
          "allow, also where another thread waits for whole cards meanwhile") {
    tn::recording_counts in_peace, disturbed;
    for (int round = 0; round < 40; ++round) {
        const tn::test::machine fresh;
        emulator::seed(random_source()());
        const bool is_disturbed = round % 2 == 1;
        const auto drawn = [](unsigned below) { return static_cast<int>(random_source()() % below); };
        std::vector<emulator::card> cards(static_cast<std::size_t>(1 + drawn(3)));
        for (emulator::card& c : cards) {
            c.major = 8 + drawn(3);
            c.multiprocessors = 1 + drawn(16);
            c.has_pools = drawn(2) == 0;
            c.reaches_peers = drawn(2) == 0;
        }
        emulator::cards(cards);
        const auto draw_gpu = [&] {
            return tn::device_name("/gpu:" + std::to_string(drawn(static_cast<unsigned>(cards.size()))));
        };
        const own_graph g;
        std::uniform_int_distribution<int> any(0, 1 << 20);
        const auto pick = [&](const auto& from) {
            return static_cast<std::size_t>(any(random_source())) % from.size();
        };
        const auto x = tn::placeholder<float, tn::shape<n>>("x"), y = tn::placeholder<float, tn::shape<n>>("y");
        const auto w = tn::on(draw_gpu(), [] { return tn::variable("w", tn::constant(numbers())); });
        const auto v = tn::on(draw_gpu(), [] { return tn::variable("v", tn::constant(numbers())); });
        // By node: two that it adds.
        std::vector<row> nodes{x, y, tn::on(draw_gpu(), [&] { return tn::identity(w); }),
                               tn::on(draw_gpu(), [&] { return tn::identity(v); })};
        std::vector<std::pair<std::size_t, std::size_t>> made;
        for (int i = 0; i < 12; ++i) {
            const std::size_t a = pick(nodes), b = pick(nodes);
            made.emplace_back(a, b);
            const tn::device_name where = any(random_source()) % 12 == 0 ? tn::device_name("/cpu:0") : draw_gpu();
            nodes.push_back(tn::on(where, [&] { return tn::add_n(nodes[a], nodes[b]); }));
        }
        const std::size_t to_w = pick(nodes), to_v = pick(nodes), first = pick(nodes), second = pick(nodes);
        const auto new_w = w.assign(nodes[to_w]), new_v = v.assign(nodes[to_v]);
        initialized_session s(g);
        const auto step =
            s.callable(tn::feeds(x, y), tn::fetches(nodes[first], nodes[second], new_w.operation(), new_v.operation()));
        const auto see = s.callable(tn::feeds(), tn::fetches(tn::identity(w), tn::identity(v)));
        std::vector<float> at_w(n), at_v(n);
        if (is_disturbed) emulator::others_wait(20);
        for (int i = 0; i < (is_disturbed ? 70 : 6); ++i) {
            if (i == 40) emulator::others_wait(0);
            const numbers a = draw_row(), b = draw_row();
            const auto [f1, f2] = step(a, b);
            for (std::size_t k = 0; k < n; ++k) {
                const int place = static_cast<int>(k);
                std::vector<float> all{a(place), b(place), at_w[k], at_v[k]};
                for (const auto& [p, q] : made) all.push_back(all[p] + all[q]);
                CHECK(f1(place) == all[first]);
                CHECK(f2(place) == all[second]);
                at_w[k] = all[to_w];
                at_v[k] = all[to_v];
            }
            const auto [seen_w, seen_v] = see();
            for (std::size_t k = 0; k < n; ++k) {
                CHECK(seen_w(static_cast<int>(k)) == at_w[k]);
                CHECK(seen_v(static_cast<int>(k)) == at_v[k]);
            }
        }
        (is_disturbed ? disturbed : in_peace) += s.report(tn::feed(x, numbers()), tn::feed(y, numbers()), nodes[first],
                                                          nodes[second], new_w.operation(), new_v.operation())
                                                     .recordings;
    }
    CHECK(in_peace.replayed > 0);
    CHECK(in_peace.failed == 0);
    CHECK(disturbed.replayed > 0);
    CHECK(disturbed.failed > 0);
}

TEST_CASE("a step that the host has a part in before or after the streams' is recorded, one with a part in the middle "
          "is not") {
    for (const bool in_the_middle : {false, true}) {
        CAPTURE(in_the_middle);
        emulator::reset();
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<n>>("x");
        const auto before = tn::on("/cpu:0", [&] { return x * 2.0f; });
        const auto there = tn::on("/gpu:0", [&] { return tn::add_n(before, before); });
        const auto after = tn::on("/cpu:0", [&] { return there + 1.0f; });
        const auto last = in_the_middle ? tn::on("/gpu:0", [&] { return tn::add_n(after, there); }) : there;
        tn::session s(g);
        const std::size_t earlier = launched();
        for (int i = 0; i < 6; ++i) {
            const numbers by = draw_row();
            const auto [a, b] = s.run(tn::feed(x, by), after, last);
            for (int k = 0; k < n; ++k) {
                CHECK(a(k) == 4 * by(k) + 1);
                CHECK(b(k) == (in_the_middle ? 8 * by(k) + 1 : 4 * by(k)));
            }
        }
        CHECK(launched() - earlier == (in_the_middle ? 0 : 5));
    }
}

TEST_CASE("what fails while a step is recorded costs the recording, which is tried again seldomer and seldomer, and "
          "counted") {
    struct fault {
        const char* call;
        cudaError_t error;
    };
    for (const fault f : {fault{"cudaStreamBeginCapture", cudaErrorMemoryAllocation},
                          fault{"cudaStreamBeginCapture", cudaErrorStreamCaptureUnsupported},
                          fault{"cudaStreamEndCapture", cudaErrorStreamCaptureInvalidated},
                          fault{"cudaStreamEndCapture", cudaErrorMemoryAllocation},
                          fault{"cudaGraphInstantiate", cudaErrorMemoryAllocation},
                          fault{"cudaGraphLaunch", cudaErrorMemoryAllocation}}) {
        CAPTURE(f.call);
        emulator::reset();
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<n>>("x");
        const auto on_gpu = tn::on("/gpu:0");
        const auto w = tn::variable("w", tn::constant(numbers()));
        const auto more = w.assign(tn::add_n(w, own::told(x)));
        initialized_session s(g);
        const emulator::counts before = emulator::count();
        emulator::fail(f.call, f.error);
        std::vector<float> wanted(n);
        int step = 0;
        const auto run_to = [&](int end) {
            for (; step < end; ++step) {
                const numbers by = draw_row();
                const auto got = s.run(tn::feed(x, by), more);
                for (int k = 0; k < n; ++k) {
                    wanted[static_cast<std::size_t>(k)] += by(k) + static_cast<float>(step);
                    REQUIRE(got(k) == wanted[static_cast<std::size_t>(k)]);
                }
            }
            return s.report(tn::feed(x, numbers()), more).recordings;
        };
        const std::size_t tried = emulator::count_calls("cudaStreamBeginCapture");
        tn::recording_counts told = run_to(60); // in runs 1, 9, 25, 57 after the first
        CHECK(emulator::count_calls("cudaStreamBeginCapture") - tried == 4);
        CHECK(told.failed == 4);
        CHECK(told.replayed == 0);
        CHECK(told.given_again == 59);
        CHECK(told.recorded == (f.call == std::string("cudaGraphLaunch") ? 4 : 0));
        CHECK(emulator::count().graphs == before.graphs);
        emulator::fail(f.call, f.error, {.times = 0});
        told = run_to(57 + 64);
        CHECK(told.replayed == 0);
        told = run_to(140); // it is fine again
        CHECK(told.replayed == 140 - 57 - 64);
        CHECK(told.failed == 4);
    }
}

TEST_CASE("in the middle of a recording any call may fail once, and the step is what it was") {
    for (const char* call : {"cudaEventRecord", "cudaStreamWaitEvent", "cudaMemcpyAsync", "cudaLaunchKernel"}) {
        CAPTURE(call);
        emulator::reset();
        growing program;
        program.step(draw_row());
        emulator::fail(call, cudaErrorStreamCaptureUnsupported, {.after = 0, .times = 1});
        for (int i = 0; i < 12; ++i) program.step(draw_row());
        const tn::recording_counts told = program.told();
        CHECK(told.failed == 1);
        CHECK(told.given_again >= 1);
        CHECK(told.replayed == 12 - told.given_again);
        CHECK(told.replayed > 0); // tried again, with success
    }
}

TEST_CASE("a session that ends leaves no stream, event, graph or memory of the GPU behind") {
    emulator::reset();
    const auto [before, after] = tn::test::check_nothing_is_left([] {
        growing program;
        for (int i = 0; i < 5; ++i) program.step(draw_row());
    });
    CHECK(after.pools == before.pools);
    CHECK(after.host_allocations == before.host_allocations);
}
