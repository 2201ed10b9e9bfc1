#include <tenon/ops/flow/treeverse.hpp>

#include "tests.hpp"

using tenon::detail::treeverse;

// A loop whose carry is the number of runs that made it.
TEST_CASE("treeverse: each run backwards once, from the carry that it was given, found again as seldom as can be") {
    for (std::int64_t kept = 1; kept <= 9; ++kept)
        for (std::int64_t runs = 0; runs <= 300; runs += runs < 20 ? 1 : 47) {
            INFO(runs, " runs, ", kept, " kept");
            std::vector<std::int64_t> places(static_cast<std::size_t>(kept + treeverse::spare), -1);
            std::vector<std::int64_t> found(static_cast<std::size_t>(runs) + 1); // how often, by carry
            const auto at = [&](std::int64_t place) {
                return place == treeverse::first ? 0 : places.at(static_cast<std::size_t>(place));
            };
            const auto order = std::make_unique<treeverse>();
            order->begin(runs, kept);
            std::int64_t next = runs;
            for (order->next(); order->now != treeverse::action::ended; order->next()) {
                if (order->now == treeverse::action::back) {
                    REQUIRE(at(order->from) == --next);
                    continue;
                }
                REQUIRE(at(order->from) >= 0);
                REQUIRE(order->from != order->to);
                const std::int64_t made = at(order->from) + 1;
                places.at(static_cast<std::size_t>(order->to)) = made;
                ++found[static_cast<std::size_t>(made)];
            }
            CHECK(next == 0);
            // Griewank's bound: with r repetitions binomial(kept + r, r) runs.
            std::int64_t repetitions = 0, reach = 1;
            while (reach < runs) ++repetitions, reach = reach * (kept + repetitions) / repetitions;
            CHECK(*std::max_element(found.begin(), found.end()) <= repetitions);
        }
}
