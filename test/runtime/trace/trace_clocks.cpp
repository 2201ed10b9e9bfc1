#include <tenon/runtime/trace/packed_rows.hpp>
#include <tenon/runtime/trace/trace_clocks.hpp>

#include "tests.hpp"

using tn::detail::packed_rows;
using tn::detail::time_span;
using tn::detail::trace_clocks;

TEST_CASE("spans go into the first row that is free, and a row is free when its last span has ended") {
    CHECK(packed_rows({}).empty());
    CHECK(packed_rows({{0, 10}, {10, 20}, {20, 30}}) == std::vector<int>{0, 0, 0});
    CHECK(packed_rows({{0, 10}, {5, 15}, {10, 20}}) == std::vector<int>{0, 1, 0});
    CHECK(packed_rows({{10, 20}, {0, 11}}) == std::vector<int>{1, 0});         // in whichever order they come
    CHECK(packed_rows({{5, 5}, {5, 5}, {5, 6}}) == std::vector<int>{0, 0, 0}); // what takes no time takes no place
    // A wavefront of 200, of which three overlap at any time.
    std::vector<time_span> wave;
    for (int i = 0; i < 200; ++i) wave.push_back({i * 10, i * 10 + 25});
    CHECK(std::ranges::max(packed_rows(wave)) == 2);
}

TEST_CASE("there are as many rows as spans at the time at which there are most, and none of a row overlap") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 100; ++round) {
        std::vector<time_span> spans(random() % 200);
        for (time_span& s : spans) {
            s.begin = static_cast<std::int64_t>(random() % 500);
            s.end = s.begin + 1 + static_cast<std::int64_t>(random() % 50);
        }
        const std::vector<int> rows = packed_rows(spans);
        int most = 0;
        for (const time_span& at : spans)
            most = std::max(most, static_cast<int>(std::ranges::count_if(spans, [&](const time_span& s) {
                                return s.begin <= at.begin && at.begin < s.end;
                            })));
        CHECK((rows.empty() ? 0 : std::ranges::max(rows) + 1) == most);
        for (std::size_t i = 0; i < spans.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (rows[i] == rows[j]) REQUIRE((spans[i].end <= spans[j].begin || spans[j].end <= spans[i].begin));
    }
}

TEST_CASE("a clock is known to half of what its answer took beside its work, and what came before what holds") {
    trace_clocks c;
    // Asked at 100, at 5'000'130 there; answered at 5'000'630 there, which is 650 here: ahead by 4'999'980 to 5'000'030.
    c.before(1, 0, 100, 1, 5'000'130);
    c.before(1, 1, 5'000'630, 0, 650);
    c.solve();
    CHECK(c.of(1, 1).ahead == 5'000'005);
    CHECK(c.of(1, 1).error == 25);
    CHECK(c.of(1, 0).ahead == 0);
    CHECK(c.of(2, 1).ahead == 0); // of which nothing is known
}

TEST_CASE("a value between two other tasks bounds both clocks, whose middles keep its order") {
    trace_clocks c;
    const std::int64_t ahead[] = {0, 3'000'000'000, -2'000'000'000};
    for (std::uint32_t k = 1; k <= 2; ++k) { // slowly there for the first, slowly back for the second
        c.before(1, 0, 0, k, ahead[k] + (k == 1 ? 1000 : 10));
        c.before(1, k, ahead[k] + 5000, 0, 5000 + (k == 1 ? 10 : 1000));
    }
    // Sent by 1 at 2000, received by 2 at 2001.
    c.before(1, 1, ahead[1] + 2000, 2, ahead[2] + 2001);
    c.solve();
    const std::int64_t sent = ahead[1] + 2000 - c.of(1, 1).ahead, received = ahead[2] + 2001 - c.of(1, 2).ahead;
    CHECK(sent <= received + 1); // middles are rounded
    for (std::uint32_t k = 1; k <= 2; ++k) CHECK(std::llabs(c.of(1, k).ahead - ahead[k]) <= c.of(1, k).error + 1);
}

TEST_CASE("whatever is on its way how long, the middles keep every order, and are off by no more than they say") {
    std::mt19937_64 random(11);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    for (int round = 0; round < 200; ++round) {
        trace_clocks c;
        const std::uint32_t clocks = 2 + static_cast<std::uint32_t>(below(6));
        std::vector<std::int64_t> ahead(clocks, 0);
        for (std::uint32_t k = 1; k < clocks; ++k) ahead[k] = below(20'000'000'000) - 10'000'000'000;
        struct order {
            std::uint32_t a, b;
            std::int64_t at_a, at_b;
        };
        std::vector<order> all;
        const auto send = [&](std::uint32_t a, std::uint32_t b, std::int64_t at) {
            const std::int64_t came = at + 10 + below(100'000);
            all.push_back({a, b, at + ahead[a], came + ahead[b]});
            c.before(1, a, at + ahead[a], b, came + ahead[b]);
        };
        for (std::uint32_t k = 1; k < clocks; ++k) send(0, k, below(1000)), send(k, 0, 500'000 + below(1000));
        for (int i = 0; i < 50; ++i)
            send(static_cast<std::uint32_t>(below(clocks)), static_cast<std::uint32_t>(below(clocks)), below(500'000));
        c.solve();
        for (const order& o : all) REQUIRE(o.at_a - c.of(1, o.a).ahead <= o.at_b - c.of(1, o.b).ahead + 1);
        for (std::uint32_t k = 1; k < clocks; ++k)
            REQUIRE(std::llabs(c.of(1, k).ahead - ahead[k]) <= c.of(1, k).error + 1);
    }
}

TEST_CASE("what a step says of a clock counts in others, the less the longer ago") {
    trace_clocks c;
    const auto step = [&](std::uint64_t number, std::int64_t at, std::int64_t way) {
        c.before(number, 0, at, 1, at + way);
        c.before(number, 1, at + 1'000'000 - way, 0, at + 1'000'000);
    };
    step(1, 0, 100'000);
    step(2, 500'000'000, 100); // a fast one
    step(3, 1'000'000'000, 100'000);
    c.solve();
    CHECK(c.of(2, 1).error == 100);
    for (const std::uint64_t s : {1u, 3u}) CHECK(c.of(s, 1).error == 100 + 50'000);
}

TEST_CASE("bounds that contradict each other, as of a process that lies, give something, and end") {
    trace_clocks c;
    constexpr std::int64_t far = (std::int64_t{1} << 58) - 1;
    for (std::uint32_t k = 1; k < 50; ++k) {
        c.before(1, k - 1, far, k, -far);
        c.before(1, k, far, k - 1, -far);
    }
    c.solve();
    for (std::uint32_t k = 1; k < 50; ++k) CHECK(c.of(1, k).error >= 0);
}
