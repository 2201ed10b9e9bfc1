#pragma once

#include <cstdint>
#include <limits>

#include <tenon/core/config.hpp>

/// Arithmetic of sizes: the one place where they are added and multiplied, at compile time and at run time alike.

namespace tenon {

/// A number computed from sizes: exact, or known to have overflowed 64 bits. What is computed from one that overflowed
/// has overflowed too, so a rule computes first and asks once.
class checked_size {
public:
    static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

    constexpr checked_size() = default;
    constexpr checked_size(std::int64_t number) noexcept : value_(number) {} // NOLINT: a number is a checked one

    constexpr bool fits() const noexcept { return fits_; }
    /// The number, where it fits.
    constexpr std::int64_t value() const noexcept { return value_; }
    /// The number; where it does not fit the largest one, which no memory holds either.
    constexpr std::int64_t saturated() const noexcept { return fits_ ? value_ : most; }

    friend constexpr checked_size operator+(checked_size a, checked_size b) noexcept {
        checked_size r;
        r.fits_ = !__builtin_add_overflow(a.value_, b.value_, &r.value_) && a.fits_ && b.fits_;
        return r;
    }
    friend constexpr checked_size operator-(checked_size a, checked_size b) noexcept {
        checked_size r;
        r.fits_ = !__builtin_sub_overflow(a.value_, b.value_, &r.value_) && a.fits_ && b.fits_;
        return r;
    }
    friend constexpr checked_size operator*(checked_size a, checked_size b) noexcept {
        checked_size r;
        r.fits_ = !__builtin_mul_overflow(a.value_, b.value_, &r.value_) && a.fits_ && b.fits_;
        return r;
    }
    /// Rounded down; b > 0.
    friend constexpr checked_size divide_down(checked_size a, std::int64_t b) noexcept {
        a.value_ = a.value_ / b - (a.value_ % b < 0 ? 1 : 0);
        return a;
    }
    /// Rounded up; b > 0.
    friend constexpr checked_size divide_up(checked_size a, std::int64_t b) noexcept {
        a.value_ = a.value_ / b + (a.value_ % b > 0 ? 1 : 0);
        return a;
    }
    constexpr checked_size& operator+=(checked_size b) noexcept { return *this = *this + b; }
    constexpr checked_size& operator*=(checked_size b) noexcept { return *this = *this * b; }

private:
    std::int64_t value_ = 0;
    bool fits_ = true;
};

// So that they are found for plain numbers too.
constexpr checked_size divide_down(checked_size a, std::int64_t b) noexcept;
constexpr checked_size divide_up(checked_size a, std::int64_t b) noexcept;

} // namespace tenon
