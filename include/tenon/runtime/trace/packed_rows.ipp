#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include <tenon/runtime/trace/packed_rows.hpp>

namespace tenon::detail {

TENON_INLINE std::vector<int> packed_rows(const std::vector<time_span>& spans) {
    std::vector<std::size_t> in_order(spans.size());
    std::iota(in_order.begin(), in_order.end(), std::size_t{0});
    std::stable_sort(in_order.begin(), in_order.end(),
                     [&](std::size_t a, std::size_t b) { return spans[a].begin < spans[b].begin; });
    using ending = std::pair<std::int64_t, int>;
    std::priority_queue<ending, std::vector<ending>, std::greater<>> taken; // rows, by when they are free again
    std::priority_queue<int, std::vector<int>, std::greater<>> free;
    std::vector<int> rows(spans.size());
    int made = 0;
    for (const std::size_t s : in_order) {
        for (; !taken.empty() && taken.top().first <= spans[s].begin; taken.pop()) free.push(taken.top().second);
        int row = made;
        if (free.empty()) ++made;
        else {
            row = free.top();
            free.pop();
        }
        rows[s] = row;
        taken.emplace(spans[s].end, row);
    }
    return rows;
}

} // namespace tenon::detail
