#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/concurrency/denormals.hpp>
#include <tenon/concurrency/thread_pool.hpp>

using namespace tenon;

namespace {

// Whether this thread computes with denormal numbers.
bool has_denormals() {
    volatile float least = std::numeric_limits<float>::min();
    return least * 0.5F != 0.0F;
}

} // namespace

TEST_CASE("a scope says how its thread treats denormal numbers, and its end restores what was before") {
    REQUIRE(has_denormals());
    const unsigned before = denormal_mode();
    {
        const denormal_scope outer(flushed_denormals);
        CHECK(has_denormals() == !can_flush_denormals);
        {
            const denormal_scope inner(before);
            CHECK(has_denormals());
        }
        CHECK(has_denormals() == !can_flush_denormals);
    }
    CHECK(has_denormals());
    CHECK(denormal_mode() == before);
}

TEST_CASE("threads that take part in a loop treat denormal numbers as its caller does") {
    thread_pool pool(4);
    const auto all = [&](bool wanted) {
        std::vector<char> seen(1000);
        pool.parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) seen[static_cast<std::size_t>(i)] = has_denormals();
        });
        for (const char s : seen) CHECK(static_cast<bool>(s) == wanted);
    };
    all(true);
    {
        const denormal_scope scope(flushed_denormals);
        all(!can_flush_denormals);
    }
    all(true);
}
