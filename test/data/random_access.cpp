#include <fstream>

#include <tenon/data/classes.hpp>
#include <tenon/data/csv.hpp>
#include <tenon/data/from.hpp>
#include <tenon/input.hpp>

#include "tests.hpp"
#include "each_thread.hpp"

// Elements by their numbers. random_pipelines.cpp asks random chains for each of theirs.

namespace {

template <class Set> void comes_as_gone_through(const Set& s) {
    REQUIRE(s.has_random_access());
    std::int64_t i = 0;
    for (const auto& x : s) CHECK(s.at(i++) == x);
    CHECK(i == s.size());
    CHECK_THROWS_AS((void)s.at(i), tn::out_of_range_error);
    CHECK_THROWS_AS((void)s.at(-1), tn::out_of_range_error);
}
template <class Set> std::string refusal(const Set& s) {
    CHECK(!s.has_random_access());
    return message_of<tn::unimplemented_error>([&] { (void)s.at(0); });
}

} // namespace

TEST_CASE("at(i) is element i of those that come") {
    const auto hundred = tn::data::range(100);
    comes_as_gone_through(hundred);
    comes_as_gone_through(tn::data::range(5, -5, -3));
    comes_as_gone_through(hundred.skip(90).take(7).shard(3, 1));
    comes_as_gone_through(hundred.shuffle(10, {.seed = 3}));
    comes_as_gone_through(hundred.shuffle(1000, {.seed = 3}).map_host([](std::int64_t x) { return 2 * x; }).skip(40));
    comes_as_gone_through(hundred.concatenate(tn::data::range(7)).enumerate(5));
    comes_as_gone_through(tn::data::zip(hundred, tn::data::range(50, 90)));
    comes_as_gone_through(hundred.map([](auto x) { return std::tuple(x + std::int64_t{1}, tn::cast<float>(x)); }));
    comes_as_gone_through(hundred.prefetch());
    const tn::array<float, tn::shape<tn::dyn, 2>> rows{{1, 2}, {3, 4}, {5, 6}};
    const auto batches = tn::data::slices(rows).shuffle(9, {.seed = 2}).batch(2);
    std::int64_t i = 0;
    for (const auto& b : batches) CHECK(batches.at(i++).untyped() == b.untyped());
    CHECK(i == batches.size());
    CHECK(message_of<tn::out_of_range_error>([&] { (void)batches.at(2); }) ==
          "data_set: there is no element 2 of 2; they are numbered from 0 to 1");
}

TEST_CASE(
    "epoch(n) is what repeat() gives in its round n; where there are rounds in it, none is one of another epoch's") {
    const auto ten = tn::data::range(10);
    const auto noisy = [](auto x) { return tn::cast<double>(x) + tn::random_uniform<double, tn::shape<>>(0, 1, 5); };
    const auto comes_by_rounds = [](const auto& set) {
        std::vector<double> rounds, epochs, drawn;
        for (const double x : set.repeat(4)) rounds.push_back(x);
        for (std::uint64_t n = 0; n < 4; ++n)
            for (const double x : set.epoch(n)) epochs.push_back(x);
        CHECK(epochs == rounds);
        drawn = rounds;
        std::sort(drawn.begin(), drawn.end());
        return std::unique(drawn.begin(), drawn.end()) - drawn.begin();
    };
    CHECK(comes_by_rounds(ten.shuffle(4, {.seed = 7}).map(noisy)) == 40);
    CHECK(comes_by_rounds(tn::data::sample(std::vector{ten, ten.skip(5)}, {1, 2}, 3).map(noisy).prefetch()) == 60);
    // What is drawn in a data set that an element stands for is another in each round, too.
    const auto inner = [=](std::int64_t n) { return tn::data::range(n).shuffle(3, {.seed = 2}).map(noisy); };
    CHECK(comes_by_rounds(tn::data::range(3, 5).interleave(inner)) == 28);
    // A cache keeps the first, whichever comes first.
    const auto kept = [&] { return ten.shuffle(10, {.seed = 7}).map(noisy).cache(); };
    CHECK(comes_by_rounds(kept()) == 10);
    const auto all = [](const auto& range) {
        std::vector<double> values;
        for (const double x : range) values.push_back(x);
        return values;
    };
    CHECK(all(kept().epoch(3)) == all(kept()));
    const auto twice = ten.map(noisy).repeat(2);
    std::set<double> drawn;
    for (std::uint64_t n = 0; n < 20; ++n)
        for (const double x : twice.epoch(n)) drawn.insert(x);
    CHECK(drawn.size() == 400);
    // Where it is goes on.
    const auto set = ten.shuffle(4, {.seed = 7}).map(noisy);
    auto begun = set.iterate(2), goes_on = set.iterate(2), other = set.iterate();
    for (int i = 0; i < 4; ++i) (void)begun.next();
    goes_on.restore(begun.save());
    other.restore(begun.save());
    while (const auto x = begun.next()) {
        CHECK(goes_on.next() == x);
        CHECK(other.next() == x);
    }
}

