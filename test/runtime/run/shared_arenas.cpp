#include "tests.hpp"
#include "each_thread.hpp"

// Segments of a step that follow each other use the same memory.

namespace {

constexpr int width = 512;
using row = tn::tensor<float, tn::shape<width>>;

// x, and in each of so many segments a value from the queue: what a segment computes is kept for its end only.
row in_segments(const tn::any_tensor& start, const tn::fifo_queue<float>& ones, int segments) {
    row x = row::unchecked(start);
    for (int i = 0; i < segments; ++i) {
        const tn::control_dependencies after(x);
        const auto one = ones.dequeue();
        const row wide = tn::identity(tn::tanh(x + one));
        const row sums = tn::identity(wide * 0.5f + tn::cumsum<0>(wide));
        x = tn::identity(tn::tanh(sums - tn::cumsum<0>(wide)));
    }
    return x;
}
float expected(float x, int segments) {
    for (int i = 0; i < segments; ++i) x = std::tanh(0.5f * std::tanh(x + 1));
    return x;
}

} // namespace

TEST_CASE("the memory of a step of many stages is that of one, whichever step had it before") {
    std::size_t few = 0;
    for (const int segments : {2, 12}) {
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<width>>("x");
        const tn::fifo_queue<float> ones(100000);
        const auto fill = ones.enqueue_many(tn::ones<float, tn::shape<50000>>());
        const row y = in_segments(x, ones, segments);
        tn::session s({.fuse = false});
        s.run(fill);
        const tn::step_report r = s.report(tn::feed(x, tn::array<float, tn::shape<width>>()), y);
        if (few == 0) few = r.arena_bytes;
        else CHECK(r.arena_bytes <= few + 4096);
        CHECK(r.arena_bytes > 0);

        // Steps of several threads have memory of their own while they run, now of one and then of another.
        std::atomic<int> wrong{0};
        on_threads(4, [&](int t) {
            for (int i = 0; i < 60; ++i) {
                tn::array<float, tn::shape<width>> fed;
                for (int k = 0; k < width; ++k)
                    fed.data()[k] = static_cast<float>(t) - 0.01f * static_cast<float>(i + k % 7);
                const auto out = s.run(tn::feed(x, fed), y);
                for (int k = 0; k < width; ++k)
                    wrong += !(std::fabs(out.data()[k] - expected(fed.data()[k], segments)) < 1e-3f);
            }
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE_FIXTURE(in_graph, "stages that may run at the same time have memory for as many") {
    const auto x = tn::placeholder<float, tn::shape<width>>("x");
    const tn::fifo_queue<float> left(1000), right(1000);
    const auto fill_left = left.enqueue_many(tn::ones<float, tn::shape<100>>());
    const auto fill_right = right.enqueue_many(tn::ones<float, tn::shape<100>>());
    const row a = in_segments(x, left, 2), b = in_segments(x, right, 2);
    tn::session s({.fuse = false});
    s.run(fill_left, fill_right);
    const tn::array<float, tn::shape<width>> fed;
    const std::size_t one = s.report(tn::feed(x, fed), a).arena_bytes,
                      both = s.report(tn::feed(x, fed), a, b).arena_bytes;
    CHECK(both >= 2 * one);
    const auto [ya, yb] = s.run(tn::feed(x, fed), a, b);
    for (int k = 0; k < width; ++k) {
        CHECK(std::fabs(ya.data()[k] - expected(0, 2)) < 1e-3f);
        CHECK(ya.data()[k] == yb.data()[k]);
    }
}
