#include "messages.hpp"

#include <array>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/core/sizes/extents.hpp>
#include <tenon/core/sizes/size_name.hpp>

namespace tn = tenon;
using tn::extent, tn::extents, tn::to_string;

TEST_CASE("extents are written as numbers, names and question marks") {
    CHECK(to_string(extents{extent::named("batch"), 784, tn::dynamic_extent}) == "[batch, 784, ?]");
    CHECK(to_string(extents{}) == "[]");
    CHECK(to_string(tn::tensor_type{tn::element_type::bfloat16, {3}}) == "bfloat16[3]");
    CHECK(to_string(extent(7)) == "7");
}

TEST_CASE("an extent is exactly one of number, name and dynamic") {
    const extent all[] = {extent(0), extent(5), extent::named("n"), tn::dynamic_extent};
    for (const extent& e : all) CHECK(e.is_number() + e.is_named() + e.is_dynamic() == 1);
    CHECK(extent(0).is_number());
    CHECK(extent(-1).is_dynamic());
}

TEST_CASE("named extents are equal when their texts are, wherever the texts live") {
    const std::string a = "batch", b = "batch";
    CHECK(extent::named(a.c_str()) == extent::named(b.c_str()));
    CHECK_FALSE(extent::named("batch") == extent::named("batches"));
    CHECK_FALSE(extent::named("batch") == tn::dynamic_extent);
    CHECK_FALSE(extent::named("batch") == extent(3));
    CHECK(tn::dynamic_extent == extent());
}

TEST_CASE("a shared name outlives the text it came from, and equal texts give one pointer, until nobody holds it") {
    const std::size_t before = tn::detail::shared_size_names();
    std::shared_ptr<const char> first;
    {
        const std::string text = "a size whose name is longer than a small string";
        first = tn::share_size_name(text);
        CHECK(first.get() != text.c_str());
    }
    CHECK(std::string(first.get()) == "a size whose name is longer than a small string");
    CHECK(tn::share_size_name("a size whose name is longer than a small string") == first);
    CHECK(tn::share_size_name("another") != first);
    CHECK(tn::detail::holder_of_size_name(first.get()) == first);
    CHECK(tn::detail::holder_of_size_name("a size whose name is longer than a small string") == nullptr);
    CHECK(tn::detail::shared_size_names() == before + 1);
    first.reset();
    CHECK(tn::detail::shared_size_names() == before);
}

TEST_CASE("dimensions are appended, inserted and erased; a ninth marks the list as overfull") {
    extents e{1, 2, 3};
    e.insert(0, 0);
    CHECK(e == extents{0, 1, 2, 3});
    e.insert(4, 4);
    CHECK(e == extents{0, 1, 2, 3, 4});
    e.insert(2, 9);
    CHECK(e == extents{0, 1, 9, 2, 3, 4});
    e.erase(2);
    e.erase(4);
    e.erase(0);
    CHECK(e == extents{1, 2, 3});
    CHECK_FALSE(e.overfull());
    for (int i = 0; i < 6; ++i) e.push_back(1);
    CHECK(e.rank() == tn::max_rank);
    CHECK(e.overfull());
}

TEST_CASE("elements are counted only when every dimension is a number") {
    CHECK(extents{}.elements() == 1);
    CHECK(extents{2, 3, 4}.elements() == 24);
    CHECK(extents{2, 0}.elements() == 0);
    CHECK(extents{2, extent::named("n")}.elements() == -1);
    CHECK(extents{2, 3}.is_static());
    CHECK_FALSE(extents{2, tn::dynamic_extent}.is_static());
}

TEST_CASE("elements that no 64 bits count are the largest number, not a wrapped one") {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(extents{std::int64_t{1} << 40, std::int64_t{1} << 40}.elements() == most);
    CHECK(extents{std::int64_t{1} << 40, std::int64_t{1} << 40, 0}.elements() == 0);
    CHECK(tn::bytes_of({tn::element_type::float64, {most / 4}}) == most);
}

