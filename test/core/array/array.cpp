#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/array/array.hpp>

#include <messages.hpp>

// The sanitizers' allocators answer impossible requests as the system's does.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; } // NOLINT
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; } // NOLINT

namespace tn = tenon;
using tn::array, tn::any_array, tn::extents, tn::shape;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

struct counting_owner {
    int released = 0;
    void* data = nullptr;
    static void release(void* context, void* data) {
        auto* self = static_cast<counting_owner*>(context);
        ++self->released;
        self->data = data;
    }
};

} // namespace

TEST_CASE("an array from nested braces has their sizes and row-major elements") {
    const array<float> a{{1, 2, 3}, {4, 5, 6}};
    CHECK(a.extents() == extents{2, 3});
    CHECK(a.size() == 6);
    CHECK(a(1, 0) == 4.0F);
    CHECK(a[5] == 6.0F);
    const array<std::int32_t> b{{{1}, {2}}, {{3}, {4}}, {{5}, {6}}};
    CHECK(b.extents() == extents{3, 2, 1});
    CHECK(b(2, 1, 0) == 6);
    CHECK(array<float>{{1}, {2}}.extents() == extents{2, 1});
    CHECK(array<float>{7}.extents() == extents{1});
    CHECK(array<float>(7).extents() == extents{});
    CHECK(array<float>{{}, {}}.extents() == extents{2, 0});
    CHECK(array<float>().extents() == extents{0});
    CHECK(array<tn::half>{1.5F, 2}[0] == tn::half(1.5F));
    CHECK(array<bool>{true, false}[0]);
}

TEST_CASE("a pair of literals is two strings, not an iterator range") {
    const array<std::string> a{"left", "right"};
    REQUIRE(a.extents() == extents{2});
    CHECK(a[1] == "right");
    CHECK(array<std::string>{{"a", "b"}, {"c", "d"}}(1, 0) == "c");
}

TEST_CASE("a ragged list and a value out of range are invalid_argument_error") {
    CHECK_ERROR(tn::invalid_argument_error, "ragged", array<float>{{1, 2}, {3}});
    CHECK_THROWS_AS((array<float>{{1, 2}, 3}), tn::invalid_argument_error);
    CHECK_THROWS_AS((array<float>{1, {2, 3}}), tn::invalid_argument_error);
    CHECK_THROWS_AS((array<float>{{{1}}, {{2, 3}}}), tn::invalid_argument_error);
    CHECK_ERROR(tn::invalid_argument_error, "300 is not a value of uint8", array<std::uint8_t>{1, 300});
}

