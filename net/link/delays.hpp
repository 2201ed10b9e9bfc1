#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <net/transport/transport.hpp>

/// How late a message is.

namespace tenon::net {

/// Of what one other process sends. No clocks are compared: what was fastest of late was on its way for no time, and what took
/// longer is late by that: it lay on a line that was cut, say, or before a process that stood still.
class delays {
public:
    /// Clocks do not run at one speed: what was fastest is known for two of these at most, while anything arrives.
    explicit delays(duration window) : window_(window) {}

    /// Of what was sent at `sent`, by the sender's clock, and arrives now.
    duration of(std::int64_t sent, time_point now) noexcept {
        const auto here = static_cast<std::uint64_t>(nanoseconds(now));
        // Bytes from outside: of differences only their order matters.
        const auto took = static_cast<std::int64_t>(here - static_cast<std::uint64_t>(sent));
        if (now - begun_ >= window_) {
            before_ = fastest_;
            fastest_ = none;
            begun_ = now;
        }
        fastest_ = std::min(fastest_, took);
        const std::uint64_t late =
            static_cast<std::uint64_t>(took) - static_cast<std::uint64_t>(std::min(before_, fastest_));
        constexpr std::uint64_t century = std::uint64_t{100} * 365 * 24 * 3600 * 1'000'000'000;
        return std::chrono::duration_cast<duration>(
            std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(late, century))));
    }
    static std::int64_t nanoseconds(time_point at) noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
    }

private:
    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    duration window_;
    time_point begun_{};
    std::int64_t fastest_ = none, before_ = none; // in this window, and in the one before
};

} // namespace tenon::net
