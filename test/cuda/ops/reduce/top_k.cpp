#include "tests.hpp"
#include "../both_devices.hpp"

using namespace tenon;
using test::difference_of_devices, test::drawn_seed;

TEST_CASE("top_k on a GPU: the host's values and places, of few and of many, with equal elements and NaNs") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : test::number_types) {
        INFO(std::string(name_of(e)));
        for (const std::int64_t k : {1, 3, 16, 17, 40}) {
            const std::int64_t n = k + static_cast<std::int64_t>(random() % 300);
            INFO(k, " of ", n);
            const any_array x = test::array_of(e, extents(3, n), [&](std::int64_t) {
                const double special[] = {std::nan(""), INFINITY, -INFINITY};
                if (is_floating(e) && random() % 6 == 0) return special[random() % 3];
                return static_cast<double>(random() % 50) - (is_floating(e) || is_signed_integer(e) ? 25 : 0);
            });
            CHECK(difference_of_devices(1, 0, {&x}, [&](const auto& in) { return untyped::top_k(in[0], k); }) == "");
            CHECK(difference_of_devices(1, 0, {&x}, [&](const auto& in) { // each alone
                      return std::vector{untyped::top_k(in[0], k)[0]};
                  }) == "");
            CHECK(difference_of_devices(
                      1, 0, {&x}, [&](const auto& in) { return std::vector{untyped::top_k(in[0], k)[1]}; }) == "");
        }
    }
}

TEST_CASE("put_places on a GPU adds values of equal places in their order: the host's bits") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : {element_type::float32, element_type::float64, element_type::float16,
                                 element_type::int8, element_type::uint64}) {
        INFO(std::string(name_of(e)));
        for (int round = 0; round < 4; ++round) {
            const auto n = static_cast<std::int64_t>(1 + random() % 9),
                       count = static_cast<std::int64_t>(random() % 30);
            const any_array values = test::numbers(e, extents(3, count), random),
                            like = test::numbers(e, extents(3, n), random);
            const any_array places = test::indices_below<std::int32_t>(n, extents(3, count), random);
            CHECK(difference_of_devices(1, 0, {&values, &places, &like}, [](const auto& in) {
                      return std::vector{tenon::add<put_places_op>({}, {in[0], in[1], in[2]}),
                                         tenon::add<take_places_op>({}, {in[2], in[1]})};
                  }) == "");
        }
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