TEST_CASE("memory is aligned to 64 bytes, whatever its size") {
    for (std::int64_t n : {1, 3, 17, 1000, 600'000, 3'000'000}) {
        const array<float> a(extents{n});
        CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
        CHECK(a[0] == 0.0F);
        CHECK(a[n - 1] == 0.0F);
    }
}

TEST_CASE("sizes that cannot be are refused before memory is asked for") {
    const std::int64_t big = std::int64_t{1} << 40;
    CHECK_ERROR(tn::invalid_argument_error, "2^62", array<float>(extents{big, big}));
    CHECK_THROWS_AS(array<float>(extents{3, tn::dynamic_extent}), tn::invalid_argument_error);
    CHECK(array<float>(extents{big, 0, big}).size() == 0);
    extents nine;
    for (int i = 0; i < 9; ++i) nine.push_back(1);
    CHECK_THROWS_AS(array<float>{nine}, tn::invalid_argument_error);
    const std::string text =
        message_of<tn::resource_exhausted_error>([&] { array<float>(extents{std::int64_t{1} << 50}); });
    CHECK(contains(text, "float[1125899906842624]"));
    CHECK(contains(text, "4503599627370496 bytes"));
}

TEST_CASE("access outside is out_of_range_error and names index and sizes") {
    array<float> a{{1, 2, 3}, {4, 5, 6}};
    CHECK_ERROR(tn::out_of_range_error, "(1, 3) in float[2, 3]", a(1, 3));
    CHECK_THROWS_AS(a(-1, 0), tn::out_of_range_error);
    CHECK_THROWS_AS(a(1), tn::out_of_range_error);
    CHECK_THROWS_AS(a(0, 0, 0), tn::out_of_range_error);
    CHECK_THROWS_AS(a[6], tn::out_of_range_error);
    CHECK_THROWS_AS(a.row(2), tn::out_of_range_error);
    CHECK_THROWS_AS(a.slice(1, 3), tn::out_of_range_error);
    CHECK_THROWS_AS(a.slice(2, 1), tn::out_of_range_error);
    CHECK_THROWS_AS(a.extent(2), tn::out_of_range_error);
    CHECK(a.extent(-1) == 3);
    CHECK_THROWS_AS(array<float>(1.0F).row(0), tn::out_of_range_error);
    const array<float> moved = std::move(a);
    CHECK_THROWS_AS(a(), tn::out_of_range_error); // NOLINT: a moved-from array has no elements
    CHECK(a.size() == 0);
}

TEST_CASE("rows, slices and reshaped arrays share memory and keep it alive") {
    array<float> row, last, flat;
    {
        array<float> a{{1, 2}, {3, 4}, {5, 6}};
        CHECK(a.is_unique());
        row = a.row(1);
        last = a.slice(1, 3);
        flat = a.reshape({-1});
        CHECK_FALSE(a.is_unique());
        a(1, 0) = 30;
    }
    CHECK(row.extents() == extents{2});
    CHECK(row[0] == 30.0F);
    CHECK(last == array<float>{{30, 4}, {5, 6}});
    CHECK(flat.extents() == extents{6});
    CHECK(flat.reshape({3, -1}).extents() == extents{3, 2});
    CHECK(flat.slice(6, 6).size() == 0);
    CHECK_THROWS_AS(flat.reshape({4, -1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(flat.reshape({5}), tn::invalid_argument_error);
    CHECK_THROWS_AS(flat.reshape({-1, -1}), tn::invalid_argument_error);
    CHECK(array<float>(extents{0, 4}).slice(0, 0).extents() == extents{0, 4});
}

TEST_CASE("an array is moved, never silently copied; copy and share say which") {
    static_assert(!std::is_copy_constructible_v<array<float>> && !std::is_copy_assignable_v<array<float>>);
    static_assert(!std::is_copy_constructible_v<any_array>);
    static_assert(std::is_nothrow_move_constructible_v<any_array> && std::is_nothrow_move_assignable_v<any_array>);
    static_assert(std::is_nothrow_move_constructible_v<array<float, shape<2, 3>>>);
    array<float> a{1, 2, 3};
    const array<float> copy = a.copy(), share = a.share();
    a[0] = 9;
    CHECK(copy[0] == 1.0F);
    CHECK(share[0] == 9.0F);
    auto& same = a;
    a = std::move(same); // assignment to itself keeps the value
    CHECK(a[0] == 9.0F);
}

TEST_CASE("strings are constructed, copied and destroyed") {
    const std::string text(100, 'x');
    array<std::string> a(extents{50});
    CHECK(a[49].empty());
    a.fill(text);
    const auto b = a.copy();
    a[0] = "other";
    CHECK(b[0] == text);
    CHECK(b.slice(1, 2).item() == text);
    CHECK_FALSE(a == b);
}

TEST_CASE("adopted memory is given back once, by its last owner") {
    counting_owner owner;
    alignas(8) float values[6] = {1, 2, 3, 4, 5, 6};
    {
        array<float> row;
        {
            const array<float> a(
                any_array::adopt(values, tn::element_type::float32, {2, 3}, counting_owner::release, &owner));
            row = a.share().row(1);
        }
        CHECK(owner.released == 0);
        CHECK(row[2] == 6.0F);
    }
    CHECK(owner.released == 1);
    CHECK(owner.data == values);
}

TEST_CASE("threads may share and let go of one tensor; the last to do so ends its memory") {
    counting_owner owner;
    alignas(8) float values[2] = {1, 2};
    {
        const any_array a = any_array::adopt(values, tn::element_type::float32, {2}, counting_owner::release, &owner);
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([mine = a.share()] {
                for (int i = 0; i < 1000; ++i) {
                    const any_array row = mine.share().row(i % 2);
                    if (row.is_unique()) std::abort();
                }
            });
        for (std::thread& t : threads) t.join();
        CHECK(a.is_unique());
        CHECK(owner.released == 0);
    }
    CHECK(owner.released == 1);
}

TEST_CASE("a view writes through, must be aligned, and must have as many values as its sizes") {
    std::vector<float> values{1, 2, 3, 4};
    array<float> a = array<float>::view(values, {2, 2});
    a(1, 1) = 8;
    CHECK(values[3] == 8.0F);
    CHECK_FALSE(a.is_unique());
    CHECK_THROWS_AS(array<float>::view(values, {3}), tn::invalid_argument_error);
    using open = array<float, tn::shape<tn::dyn, 2>>; // sizes that the type leaves open, as when one is made
    CHECK(open::view(values, 2).untyped() == array<float>::view(values, {2, 2}).untyped());
    CHECK_THROWS_AS(open::view(values, 3), tn::invalid_argument_error);
    alignas(8) std::byte bytes[16]{};
    CHECK_THROWS_AS(any_array::view(bytes + 1, tn::element_type::float32, {2}), tn::invalid_argument_error);
}

TEST_CASE("arrays are equal when sizes and elements are; a NaN equals nothing") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(array<float>{1, 2} == array<float>{1, 2});
    CHECK_FALSE(array<float>{1, 2} == array<float>{{1, 2}});
    CHECK_FALSE(array<float>{nan} == array<float>{nan});
    CHECK_FALSE(any_array(array<float>{1}) == any_array(array<double>{1}));
    CHECK(array<float>{0.0F} == array<float>{-0.0F});
}

TEST_CASE("all_close weighs absolute and relative error; infinities match, NaNs never") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(all_close(array<double>{1.0, 100.0}, array<double>{1.0 + 9e-6, 100.0 + 9e-4}));
    CHECK_FALSE(all_close(array<double>{1.0}, array<double>{1.0 + 2e-5}));
    CHECK(all_close(array<double>{0.0}, array<double>{0.5}, 0, 0.5));
    CHECK(all_close(array<double>{inf, -inf}, array<double>{inf, -inf}));
    CHECK_FALSE(all_close(array<double>{inf}, array<double>{-inf}));
    CHECK_FALSE(all_close(array<double>{inf}, array<double>{1}));
    CHECK_FALSE(all_close(array<double>{1}, array<double>{inf}));
    CHECK_FALSE(all_close(array<double>{nan}, array<double>{nan}));
    CHECK_FALSE(all_close(array<double>{1, 2}, array<double>{1}));
    CHECK_THROWS_AS(all_close(array<double>{1}, array<float>{1}), tn::invalid_argument_error);
}

TEST_CASE("a shaped array takes its sizes from its type and from the values of the others") {
    const array<float, shape<2, 3>> fixed;
    CHECK(fixed.extents() == extents{2, 3});
    const array<float, shape<batch, 784>> images(32);
    CHECK(images.extents() == extents{32, 784});
    const array<float, shape<batch, tn::dyn, batch>> mixed(4, 5);
    CHECK(mixed.extents() == extents{4, 5, 4});
    CHECK(array<float, shape<>>(3.0F).item() == 3.0F);
    CHECK(array<float, shape<batch, 2>>{{1, 2}, {3, 4}, {5, 6}}.extent(0) == 3);
    CHECK_THROWS_AS((array<float, shape<2, 3>>{{1, 2}, {3, 4}}), tn::invalid_argument_error);
    CHECK_THROWS_AS((array<float, shape<batch>>(-1)), tn::invalid_argument_error);
    static_assert(!std::is_constructible_v<array<float, shape<2, 3>>, int>);
    static_assert(!std::is_constructible_v<array<float, shape<batch, 3>>, int, int>);
}

TEST_CASE("a tensor that does not fit a shape is refused, and both are named") {
    using wanted = array<float, shape<batch, 3>>;
    const auto try_with = [](auto a) {
        return message_of<tn::invalid_argument_error>([&] { wanted w(any_array(std::move(a))); });
    };
    CHECK(try_with(array<float>(extents{5, 3})) == "nothing was thrown");
    CHECK(contains(try_with(array<float>(extents{5, 4})), "float[5, 4] does not fit float[batch, 3]"));
    CHECK(contains(try_with(array<double>(extents{5, 3})), "the elements are double, not float"));
    CHECK(contains(try_with(array<float>(extents{5, 3, 1})), "the rank is 3, not 2"));
    CHECK_ERROR(tn::invalid_argument_error, "batch is both 2 and 3",
                array<float>(extents{2, 3}).as<shape<batch, batch>>());
    CHECK_THROWS_AS(array<float>(any_array(array<double>{1})), tn::invalid_argument_error);
}

TEST_CASE("rows, slices and reshapes of a const array cannot be written; share() says who may") {
    const array<float, shape<2, 3>> a{{1, 2, 3}, {4, 5, 6}};
    const array<float> b = a.copy();
    using row = decltype(a.row(0));
    static_assert(std::is_same_v<row, tn::const_array<float, shape<3>>>);
    static_assert(std::is_same_v<decltype(a.at(0)), row>);
    static_assert(std::is_same_v<decltype(a.slice(0, 1)), tn::const_array<float, shape<tn::dyn, 3>>>);
    static_assert(std::is_same_v<decltype(a.reshape({6})), tn::const_array<float>>);
    static_assert(std::is_same_v<decltype(a.as<shape<tn::dyn, 3>>()), tn::const_array<float, shape<tn::dyn, 3>>>);
    static_assert(std::is_same_v<decltype(b.row(0)), tn::const_array<float>>);
    static_assert(std::is_same_v<decltype(b.slice(0, 1)), tn::const_array<float>>);
    // auto drops a const of the value, so it is the elements that are const.
    auto last = a.row(1);
    const auto elements_are_const = []<class A>(A&) {
        static_assert(std::is_same_v<decltype(std::declval<A&>()[0]), const float&>);
        static_assert(std::is_same_v<decltype(std::declval<A&>()(0)), const float&>);
        static_assert(std::is_same_v<decltype(std::declval<A&>().data()), const float*>);
        static_assert(std::is_same_v<decltype(std::declval<A&>().begin()), const float*>);
        static_assert(std::is_same_v<decltype(std::declval<A&>().end()), const float*>);
        static_assert(std::is_same_v<decltype(std::declval<A&>().span()), std::span<const float>>);
        static_assert(std::is_same_v<decltype(std::declval<A&>().untyped()), const any_array&>);
        static_assert(!requires(A & c) { c.fill(1.0F); });
        static_assert(!std::is_convertible_v<A, array<float>> && !std::is_convertible_v<A, any_array&>);
    };
    elements_are_const(last);
    elements_are_const(b);
    auto of_row = last.slice(0, 2);
    elements_are_const(of_row);
    const auto no_rows = []<class A>(A&) {
        static_assert(
            !requires(A & x) { x.row(0); } && !requires(A & x) { x.slice(0, 1); });
        static_assert(!requires(A & x) { x.reshape({6}); });
        static_assert(std::is_same_v<decltype(std::declval<A&>().data()), const void*>);
        static_assert(std::is_same_v<decltype(std::declval<A&>().template data<float>()), const float*>);
    };
    no_rows(b.untyped());

    CHECK(last == array<float>{4, 5, 6});
    CHECK(of_row == array<float>{4, 5});
    CHECK(a.as<shape<tn::dyn, 3>>().reshape({3, -1})(2, 1) == 6.0F);
    CHECK_FALSE(a.is_unique()); // last shares its memory
    array<float> mine = last.copy();
    mine[0] = 40;
    CHECK(a(1, 0) == 4.0F);
    a.share().row(1)[0] = 41; // said aloud
    CHECK(last[0] == 41.0F);

    // An array moves into a const one; what is known of its shape may be forgotten.
    tn::const_array<float, shape<2>> pair = array<float, shape<2>>{1, 2};
    const tn::const_array<float> plain = std::move(pair);
    CHECK(plain.share()[1] == 2.0F);
    const std::vector<float> values{1, 2, 3, 4};
    CHECK(tn::const_array<float>::view(values, {2, 2}).row(1) == array<float>{3, 4});
    CHECK_THROWS_AS((tn::const_array<float, shape<3>>(any_array(plain.copy()))), tn::invalid_argument_error);
}

TEST_CASE("rows and slices of a shaped array are shaped") {
    array<float, shape<2, 3>> a{{1, 2, 3}, {4, 5, 6}};
    static_assert(std::is_same_v<decltype(a.row(0)), array<float, shape<3>>>);
    static_assert(std::is_same_v<decltype(a.slice(0, 1)), array<float, shape<tn::dyn, 3>>>);
    CHECK(a.row(1) == array<float>{4, 5, 6});
    CHECK(a.slice(1, 2) == array<float>{{4, 5, 6}});
    array<float> plain = a.copy();
    CHECK(plain(1, 2) == 6.0F);
    CHECK(std::move(plain).as<shape<2, tn::dyn>>()(0, 0) == 1.0F);
    CHECK(plain.size() == 0); // NOLINT: it was moved, not shared
}

TEST_CASE("an untyped array gives its elements only as what they are") {
    any_array a(array<std::int32_t>{1, 2, 3});
    CHECK(a.data<std::int32_t>()[2] == 3);
    CHECK_THROWS_AS(a.data<float>(), tn::invalid_argument_error);
    CHECK(a.bytes() == 12);
    const any_array none;
    CHECK_FALSE(none);
    CHECK_FALSE(none.copy());
    CHECK(a);
    CHECK_THROWS_AS((array<float>{1, 2}.item()), tn::invalid_argument_error);
}

TEST_CASE("an array that was moved from holds nothing, and messages say so") {
    tn::array<float> a{1, 2};
    const tn::array<float> b = std::move(a);
    CHECK(b.size() == 2);
    CHECK(a.size() == 0); // NOLINT: what this is about
    CHECK(a.rank() == 0);
    CHECK(to_string(a.type()) == "nothing (empty, or moved from)");
    CHECK_ERROR(tn::out_of_range_error, "moved from", a(0));
    CHECK_ERROR(tn::out_of_range_error, "moved from", a.row(0));
    CHECK_ERROR(tn::invalid_argument_error, "moved from", a.reshape({2}));
    CHECK_ERROR(tn::invalid_argument_error, "moved from", a.as<tn::shape<2>>());
    a = b.copy();
    CHECK(a(1) == 2);
}