TEST_CASE("a tensor takes at most 2^62 bytes, its dimensions without elements aside") {
    const std::int64_t big = std::int64_t{1} << 31;
    CHECK(tn::is_countable({tn::element_type::uint8, {big, big}}));
    CHECK_FALSE(tn::is_countable({tn::element_type::uint16, {big, big}}));
    CHECK_FALSE(tn::is_countable({tn::element_type::uint8, {big, 0, big, 2}}));
    CHECK(tn::is_countable({tn::element_type::uint8, {big, tn::dynamic_extent, extent::named("n"), big}}));
}

TEST_CASE("a ninth dimension is not forgotten: such a list equals no shorter one") {
    extents e{1, 2, 3, 4, 5, 6, 7, 8};
    const extents eight = e;
    e.insert(8, 9);
    CHECK(e.overfull());
    CHECK_FALSE(e == eight);
    CHECK(to_string(e) == "[1, 2, 3, 4, 5, 6, 7, 8, ...]");
}

TEST_CASE("sizes are made of a list of integers or of extents, wherever it is held") {
    const std::vector<std::int64_t> numbers{2, 3};
    const std::vector<int> ints{2, -1};
    const std::array<std::uint64_t, 2> naturals{4, 5};
    const std::vector<extent> named{extent::named("batch"), 7};
    CHECK(extents(numbers) == extents{2, 3});
    CHECK(extents(ints) == extents{2, tn::dynamic_extent});
    CHECK(extents(std::span(numbers)) == extents{2, 3});
    CHECK(extents(std::span<const int>(ints).first(1)) == extents{2});
    CHECK(extents(naturals) == extents{4, 5});
    CHECK(extents(named) == extents{extent::named("batch"), 7});
    CHECK(extents(std::vector<int>()) == extents{});
    CHECK(extents(std::vector<int>{5}) == extents{5});
    CHECK(tn::any_array::zeros(tn::element_type::int8, numbers).extents() == extents{2, 3});
    static_assert(!std::is_convertible_v<std::string, extents>);
    static_assert(!std::is_convertible_v<std::vector<bool>, extents>);
    static_assert(!std::is_convertible_v<std::vector<double>, extents>);
    static_assert(!std::is_convertible_v<tn::array<int>, extents>);
}

TEST_CASE("axes are made of a list of integers") {
    CHECK(tn::index_list(std::vector<int>{0, -1}) == tn::index_list(0, -1));
    CHECK(tn::index_list(std::vector<std::int64_t>()) == tn::index_list());
    const std::array<std::int64_t, 3> three{2, 0, 1};
    CHECK(tn::index_list(std::span(three)) == tn::index_list(2, 0, 1));
    static_assert(!std::is_convertible_v<std::vector<double>, tn::index_list>);
    static_assert(!std::is_constructible_v<tn::index_list, double>);
}

TEST_CASE("a list that is too long, and what is no size, are invalid_argument_errors that say so") {
    using tn::invalid_argument_error;
    const std::vector<int> nine(9, 1);
    CHECK_ERROR(invalid_argument_error, "at most 8 numbers, as a tensor has dimensions; this one has 9", extents(nine));
    CHECK_ERROR(invalid_argument_error, "this one has 9", tn::index_list(nine));
    CHECK(extents(std::vector<int>(8, 1)).rank() == 8);
    CHECK_ERROR(invalid_argument_error, "-2 is given, but a size is 0 or more", extents(std::vector<int>{2, -2}));
    const std::vector<std::uint64_t> large{~std::uint64_t{0}};
    CHECK_ERROR(invalid_argument_error, "18446744073709551615 is given", extents(large));
    CHECK_ERROR(invalid_argument_error, "18446744073709551615 is given", tn::index_list(large));
}

TEST_CASE("a shared name of a size is held while anybody has it; it ends at a zero byte, as whoever reads it sees it") {
    const std::size_t before = tn::detail::shared_size_names();
    auto name = tn::share_size_name(std::string("rows_of_test\0and more", 21));
    CHECK(std::string(name.get()) == "rows_of_test");
    CHECK(name == tn::share_size_name("rows_of_test"));
    auto held = tn::detail::holder_of_size_name(name.get());
    CHECK(held == name);
    name.reset();
    CHECK(std::string(held.get()) == "rows_of_test");
    held.reset();
    CHECK(tn::detail::shared_size_names() == before);
}
