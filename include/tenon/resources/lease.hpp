#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include <tenon/core/config.hpp>

namespace tenon {

/// Who may do, for a time, what only one may do at a time: a state machine without a clock or a lock of its own. Whoever claims
/// it while nobody has it, has it for so long, and longer each time that he claims it again. One who does not is no holder any
/// more when his time has passed, whatever he thinks. Each holder's time is a term, and terms have numbers that grow.
class lease {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using duration = std::chrono::steady_clock::duration;

    struct standing {
        std::string holder;    ///< empty: nobody
        std::int64_t term = 0; ///< of the holder, or the last there was; 0: there was none
        duration left{};       ///< of the holder's time
        bool is(const std::string& who) const { return !who.empty() && holder == who; }
    };

    standing at(time_point now) const {
        const bool held = !holder_.empty() && now < until_;
        return {held ? holder_ : std::string(), term_, held ? until_ - now : duration{}};
    }
    /// Its holder is `who` then, or whoever has it. A new term's number is larger than any before, and than `known`, which the
    /// one who claims has heard of: the lease may have been lost, and made anew. A holder's time does not become shorter.
    standing claim(const std::string& who, time_point now, duration length, std::int64_t known = 0) {
        const standing is = at(now);
        if (who.empty() || (!is.holder.empty() && is.holder != who)) return is;
        if (is.holder.empty() || known > term_) term_ = std::max(term_, known) + 1;
        until_ = is.holder.empty() ? now + length : std::max(until_, now + length);
        holder_ = who;
        return at(now);
    }
    /// Nothing, where he is not its holder.
    standing give_back(const std::string& who, time_point now) {
        if (at(now).is(who)) holder_.clear();
        return at(now);
    }

private:
    std::string holder_;
    std::int64_t term_ = 0;
    time_point until_{};
};

} // namespace tenon
