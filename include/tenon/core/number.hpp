#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include <tenon/core/config.hpp>
#include <tenon/core/element_type.hpp>

/// Numbers beside tensors whose element type is known at run time only.

namespace tenon {

/// A number as a program writes it, of any arithmetic type, exact: 2^53 + 1 beside int64 elements is that, and 300
/// beside uint8 elements is refused.
class number {
public:
    constexpr number() = default;
    template <class T>
        requires std::is_arithmetic_v<T>
    constexpr number(T v) noexcept { // NOLINT: what is written is a number
        if constexpr (std::is_floating_point_v<T>) {
            kind_ = kind::real;
            bits_ = std::bit_cast<std::uint64_t>(static_cast<double>(v));
        } else {
            if constexpr (std::is_signed_v<T>) kind_ = v < 0 ? kind::negative : kind::natural;
            else kind_ = kind::natural;
            bits_ = static_cast<std::uint64_t>(v);
        }
    }
    constexpr number(half v) noexcept : number(static_cast<float>(v)) {}     // NOLINT
    constexpr number(bfloat16 v) noexcept : number(static_cast<float>(v)) {} // NOLINT

    constexpr bool is_real() const noexcept { return kind_ == kind::real; }
    /// Rounded to a double.
    constexpr double as_double() const noexcept {
        if (is_real()) return std::bit_cast<double>(bits_);
        return kind_ == kind::negative ? static_cast<double>(static_cast<std::int64_t>(bits_))
                                       : static_cast<double>(bits_);
    }
    /// True when elements of this type hold the number: integers exactly, bools 0 and 1; floating types round it.
    constexpr bool fits(element_type e) const noexcept {
        if (is_floating(e)) return true;
        if (e == element_type::boolean) return whole() && !below_zero() && integer_bits() <= 1;
        if (!is_integer(e) || !whole()) return false;
        const int width = static_cast<int>(8 * size_of(e)) - (is_signed_integer(e) ? 1 : 0);
        if (!below_zero()) return width == 64 || integer_bits() >> width == 0;
        // -n fits where n - 1 does.
        return is_signed_integer(e) && ~integer_bits() >> width == 0;
    }
    /// As an element of type T; T holds it.
    template <class T> constexpr T to() const noexcept {
        if constexpr (is_floating(element_type_of<T>)) {
            if (is_real()) return static_cast<T>(std::bit_cast<double>(bits_));
            if constexpr (std::is_floating_point_v<T>)
                return kind_ == kind::negative ? static_cast<T>(static_cast<std::int64_t>(bits_))
                                               : static_cast<T>(bits_);
            else return static_cast<T>(as_double());
        } else return static_cast<T>(integer_bits());
    }
    /// The 64 bits by which an element of number type e is written: those of a double, or an integer's. What does not
    /// fit is cut off.
    constexpr std::uint64_t bits_in(element_type e) const noexcept {
        if (is_floating(e)) return std::bit_cast<std::uint64_t>(as_double());
        if (e == element_type::boolean) return integer_bits() != 0;
        const int unused = static_cast<int>(64 - 8 * size_of(e));
        const std::uint64_t high = integer_bits() << unused;
        return is_signed_integer(e) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(high) >> unused)
                                    : high >> unused;
    }
    /// The reverse.
    static constexpr number of_bits(std::uint64_t bits, element_type e) noexcept {
        if (is_floating(e)) return number(std::bit_cast<double>(bits));
        return is_signed_integer(e) ? number(static_cast<std::int64_t>(bits)) : number(bits);
    }

private:
    enum class kind : unsigned char { natural, negative, real };

    static constexpr double two_to_63 = 9223372036854775808.0;
    constexpr bool below_zero() const noexcept {
        return kind_ == kind::negative || (is_real() && std::bit_cast<double>(bits_) < 0);
    }
    // Without a fraction, and in the range of some integer.
    constexpr bool whole() const noexcept {
        if (!is_real()) return true;
        const double d = std::bit_cast<double>(bits_);
        if (!(d >= -two_to_63 && d < 2 * two_to_63)) return false;
        return d < 0 ? static_cast<double>(static_cast<std::int64_t>(d)) == d
                     : static_cast<double>(static_cast<std::uint64_t>(d)) == d;
    }
    constexpr std::uint64_t integer_bits() const noexcept {
        if (!is_real()) return bits_;
        const double d = std::bit_cast<double>(bits_);
        if (!(d >= -two_to_63 && d < 2 * two_to_63)) return 0;
        return d < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(d)) : static_cast<std::uint64_t>(d);
    }

    std::uint64_t bits_ = 0; // an integer's in two's complement, or a double's
    kind kind_ = kind::natural;
};

/// "300", "0.5", "3e+09".
std::string to_string(const number& n);

namespace detail {
template <class N>
concept AsNumber = std::is_convertible_v<const N&, number>;
/// Throws invalid_argument_error, naming the number and the type, where elements of type e do not hold it.
void require_fits(const number& n, element_type e, const char* who);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/number.ipp>
#endif
