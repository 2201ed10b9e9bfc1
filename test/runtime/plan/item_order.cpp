#include <tenon/runtime/plan/item_order.hpp>

#include "tests.hpp"

// What comes after an item, against a search of all pairs.

using tenon::runtime::detail::item_order;

namespace {

std::vector<bool> all_after(int item, int items, const std::vector<item_order::pair>& pairs) {
    std::vector<bool> after(static_cast<std::size_t>(items));
    after[static_cast<std::size_t>(item)] = true;
    for (bool grown = true; grown;) {
        grown = false;
        for (const auto& [first, second] : pairs)
            if (after[static_cast<std::size_t>(first)] && !after[static_cast<std::size_t>(second)])
                grown = after[static_cast<std::size_t>(second)] = true;
    }
    return after;
}

} // namespace

TEST_CASE("what runs after an item is found while pairs are added in any order, and items too") {
    std::mt19937 random(7);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    int found = 0, not_found = 0;
    for (int round = 0; round < 60; ++round) {
        int items = 40;
        // Some programs are in order, others are not.
        std::vector<int> place(static_cast<std::size_t>(items));
        for (int i = 0; i < items; ++i) place[static_cast<std::size_t>(i)] = i;
        if (round % 2) std::shuffle(place.begin(), place.end(), random);
        std::vector<item_order::pair> pairs;
        for (int k = 0; k < 20; ++k) {
            const int a = below(items), b = below(items);
            if (a != b)
                pairs.emplace_back(place[static_cast<std::size_t>(std::min(a, b))],
                                   place[static_cast<std::size_t>(std::max(a, b))]);
        }
        item_order order(static_cast<std::size_t>(items), pairs, round % 3 == 0 ? 25 : 40);
        for (int step = 0; step < 40; ++step) {
            if (step % 10 == 9) {
                REQUIRE(order.add_item() == items);
                ++items;
            }
            const int item = below(items);
            std::vector<int> others;
            for (int k = 0; k < 3; ++k)
                if (const int o = below(items); o != item) others.push_back(o);
            const std::vector<bool> after = all_after(item, items, pairs);
            order.search(item, others);
            std::vector<int> earlier;
            for (const int o : others) {
                REQUIRE(order.found(o) == after[static_cast<std::size_t>(o)]);
                (order.found(o) ? found : not_found)++;
                if (!order.found(o)) earlier.push_back(o);
            }
            order.add(earlier, item);
            for (const int o : earlier) pairs.emplace_back(o, item);
        }
    }
    CHECK(found > 500);
    CHECK(not_found > 500);
}
