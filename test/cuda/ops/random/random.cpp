#include "tests.hpp"
#include "../both_devices.hpp"

using namespace tenon;
using test::difference_of_devices, test::drawn_seed, test::numbers;

namespace {

constexpr int steps = 3;

// Sizes that are no multiples of what a thread makes, and those that are.
std::vector<std::int64_t> sizes(std::mt19937_64& random) {
    return {0, 1, 2, 3, 4, 5, 64, 255, 1024, 1025, static_cast<std::int64_t>(2000 + random() % 3000)};
}

} // namespace

TEST_CASE("SEMANTICS 21: floating random numbers on a GPU are the host's to the bit, in every step") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e :
         {element_type::float32, element_type::float64, element_type::float16, element_type::bfloat16})
        for (const std::int64_t n : sizes(random)) {
            const double low = static_cast<double>(random() % 1000) / 64 - 8,
                         width = 0.5 + static_cast<double>(random() % 64);
            const std::uint64_t seed = random();
            INFO(std::string(name_of(e)), ", ", n, " numbers");
            CHECK(difference_of_devices(steps, random(), {}, [&](const auto&) {
                      return std::vector{untyped::random_uniform(e, extents(n), low, low + width, seed),
                                         untyped::random_uniform(e, extents(n), 0, 1),
                                         untyped::random_normal(e, extents(n), low, width, seed),
                                         untyped::random_normal(e, extents(n)),
                                         untyped::truncated_normal(e, extents(n), low, width, seed),
                                         untyped::truncated_normal(e, extents(n))};
                  }) == "");
        }
}

TEST_CASE("SEMANTICS 21: even numbers up to a zero, or of little width, are the host's too") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e :
         {element_type::float32, element_type::float64, element_type::float16, element_type::bfloat16})
        CHECK(difference_of_devices(steps, random(), {}, [&](const auto&) {
                  return std::vector{untyped::random_uniform(e, extents(3000), -1, 0),
                                     untyped::random_uniform(e, extents(3000), 1, 1.0625),
                                     untyped::random_uniform(e, extents(3000), -3, -2)};
              }) == "");
}

TEST_CASE("SEMANTICS 21: a part of random numbers begins anywhere in them, on a GPU as on the host") {
    std::mt19937_64 random(drawn_seed());
    using distribution = random_part_op::distribution;
    for (const element_type e :
         {element_type::float32, element_type::float64, element_type::float16, element_type::bfloat16})
        for (const distribution kind : {distribution::uniform, distribution::normal, distribution::truncated_normal})
            for (int round = 0; round < 5; ++round) {
                const auto n = static_cast<std::int64_t>(random() % 700);
                const auto first = round == 0
                                       ? std::numeric_limits<std::int64_t>::max() - n
                                       : static_cast<std::int64_t>(random() % (round < 3 ? 9 : std::uint64_t{1} << 40));
                INFO(std::string(name_of(e)), ", ", n, " numbers from ", first, " on");
                CHECK(
                    difference_of_devices(steps, random(), {}, [&](const auto&) {
                        return std::vector{add<random_part_op>({e, extents(n), kind, 0.25, 3, 11, first, "whole"}, {})};
                    }) == "");
            }
}

TEST_CASE("SEMANTICS 21: random integers and truth values on a GPU are the host's") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : {element_type::int8, element_type::int16, element_type::int32, element_type::int64,
                                 element_type::uint8, element_type::uint16, element_type::uint32, element_type::uint64})
        for (const std::int64_t n : sizes(random)) {
            const std::int64_t most = size_of(e) < 8 ? std::int64_t{1} << (8 * size_of(e) - 1) : std::int64_t{1} << 62;
            const std::int64_t low = is_signed_integer(e) ? -most + static_cast<std::int64_t>(random() % 7) : 3;
            INFO(std::string(name_of(e)), ", ", n, " numbers");
            CHECK(difference_of_devices(steps, random(), {}, [&](const auto&) {
                      return std::vector{untyped::random_integers(e, extents(n), low, most - 2),
                                         untyped::random_integers(e, extents(n), 1, 7, 5)};
                  }) == "");
        }
    const any_array yes = numbers<bool>(extents(), random), x = numbers<float>(extents(123), random);
    for (const double p : {0.0, 0.3, 0.9999999, 1.0})
        for (const std::int64_t n : sizes(random))
            CHECK(difference_of_devices(steps, random(), {&yes}, [&](const auto& in) {
                      return std::vector{
                          untyped::random_bernoulli(extents(n), p),
                          add<random_bernoulli_op>(
                              {p, 9, {}}, {untyped::random_uniform(element_type::float32, extents(n)), in[0]})};
                  }) == "");
}

TEST_CASE(
    "SEMANTICS 21: permutations and shuffles on a GPU are the host's, though that one's are made one after another") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : {element_type::float32, element_type::float64, element_type::float16,
                                 element_type::int8, element_type::int64, element_type::boolean}) {
        INFO(std::string(name_of(e)));
        for (const std::int64_t n :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{50}, std::int64_t{257},
              static_cast<std::int64_t>(2000 + random() % 2000)}) {
            const any_array x = numbers(e, extents(n, 1 + static_cast<std::int64_t>(random() % 5)), random);
            INFO(n);
            CHECK(difference_of_devices(steps, random(), {&x}, [&](const auto& in) {
                      return std::vector{untyped::random_permutation(element_type::int32, n),
                                         untyped::random_permutation(element_type::int64, n, 4),
                                         untyped::random_permutation_like(in[0]), untyped::random_shuffle(in[0]),
                                         untyped::random_shuffle(in[0], 12)};
                  }) == "");
        }
    }
}

TEST_CASE("dropout on a GPU keeps what it keeps on the host") {
    std::mt19937_64 random(drawn_seed());
    const any_array x = numbers<float>(extents(37, 21), random);
    for (const bool training : {false, true}) {
        const any_array flag = test::array_of<bool>(extents(), [&](std::int64_t) { return training ? 1.0 : 0.0; });
        CHECK(difference_of_devices(steps, random(), {&x, &flag}, [](const auto& in) {
                  return std::vector{untyped::dropout(in[0], 0.4), untyped::dropout(in[0], 0.4, in[1], 3)};
              }) == "");
    }
}
