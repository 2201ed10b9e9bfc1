#include <doctest/doctest.h>

#include <tenon/ops/reduce/sort.hpp>

#include "../both_devices.hpp"

using namespace tenon;
using test::difference_of_devices, test::drawn_seed;

TEST_CASE("sorted on a GPU: the host's bits, of one line, of lines along any axis, of zeros and NaNs") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : test::number_types) {
        INFO(std::string(name_of(e)));
        for (int round = 0; round < 8; ++round) {
            const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % most); };
            const extents sizes = round == 0 ? extents(700) : extents(1 + size(4), size(60), 1 + size(4));
            const int axis = round == 0 ? 0 : static_cast<int>(random() % 3);
            const any_array x = test::array_of(e, sizes, [&](std::int64_t) {
                const double special[] = {0.0, -0.0, std::nan(""), INFINITY, -INFINITY};
                if (is_floating(e) && random() % 6 == 0) return special[random() % 5];
                return static_cast<double>(random() % 200) - (is_floating(e) || is_signed_integer(e) ? 100 : 0);
            });
            CHECK(difference_of_devices(1, 0, {&x}, [&](const auto& in) {
                      return std::vector{untyped::sort(in[0], axis), untyped::argsort(in[0], axis),
                                         untyped::sort(in[0], axis, {.descending = true}),
                                         untyped::argsort(in[0], axis, {.descending = true})};
                  }) == "");
        }
    }
}

TEST_CASE("searched on a GPU: the host's places") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : {element_type::float32, element_type::float64, element_type::float16,
                                 element_type::int8, element_type::int64, element_type::uint32}) {
        INFO(std::string(name_of(e)));
        for (int round = 0; round < 6; ++round) {
            const auto n = static_cast<std::int64_t>(random() % 50), m = static_cast<std::int64_t>(random() % 40);
            const auto value = [&](std::int64_t) {
                return is_floating(e) && random() % 9 == 0 ? std::nan("") : static_cast<double>(random() % 100);
            };
            const any_array unsorted = test::array_of(e, round % 2 ? extents(3, n) : extents(n), value),
                            values = test::array_of(e, extents(3, m), value);
            CHECK(difference_of_devices(1, 0, {&unsorted, &values}, [&](const auto& in) {
                      const any_tensor sorted = untyped::sort(in[0]);
                      return std::vector{untyped::searchsorted(sorted, in[1]),
                                         untyped::searchsorted(sorted, in[1], {.right = true})};
                  }) == "");
        }
    }
}
