#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// Random numbers for orders: SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014).
class order_generator {
public:
    /// What `seed` and the number of an epoch give, the same everywhere.
    order_generator(std::uint64_t seed, std::uint64_t epoch) : state_(seed) {
        state_ = next() ^ epoch * 0x9E3779B97F4A7C15U;
        state_ = next();
    }
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
        z = (z ^ z >> 27) * 0x94D049BB133111EBU;
        return z ^ z >> 31;
    }
    /// Uniform in 0 .. n-1: the numbers that would favour the small ones are thrown away.
    std::uint64_t below(std::uint64_t n) {
        const std::uint64_t unfair = (0 - n) % n;
        for (;;)
            if (const std::uint64_t r = next(); r >= unfair) return r % n;
    }
    /// Uniform in [0, 1), a multiple of 2^-53.
    double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    std::uint64_t state() const noexcept { return state_; }
    void set_state(std::uint64_t s) noexcept { state_ = s; }

private:
    std::uint64_t state_;
};

/// One number for what has a number in an epoch: none has another's, where both are small, and hardly any else.
inline std::uint64_t number_in_epoch(std::uint64_t epoch, std::uint64_t number, int bits) {
    if (number >> bits == 0 && epoch >> (64 - bits) == 0) return epoch << bits | number;
    return order_generator(epoch, number).next();
}

/// The order of the epoch that was asked for last: where its elements are in the input. Thread-safe.
class kept_order {
public:
    using places = std::shared_ptr<const std::vector<std::int64_t>>;
    template <class F> places of_epoch(std::uint64_t epoch, F make) {
        const std::lock_guard lock(guard_);
        if (!places_ || epoch_ != epoch) {
            places_ = std::make_shared<const std::vector<std::int64_t>>(make(epoch));
            epoch_ = epoch;
        }
        return places_;
    }

private:
    std::mutex guard_;
    std::uint64_t epoch_ = 0;
    places places_;
};

/// A seed that is not 0: this one, or one drawn from the system.
std::uint64_t seed_or_any(std::uint64_t seed);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/random_order.ipp>
#endif
