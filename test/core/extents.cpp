#include <doctest/doctest.h>

#include <limits>
#include <string>

#include <tenon/core/extents.hpp>
#include <tenon/core/size_name.hpp>

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

TEST_CASE("sizes that no 64 bits hold together are the largest number, not a wrapped one") {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(tn::product_of_sizes(6, most) == most);
    CHECK(tn::product_of_sizes(most, 0) == 0);
    CHECK(tn::product_of_sizes(1 << 20, 1 << 20) == std::int64_t{1} << 40);
    CHECK(tn::sum_of_sizes(most, 1) == most);
    CHECK(tn::sum_of_sizes(2, 3) == 5);
    CHECK(extents{std::int64_t{1} << 40, std::int64_t{1} << 40}.elements() == most);
}
