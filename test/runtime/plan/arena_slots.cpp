#include <tenon/runtime/plan/arena_slots.hpp>

#include "tests.hpp"

// Places of an arena against a search that looks at each of them.

using tenon::runtime::detail::arena_slots, tenon::runtime::detail::lifetime;

namespace {
struct block {
    std::size_t bytes;
    int first, last;
    std::size_t offset = 0;
};

bool meet(const block& a, const block& b) { return a.first <= b.last && b.first <= a.last; }

// The lowest offset at which no block lies that lives at the same time. Only ends of blocks need be tried.
std::size_t lowest_offset(const std::vector<block>& placed, const block& b) {
    std::vector<std::size_t> offsets{0};
    for (const block& p : placed)
        if (meet(p, b)) offsets.push_back(p.offset + p.bytes);
    std::sort(offsets.begin(), offsets.end());
    for (const std::size_t o : offsets)
        if (std::none_of(placed.begin(), placed.end(), [&](const block& p) {
                return meet(p, b) && p.offset < o + b.bytes && o < p.offset + p.bytes;
            }))
            return o;
    return 0; // never: after the last one there is room
}

void compare(std::vector<block> blocks, int positions) {
    std::stable_sort(blocks.begin(), blocks.end(), [](const block& a, const block& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first;
    });
    arena_slots slots;
    std::vector<std::vector<std::size_t>> lists; // by slot: its blocks
    std::vector<block> placed;
    const int part = lifetime::length_for(positions);
    for (block& b : blocks) {
        const lifetime life(b.first, b.last, part);
        b.offset = slots.find(b.bytes, life, [&](const arena_slots::slot& s) {
            const auto& list = lists[static_cast<std::size_t>(s.blocks)];
            return std::none_of(list.begin(), list.end(), [&](std::size_t p) { return meet(placed[p], b); });
        });
        REQUIRE(b.offset == lowest_offset(placed, b));
        auto& s = slots.enter(b.offset, b.offset + b.bytes, life);
        if (s.blocks < 0) {
            s.blocks = static_cast<int>(lists.size());
            lists.emplace_back();
        }
        lists[static_cast<std::size_t>(s.blocks)].push_back(placed.size());
        placed.push_back(b);
    }
}
} // namespace

TEST_CASE("lifetimes that their bits say meet do meet") {
    std::mt19937 random(1);
    for (const int positions : {1, 255, 256, 257, 1000, 100'000}) {
        const int part = lifetime::length_for(positions);
        int told = 0;
        for (int i = 0; i < 2000; ++i) {
            const auto one = [&] {
                const int a = static_cast<int>(random() % static_cast<unsigned>(positions)),
                          b = static_cast<int>(random() % static_cast<unsigned>(positions));
                return block{64, std::min(a, b), std::max(a, b)};
            };
            const block a = one(), b = one();
            const bool said = lifetime(a.first, a.last, part).meets(lifetime(b.first, b.last, part));
            if (said) CHECK(meet(a, b));
            if (part == 1) CHECK(said == meet(a, b)); // each position is a part
            told += said;
        }
        CHECK(told > 0);
    }
}

TEST_CASE("a block gets the lowest offset that is free during its life: nested lives, as of a step with gradients") {
    std::vector<block> blocks;
    constexpr int n = 600;
    for (int i = 0; i < n; ++i) {
        blocks.push_back({256, i, 2 * n - i});
        blocks.push_back({64, i, 2 * n - i});
        blocks.push_back({128, i, i + 1});
    }
    compare(blocks, 2 * n + 1);
}

TEST_CASE("a block gets the lowest offset that is free during its life: any lives and sizes") {
    std::mt19937 random(2);
    for (int round = 0; round < 6; ++round) {
        constexpr int positions = 1200;
        std::vector<block> blocks;
        for (int i = 0; i < 900; ++i) {
            const int first = static_cast<int>(random() % positions);
            const int longest = round % 2 ? 20 : positions;
            const int last =
                std::min(positions - 1, first + static_cast<int>(random() % static_cast<unsigned>(longest)));
            blocks.push_back({64 * (1 + random() % (round < 3 ? 3 : 40)), first, last});
        }
        compare(blocks, positions);
    }
}
