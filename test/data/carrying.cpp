#include <stdexcept>

#include <tenon/data/from.hpp>
#include <tenon/input.hpp>

#include "tests.hpp"

// Steps that carry something from element to element: scan, scan_host, group_by_window.

using numbers = std::vector<std::int64_t>;

namespace {

template <class Set> auto all_of(const Set& s) {
    std::vector<typename Set::value_type> found;
    for (auto x : s) found.push_back(std::move(x));
    return found;
}

// Taken `before` times, saved, and gone on with by another going through.
template <class Set> auto continued(const Set& s, int before) {
    std::vector<typename Set::value_type> found;
    auto first = s.iterate();
    for (int i = 0; i < before; ++i)
        if (auto x = first.next()) found.push_back(std::move(*x));
    auto second = s.iterate();
    second.restore(first.save());
    while (auto x = second.next()) found.push_back(std::move(*x));
    return found;
}

struct moments {
    std::int64_t count = 0;
    double sum = 0;
    static constexpr auto fields() { return tn::record_fields("count", &moments::count, "sum", &moments::sum); }
};

} // namespace

TEST_CASE("scan: a running sum, in a graph and on the host") {
    const auto ten = tn::data::range(1, 11);
    const auto in_graph = ten.scan(std::int64_t{100}, [](auto sum, auto x) { return std::pair(sum + x, sum + x); });
    const auto on_host =
        ten.scan_host(std::int64_t{100}, [](std::int64_t sum, std::int64_t x) { return std::pair(sum + x, sum + x); });
    const numbers expected{101, 103, 106, 110, 115, 121, 128, 136, 145, 155};
    CHECK(all_of(in_graph) == expected);
    CHECK(all_of(on_host) == expected);
    CHECK(all_of(on_host) == expected); // each going through begins anew
    CHECK(in_graph.size() == 10);
    for (int before = 0; before <= 11; ++before) {
        CHECK(continued(in_graph, before) == expected);
        CHECK(continued(on_host, before) == expected);
    }
}

