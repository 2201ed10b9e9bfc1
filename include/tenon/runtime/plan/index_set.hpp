#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::runtime::detail {

/// A set of indices below a number. The smallest is found in as many steps as the number has digits to base 64.
class index_set {
public:
    explicit index_set(std::size_t below) {
        do {
            below = (below + 63) / 64;
            levels_.emplace_back(below < 1 ? 1 : below);
        } while (below > 1);
    }
    bool empty() const noexcept { return levels_.back()[0] == 0; }
    void insert(int i) noexcept {
        auto at = static_cast<std::size_t>(i);
        for (words& level : levels_) {
            const bool known = level[at / 64] != 0;
            level[at / 64] |= bit(at);
            if (known) return;
            at /= 64;
        }
    }
    /// Of a set that is not empty.
    int take_smallest() noexcept {
        std::size_t smallest = 0;
        for (auto level = levels_.rbegin(); level != levels_.rend(); ++level)
            smallest = smallest * 64 + static_cast<std::size_t>(std::countr_zero((*level)[smallest]));
        std::size_t at = smallest;
        for (words& level : levels_) {
            if (level[at / 64] &= ~bit(at)) break;
            at /= 64;
        }
        return static_cast<int>(smallest);
    }

private:
    using words =
        std::vector<std::uint64_t>; // a bit for each index, or for each word of the level before that is not 0
    static std::uint64_t bit(std::size_t i) noexcept { return std::uint64_t{1} << (i % 64); }
    std::vector<words> levels_;
};

} // namespace tenon::runtime::detail
