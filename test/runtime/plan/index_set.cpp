#include <tenon/runtime/plan/index_set.hpp>

#include "tests.hpp"

using tenon::runtime::detail::index_set;

TEST_CASE("a set of indices gives its smallest, whatever was put in between") {
    std::mt19937 random(1);
    for (const int below : {0, 1, 63, 64, 65, 4096, 4097, 300'000}) {
        index_set s(static_cast<std::size_t>(below));
        CHECK(s.empty());
        if (below == 0) continue;
        std::set<int> expected;
        for (int round = 0; round < 2000; ++round) {
            if (expected.empty() || random() % 2) {
                const int i = static_cast<int>(random() % static_cast<unsigned>(below));
                s.insert(i);
                expected.insert(i);
            } else {
                REQUIRE(s.take_smallest() == *expected.begin());
                expected.erase(expected.begin());
            }
            REQUIRE(s.empty() == expected.empty());
        }
    }
}
