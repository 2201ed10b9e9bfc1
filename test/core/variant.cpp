#include <doctest/doctest.h>

#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/core/variant.hpp>

namespace {

// What cannot be copied where there is no memory: as a text, a list of these makes std::variant believe that it always holds something.
struct unlucky {
    unlucky() = default;
    unlucky(const unlucky&) { throw std::bad_alloc(); }
    unlucky(unlucky&&) noexcept = default;
    unlucky& operator=(const unlucky&) = default;
    unlucky& operator=(unlucky&&) noexcept = default;
};
using held = tenon::detail::variant<std::int64_t, std::string, std::vector<unlucky>>;

static_assert(std::is_nothrow_move_constructible_v<held> && std::is_nothrow_move_assignable_v<held>);

} // namespace

TEST_CASE("variant: a copy that finds no memory throws, and what was to be copied and assigned to is as it was") {
    const held number = std::int64_t{3}, text = std::string(100, 'x'), list = std::vector<unlucky>(2);
    CHECK_THROWS_AS(held{list}, std::bad_alloc);
    held to = text;
    CHECK_THROWS_AS(to = list, std::bad_alloc);
    CHECK(std::get<std::string>(to) == std::string(100, 'x'));
    CHECK(std::get<std::vector<unlucky>>(list).size() == 2);
    to = number;
    CHECK(std::get<std::int64_t>(to) == 3);
    held taken = std::move(to);
    to = std::string("y");
    CHECK(std::get<std::int64_t>(taken) == 3);
    CHECK(std::get<std::string>(to) == "y");
    to = static_cast<const held&>(to);
    CHECK(std::get<std::string>(to) == "y");
}
