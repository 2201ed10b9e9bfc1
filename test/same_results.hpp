#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include <tenon/search/grid_search.hpp>

/// Two searches of the same points have ended alike.
template <class Settings>
void same_results(const std::vector<tenon::trial_result<Settings>>& a,
                  const std::vector<tenon::trial_result<Settings>>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].text == b[i].text);
        CHECK(a[i].end == b[i].end);
        CHECK(a[i].history == b[i].history);
    }
}
