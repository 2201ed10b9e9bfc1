#pragma once

#include <algorithm>
#include <utility>

#include <tenon/serve/batch_queue.hpp>

namespace tenon::detail {

TENON_INLINE void batch_queue::push(request r) {
    group& g = groups_[r->sizes];
    g.rows += r->rows;
    g.waiting.push_back(std::move(r));
    ++size_;
}

TENON_INLINE void batch_queue::put_back(const std::vector<request>& taken) {
    for (const request& r : taken) {
        group& g = groups_[r->sizes];
        // Batches of several devices may come back, the later one first.
        const auto behind =
            std::find_if(g.waiting.begin(), g.waiting.end(), [&](const request& w) { return w->arrived > r->arrived; });
        g.waiting.insert(behind, r);
        g.rows += r->rows;
        ++size_;
    }
}

TENON_INLINE bool batch_queue::remove(const queued_request* r) {
    const auto in = groups_.find(r->sizes);
    if (in == groups_.end()) return false;
    group& g = in->second;
    const auto at = std::find_if(g.waiting.begin(), g.waiting.end(), [&](const request& w) { return w.get() == r; });
    if (at == g.waiting.end()) return false;
    g.rows -= r->rows;
    --size_;
    g.waiting.erase(at); // which may end r
    if (g.waiting.empty()) groups_.erase(in);
    return true;
}

TENON_INLINE std::vector<batch_queue::request> batch_queue::remove_all() {
    std::vector<request> all;
    for (auto& [sizes, g] : groups_) all.insert(all.end(), g.waiting.begin(), g.waiting.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const request& a, const request& b) { return a->arrived < b->arrived; });
    groups_.clear();
    size_ = 0;
    return all;
}

TENON_INLINE serving_clock::time_point batch_queue::due(const group& g, serving_clock::duration step) const {
    using time = serving_clock::time_point;
    if (g.rows >= policy_.largest_batch || policy_.longest_wait <= serving_clock::duration{}) return time::min();
    time first = g.waiting.front()->arrived + policy_.longest_wait;
    for (const request& r : g.waiting) // fewer than a batch has rows
        if (r->deadline != time::max()) first = std::min(first, r->deadline - step);
    return first;
}

TENON_INLINE serving_clock::time_point batch_queue::due(serving_clock::duration step) const {
    serving_clock::time_point first = serving_clock::time_point::max();
    for (const auto& [sizes, g] : groups_) first = std::min(first, due(g, step));
    return first;
}

TENON_INLINE std::vector<batch_queue::request> batch_queue::take(serving_clock::time_point now,
                                                                 serving_clock::duration step) {
    // Of those that are due the one whose first request came first.
    auto chosen = groups_.end();
    for (auto at = groups_.begin(); at != groups_.end(); ++at)
        if (due(at->second, step) <= now &&
            (chosen == groups_.end() || at->second.waiting.front()->arrived < chosen->second.waiting.front()->arrived))
            chosen = at;
    std::vector<request> batch;
    if (chosen == groups_.end()) return batch;
    group& g = chosen->second;
    std::int64_t rows = 0;
    while (!g.waiting.empty() && rows + g.waiting.front()->rows <= policy_.largest_batch) {
        rows += g.waiting.front()->rows;
        batch.push_back(std::move(g.waiting.front()));
        g.waiting.pop_front();
    }
    g.rows -= rows;
    size_ -= batch.size();
    if (g.waiting.empty()) groups_.erase(chosen);
    return batch;
}

} // namespace tenon::detail
