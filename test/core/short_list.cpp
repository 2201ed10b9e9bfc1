#include <doctest/doctest.h>

#include <random>
#include <vector>

#include <tenon/core/short_list.hpp>

using list = tenon::short_list<int, 4>;

namespace {
bool equal(const list& a, const std::vector<int>& b) { return std::vector<int>(a.begin(), a.end()) == b; }
} // namespace

TEST_CASE("a short list holds what a vector would, short and long") {
    std::mt19937 random(5);
    list l;
    std::vector<int> v;
    for (int i = 0; i < 4000; ++i) {
        const auto n = static_cast<std::size_t>(random() % 12);
        switch (random() % 7) {
        case 0:
        case 1:
            l.push_back(i);
            v.push_back(i);
            break;
        case 2:
            l.resize(n, i);
            v.resize(n, i);
            break;
        case 3:
            if (v.empty()) break;
            l.erase(l.begin() + n % v.size());
            v.erase(v.begin() + static_cast<std::ptrdiff_t>(n % v.size()));
            break;
        case 4: {
            const std::vector<int> more(n, i);
            l.append(more.begin(), more.end());
            v.insert(v.end(), more.begin(), more.end());
            break;
        }
        case 5: {
            list copy = l;
            copy.push_back(-1);
            l = list(v.begin(), v.end()); // of another, while the copy goes its own way
            CHECK(copy.size() == v.size() + 1);
            break;
        }
        default:
            if (v.size() > 20) {
                l.clear();
                v.clear();
            }
        }
        REQUIRE(equal(l, v));
        REQUIRE(l.empty() == v.empty());
    }
}

TEST_CASE("a short list that was moved from is empty, and may be used") {
    for (const std::size_t n : {3u, 4u, 5u, 50u}) {
        CAPTURE(n);
        const std::vector<int> v(n, 7);
        list a(v.begin(), v.end()), b = std::move(a);
        CHECK(equal(b, v));
        CHECK(a.empty());
        a = {1, 2};
        a = std::move(b);
        CHECK(equal(a, v));
        b.push_back(3);
        CHECK(equal(b, {3}));
        const list c = a;
        CHECK(c == a);
        CHECK_FALSE(c == b);
    }
}
