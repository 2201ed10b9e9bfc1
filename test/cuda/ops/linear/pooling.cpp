#include "../gpu_run.hpp"
#include "ops/linear/window_checks.hpp"

// Pools on a GPU against their definitions in double.

namespace tn = tenon;
using tn::pool2d_options, tn::extents;

namespace {

template <class T> void check_pools(const extents& image, const pool2d_options& o) {
    tn::test::check_pools<T>("/gpu:0", image, o);
}

template <class T> void check_all(int drawn) {
    check_pools<T>({2, 6, 8, 3}, {});
    check_pools<T>({1, 7, 7, 2}, {.window = 3, .stride = 2, .padding = tn::same});
    check_pools<T>({1, 5, 6, 32}, {.window = {3, 2}, .stride = {1, 2}, .padding = tn::pad(2, 1, 1, 0)});
    check_pools<T>({1, 4, 4, 5}, {.window = 1, .stride = 3});
    check_pools<T>({2, 2, 3, 4}, {.window = 5, .stride = 2, .padding = tn::same});
    check_pools<T>({2, 5, 6, 8}, {.window = {2, 3}, .stride = {1, 2}, .padding = tn::same});
    check_pools<T>({2, 3, 5, 16}, {.window = 2, .stride = 1 << 30}); // as in images of more than 2^30 elements
    check_pools<T>({0, 4, 4, 2}, {});
    check_pools<T>({2, 4, 4, 0}, {});
    const std::uint64_t seed = tn::test::drawn_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](int from, int to) {
        return static_cast<int>(from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1)));
    };
    for (int i = 0; i < drawn; ++i) {
        pool2d_options o{.window = {draw(1, 4), draw(1, 4)}, .stride = {draw(1, 4), draw(1, 4)}};
        const int h = o.window.height - 1, w = o.window.width - 1, kind = draw(0, 2);
        if (kind == 1) o.padding = tn::same;
        if (kind == 2) o.padding = tn::pad(draw(0, h), draw(0, h), draw(0, w), draw(0, w));
        check_pools<T>({draw(1, 3), h + draw(1, 8), w + draw(1, 8), draw(1, 9)}, o);
    }
}

} // namespace

TEST_CASE_TEMPLATE("pools and their gradients are the definitions on a GPU; the first of equal largest elements counts",
                   T, float, double, tn::half, tn::bfloat16) {
    check_all<T>(10);
}

TEST_CASE("a NaN is the largest of its window on a GPU, and has its gradient") {
    tn::test::check_pool_of_nan("/gpu:0");
}
