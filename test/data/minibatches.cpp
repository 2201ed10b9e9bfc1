#include "tests.hpp"

using tn::array, tn::extents, tn::minibatches, tn::shape;

namespace {

array<std::int32_t> counted(const extents& sizes) {
    array<std::int32_t> a(sizes);
    std::iota(a.begin(), a.end(), 0);
    return a;
}

// Row numbers in the order of one epoch, from rows that begin with 3 * their number.
template <class Batches> std::vector<int> order_of(Batches&& batches) {
    std::vector<int> rows;
    for (auto [x] : batches)
        for (std::int64_t i = 0; i < x.extent(0); ++i) rows.push_back(x(i, 0) / 3);
    return rows;
}

} // namespace

TEST_CASE("unshuffled batches are views of the source, in order, the last one shorter") {
    const array<std::int32_t> x = counted({5, 3});
    minibatches batches({.size = 2, .shuffle = false}, x);
    CHECK(batches.size() == 3);
    CHECK(batches.rows() == 5);
    std::int64_t first = 0;
    for (auto [b] : batches) {
        CHECK(b.data() == &x(first, 0));
        CHECK(b.extents() == extents{first == 4 ? 1 : 2, 3});
        first += 2;
    }
    CHECK(first == 6);
}

TEST_CASE("slices of a const array are sources, whose batches cannot be written") {
    const array<std::int32_t, shape<5, 3>> x(counted({5, 3}).as<shape<5, 3>>());
    minibatches plain({.size = 2, .shuffle = false}, x.slice(1, 5));
    minibatches mixed({.size = 2, .seed = 1}, x.slice(1, 5), tn::scaled<float>(x.slice(1, 5), 2.0F));
    std::int64_t first = 1;
    for (auto [b] : plain) {
        static_assert(std::is_same_v<decltype(b), tn::const_array<std::int32_t, shape<tn::dyn, 3>>>);
        CHECK(b.data() == &x(first, 0));
        first += 2;
    }
    for (auto [b, s] : mixed) {
        static_assert(std::is_same_v<decltype(s), array<float, shape<tn::dyn, 3>>>);
        for (std::int64_t i = 0; i < b.extent(0); ++i) CHECK(s(i, 1) == 2.0F * static_cast<float>(b(i, 1)));
    }
}

TEST_CASE("a shuffled epoch gives each row once, and the rows of all sources together") {
    const array<std::int32_t> x = counted({100, 3});
    array<std::string> names(extents{100});
    for (std::int64_t i = 0; i < 100; ++i) names[i] = std::to_string(i);
    minibatches batches({.size = 7, .seed = 3}, x, names);
    std::set<int> seen;
    std::int64_t rows = 0;
    for (auto [b, n] : batches) {
        rows += b.extent(0);
        for (std::int64_t i = 0; i < b.extent(0); ++i) {
            CHECK(n[i] == std::to_string(b(i, 0) / 3));
            CHECK(b(i, 2) == b(i, 0) + 2);
            seen.insert(b(i, 0));
        }
    }
    CHECK(rows == 100);
    CHECK(seen.size() == 100);
}

TEST_CASE("seed and epoch decide the order, and nothing else does") {
    const array<std::int32_t> x = counted({50, 3});
    minibatches a({.size = 8, .seed = 1}, x), b({.size = 50, .seed = 1}, x), c({.size = 8, .seed = 2}, x);
    const auto first = order_of(a), second = order_of(a);
    CHECK(a.epochs() == 2);
    CHECK(first != second);
    CHECK(order_of(b) == first);
    CHECK(order_of(c) != first);
    CHECK(order_of(b.epoch(0)) == first);
    CHECK(order_of(b) == second);
    // The same on every machine and compiler.
    CHECK(std::vector<int>(first.begin(), first.begin() + 5) == std::vector<int>{27, 10, 8, 48, 38});
}

