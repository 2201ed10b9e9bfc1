#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <tenon/core/config.hpp>

/// Sets of items of a program: what has completed before one runs. A set is a tree over the numbers of items, whose halves are such sets
/// too, and each is kept once. So sets that differ in little share the rest, and who compares or unites two looks only where they
/// differ: a thousand ops that wait one for another, or that are added up one after another, take a few numbers each.

namespace tenon::runtime::detail {

/// Sets of items, by number; 0 is the empty one, and equal sets have one number.
class wait_sets {
public:
    /// Of the items 0 .. items-1.
    explicit wait_sets(std::size_t items) {
        while ((std::size_t{1} << depth_) < items) ++depth_;
    }
    int size(int set) const { return sets_[static_cast<std::size_t>(set)].size; }
    int united(int a, int b) {
        if (a == b || b == 0) return a;
        if (a == 0) return b;
        const auto [low, high] = std::minmax(a, b);
        const std::uint64_t key = pair_of(low, high);
        if (const auto at = unions_.find(key); at != unions_.end()) return at->second;
        const tree x = tree_of(low), y = tree_of(high);
        const int all = set_of(united(x.low, y.low), united(x.high, y.high));
        unions_.emplace(key, all);
        return all;
    }
    int with(int set, int item) {
        int only = one;
        for (int d = 0; d < depth_; ++d) only = (item >> d) & 1 ? set_of(0, only) : set_of(only, 0);
        return united(set, only);
    }
    bool contains(int set, int item) const {
        for (int d = depth_; set != 0 && d-- > 0;) set = (item >> d) & 1 ? tree_of(set).high : tree_of(set).low;
        return set != 0;
    }
    /// Whether all of a is in b.
    bool within(int a, int b) const {
        if (a == b || a == 0) return true;
        if (size(a) >= size(b)) return false;
        const tree x = tree_of(a), y = tree_of(b);
        return within(x.low, y.low) && within(x.high, y.high);
    }
    /// The last item of a that is not in b; -1: there is none.
    int last_beside(int a, int b) const { return last_beside(a, b, depth_); }

private:
    struct tree {
        int low, high, size;
    };
    static constexpr int one = 1; // of one number's place: that it is there
    static std::uint64_t pair_of(int a, int b) {
        return static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint32_t>(b);
    }
    const tree& tree_of(int set) const { return sets_[static_cast<std::size_t>(set)]; }
    int set_of(int low, int high) {
        if (low == 0 && high == 0) return 0;
        const auto [at, isnew] = known_.try_emplace(pair_of(low, high), static_cast<int>(sets_.size()));
        if (isnew) sets_.push_back({low, high, size(low) + size(high)});
        return at->second;
    }
    int last_beside(int a, int b, int depth) const {
        if (a == b || a == 0) return -1;
        if (depth == 0) return 0;
        const tree x = tree_of(a), y = tree_of(b);
        const int high = last_beside(x.high, y.high, depth - 1);
        return high >= 0 ? high + (1 << (depth - 1)) : last_beside(x.low, y.low, depth - 1);
    }

    int depth_ = 0;
    std::vector<tree> sets_{{0, 0, 0}, {0, 0, 1}};
    std::unordered_map<std::uint64_t, int> known_, unions_;
};

} // namespace tenon::runtime::detail
