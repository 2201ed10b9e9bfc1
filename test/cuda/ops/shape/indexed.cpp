#include "tests.hpp"
#include "../both_devices.hpp"

using namespace tenon;
using test::difference_of_devices, test::drawn_seed, test::indices_below, test::numbers;

TEST_CASE("what indices along an axis, and tuples, name on a GPU, and what is put there: the host's bits") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : test::number_types) {
        INFO(std::string(name_of(e)));
        for (int round = 0; round < 6; ++round) {
            const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random() % most); };
            const extents sizes(size(4), size(20), size(6));
            const int axis = static_cast<int>(random() % 3), depth = static_cast<int>(random() % 3),
                      batch = static_cast<int>(random() % 2);
            extents along = sizes, tuples, rows;
            along[axis] = size(30);
            for (int d = 0; d < batch; ++d) tuples.push_back(sizes[d]);
            tuples.push_back(size(40));
            rows = tuples;
            tuples.push_back(depth);
            for (int d = batch + depth; d < 3; ++d) rows.push_back(sizes[d]);
            std::int64_t least = 1 << 20;
            for (int d = batch; d < batch + depth; ++d) least = std::min(least, sizes[d].size);
            const any_array x = numbers(e, sizes, random), u = numbers(e, along, random), v = numbers(e, rows, random),
                            i = indices_below<std::int32_t>(sizes[axis].size, along, random),
                            j = indices_below<std::int64_t>(least, tuples, random);
            CHECK(difference_of_devices(1, 0, {&x, &u, &v, &i, &j}, [&](const auto& in) {
                      return std::vector{untyped::take_along_axis(in[0], in[3], axis),
                                         untyped::scatter_along_axis(in[0], in[3], in[1], axis),
                                         untyped::scatter_add_along_axis(in[0], in[3], in[1], axis),
                                         untyped::gather_nd(in[0], in[4], batch),
                                         untyped::scatter_nd(in[0], in[4], in[2], batch),
                                         untyped::scatter_nd_add(in[0], in[4], in[2], batch)};
                  }) == "");
        }
    }
}

TEST_CASE("an index that is out of range on a GPU fails the step in the host's words") {
    std::mt19937_64 random(drawn_seed());
    const any_array x = numbers<float>(extents(2, 3), random), u = numbers<float>(extents(2, 2), random),
                    v = numbers<float>(extents(2), random);
    for (const double wrong : {-1.0, 3.0}) {
        const any_array i =
            test::array_of<std::int32_t>(extents(2, 2), [&](std::int64_t k) { return k == 3 ? wrong : 1.0; });
        const test::build_function all[] = {
            [](const auto& in) { return std::vector{untyped::take_along_axis(in[0], in[1], 1)}; },
            [](const auto& in) { return std::vector{untyped::scatter_along_axis(in[0], in[1], in[2], 1)}; },
            [](const auto& in) { return std::vector{untyped::gather_nd(in[0], in[1])}; },
            [](const auto& in) { return std::vector{untyped::scatter_nd_add(in[0], in[1], in[3])}; }};
        for (const auto& build : all) {
            const auto said = [&](const char* device) {
                const std::string text = message_of<invalid_argument_error>([&] {
                    test::steps_on(device, 1, 0, {&x, &i, &u, &v}, build);
                });
                return text.substr(0, text.find('[', text.find("[1, 1]") + 1));
            };
            CHECK(said("/gpu:0").find("at [1, 1] is out of range for axis 1 of size 3") != std::string::npos);
            CHECK(said("/gpu:0") == said("/cpu:0"));
        }
    }
}
