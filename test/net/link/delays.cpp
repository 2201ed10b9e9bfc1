#include <net/link/delays.hpp>

#include "tests.hpp"

using namespace tenon::net;
using namespace std::chrono_literals;

TEST_CASE("delays: a message is late by what it took longer than the fastest of late, however far clocks are apart") {
    for (const duration apart : {duration(0h), duration(3000h), duration(-3000h)}) {
        delays late(6s);
        time_point sent{5000h};
        const auto of = [&](duration took) { return late.of(delays::nanoseconds(sent), sent + took + apart); };
        CHECK(of(3ms) == 0ms);
        CHECK(of(5ms) == 2ms);
        CHECK(of(1ms) == 0ms);
        CHECK(of(4s) == 4s - 1ms);
        sent += 1s;
        CHECK(of(1500us) == 500us);
    }
}

TEST_CASE("delays: clocks that run at other speeds do not make messages late for ever; a long silence does") {
    delays late(6s);
    duration most{};
    for (int i = 0; i < 100000; ++i) { // two days, and a clock that runs fast by a thousandth
        const time_point sent = time_point{100h} + i * 2s;
        most = std::max(most, late.of(delays::nanoseconds(sent), sent + 1ms + i * 2ms));
    }
    CHECK(most <= 14ms);
    delays silent(6s);
    const time_point sent{100h};
    (void)silent.of(delays::nanoseconds(sent), sent);
    CHECK(silent.of(delays::nanoseconds(sent), sent + 100s) == 100s);
    CHECK(silent.of(delays::nanoseconds(sent + 100s), sent + 101s) == 1s);
}

TEST_CASE("delays: whatever number comes, no delay is negative, and none overflows") {
    std::mt19937_64 random(1);
    delays late(6s);
    for (int i = 0; i < 10000; ++i) {
        const std::int64_t edges[] = {
            std::numeric_limits<std::int64_t>::min(), -1, 0, 1, std::numeric_limits<std::int64_t>::max(),
            static_cast<std::int64_t>(random())};
        const duration d = late.of(edges[random() % 6], time_point{100h} + i * 1ms);
        CHECK(d >= 0ms);
        CHECK(d <= 24h * 365 * 101);
    }
}
