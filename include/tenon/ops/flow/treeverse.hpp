#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// The order in which the runs of a loop are gone through from the last to the first, where a run needs the carry that it was given, and
/// `kept` of these can be kept beside the first. Between two that are kept the one in the middle is found again, kept while what comes after
/// it is done, and given up. Which one is the middle is treeverse's (Griewank 1992): no run is computed again more often than it must be.
/// Plain memory, so that a GPU can keep it. A place is the number of a carry that is kept.
struct treeverse {
    static constexpr std::int64_t most = 1024; ///< carries that are kept
    static constexpr std::int64_t first = -1;  ///< the place of the carry that the loop was given
    static constexpr std::int64_t spare = 2;   ///< places more, from number `kept` on, for carries on the way
    enum class action : std::int64_t { ended, advance, back };

    /// What next() says: a run from the carry at `from` to one at `to`, or back over the run that begins with that at `from`.
    action now;
    std::int64_t from, to;

    constexpr void begin(std::int64_t runs, std::int64_t places) {
        now = action::ended;
        from = to = first;
        kept_ = places;
        depth_ = 0;
        push(first, runs, places, 0);
    }
    constexpr void next() {
        while (depth_ > 0) {
            part& p = parts_[depth_ - 1];
            if (p.left == unseen) {
                if (p.runs <= 1) {
                    const bool is_one = p.runs == 1;
                    from = p.start;
                    --depth_;
                    if (!is_one) continue;
                    now = action::back;
                    return;
                }
                p.left = p.half = middle(p.runs, p.free);
            }
            if (p.left > 0) { // the last of them where it is kept; those before in two places in turn
                now = action::advance;
                from = p.left == p.half ? p.start : to;
                to = p.left == 1 ? p.used : kept_ + p.left % 2;
                --p.left;
                return;
            }
            // The carry in the middle is there: what comes after it, then what comes before.
            const part whole = p;
            p.runs = p.half;
            p.left = unseen;
            if (whole.free > 1) {
                push(whole.used, whole.runs - whole.half, whole.free - 1, whole.used + 1);
                continue;
            }
            now = action::back;
            from = whole.used;
            return;
        }
        now = action::ended;
    }

private:
    static constexpr std::int64_t unseen = -1;
    // Runs that begin with the carry at `start`. Places from `used` on are free.
    struct part {
        std::int64_t start, runs, free, used;
        std::int64_t half, left; // how many it advances to the middle, and has yet to
    };
    constexpr void push(std::int64_t start, std::int64_t runs, std::int64_t free, std::int64_t used) {
        parts_[depth_++] = {start, runs, free, used, 0, unseen};
    }
    // After how many of the runs, of which there are two or more, the next carry is kept.
    static constexpr std::int64_t middle(std::int64_t runs, std::int64_t free) {
        if (free <= 1) return runs - 1;
        // The fewest repetitions with which so many runs can be done: binomial(free + r, free) of them with r.
        std::int64_t before = 1, all = free + 1;
        for (std::int64_t r = 2; all < runs; ++r) {
            before = all;
            all = all > runs * 2 ? all : all / r * (free + r) + all % r * (free + r) / r;
        }
        return before < runs - 1 ? before : runs - 1;
    }

    std::int64_t kept_, depth_;
    part parts_[most + 1]; // one in another
};

} // namespace tenon::detail
