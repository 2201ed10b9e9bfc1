#include <tenon/data/steps/measured.hpp>

#include "tests.hpp"

// How steps of data sets find out what elements take.

TEST_CASE("the calls that are measured stand for all") {
    tn::detail::call_sampler sampler;
    std::int64_t stood_for = 0, measured = 0;
    for (std::int64_t call = 1; call <= 1'000'000; ++call) {
        const std::int64_t weight = sampler.weight();
        stood_for += weight;
        measured += weight > 0;
        REQUIRE(stood_for <= call + 64);
        REQUIRE(stood_for >= call - 64);
    }
    CHECK(measured < 20'000);
}

TEST_CASE("of two ways the faster one is gone most of the time, whatever else has the core now and then") {
    for (const unsigned seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        tn::detail::faster_way faster;
        std::int64_t now = 1;
        double takes[2] = {8'000, 12'000}; // nanoseconds
        if (seed % 2) std::swap(takes[0], takes[1]);
        const auto share_of_second = [&](int elements) {
            int second = 0;
            for (int i = 0; i < elements; ++i) {
                second += faster.second();
                now += static_cast<std::int64_t>(takes[faster.second()] *
                                                 (0.9 + 0.2 * static_cast<double>(random() % 100) / 100));
                if (random() % 2000 == 0) now += 3'000'000; // somebody else
                if (faster.gave()) faster.look(now);
            }
            return static_cast<double>(second) / elements;
        };
        const double first = share_of_second(20'000);
        CHECK((seed % 2 ? 1 - first : first) < 0.1);
        std::swap(takes[0], takes[1]); // which is found out
        (void)share_of_second(60'000);
        const double then = share_of_second(20'000);
        CHECK((seed % 2 ? then : 1 - then) < 0.1);
    }
}
