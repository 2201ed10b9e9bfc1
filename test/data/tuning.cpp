#include <tenon/input.hpp>

#include "tests.hpp"

// What steps say of themselves, and how many threads and elements they then take.

TEST_CASE("a report says what each step takes, and which holds back") {
    auto it = tn::data::range(2000)
                  .map_host([](std::int64_t x) {
                      double sum = static_cast<double>(x);
                      for (int i = 0; i < 20000; ++i) sum += std::sqrt(static_cast<double>(i) + sum);
                      return sum;
                  })
                  .batch(10)
                  .prefetch(2)
                  .iterate();
    while (it.next()) {
    }
    const tn::data_report r = it.report();
    REQUIRE(r.steps.size() == 4);
    CHECK(r.steps[0].step == "prefetch(2)");
    CHECK(r.steps[0].elements == 200);
    CHECK(r.steps[0].fullness >= 0);
    CHECK(r.steps[1].step == "batch(10)");
    CHECK(r.steps[2].step == "map_host");
    CHECK(r.steps[2].elements == 2000);
    CHECK(r.steps[2].work > r.steps[3].work);
    CHECK(r.holding_back() == "map_host");
    CHECK(contains(r.to_text(), "map_host holds back"));
}

TEST_CASE("a tuned map takes as many threads as it may, and no more than there is memory for") {
    const auto slow = [](std::int64_t x) {
        tn::array<double, tn::shape<1000>> a;
        for (int i = 0; i < 20000; ++i) a(i % 1000) += std::sqrt(static_cast<double>(x + i));
        return a;
    };
    auto free =
        tn::data::range(300).map_host(slow, {.parallelism = tn::autotune}).with_options({.threads = 3}).iterate();
    while (free.next()) {
    }
    CHECK(free.report().steps[0].parallelism == 3);
    auto tight = tn::data::range(300)
                     .map_host(slow, {.parallelism = tn::autotune})
                     .with_options({.threads = 3, .memory = 1000})
                     .iterate();
    while (tight.next()) {
    }
    CHECK(tight.report().steps[0].parallelism == 1);
}

TEST_CASE("a tuned prefetch grows where it was full and then too small, as far as there is memory for its elements") {
    const auto room_at_the_end = [](std::size_t memory) {
        std::function<double()> fullness;
        std::atomic<int> begun = 0;
        const auto element = [&](std::int64_t i) {
            ++begun;
            // The one that comes after a full buffer of two, until it is asked for when nothing is left: what was found at
            // the four times that one was asked for is 0, 2, 1 and 0.
            while (i == 3 && fullness() != 3 / 8.0) std::this_thread::yield();
            return tn::array<double, tn::shape<1000>>();
        };
        auto it = tn::data::range(6).map_host(element).prefetch().with_options({.memory = memory}).iterate();
        fullness = [&] { return it.report().steps[0].fullness; };
        REQUIRE(it.next());
        while (begun < 3) std::this_thread::yield();
        (void)it.save(); // waits for the element that is being made
        for (int i = 1; i < 6; ++i) REQUIRE(it.next());
        CHECK(!it.next());
        return it.report().steps[0].buffer;
    };
    CHECK(room_at_the_end(1000) == 2);
    CHECK(room_at_the_end(15'999) == 2);
    CHECK(room_at_the_end(16'000) == 4);
}

TEST_CASE("a trace has a row for each step") {
    tn::trace t;
    const auto set = tn::data::range(10)
                         .map_host([](std::int64_t x) { return x; }, {.parallelism = 2})
                         .batch(5)
                         .with_options({.trace = &t});
    for (const auto& b : set) (void)b;
    const std::string text = t.to_text();
    CHECK(contains(text, "input: map_host"));
    CHECK(contains(text, "input: batch(5)"));
    CHECK(contains(text, "input: range"));
}
