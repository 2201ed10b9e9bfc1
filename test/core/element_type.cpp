#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

#include <tenon/core/element_type.hpp>

namespace tn = tenon;
using tn::element_type;

namespace {

template <element_type E> void check_round_trip() {
    using type = tn::element_t<E>;
    static_assert(tn::Element<type>);
    static_assert(tn::element_type_of<type> == E);
    static_assert(sizeof(type) == tn::size_of(E));
    static_assert(tn::is_floating(E) + tn::is_integer(E) <= 1);
    static_assert(tn::is_numeric(E) == (tn::is_floating(E) || tn::is_integer(E)));
}

template <int... I> void check_all(std::integer_sequence<int, I...>) {
    (check_round_trip<static_cast<element_type>(I + 1)>(), ...);
}

} // namespace

TEST_CASE("every element type is one C++ type of the same size, and has a name of its own") {
    constexpr int count = static_cast<int>(element_type::string);
    check_all(std::make_integer_sequence<int, count>{});
    std::set<std::string> names;
    for (int i = 0; i <= count; ++i) names.insert(tn::name_of(static_cast<element_type>(i)));
    CHECK(names.size() == count + 1);
    CHECK(names.contains("bfloat16"));
}

TEST_CASE("kinds of element types") {
    for (const auto e : {element_type::float32, element_type::float64, element_type::float16, element_type::bfloat16}) {
        CHECK(tn::is_floating(e));
        CHECK_FALSE(tn::is_integer(e));
    }
    for (const auto e : {element_type::int8, element_type::int16, element_type::int32, element_type::int64}) {
        CHECK(tn::is_signed_integer(e));
        CHECK(tn::is_integer(e));
    }
    for (const auto e : {element_type::uint8, element_type::uint16, element_type::uint32, element_type::uint64}) {
        CHECK_FALSE(tn::is_signed_integer(e));
        CHECK(tn::is_integer(e));
    }
    for (const auto e : {element_type::none, element_type::boolean, element_type::string})
        CHECK_FALSE(tn::is_numeric(e));
    CHECK_FALSE(tn::Element<long double>);
    CHECK_FALSE(tn::Element<const float>);
    CHECK_FALSE(tn::Element<char>);
}
