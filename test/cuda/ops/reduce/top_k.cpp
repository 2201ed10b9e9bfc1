#include <doctest/doctest.h>

#include <tenon/core/error.hpp>
#include <tenon/ops/reduce/top_k.hpp>

#include "../both_devices.hpp"

using namespace tenon;
using test::difference_of_devices, test::drawn_seed, test::message_of;

TEST_CASE_TEMPLATE("top_k on a GPU: the host's values and places, of few and of many, with equal elements and NaNs", T,
                   float, double, half, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
    std::mt19937_64 random(drawn_seed());
    for (const std::int64_t k : {1, 3, 16, 17, 40}) {
        const std::int64_t n = k + static_cast<std::int64_t>(random() % 300);
        INFO(k, " of ", n);
        const any_array x = test::array_of<T>(extents(3, n), [&](std::int64_t) {
            const double special[] = {std::nan(""), INFINITY, -INFINITY};
            if (!std::is_integral_v<T> && random() % 6 == 0) return special[random() % 3];
            return static_cast<double>(random() % 50) - (std::is_unsigned_v<T> ? 0 : 25);
        });
        CHECK(difference_of_devices(1, 0, {&x}, [&](const auto& in) { return untyped::top_k(in[0], k); }) == "");
        CHECK(difference_of_devices(1, 0, {&x}, [&](const auto& in) { // each alone
                  return std::vector{untyped::top_k(in[0], k)[0]};
              }) == "");
        CHECK(difference_of_devices(1, 0, {&x},
                                    [&](const auto& in) { return std::vector{untyped::top_k(in[0], k)[1]}; }) == "");
    }
}

TEST_CASE_TEMPLATE("put_places on a GPU adds values of equal places in their order: the host's bits", T, float, double,
                   half, std::int8_t, std::uint64_t) {
    std::mt19937_64 random(drawn_seed());
    for (int round = 0; round < 4; ++round) {
        const auto n = static_cast<std::int64_t>(1 + random() % 9), count = static_cast<std::int64_t>(random() % 30);
        const any_array values = test::numbers<T>(extents(3, count), random),
                        like = test::numbers<T>(extents(3, n), random);
        const any_array places = test::indices_below<std::int32_t>(n, extents(3, count), random);
        CHECK(difference_of_devices(1, 0, {&values, &places, &like}, [](const auto& in) {
                  return std::vector{tenon::add<put_places_op>({}, {in[0], in[1], in[2]}),
                                     tenon::add<take_places_op>({}, {in[2], in[1]})};
              }) == "");
    }
}

TEST_CASE("a place that is not in its row is named on a GPU as on the host") {
    std::mt19937_64 random(drawn_seed());
    const any_array x = test::numbers<float>(extents(2, 5), random),
                    values = test::numbers<float>(extents(2, 3), random);
    any_array places(element_type::int32, extents(2, 3));
    for (int i = 0; i < 6; ++i) places.data<std::int32_t>()[i] = i == 4 ? 5 : i == 5 ? -1 : i;
    for (const bool puts : {false, true}) {
        const auto said_by = [&](const char* device) {
            const std::string said = message_of<invalid_argument_error>([&] {
                (void)test::steps_on(device, 1, 0, {&x, &places, &values}, [&](const auto& in) {
                    return std::vector{puts ? tenon::add<put_places_op>({}, {in[2], in[1], in[0]})
                                            : tenon::add<take_places_op>({}, {in[0], in[1]})};
                });
            });
            return said.substr(0, said.find(" [node "));
        };
        const std::string host = said_by("/cpu:0");
        CHECK_MESSAGE(host.find("place 5 of row 1 is out of range for a last axis of size 5") != std::string::npos,
                      host);
        CHECK(said_by("/gpu:0") == host);
    }
}