TEST_CASE("at(i) of rounds, windows and rows of batches") {
    const auto ten = tn::data::range(10);
    comes_as_gone_through(ten.repeat(3));
    // Each round has the order, and a map the random numbers, of its own.
    const auto rounds = ten.shuffle(4, {.seed = 7}).map([](auto x) {
        return tn::cast<double>(x) + tn::random_uniform<double, tn::shape<>>(0, 1, 5);
    });
    comes_as_gone_through(rounds.repeat(3).skip(5).shuffle(8, {.seed = 1}));
    comes_as_gone_through(ten.shuffle(10, {.seed = 7, .reshuffle_each_epoch = false}).repeat(2));
    comes_as_gone_through(ten.repeat(2).repeat(2));
    comes_as_gone_through(rounds.cache().repeat(2).repeat(2));
    CHECK(ten.repeat().at(1'000'000'007) == 7);
    CHECK(ten.repeat().repeat(3).at(1'000'000'007) == 7);
    CHECK(ten.repeat(0).size() == 0);
    CHECK_THROWS_AS((void)ten.repeat(2).at(20), tn::out_of_range_error);
    for (const bool drop : {false, true})
        for (std::int64_t n = 0; n < 9; ++n) {
            const auto windows = tn::data::range(n).window(3, {.shift = 2, .stride = 2, .drop_remainder = drop});
            std::int64_t i = 0;
            for (const auto& w : windows) CHECK(windows.at(i++).untyped() == w.untyped());
            CHECK(i == windows.size());
            comes_as_gone_through(tn::data::range(n).batch(3, {.drop_remainder = drop}).unbatch());
        }
    CHECK(ten.repeat().window<2>().at(7)(1) == 5);
    CHECK(ten.window<4>({.shift = 3}).at(2)(3) == 9);
    CHECK(ten.window<4>({.shift = 3}).size() == 3);
    const tn::array<float, tn::shape<tn::dyn, 2>> rows{{1, 2}, {3, 4}, {5, 6}};
    const auto mixed = tn::data::slices(rows).shuffle(3, {.seed = 2}).unbatch(); // two rows each, as the type says
    comes_as_gone_through(mixed);
    CHECK(mixed.size() == 6);
}

TEST_CASE("at(i) of a sample, whose order is another one in each round") {
    const auto ten = tn::data::range(10);
    const auto mixed =
        tn::data::sample(std::vector{ten, tn::data::range(100, 125), tn::data::range(50, 53)}, {1, 3, 0.25}, 7);
    CHECK(mixed.size() == 38);
    comes_as_gone_through(mixed);
    comes_as_gone_through(mixed.repeat(3).skip(5).shuffle(100, {.seed = 2}));
    CHECK(contains(refusal(tn::data::sample(std::vector{ten.repeat(), ten}, {}, 7)), "sample has an order only where"));
    CHECK(contains(refusal(mixed.concatenate(mixed)), "sample is there twice"));
}

TEST_CASE("at(i) of batches by length, which whoever asks first finds") {
    const auto lists = tn::data::range(20).map_host([](std::int64_t i) {
        tn::array<std::int64_t, tn::shape<tn::dyn>> x(i * 7 % 11);
        x.fill(i);
        return x;
    });
    const auto length = [](const tn::array<std::int64_t, tn::shape<tn::dyn>>& x) { return x.size(); };
    for (const bool drop : {false, true}) {
        const auto set =
            lists.shuffle(30, {.seed = 4}).bucket_by_length(length, {3, 7}, {4, 3, 2}, {.drop_remainder = drop});
        REQUIRE(set.has_random_access());
        std::int64_t i = 0;
        for (const auto& b : set) CHECK(set.at(i++).untyped() == b.untyped());
        CHECK(i > 3);
        CHECK_THROWS_AS((void)set.at(i), tn::out_of_range_error);
    }
    CHECK(contains(refusal(lists.repeat().bucket_by_length(length, {3}, {4, 3})),
                   "bucket_by_length has an order only where"));
}

TEST_CASE("at(i) gives memory of its own, and random numbers have places too") {
    const tn::array<float, tn::shape<tn::dyn, 2>> rows{{1, 2}, {3, 4}};
    const auto set = tn::data::slices(rows);
    auto first = set.at(0);
    first.fill(9);
    CHECK(rows(0, 0) == 1);
    const auto drawn = tn::data::random<float>(7);
    CHECK(drawn.size() == -1);
    auto it = drawn.iterate();
    for (int i = 0; i < 5; ++i) CHECK(drawn.at(i) == it.next());
    CHECK(drawn.take(3).size() == 3);
    CHECK_THROWS_AS((void)drawn.take(3).at(3), tn::out_of_range_error);
}

TEST_CASE("at(i) is asked by several threads, also where the first must find the order or go through all") {
    const auto mixed = tn::data::range(1000).shuffle(1000, {.seed = 5}).map_host([](std::int64_t x) { return 3 * x; });
    const auto kept = tn::data::range(1000).filter_host([](std::int64_t x) { return x % 2 == 1; }).cache();
    std::vector<std::int64_t> expected;
    for (const std::int64_t x : mixed) expected.push_back(x);
    std::atomic<int> wrong{0};
    on_threads(4, [&](int t) {
        for (std::int64_t i = t; i < 1000; i += 3)
            wrong += mixed.at(i) != expected[static_cast<std::size_t>(i)] || kept.at(i / 2) != i / 2 * 2 + 1;
    });
    CHECK(wrong == 0);
}

TEST_CASE("what has no places says so, and what to do") {
    const auto ten = tn::data::range(10);
    CHECK(refusal(ten.filter_host([](std::int64_t x) { return x > 3; }).batch(2)) ==
          "data_set::at: filter_host does not know which elements it leaves out, so none has a number by which it "
          "could be "
          "had; cache() behind it keeps all in memory, where at() finds them");
    CHECK(contains(refusal(ten.filter_host([](std::int64_t x) { return x > 3; }).cache().repeat(2)),
                   "repeat(2) does not know how many elements a round has"));
    const auto nested = ten.shuffle(5).repeat(3).take(11).repeat();
    CHECK(contains(refusal(nested), "repeat has others in each round of another repeat"));
    CHECK(contains(refusal(ten.scan_host(0, [](int s, std::int64_t) { return std::pair(s, s); })),
                   "scan_host needs all"));
    CHECK(contains(refusal(ten.batch(4).shuffle(2, {.seed = 1}).unbatch()), "unbatch knows numbers of rows where"));
    CHECK(contains(refusal(ten.filter_host([](std::int64_t x) { return x > 3; }).cache().window<2>()),
                   "window(2) does not know how many elements there are"));
    CHECK(contains(refusal(tn::data::random<float>(1).shuffle(5)), "shuffle(5) has an order only where"));
    const auto mixed = ten.shuffle(5, {.seed = 1});
    CHECK(contains(refusal(mixed.concatenate(mixed)), "shuffle(5) is there twice"));
    comes_as_gone_through(ten.concatenate(ten));
}

TEST_CASE("cache() finds what its steps cannot, also rows of a file") {
    const temporary_folder there;
    const std::string path = there / "a.csv";
    std::ofstream(path) << "1\n2\n3\n4\n";
    const auto set = tn::data::csv<std::int32_t>(path).filter_host([](std::int32_t x) { return x != 2; }).cache();
    CHECK(set.size() == -1);
    CHECK(set.at(1) == 3);
    CHECK(set.size() == 3);
    CHECK(set.take(9).at(2) == 4);
    CHECK_THROWS_AS((void)set.at(3), tn::out_of_range_error);
    CHECK_THROWS_AS((void)set.take(2).at(2), tn::out_of_range_error);
    CHECK(contains(refusal(tn::data::csv<std::int32_t>(path)), "csv makes its elements one after another"));
    CHECK(contains(refusal(tn::data::range(3).cache(there / "kept")), "cache of a file"));
    tn::write_npy(there / "a.npy", tn::array<float>{{1, 2}, {3, 4}, {5, 6}});
    CHECK(tn::data::npy<float, tn::shape<2>>(there / "a.npy").skip(1).at(1)(0) == 5);
}

TEST_CASE("select: elements at places, of a split or drawn by weights") {
    const auto squares = tn::data::range(10).map_host([](std::int64_t x) { return x * x; });
    const std::vector<std::int32_t> labels{0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
    const auto [train, test] = tn::data::stratified_split(labels, 0.5, 1);
    std::vector<std::int64_t> both;
    for (const auto& part : {train, test})
        for (const std::int64_t x : squares.select(part)) both.push_back(x);
    std::sort(both.begin(), both.end());
    CHECK(both == std::vector<std::int64_t>{0, 1, 4, 9, 16, 25, 36, 49, 64, 81});
    comes_as_gone_through(squares.select({3, 3, 0}));
    const tn::array<std::int64_t, tn::shape<tn::dyn>> rows{5, 6, 7};
    const auto batches = tn::data::slices(rows).select({2, 0, 2}).batch(5);
    CHECK(batches.at(0).untyped() == tn::array<std::int64_t>{7, 5, 7}.untyped());
    for (const auto& b : batches) CHECK(b.untyped() == tn::array<std::int64_t>{7, 5, 7}.untyped());
    CHECK_THROWS_AS((void)squares.select({10}), tn::out_of_range_error);
    CHECK(message_of<tn::unimplemented_error>([&] {
              (void)squares.take_while([](std::int64_t) { return true; }).select({0});
          }).find("data_set::select: take_while") == 0);

    const auto places = tn::data::weighted_places(tn::data::balanced_weights(labels, 2), 4000, 3);
    const auto rare = std::count_if(places.begin(), places.end(), [](std::int64_t i) { return i >= 8; });
    CHECK(std::abs(static_cast<double>(rare) - 2000) < 5 * std::sqrt(1000.0)); // five deviations of a binomial
    CHECK(tn::data::weighted_places(std::vector<double>{0, 1, 0}, 50) == std::vector<std::int64_t>(50, 1));
    CHECK(tn::data::weighted_places(std::vector<double>{1, 2}, 0).empty());
    const auto complaint = [](std::vector<double> w) {
        return message_of<tn::invalid_argument_error>([&] { (void)tn::data::weighted_places(w, 1); });
    };
    CHECK(complaint({1, -2}) == "weighted_places: weight 1 is -2; give 0 or more");
    CHECK(complaint({0, 0}) == "weighted_places: 2 weights, whose sum is 0; it must be more than 0, and finite");
}

TEST_CASE("sizes of maps and of what has no end") {
    const auto ten = tn::data::range(10);
    CHECK(ten.map([](auto x) { return x; }).size() == 10);
    CHECK(ten.map_host([](std::int64_t x) { return x; }).batch(4).size() == 3);
    CHECK(ten.repeat().size() == -1);
    CHECK(ten.repeat().take(25).size() == 25);
    CHECK(tn::data::zip(ten.repeat(), tn::data::range(4)).size() == 4);
    CHECK(tn::data::zip(ten.filter_host([](std::int64_t) { return false; }), ten).size() == -1);
    CHECK(ten.take(0).repeat().size() == 0);
}
