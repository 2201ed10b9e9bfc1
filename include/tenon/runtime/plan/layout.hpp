#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tenon/runtime/plan/program.hpp>

/// The memory of an ordered program.

namespace tenon::runtime {

/// Where a value lies during a step.
struct location {
    enum class kind { none, arena, resident, variable, uploaded, feed, fetch } where = kind::none;
    std::size_t offset = 0;        ///< in the arena, or among the constants that are kept on a device
    const void* address = nullptr; ///< of a resident
    int index = -1;                ///< of the feed or fetch
};

/// What a step takes of one device.
struct device_layout {
    std::size_t arena_bytes = 0;
    std::size_t lower_bound = 0;    ///< bytes of the largest set of values that live at one time, run in order
    std::size_t constant_bytes = 0; ///< of constants that are copied to it when the step is planned
    std::size_t fetched_bytes = 0;
    std::size_t prepared_bytes = 0;     ///< that kernels hold since they were prepared
    std::vector<memory_holder> largest; ///< the values that take most

    std::size_t bytes() const { return arena_bytes + constant_bytes + fetched_bytes + prepared_bytes; }
};

struct memory_layout {
    std::vector<location> locations;    ///< by value; views have their root's
    std::vector<std::size_t> scratch;   ///< offset in the item's arena, by position in the order
    std::vector<device_layout> devices; ///< what is fetched, and what kernels hold, counts on the first

    std::size_t arena_bytes() const {
        std::size_t sum = 0;
        for (const device_layout& d : devices) sum += d.arena_bytes;
        return sum;
    }
};

/// A set of positions for each of n positions.
class position_sets {
public:
    using set = std::vector<std::uint64_t>; ///< one of them, as bits

    position_sets() = default;
    explicit position_sets(std::size_t n) : words_((n + 63) / 64), bits_(n * words_) {}
    bool empty() const noexcept { return bits_.empty(); }
    bool has(int of, int position) const { return bit(row(of), position); }
    static bool has(const set& s, int position) { return bit(s.data(), position); }
    void insert(int of, int position) {
        bits_[static_cast<std::size_t>(of) * words_ + static_cast<std::size_t>(position) / 64] |=
            std::uint64_t{1} << (static_cast<unsigned>(position) % 64);
    }
    /// Adds the set of `other` to that of `of`.
    void unite(int of, int other) {
        for (std::size_t w = 0; w < words_; ++w) bits_[static_cast<std::size_t>(of) * words_ + w] |= row(other)[w];
    }
    /// The same of another's set.
    void unite_with(int of, const position_sets& others, int other) {
        for (std::size_t w = 0; w < words_; ++w)
            bits_[static_cast<std::size_t>(of) * words_ + w] |= others.row(other)[w];
    }
    /// What is in the set of `first` and in those of all others.
    set common(int first, std::span<const int> of) const {
        set result(row(first), row(first) + words_);
        for (const int o : of)
            for (std::size_t w = 0; w < words_; ++w) result[w] &= row(o)[w];
        return result;
    }

private:
    const std::uint64_t* row(int of) const { return &bits_[static_cast<std::size_t>(of) * words_]; }
    static bool bit(const std::uint64_t* s, int position) {
        return s[static_cast<std::size_t>(position) / 64] >> (static_cast<unsigned>(position) % 64) & 1;
    }
    std::size_t words_ = 0;
    std::vector<std::uint64_t> bits_;
};

/// When the positions of an order run: one after another, unless one of these is there.
struct timing {
    position_sets later;    ///< those that begin after a position's end, whichever way the threads go
    std::vector<int> until; ///< by position: the last one that begins before it ends
};

/// What so many bytes take in an arena, whose blocks begin at multiples of 64 bytes.
constexpr std::size_t arena_bytes_of(std::size_t bytes) noexcept { return (bytes < 1 ? 64 : (bytes + 63) / 64 * 64); }

/// Lays out each device's arena by the lifetimes of values and of kernels' working memory: the largest first, outputs in
/// place of inputs that end there.
memory_layout lay_out(const program& p, const plan_options& o, const std::vector<int>& order, const timing& t = {});

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/layout.ipp>
#endif