TEST_CASE("every order of a few rows is as likely as any other") {
    const array<std::int32_t> x = counted({3, 3});
    minibatches batches({.size = 3, .seed = 5}, x);
    std::vector<int> counts(27);
    for (int i = 0; i < 6000; ++i) {
        const auto o = order_of(batches);
        ++counts[static_cast<std::size_t>(o[0] * 9 + o[1] * 3 + o[2])];
    }
    // 1000 expected for each of the six; the standard deviation is 29.
    CHECK(std::count_if(counts.begin(), counts.end(), [](int n) { return n > 850 && n < 1150; }) == 6);
}

TEST_CASE("drop_remainder leaves out the batch that is not full") {
    const array<std::int32_t> x = counted({5, 3});
    minibatches batches({.size = 2, .shuffle = false, .drop_remainder = true}, x);
    CHECK(batches.size() == 2);
    CHECK(order_of(batches) == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("the memory of a batch is used again, but never while the batch is held") {
    const array<std::int32_t> x = counted({64, 3});
    minibatches batches({.size = 4, .seed = 1}, x);
    std::set<const void*> places;
    for (auto [b] : batches) places.insert(b.data());
    CHECK(places.size() == 1);

    std::vector<array<std::int32_t>> held;
    for (auto [b] : batches) held.push_back(b.share());
    std::set<std::int32_t> firsts;
    for (const auto& b : held)
        for (std::int64_t i = 0; i < 4; ++i) firsts.insert(b(i, 0));
    CHECK(firsts.size() == 64);
}

TEST_CASE("scaled rows are converted as they are taken, in order or shuffled") {
    array<std::uint8_t> pixels(extents{10, 37});
    for (std::int64_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7);
    const array<std::int32_t> index = counted({10});
    for (const bool shuffle : {false, true}) {
        minibatches batches({.size = 4, .seed = 9, .shuffle = shuffle}, tn::scaled<float>(pixels, 1 / 255.0F, -0.5F),
                            index);
        for (auto [x, i] : batches) {
            static_assert(std::is_same_v<decltype(x), array<float>>);
            REQUIRE(x.extents() == extents{i.size(), 37});
            for (std::int64_t r = 0; r < i.size(); ++r)
                for (std::int64_t c = 0; c < 37; ++c)
                    CHECK(x(r, c) ==
                          doctest::Approx(static_cast<float>(pixels(i[r], c)) / 255.0F - 0.5F).epsilon(1e-6));
        }
    }
    minibatches doubles({.size = 10, .shuffle = false}, tn::scaled<double>(index, 0.5));
    for (auto [x] : doubles) CHECK(x(9) == 4.5);
}

TEST_CASE("batches of shaped arrays keep what is known of their rows") {
    const array<float, shape<6, 2>> x{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}};
    minibatches batches({.size = 4}, x, tn::scaled<double>(x, 2.0));
    for (auto [a, b] : batches) {
        static_assert(std::is_same_v<decltype(a), array<float, shape<tn::dyn, 2>>>);
        static_assert(std::is_same_v<decltype(b), array<double, shape<tn::dyn, 2>>>);
        CHECK(b(0, 1) == 2.0 * static_cast<double>(a(0, 1)));
    }
}

TEST_CASE("sources outlive their batches") {
    auto batches = [] { return minibatches({.size = 2, .shuffle = false}, counted({2, 3})); }();
    for (auto [b] : batches) CHECK(b == array<std::int32_t>{{0, 1, 2}, {3, 4, 5}});
}

TEST_CASE("sources that make no batches are refused") {
    const auto x = counted({5, 3}), y = counted({4});
    CHECK_THROWS_AS(minibatches({.size = 2}, x, y), tn::invalid_argument_error);
    CHECK_THROWS_AS(minibatches({.size = 0}, x), tn::invalid_argument_error);
    CHECK_THROWS_AS(minibatches({.size = 2}, array<float>(1.0F)), tn::invalid_argument_error);
    CHECK_THROWS_AS(minibatches({.size = 2}, array<float>()), tn::invalid_argument_error);
    CHECK_THROWS_AS(minibatches({.size = 9, .drop_remainder = true}, x), tn::invalid_argument_error);
    CHECK(minibatches({.size = 9}, x).size() == 1);
    CHECK(order_of(minibatches({.size = 9, .shuffle = false}, counted({2, 3}))) == std::vector<int>{0, 1});
}
