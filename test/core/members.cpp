#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/device_name.hpp>
#include <tenon/core/members.hpp>

// Members of structs and their names, of structs that lie anywhere and have members of every kind.

namespace tn = tenon;

namespace tenon_test_members {

struct empty {};
struct of_all_kinds {
    std::string text = "as given";
    std::int64_t number = 3;
    std::vector<std::string> list;
    std::shared_ptr<const int> shared;
    tn::device_name device;
    bool flag = false, other_flag = true;
    double Real2_ = 0.5;
    static constexpr int not_one_of_them = 1;
    int nor_this() const { return 2; }
    friend bool operator==(const of_all_kinds&, const of_all_kinds&) = default;
};
template <class T, int N> struct holder {
    struct held {
        T value{};
        int count = N;
    };
};
struct largest {
    int m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24;
};
struct nested {
    holder<int, 1>::held first;
    largest second;
};

} // namespace tenon_test_members

using namespace tenon_test_members;

namespace {

struct out_of_sight {
    int value = 0;
};

struct with_own_names {
    int parts = 4;
    int left_out = 5;
    static constexpr void fields(auto&& field) { field("micro-batches", &with_own_names::parts); }
};

template <class T> std::string names_of() {
    std::string all;
    for (const char* const name : tn::member_names<T>) all += (all.empty() ? "" : " ") + std::string(name);
    return all;
}

} // namespace

TEST_CASE("members: counted, whatever they are") {
    static_assert(tn::member_count<empty> == 0);
    static_assert(tn::member_count<of_all_kinds> == 8 && tn::member_count<const of_all_kinds> == 8);
    static_assert(tn::member_count<holder<std::string, 4>::held> == 2);
    static_assert(tn::member_count<nested> == 2);
    static_assert(tn::member_count<largest> == 24);
    struct made_of_a_number {
        explicit made_of_a_number(int) {}
    };
    struct none_of_nothing {
        made_of_a_number a, b;
    };
    struct one_of_nothing {
        int a;
        made_of_a_number b;
        int c;
    };
    static_assert(tn::member_count<none_of_nothing> == 2 && tn::member_count<one_of_nothing> == 3);
}

TEST_CASE("members: their names are as they are written, wherever the struct is") {
    struct local {
        int here;
        const char* there;
    };
    CHECK(names_of<empty>() == "");
    CHECK(names_of<of_all_kinds>() == "text number list shared device flag other_flag Real2_");
    CHECK(names_of<holder<std::string, 4>::held>() == "value count");
    CHECK(names_of<holder<local, ','>::held>() == "value count");
    CHECK(names_of<nested>() == "first second");
    CHECK(names_of<out_of_sight>() == "value");
    CHECK(names_of<local>() == "here there");
    CHECK(names_of<largest>() ==
          "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20 m21 m22 m23 m24");
}

TEST_CASE("members: each is visited in order, itself, with its name") {
    of_all_kinds all;
    std::string seen;
    tn::each_member(all, [&]<class M>(const char* name, M& m) {
        seen += std::string(name) + ",";
        if constexpr (std::is_same_v<M, std::string>) m = "changed";
        if constexpr (std::is_same_v<M, bool>) m = !m;
    });
    CHECK(seen == "text,number,list,shared,device,flag,other_flag,Real2_,");
    CHECK(all.text == "changed");
    CHECK(all.flag);
    CHECK(!all.other_flag);
    const of_all_kinds constant;
    tn::with_members(constant, [](const auto& text, const auto&... others) {
        CHECK(text == "as given");
        CHECK(sizeof...(others) == 7);
    });
}

TEST_CASE("members: those that a struct says itself are the ones that are visited, under its names") {
    with_own_names r;
    std::string seen;
    tn::each_member(r, [&](const char* name, int& value) { seen += name + std::to_string(value++); });
    CHECK(seen == "micro-batches4");
    CHECK(r.parts == 5);
}

TEST_CASE("members: also of constants, at compile time") {
    static constexpr holder<int, 7>::held constant{3};
    static_assert(tn::with_members(constant, [](int value, int count) { return 10 * value + count; }) == 37);
    static_assert([] {
        std::size_t letters = 0;
        tn::each_member(constant, [&](const char* name, int) { letters += std::string_view(name).size(); });
        return letters;
    }() == 10);
}
