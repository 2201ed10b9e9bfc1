#pragma once

#include <utility>
#include <variant>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// std::variant of different types, of which a copy may want memory that is not there. The copy of libstdc++ (seen in 12) ends the program
/// then: of alternatives such as texts and lists it takes for granted that one is held, also before it is made. So it is made outside.
template <class... T> struct variant : std::variant<T...> {
    using std_variant = std::variant<T...>;
    using std::variant<T...>::variant;
    variant() = default;
    variant(const variant& other) :
        std_variant(std::visit(
            [](const auto& held) {
                auto copy = held;
                return std_variant(std::in_place_type<decltype(copy)>, std::move(copy));
            },
            static_cast<const std_variant&>(other))) {}
    variant(variant&&) noexcept = default;
    variant& operator=(const variant& other) { return *this = variant(other); }
    variant& operator=(variant&&) noexcept = default;
    ~variant() = default;
};

} // namespace tenon::detail
