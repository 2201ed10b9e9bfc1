#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

/// Which items run before which others, and one order that agrees with that.

namespace tenon::runtime::detail {

// What comes after each item: what was known at first in one list, since it is most, and what was added.
class successors {
public:
    successors() = default;
    /// Of so many items, from pairs of one that comes before and one that comes after.
    successors(std::size_t items, const std::vector<std::pair<int, int>>& pairs) :
        begin_(items + 2), to_(pairs.size()), more_(items, -1) {
        for (const auto& [before, after] : pairs) ++begin_[static_cast<std::size_t>(before) + 2];
        for (std::size_t i = 2; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
        for (const auto& [before, after] : pairs) to_[begin_[static_cast<std::size_t>(before) + 1]++] = after;
    }
    std::size_t items() const { return more_.size(); }
    void add_item() { more_.push_back(-1); }
    void add(int before, int after) {
        int& first = more_[static_cast<std::size_t>(before)];
        added_.push_back({after, first});
        first = static_cast<int>(added_.size()) - 1;
    }
    void each(int of, const auto& visit) const {
        const auto i = static_cast<std::size_t>(of);
        if (i + 2 < begin_.size())
            for (std::size_t at = begin_[i]; at < begin_[i + 1]; ++at) visit(to_[at]);
        for (int at = more_[i]; at >= 0; at = added_[static_cast<std::size_t>(at)].next)
            visit(added_[static_cast<std::size_t>(at)].to);
    }

private:
    std::vector<std::size_t> begin_;
    std::vector<int> to_;
    struct link {
        int to, next; // in added_, or -1
    };
    std::vector<link> added_;
    std::vector<int> more_; // by item: the last that was added
};

// Items, and pairs of them of which the first runs before the second. Each has a rank above those of all that run before it,
// so that what comes after an item is looked for among few. Where a new pair contradicts the ranks, those between its two
// are dealt out anew (D. J. Pearce, P. H. J. Kelly: A dynamic topological sort algorithm for directed acyclic graphs, 2007).
class item_order {
public:
    using pair = std::pair<int, int>;

    item_order() = default;
    /// Ranks agree with numbers where pairs do; those of items from `appended` on, with the last of the others that runs before them.
    item_order(std::size_t items, const std::vector<pair>& pairs, std::size_t appended = SIZE_MAX) :
        after_(items, pairs), rank_(items), seen_(items) {
        appended = std::min(appended, items);
        std::vector<std::size_t> place(items); // each of the others', and of who comes right after one
        for (std::size_t i = 0; i < appended; ++i) place[i] = i;
        for (const auto& [before, after] : pairs)
            if (const auto a = static_cast<std::size_t>(after), b = static_cast<std::size_t>(before);
                a >= appended && b < appended)
                place[a] = std::max(place[a], b);
        std::vector<int> next(appended + 1); // rank at a place
        for (const std::size_t p : place) ++next[std::min(p + 1, appended)];
        for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
        for (std::size_t i = 0; i < items; ++i) rank_[i] = next[place[i]]++;
        if (!std::all_of(pairs.begin(), pairs.end(), [&](const pair& p) { return rank(p.first) < rank(p.second); }))
            rank_anew();
    }

    const successors& after() const noexcept { return after_; }

    /// The number of a new item.
    int add_item() {
        after_.add_item();
        if (before_.items() > 0) before_.add_item();
        seen_.push_back(0);
        rank_.push_back(static_cast<int>(rank_.size()));
        return static_cast<int>(rank_.size()) - 1;
    }

    /// Finds those of `others` that run after an item, or are it: found().
    void search(int item, std::span<const int> others) {
        int last = -1;
        for (const int o : others) last = std::max(last, rank(o));
        ++searches_;
        found_.clear();
        if (last >= rank(item)) collect(after_, item, [&](int i) { return rank(i) <= last; });
    }
    bool found(int other) const { return seen_[static_cast<std::size_t>(other)] == searches_; }

    /// Adds pairs: others, none of which runs after the item, run before it.
    void add(std::span<const int> others, int item) {
        if (before_.items() == 0 &&
            std::any_of(others.begin(), others.end(), [&](int o) { return rank(o) > rank(item); }))
            find_predecessors();
        for (const int o : others) {
            after_.add(o, item);
            if (before_.items() > 0) before_.add(item, o);
        }
        deal_out_ranks(others, item);
    }
    void add(int before, int after) { add(std::span<const int>(&before, 1), after); }

private:
    int rank(int i) const { return rank_[static_cast<std::size_t>(i)]; }

    // The item and what the lists lead to from it, as far as it is `wanted`; to found_.
    void collect(const successors& lists, int from, const auto& wanted) {
        const auto enter = [&](int i) {
            int& seen = seen_[static_cast<std::size_t>(i)];
            if (seen == searches_ || !wanted(i)) return;
            seen = searches_;
            found_.push_back(i);
        };
        std::size_t next = found_.size();
        enter(from);
        for (; next < found_.size(); ++next) lists.each(found_[next], enter);
    }

    // What must come before and has greater ranks takes the lowest of all ranks concerned, the item and what comes after it
    // the others; among themselves each keep their order.
    void deal_out_ranks(std::span<const int> others, int item) {
        const int first = rank(item);
        int last = -1;
        for (const int o : others) last = std::max(last, rank(o));
        if (last <= first) return;
        ++searches_;
        found_.clear();
        for (const int o : others)
            if (rank(o) > first) collect(before_, o, [&](int i) { return rank(i) > first; });
        const auto middle = static_cast<std::ptrdiff_t>(found_.size());
        collect(after_, item, [&](int i) { return rank(i) < last; });
        const auto lower = [&](int a, int b) { return rank(a) < rank(b); };
        std::sort(found_.begin(), found_.begin() + middle, lower);
        std::sort(found_.begin() + middle, found_.end(), lower);
        std::vector<int> ranks;
        ranks.reserve(found_.size());
        for (const int i : found_) ranks.push_back(rank(i));
        std::sort(ranks.begin(), ranks.end());
        for (std::size_t k = 0; k < found_.size(); ++k) rank_[static_cast<std::size_t>(found_[k])] = ranks[k];
        found_.clear();
    }

    void find_predecessors() {
        std::vector<pair> pairs;
        for (int i = 0; i < static_cast<int>(rank_.size()); ++i)
            after_.each(i, [&](int n) { pairs.emplace_back(n, i); });
        before_ = successors(rank_.size(), pairs);
    }

    // Where items wait for each other in a cycle, which whoever runs them finds, theirs are as they were.
    void rank_anew() {
        std::vector<int> waiting(rank_.size()), ready;
        for (int i = 0; i < static_cast<int>(rank_.size()); ++i)
            after_.each(i, [&](int n) { ++waiting[static_cast<std::size_t>(n)]; });
        for (std::size_t i = 0; i < waiting.size(); ++i)
            if (waiting[i] == 0) ready.push_back(static_cast<int>(i));
        for (std::size_t at = 0; at < ready.size(); ++at) {
            rank_[static_cast<std::size_t>(ready[at])] = static_cast<int>(at);
            after_.each(ready[at], [&](int n) {
                if (--waiting[static_cast<std::size_t>(n)] == 0) ready.push_back(n);
            });
        }
    }

    successors after_, before_;     // before_: once it is needed
    std::vector<int> rank_;         // by item
    std::vector<int> seen_, found_; // seen_: by item, the last search that found it
    int searches_ = 0;
};

} // namespace tenon::runtime::detail
