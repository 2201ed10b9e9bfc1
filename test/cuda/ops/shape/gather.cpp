#include "tests.hpp"
#include "../both_devices.hpp"
#include "ops/untyped_run.hpp"

using namespace tenon;
using test::difference_of_devices, test::drawn_seed, test::indices_below, test::numbers;

TEST_CASE("gather on a GPU gives the host's bits, along any axis, by either type of index") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : test::number_types) {
        INFO(std::string(name_of(e)));
        for (int round = 0; round < 6; ++round) {
            const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random() % most); };
            const extents sizes(size(4), size(30), size(round < 3 ? 40 : 3));
            const int axis = static_cast<int>(random() % 3);
            const any_array x = numbers(e, sizes, random);
            const extents of_indices(size(7), size(90));
            const any_array wide = indices_below<std::int64_t>(sizes[axis].size, of_indices, random);
            const any_array narrow = indices_below<std::int32_t>(sizes[axis].size, of_indices, random);
            CHECK(difference_of_devices(1, 0, {&x, &wide, &narrow}, [&](const auto& in) {
                      return std::vector{untyped::gather(in[0], in[1], axis), untyped::gather(in[0], in[2], axis)};
                  }) == "");
        }
    }
}

TEST_CASE("gather on a GPU of nothing, and of one element by a scalar") {
    std::mt19937_64 random(drawn_seed());
    const any_array x = numbers<float>(extents(5, 3), random), empty = numbers<float>(extents(5, 0), random);
    const any_array none = indices_below<std::int32_t>(1, extents(0), random);
    const any_array one = indices_below<std::int32_t>(3, extents(), random);
    CHECK(difference_of_devices(1, 0, {&x, &empty, &none, &one}, [](const auto& in) {
              return std::vector{untyped::gather(in[0], in[2]), untyped::gather(in[0], in[3], 1),
                                 untyped::gather(in[1], in[3]),
                                 add<gather_gradient_op>({0}, {untyped::gather(in[0], in[2]), in[2], in[0]}),
                                 add<sum_equal_rows_op>({false}, {untyped::gather(in[0], in[2]), in[2]})};
          }) == "");
}

TEST_CASE("what is gathered often gets its gradients added up in the host's order, to its bits") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : test::number_types) {
        INFO(std::string(name_of(e)));
        for (const std::int64_t count : {std::int64_t{3}, std::int64_t{77}, std::int64_t{128}}) {
            const int axis = static_cast<int>(random() % 3);
            const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random() % most); };
            const extents sizes(size(3), size(5), size(6));
            const any_array x = numbers(e, sizes, random);
            extents of_gradient = sizes;
            of_gradient[axis] = count;
            const any_array g = numbers(e, of_gradient, random);
            const any_array wide = indices_below<std::int64_t>(sizes[axis].size, extents(count), random);
            const any_array narrow = indices_below<std::int32_t>(sizes[axis].size, extents(count), random);
            CHECK(difference_of_devices(1, 0, {&x, &g, &wide, &narrow}, [&](const auto& in) {
                      return std::vector{add<gather_gradient_op>({axis}, {in[1], in[2], in[0]}),
                                         add<gather_gradient_op>({axis}, {in[1], in[3], in[0]})};
                  }) == "");
        }
    }
}

TEST_CASE("rows of equal indices are added up to the host's bits, whatever numbers the indices are") {
    std::mt19937_64 random(drawn_seed());
    for (const element_type e : test::floating_types) {
        INFO(std::string(name_of(e)));
        for (const std::int64_t count : {std::int64_t{2}, std::int64_t{300}, std::int64_t{2000}}) {
            const any_array rows = numbers(e, extents(count, 1 + static_cast<std::int64_t>(random() % 9)), random);
            any_array wide = indices_below<std::int64_t>(1 + count / 4, extents(count), random);
            for (std::int64_t i = 0; i < count; i += 11)
                wide.data<std::int64_t>()[i] = (wide.data<std::int64_t>()[i] % 2 ? -1 : 1) * (std::int64_t{1} << 40);
            any_array narrow = indices_below<std::int32_t>(1 + count / 50, extents(count), random);
            for (std::int64_t i = 0; i < count; i += 17) narrow.data<std::int32_t>()[i] = -5;
            CHECK(difference_of_devices(1, 0, {&rows, &wide, &narrow}, [](const auto& in) {
                      std::vector<any_tensor> out;
                      for (const bool once : {false, true}) {
                          out.push_back(add<sum_equal_rows_op>({once}, {in[0], in[1]}));
                          out.push_back(add<sum_equal_rows_op>({once}, {in[0], in[2]}));
                          // Where the rows lie.
                          out.push_back(add<sum_equal_rows_op>({once}, {untyped::multiply(in[0], 2), in[2]}));
                      }
                      return out;
                  }) == "");
        }
    }
}

TEST_CASE("an index out of range fails the step on a GPU as on the host, and the session goes on") {
    std::mt19937_64 random(drawn_seed());
    const auto fail = [](const char* device, const any_array& x, const any_array& indices) {
        const own_graph g;
        const any_tensor table = untyped::placeholder(x.element(), x.extents(), "table");
        const any_tensor at = untyped::placeholder(indices.element(), indices.extents(), "at");
        const auto there = on(device_name(std::string(device)));
        const any_tensor rows = untyped::gather(table, at, 1);
        session s(g);
        const auto run = [&](const any_array& fed) { return s.run_untyped(test::fed(table, x, at, fed), {rows}); };
        const std::string message = message_of<invalid_argument_error>([&] { (void)run(indices); });
        any_array zeros(indices.element(), indices.extents());
        std::memset(zeros.data(), 0, zeros.bytes());
        CHECK_NOTHROW(run(zeros));
        return message.substr(0, message.find(" [node ")); // which names the device
    };
    const any_array x = numbers<float>(extents(3, 9, 2), random);
    for (const std::int64_t count : {1, 40, 70000})
        for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{9}, std::int64_t{1} << 40}) {
            any_array indices = indices_below<std::int64_t>(9, extents(count, 2), random);
            // Several of them: the first is named.
            for (int k = 0; k < 5; ++k)
                indices.data<std::int64_t>()[random() % static_cast<std::uint64_t>(2 * count)] =
                    bad + (bad > 0 ? k : -k);
            const std::string message = fail("/cpu:0", x, indices);
            CHECK(message.find("is out of range for axis 1 of size 9") != std::string::npos);
            CHECK(fail("/gpu:0", x, indices) == message);
        }
    const any_array narrow =
        test::array_of<std::int32_t>(extents(4), [](std::int64_t i) { return i == 2 ? -7.0 : 3.0; });
    CHECK(fail("/gpu:0", x, narrow) == fail("/cpu:0", x, narrow));
    CHECK(fail("/gpu:0", x, narrow).find("index -7 at [2]") != std::string::npos);
}
