#include <tenon/ops/image/image_resize.hpp>

#include "tests.hpp"
#include "runtime/counted_memory.hpp"
#include "ops/untyped_run.hpp"

namespace u = tenon::untyped;

// What kernels hold from when they are prepared counts, and is held against the limit before it is made.

namespace {

tn::any_array bytes(const tn::extents& sizes) { return tn::any_array::zeros(tn::element_type::uint8, sizes); }
tn::any_array floats(const tn::extents& sizes) { return tn::any_array::zeros(tn::element_type::float32, sizes); }

std::string refusal(tn::session& s, const tn::any_tensor& fed, tn::any_array value, const tn::any_tensor& fetched) {
    return message_of<tn::resource_exhausted_error>([&] { (void)s.run_untyped(tn::test::fed(fed, value), {fetched}); });
}

} // namespace

TEST_CASE("a table that is larger than the limit is refused before it is made, by node, sizes and limit") {
    constexpr std::size_t limit = std::size_t{64} << 20;
    tn::session_options o{.memory_limit = limit};
    const own_graph g;
    const tn::any_tensor x = u::placeholder(tn::element_type::uint8, {1, 2, 1, 1}, "x");
    const tn::any_tensor y = u::resize(x, tn::interpolation::nearest, std::int64_t{1} << 31, 1);
    tn::session s(g, o);
    const std::int64_t before = counted_memory::held_bytes();
    const std::string text = refusal(s, x, bytes({1, 2, 1, 1}), y);
    INFO(text);
    CHECK(contains(text, y.node()->name));
    CHECK(contains(text, "2147483648"));
    CHECK(contains(text, std::to_string(limit)));
    CHECK(counted_memory::held_bytes() - before < 1'000'000);
    CHECK(s.memory_info(tn::device_name("/cpu:0")).peak < limit);

    // The session goes on.
    const tn::any_tensor small = u::resize(x, tn::interpolation::nearest, 4, 1);
    CHECK(s.run_untyped(tn::test::fed(x, bytes({1, 2, 1, 1})), {small})[0].extents() == tn::extents{1, 4, 1, 1});
}

TEST_CASE_FIXTURE(in_graph, "lists of matrices of an uneven batch count as well") {
    tn::session_options o{.memory_limit = std::size_t{4} << 20};
    const tn::any_tensor a = u::placeholder(tn::element_type::float32, {2000, 1, 1, 1}, "a");
    const tn::any_tensor b = u::placeholder(tn::element_type::float32, {1, 2000, 1, 1}, "b");
    const tn::any_tensor c = u::sum(u::matmul(a, b));
    tn::session s(g, o);
    std::vector<tn::fed_value> feeds;
    feeds.push_back({a, floats({2000, 1, 1, 1})});
    feeds.push_back({b, floats({1, 2000, 1, 1})});
    const std::string text =
        message_of<tn::resource_exhausted_error>([&] { (void)s.run_untyped(std::move(feeds), {c}); });
    INFO(text);
    CHECK(contains(text, "matmul"));
}

TEST_CASE_FIXTURE(in_graph, "without a limit the machine's memory is one") {
    const tn::any_tensor x = u::placeholder(tn::element_type::uint8, {1, 2, 1, 1}, "x");
    const tn::any_tensor y = u::resize(x, tn::interpolation::nearest, std::int64_t{1} << 50, 1);
    tn::session s(g);
    const std::string text = refusal(s, x, bytes({1, 2, 1, 1}), y);
    INFO(text);
    CHECK(contains(text, y.node()->name));
    CHECK(contains(text, "of this machine"));
}

TEST_CASE_FIXTURE(in_graph, "what kernels hold is in use as long as their plan is kept") {
    const tn::any_tensor x = u::placeholder(tn::element_type::float32, {1, 4, 4, 1}, "x");
    const tn::any_tensor y = u::sum(u::resize(x, tn::interpolation::bilinear, 5000, 8));
    tn::session s(g, {.kept_plans = 1});
    const auto run = [&](const tn::any_tensor& fetched) {
        (void)s.run_untyped(tn::test::fed(x, floats({1, 4, 4, 1})), {fetched});
    };
    run(u::sum(x));
    const auto in_use = [&] { return s.memory_info(tn::device_name("/cpu:0")).in_use; };
    const std::size_t before = in_use();
    run(y);
    constexpr std::size_t rows = 5000 * (24 + 2 * sizeof(float)), image = 5000 * 8 * sizeof(float);
    CHECK(in_use() >= before + rows + image);
    run(u::sum(x));
    run(u::add(u::sum(x), 1));
    CHECK(in_use() < rows);
}
