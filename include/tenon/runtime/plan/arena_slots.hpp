#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// The distinct places of an arena, searched for one that is free during a lifetime.

namespace tenon::runtime::detail {

// Parts of a step's order that a lifetime touches, and those that it covers: sets of 256, as bits.
class lifetime_bits {
public:
    lifetime_bits() = default;
    /// Of positions first .. last, where a part is `length` positions.
    lifetime_bits(int first, int last, int length) {
        fill(touched_, first / length, last / length);
        fill(covered_, (first + length - 1) / length, (last + 1) / length - 1);
    }
    static int length_for(int positions) { return positions / parts + 1; }

    void unite(const lifetime_bits& o) {
        for (std::size_t w = 0; w < words; ++w) {
            touched_[w] |= o.touched_[w];
            covered_[w] |= o.covered_[w];
        }
    }
    void intersect(const lifetime_bits& o) {
        for (std::size_t w = 0; w < words; ++w) {
            touched_[w] &= o.touched_[w];
            covered_[w] &= o.covered_[w];
        }
    }
    /// True where lifetimes with these bits must meet: one covers a part that the other touches.
    bool meets(const lifetime_bits& o) const {
        std::uint64_t common = 0;
        for (std::size_t w = 0; w < words; ++w) common |= (touched_[w] & o.covered_[w]) | (covered_[w] & o.touched_[w]);
        return common != 0;
    }

private:
    static constexpr int parts = 256;
    static constexpr std::size_t words = parts / 64;
    using bits = std::array<std::uint64_t, words>;

    static void fill(bits& to, int first, int last) {
        for (int i = first; i <= last;) {
            const auto in_word = static_cast<unsigned>(i % 64);
            const int end = std::min(last, i - i % 64 + 63);
            const auto count = static_cast<unsigned>(end - i + 1);
            to[static_cast<std::size_t>(i / 64)] |= (~std::uint64_t{0} >> (64 - count)) << in_word;
            i = end + 1;
        }
    }
    bits touched_{}, covered_{};
};

// Places by offset and end, in pieces of which each knows what all its places have in common, so that a search passes by
// many that are taken at once. A step that keeps a value of each of its many nodes has as many places as values.
class arena_slots {
public:
    /// Of blocks of which no two live at the same time.
    struct slot {
        std::size_t offset, end;
        int first, last; // of the latest block
        int blocks;      // index of their list
    };

    /// The lowest offset where `bytes` are free, as far as is_free(slot) says so of the places there. A place whose
    /// lifetimes `meet` this one is never free.
    template <class IsFree> std::size_t find(std::size_t bytes, const lifetime_bits& life, IsFree is_free) {
        std::size_t offset = 0;
        for (piece& p : pieces_) {
            if (offset + bytes <= p.slots.front().offset) break;
            if (offset >= p.end) continue;
            if (bytes > p.gap && p.common.meets(life)) {
                offset = p.end;
                continue;
            }
            bool all_taken = true;
            for (const slot& s : p.slots) {
                if (offset + bytes <= s.offset) return offset;
                if (offset >= s.end) continue;
                if (is_free(s)) all_taken = false;
                else offset = s.end;
            }
            if (all_taken && p.grown) refresh(p);
        }
        return offset;
    }

    /// The place with these bounds, to which something of this lifetime is added. A new one has blocks == -1.
    slot& enter(std::size_t offset, std::size_t end, const lifetime_bits& life) {
        const std::pair key(offset, end);
        const auto before = [](const std::pair<std::size_t, std::size_t>& k, const slot& s) {
            return k < std::pair(s.offset, s.end);
        };
        // The last piece that begins at or before it.
        auto at = std::upper_bound(pieces_.begin(), pieces_.end(), key,
                                   [&](const auto& k, const piece& p) { return before(k, p.slots.front()); });
        if (at != pieces_.begin()) --at;
        else if (pieces_.empty()) at = pieces_.insert(at, piece{});
        auto place = std::upper_bound(at->slots.begin(), at->slots.end(), key, before);
        if (place != at->slots.begin() && std::pair(place[-1].offset, place[-1].end) == key) {
            at->lives[static_cast<std::size_t>(place - at->slots.begin()) - 1].unite(life);
            at->grown = true;
            return place[-1];
        }
        if (at->slots.size() == most) {
            const auto number = at - pieces_.begin();
            pieces_.insert(at + 1, piece{}); // before anything moves
            at = pieces_.begin() + number;
            constexpr std::ptrdiff_t half = most / 2;
            at[1].slots.assign(at->slots.begin() + half, at->slots.end());
            at[1].lives.assign(at->lives.begin() + half, at->lives.end());
            at->slots.resize(half);
            at->lives.resize(half);
            refresh(at[0]);
            refresh(at[1]);
            if (!before(key, at[1].slots.front())) ++at;
            place = std::upper_bound(at->slots.begin(), at->slots.end(), key, before);
        }
        const auto index = place - at->slots.begin();
        place = at->slots.insert(place, slot{offset, end, 0, 0, -1});
        at->lives.insert(at->lives.begin() + index, life);
        if (at->slots.size() == 1) at->common = life;
        else at->common.intersect(life);
        find_bounds(*at);
        return *place;
    }

private:
    static constexpr std::size_t most = 256; // places of a piece

    struct piece {
        std::vector<slot> slots; // by offset and end
        std::vector<lifetime_bits> lives{};
        lifetime_bits common{}; // of all its places, or less where it has `grown` since
        std::size_t end = 0;    // the largest
        std::size_t gap = 0;    // the widest between places of it
        bool grown = false;
    };

    static void refresh(piece& p) {
        p.common = p.lives[0];
        for (const lifetime_bits& l : p.lives) p.common.intersect(l);
        p.grown = false;
        find_bounds(p);
    }
    static void find_bounds(piece& p) {
        p.end = p.slots[0].end;
        p.gap = 0;
        for (const slot& s : p.slots) {
            if (s.offset > p.end) p.gap = std::max(p.gap, s.offset - p.end);
            p.end = std::max(p.end, s.end);
        }
    }

    std::vector<piece> pieces_;
};

} // namespace tenon::runtime::detail
