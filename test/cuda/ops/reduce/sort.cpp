#include <doctest/doctest.h>

#include <tenon/ops/reduce/sort.hpp>

#include "../both_devices.hpp"

using namespace tenon;
using test::difference_of_devices, test::drawn_seed;

TEST_CASE_TEMPLATE("sorted on a GPU: the host's bits, of one line, of lines along any axis, of zeros and NaNs", T,
                   float, double, half, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
    std::mt19937_64 random(drawn_seed());
    for (int round = 0; round < 8; ++round) {
        const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % most); };
        const extents sizes = round == 0 ? extents(700) : extents(1 + size(4), size(60), 1 + size(4));
        const int axis = round == 0 ? 0 : static_cast<int>(random() % 3);
        const any_array x = test::array_of<T>(sizes, [&](std::int64_t) {
            const double special[] = {0.0, -0.0, std::nan(""), INFINITY, -INFINITY};
            if (!std::is_integral_v<T> && random() % 6 == 0) return special[random() % 5];
            return static_cast<double>(random() % 200) - (std::is_unsigned_v<T> ? 0 : 100);
        });
        CHECK(difference_of_devices(1, 0, {&x}, [&](const auto& in) {
                  return std::vector{untyped::sort(in[0], axis), untyped::argsort(in[0], axis),
                                     untyped::sort(in[0], axis, {.descending = true}),
                                     untyped::argsort(in[0], axis, {.descending = true})};
              }) == "");
    }
}

TEST_CASE_TEMPLATE("searched on a GPU: the host's places", T, float, double, half, std::int8_t, std::int64_t,
                   std::uint32_t) {
    std::mt19937_64 random(drawn_seed());
    for (int round = 0; round < 6; ++round) {
        const auto n = static_cast<std::int64_t>(random() % 50), m = static_cast<std::int64_t>(random() % 40);
        const auto value = [&](std::int64_t) {
            return !std::is_integral_v<T> && random() % 9 == 0 ? std::nan("") : static_cast<double>(random() % 100);
        };
        const any_array unsorted = test::array_of<T>(round % 2 ? extents(3, n) : extents(n), value),
                        values = test::array_of<T>(extents(3, m), value);
        CHECK(difference_of_devices(1, 0, {&unsorted, &values}, [&](const auto& in) {
                  const any_tensor sorted = untyped::sort(in[0]);
                  return std::vector{untyped::searchsorted(sorted, in[1]),
                                     untyped::searchsorted(sorted, in[1], {.right = true})};
              }) == "");
    }
}
