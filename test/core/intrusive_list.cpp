#include <doctest/doctest.h>

#include <tenon/core/intrusive_list.hpp>

#include <vector>

namespace {

struct item {
    int number;
    tenon::detail::list_links<item> by_age{}, by_kind{};
};
using aged = tenon::detail::intrusive_list<item, &item::by_age>;
using alike = tenon::detail::intrusive_list<item, &item::by_kind>;

template <class List> std::vector<int> numbers(const List& l) {
    std::vector<int> all;
    l.for_each([&](const item& i) { all.push_back(i.number); });
    return all;
}
using list = std::vector<int>;

} // namespace

TEST_CASE("an intrusive list has what was pushed, in order, and loses what is removed from either end or between") {
    item a{1}, b{2}, c{3}, d{4};
    aged l;
    CHECK(l.pop() == nullptr);
    for (item* i : {&a, &b, &c, &d}) l.push(*i);
    CHECK(numbers(l) == list{1, 2, 3, 4});
    l.remove(b);
    CHECK(numbers(l) == list{1, 3, 4});
    l.remove(d);
    CHECK(l.last == &c);
    CHECK(l.pop() == &a);
    CHECK(l.first == &c);
    l.push(a);
    CHECK(numbers(l) == list{3, 1});
    CHECK(l.pop() == &c);
    CHECK(l.pop() == &a);
    CHECK(l.first == nullptr);
    CHECK(l.last == nullptr);
}

TEST_CASE("what for_each shows may be removed, and be pushed elsewhere") {
    item a{1}, b{2}, c{3}, d{4};
    aged l, even;
    for (item* i : {&a, &b, &c, &d}) l.push(*i);
    l.for_each([&](item& i) {
        if (i.number % 2 != 0) return;
        l.remove(i);
        even.push(i);
    });
    CHECK(numbers(l) == list{1, 3});
    CHECK(numbers(even) == list{2, 4});
}

TEST_CASE("by two members one object is in two lists") {
    item a{1}, b{2};
    aged all;
    alike some;
    all.push(a);
    all.push(b);
    some.push(b);
    some.push(a);
    all.remove(a);
    CHECK(numbers(all) == list{2});
    CHECK(numbers(some) == list{2, 1});
}
