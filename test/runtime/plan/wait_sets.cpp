#include <iterator>

#include <tenon/runtime/plan/wait_sets.hpp>

#include "tests.hpp"

// Sets of items that wait, against std::set.

using tenon::runtime::detail::wait_sets;

TEST_CASE("wait_sets: what they say is what std::set says, and equal sets have one number") {
    for (const int items : {1, 2, 3, 8, 100}) {
        CAPTURE(items);
        std::mt19937 random(static_cast<unsigned>(items));
        wait_sets sets(static_cast<std::size_t>(items));
        std::vector<std::set<int>> known{{}};
        std::vector<int> numbers{0};
        std::map<std::set<int>, int> number_of{{{}, 0}};
        const auto enter = [&](std::set<int> s, int number) {
            const auto [at, isnew] = number_of.emplace(s, number);
            CHECK(at->second == number);
            if (!isnew) return;
            known.push_back(std::move(s));
            numbers.push_back(number);
        };
        for (int round = 0; round < 300; ++round) {
            const std::size_t a = random() % known.size(), b = random() % known.size();
            const int item = static_cast<int>(random() % static_cast<unsigned>(items));
            std::set<int> with = known[a], both = known[a], beside;
            with.insert(item);
            both.insert(known[b].begin(), known[b].end());
            std::set_difference(known[a].begin(), known[a].end(), known[b].begin(), known[b].end(),
                                std::inserter(beside, beside.end()));
            CHECK(sets.size(numbers[a]) == static_cast<int>(known[a].size()));
            CHECK(sets.contains(numbers[a], item) == known[a].contains(item));
            CHECK(sets.within(numbers[a], numbers[b]) == beside.empty());
            CHECK(sets.last_beside(numbers[a], numbers[b]) == (beside.empty() ? -1 : *beside.rbegin()));
            const int united = sets.united(numbers[a], numbers[b]), more = sets.with(numbers[a], item);
            CHECK(sets.united(numbers[b], numbers[a]) == united);
            enter(std::move(both), united);
            enter(std::move(with), more);
        }
    }
}
