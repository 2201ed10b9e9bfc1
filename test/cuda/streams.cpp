#include "tests.hpp"
#include "emulator/control.hpp"

#include "machine.hpp"
#include "own_ops.hpp"

// Steps on a GPU's streams: copies of any size and started steps, in any order that streams allow; timed steps.

namespace emulator = tenon::emulator;

namespace {

inline constexpr struct length : tn::dim<"length"> {} length;
using list = tn::shape<length>;

std::mt19937 seeded() {
    const unsigned seed = std::random_device()();
    MESSAGE("seed " << seed);
    return std::mt19937(seed);
}

} // namespace

TEST_CASE(
    "copies of any size arrive whole, in pieces or in one, staged or straight where no page-locked memory is left") {
    std::mt19937 random = seeded();
    for (const bool locked : {true, false}) {
        CAPTURE(locked);
        const tn::test::machine fresh;
        emulator::seed(random());
        if (!locked) emulator::fail("cudaHostAlloc", cudaErrorMemoryAllocation);
        const own_graph g;
        const auto x = tn::placeholder<float, list>("x");
        const auto y = tn::on("/gpu:0", [&] { return tn::add_n(x, x); });
        tn::session s(g);
        for (const int size : {0, 1, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20})
            for (int again = 0; again < 3; ++again) {
                tn::array<float, list> value(size);
                for (int i = 0; i < size; ++i) value(i) = static_cast<float>(i % 1000 + again);
                const auto got = s.run(tn::feed(x, value), y);
                REQUIRE(got.extents().elements() == size);
                bool right = true;
                for (int i = 0; i < size; ++i) right = right && got(i) == 2 * value(i);
                CHECK(right);
            }
    }
}

TEST_CASE("started steps end by themselves, in any order, whoever waits") {
    std::mt19937 random = seeded();
    for (int round = 0; round < 5; ++round) {
        emulator::reset();
        emulator::seed(random());
        const std::size_t before = emulator::count().streams;
        {
            const own_graph g;
            const auto x = tn::placeholder<float, tn::shape<>>("x");
            const auto y = tn::on("/gpu:0", [&] { return tn::add_n(x, tn::add_n(x, x)); });
            const auto z = tn::on("/cpu:0", [&] { return y + 1.0f; });
            tn::session s(g);
            const auto step = s.callable(tn::feeds(x), tn::fetches(z));
            std::vector<decltype(step.start(1.0f))> all;
            for (int i = 0; i < 20; ++i) all.push_back(step.start(static_cast<float>(i)));
            for (std::size_t i = all.size(); i-- > 0;)
                CHECK(std::get<0>(all[i].get())() == 3 * static_cast<float>(i) + 1);
            for (int i = 0; i < 5; ++i) (void)step.start(1.0f); // nobody waits for these, and the last ends the session
        }
        while (emulator::count().streams > before) std::this_thread::yield();
    }
}

TEST_CASE("a trace of a step on a GPU has its kernels and copies, each with a time, one after another in a stream") {
    const tn::test::machine m;
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<16>>("x");
    const auto y = tn::on("/gpu:0", [&] { return tn::add_n(tn::add_n(x, x), x); });
    tn::session s(g);
    tn::trace seen;
    s.set_trace(&seen);
    const tn::array<float, tn::shape<16>> value;
    for (int i = 0; i < 3; ++i) (void)s.run(tn::feed(x, value), y);
    s.set_trace(nullptr);
    const std::string text = seen.to_json();
    CHECK(text.find("add_n") != std::string::npos);
    CHECK(text.find("CPU:0 to GPU:0") != std::string::npos);
    CHECK(text.find("GPU:0 to CPU:0") != std::string::npos);
}

TEST_CASE("a value crosses from one GPU to another, recorded steps of both go on") {
    std::mt19937 random = seeded();
    for (const bool reaches : {true, false}) {
        const tn::test::machine fresh;
        emulator::cards(std::vector<emulator::card>(2, {.reaches_peers = reaches}));
        emulator::seed(random());
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<100>>("x");
        const auto a = tn::on("/gpu:0", [&] { return tn::add_n(x, x); });
        const auto b = tn::on("/gpu:1", [&] { return tn::add_n(a, x); });
        const auto c = tn::on("/gpu:0", [&] { return tn::add_n(b, a); });
        tn::session s(g);
        for (int i = 0; i < 5; ++i) {
            tn::array<float, tn::shape<100>> value;
            for (int k = 0; k < 100; ++k) value(k) = static_cast<float>(k + i);
            const auto got = s.run(tn::feed(x, value), c);
            for (int k = 0; k < 100; ++k) CHECK(got(k) == 5 * value(k));
        }
    }
}