TEST_CASE("scan: states that are tuples, structs, texts and arrays, and elements of other types") {
    // Fibonacci's numbers.
    const auto pairs = tn::data::range(6).scan(std::tuple(std::int64_t{0}, std::int64_t{1}), [](const auto& s, auto i) {
        const auto& [a, b] = s;
        return std::tuple(std::tuple(b, a + b), std::tuple(a, i));
    });
    CHECK(all_of(pairs) ==
          std::vector<std::tuple<std::int64_t, std::int64_t>>{{0, 0}, {1, 1}, {1, 2}, {2, 3}, {3, 4}, {5, 5}});

    const auto means = tn::data::range(1, 5).scan_host(moments{}, [](const moments& m, std::int64_t x) {
        const moments next{m.count + 1, m.sum + static_cast<double>(x)};
        return std::pair(next, next.sum / static_cast<double>(next.count));
    });
    CHECK(all_of(means) == std::vector<double>{1, 1.5, 2, 2.5});
    CHECK(continued(means, 2) == std::vector<double>{1, 1.5, 2, 2.5});

    const auto words = tn::data::range(3).scan_host(std::string(">"), [](const std::string& s, std::int64_t i) {
        return std::pair(s + std::to_string(i), static_cast<std::int32_t>(s.size()));
    });
    CHECK(all_of(words) == std::vector<std::int32_t>{1, 2, 3});

    // A histogram of what came so far: who takes an element may write to it, and the state stays.
    using counts = tn::array<std::int64_t, tn::shape<3>>;
    const auto histograms = tn::data::range(5).scan_host(counts{0, 0, 0}, [](const counts& c, std::int64_t x) {
        counts next = c.copy();
        ++next(x % 3);
        return std::pair(next.share(), std::move(next));
    });
    std::vector<numbers> seen;
    for (auto h : histograms) {
        seen.push_back({h(0), h(1), h(2)});
        h.fill(99);
    }
    CHECK(seen == std::vector<numbers>{{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {2, 1, 1}, {2, 2, 1}});
    // The same in a graph.
    const auto sums = tn::data::range(4).scan(counts{5, 6, 7}, [](auto s, auto x) { return std::pair(s + x, s + x); });
    seen.clear();
    for (auto s : sums) {
        seen.push_back({s(0), s(1), s(2)});
        s.fill(99);
    }
    CHECK(seen == std::vector<numbers>{{5, 6, 7}, {6, 7, 8}, {8, 9, 10}, {11, 12, 13}});
}

TEST_CASE("scan: where the function fails the state stays as it was, and the next element follows") {
    const auto set = tn::data::range(6).scan_host(std::int64_t{0}, [](std::int64_t sum, std::int64_t x) {
        if (x == 2) throw std::runtime_error("no twos");
        return std::pair(sum + x, sum + x);
    });
    auto it = set.iterate();
    CHECK(it.next() == 0);
    CHECK(it.next() == 1);
    CHECK(message_of<tn::error>([&] { (void)it.next(); }) == "scan_host: element 2: no twos");
    CHECK(it.next() == 4);
    CHECK(it.next() == 8);
    CHECK(all_of(set.ignore_errors()) == numbers{0, 1, 4, 8, 13});
}

TEST_CASE("group_by_window: windows come when they are full, what is left by key") {
    const auto by_parity =
        tn::data::range(11).group_by_window([](std::int64_t x) { return x % 2; }, 3,
                                            [](std::int64_t key, const tn::data_set<std::int64_t>& window) {
                                                return window.map_host([key](std::int64_t x) { return 100 * key + x; });
                                            });
    const numbers expected{0, 2, 4, 101, 103, 105, 6, 8, 10, 107, 109};
    CHECK(all_of(by_parity) == expected);
    CHECK(by_parity.size() == -1);
    for (int before = 0; before <= 12; ++before) CHECK(continued(by_parity, before) == expected);

    // Sizes by key, windows as batches, texts in them.
    const auto text = [](std::int64_t i) { return std::string(static_cast<std::size_t>(i % 4), 'x'); };
    const auto batches = tn::data::range(12).map_host(text).group_by_window(
        [](const std::string& s) { return static_cast<int>(s.size()); }, [](std::int64_t key) { return key + 1; },
        [](std::int64_t, const auto& window) { return window.batch(10); });
    std::vector<std::string> found;
    for (auto b : batches) found.push_back(b(0) + std::to_string(b.size()));
    CHECK(found == std::vector<std::string>{"1", "1", "x2", "1", "xx3", "x1", "xxx3"});
    for (int before = 0; before < 8; ++before) CHECK(continued(batches.unbatch(), before).size() == 12);
}

TEST_CASE("group_by_window: what the functions may not do is said, and those behind it follow") {
    const auto evens = [](std::int64_t key, const auto& window) {
        if (key == 1) throw std::runtime_error("odd ones out");
        return window;
    };
    const auto set = tn::data::range(6).group_by_window([](std::int64_t x) { return x % 2; }, 2, evens);
    CHECK(all_of(set.ignore_errors()) == numbers{0, 2, 4});
    CHECK(message_of<tn::error>([&] { (void)all_of(set); }) == "group_by_window: window 1, of key 1: odd ones out");
    const auto empty = tn::data::range(2).group_by_window([](std::int64_t) { return 7; }, 0,
                                                          [](std::int64_t, const auto& w) { return w; });
    CHECK(message_of<tn::invalid_argument_error>([&] { (void)all_of(empty); }) ==
          "group_by_window: element 0: a window of 0 elements for key 7; give 1 or more");
}

TEST_CASE("group_by_window: a damaged state is refused") {
    const auto set = tn::data::range(9).group_by_window([](std::int64_t x) { return x % 3; }, 2,
                                                        [](std::int64_t, const auto& w) { return w; });
    auto first = set.iterate();
    (void)first.next();
    const std::string state = first.save();
    for (std::size_t n = 0; n < state.size(); ++n) {
        auto second = set.iterate();
        CHECK_THROWS_AS(second.restore(state.substr(0, n)), tn::data_loss_error);
    }
}
