#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

/// The distinct places of an arena, searched for one that is free during a lifetime.

namespace tenon::runtime::detail {

// Positions of a step's order: the first and the last, and, as bits, which of 256 parts of the order they touch, and which
// they cover.
class lifetime {
public:
    lifetime() = default; // of which nothing is known
    /// Positions first .. last, where a part is `length` positions.
    lifetime(int first, int last, int length) : first_(first), last_(last) {
        fill(touched_, first / length, last / length);
        fill(covered_, (first + length - 1) / length, (last + 1) / length - 1);
    }
    static int length_for(int positions) { return positions / parts + 1; }
    int first() const { return first_; }
    int last() const { return last_; }

    /// Adds the parts of another; that becomes the first and the last which begins later.
    void unite(const lifetime& o) {
        if (o.first_ > first_) {
            first_ = o.first_;
            last_ = o.last_;
        }
        for (std::size_t w = 0; w < words; ++w) {
            touched_[w] |= o.touched_[w];
            covered_[w] |= o.covered_[w];
        }
    }
    /// Of the parts, those of both.
    void intersect(const lifetime& o) {
        for (std::size_t w = 0; w < words; ++w) {
            touched_[w] &= o.touched_[w];
            covered_[w] &= o.covered_[w];
        }
    }
    /// True where lifetimes with these parts must meet: one covers a part that the other touches.
    bool meets(const lifetime& o) const {
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
    int first_ = std::numeric_limits<int>::max(), last_ = -1;
    bits touched_{}, covered_{};
};

// Places by offset and end, in pieces of which each knows what all its places have in common, so that a search passes by
// many that are taken at once. A step that keeps a value of each of its many nodes has as many places as values.
class arena_slots {
public:
    /// Of blocks of which no two live at the same time.
    struct slot {
        std::size_t offset, end;
        lifetime life; // of all of them; first and last: of the latest
        int blocks;    // index of their list
    };

    /// The lowest offset where `bytes` are free, as far as is_free(slot) says so of the places there. A place whose
    /// lifetimes `meet` this one is never free.
    template <class IsFree> std::size_t find(std::size_t bytes, const lifetime& life, IsFree is_free) {
        std::size_t offset = 0;
        for (piece& p : pieces_) {
            if (offset + bytes <= p.slots.front().offset) break;
            if (offset >= p.end) continue;
            if (bytes > p.gap && p.is_taken(life)) {
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
    slot& enter(std::size_t offset, std::size_t end, const lifetime& life) {
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
            place[-1].life.unite(life);
            at->latest = std::max(at->latest, life.first());
            at->grown = true;
            return place[-1];
        }
        if (at->slots.size() == most) {
            const auto number = at - pieces_.begin();
            pieces_.insert(at + 1, piece{}); // before anything moves
            at = pieces_.begin() + number;
            constexpr std::ptrdiff_t half = most / 2;
            at[1].slots.assign(at->slots.begin() + half, at->slots.end());
            at->slots.erase(at->slots.begin() + half, at->slots.end());
            refresh(at[0]);
            refresh(at[1]);
            if (!before(key, at[1].slots.front())) ++at;
            place = std::upper_bound(at->slots.begin(), at->slots.end(), key, before);
        }
        const bool is_first = at->slots.empty(), is_last = place == at->slots.end();
        place = at->slots.insert(place, slot{offset, end, life, -1});
        if (is_first) {
            refresh(*at);
            return *place;
        }
        at->common.intersect(life);
        at->soonest = std::min(at->soonest, life.last());
        at->latest = std::max(at->latest, life.first());
        if (is_last) at->reach(*place);
        else find_bounds(*at);
        return *place;
    }

private:
    static constexpr std::size_t most = 64; // places of a piece

    struct piece {
        std::vector<slot> slots; // by offset and end
        lifetime common{};       // parts of all its places, or less where it has `grown` since
        int soonest = 0;         // last position of one of the latest blocks, or before where it has grown
        int latest = 0;          // the last first position of one of them
        std::size_t end = 0;     // the largest
        std::size_t gap = 0;     // the widest between places of it
        bool grown = false;

        /// True where all places must be taken at some position of a lifetime. It may begin after the latest block
        /// of a place, or end before that.
        bool is_taken(const lifetime& life) const {
            return (soonest >= life.first() && latest <= life.last()) || common.meets(life);
        }
        void reach(const slot& s) {
            if (s.offset > end) gap = std::max(gap, s.offset - end);
            end = std::max(end, s.end);
        }
    };

    static void refresh(piece& p) {
        p.common = p.slots[0].life;
        p.soonest = p.common.last();
        p.latest = p.common.first();
        for (const slot& s : p.slots) {
            p.common.intersect(s.life);
            p.soonest = std::min(p.soonest, s.life.last());
            p.latest = std::max(p.latest, s.life.first());
        }
        p.grown = false;
        find_bounds(p);
    }
    static void find_bounds(piece& p) {
        p.end = p.slots[0].end;
        p.gap = 0;
        for (const slot& s : p.slots) p.reach(s);
    }

    std::vector<piece> pieces_;
};

} // namespace tenon::runtime::detail
