#pragma once

#include <tenon/core/error.hpp>
#include <tenon/core/number.hpp>
#include <tenon/core/text/number_text.hpp>

namespace tenon {

TENON_INLINE std::string to_string(const number& n) {
    if (!n.is_real())
        return n.as_double() < 0 ? std::to_string(n.to<std::int64_t>()) : std::to_string(n.to<std::uint64_t>());
    return detail::text_of_number(n.as_double(), 15);
}

namespace detail {
TENON_INLINE void require_fits(const number& n, element_type e, const char* who) {
    if (n.fits(e)) return;
    std::string text = std::string(who) + ": " + to_string(n) + " cannot be an element of type " + name_of(e);
    if (e == element_type::boolean) text += ", which is 0 or 1";
    else if (is_integer(e)) {
        const int width = static_cast<int>(8 * size_of(e)) - (is_signed_integer(e) ? 1 : 0);
        const std::uint64_t most = ~std::uint64_t{0} >> (64 - width);
        text += ", which holds whole numbers from " +
                (is_signed_integer(e) ? "-" + std::to_string(most + 1) : std::string("0")) + " to " +
                std::to_string(most);
    }
    throw invalid_argument_error(text);
}
} // namespace detail

} // namespace tenon
