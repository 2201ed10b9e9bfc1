#include "tests.hpp"
#include "../untyped_run.hpp"

// Sizes, axes, steps and numbers at their limits: refused with the rule's words, never wrapped.

using namespace tenon;
namespace u = tenon::untyped;
using test::one, test::value;

namespace {

constexpr std::int64_t big = std::int64_t{1} << 61;

template <class F> std::string refusal(F f) { return message_of<invalid_argument_error>(f); }
any_tensor bytes(const extents& e) { return u::placeholder(element_type::uint8, e); }

any_array counting(const extents& e) {
    any_array a(element_type::float32, e);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.data<float>()[i] = static_cast<float>(i + 1);
    return a;
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "sizes whose sum or product overflows are refused in the words that the compiler says") {
    CHECK_ERROR(invalid_argument_error,
                "concat: the result would take more than 2^62 bytes: [2305843009213693953] x [2305843009213693952]",
                u::concat({bytes({big + 1}), bytes({big})}, 0));
    CHECK_ERROR(invalid_argument_error, "split: the result would take more than 2^62 bytes: [4]",
                u::split_sizes(bytes({4}), {2 * big, 2 * big, 2 * big, 2 * big - 4, 8}));
    CHECK_ERROR(invalid_argument_error, "split_like: the result would take more than 2^62 bytes",
                u::split_like(bytes({4}),
                              {bytes({2 * big}), bytes({2 * big}), bytes({2 * big}), bytes({2 * big}), bytes({4})}, 0));
    CHECK_ERROR(invalid_argument_error, "tile: the result would take more than 2^62 bytes", u::tile(bytes({8}), {big}));
    CHECK_ERROR(invalid_argument_error, "pad: the result would take", u::pad(bytes({8}), {{2 * big, 2 * big}}));
    CHECK_ERROR(invalid_argument_error, "broadcast_to: the result would take",
                u::broadcast_to(bytes({1}), {2 * big, 4}));
    CHECK_ERROR(invalid_argument_error, "stack: the result would take", u::stack({bytes({big + 1}), bytes({big + 1})}));
    CHECK_ERROR(invalid_argument_error, "placeholder: the result would take more than 2^62 bytes",
                bytes({2 * big, 0, 4}));
    CHECK_ERROR(invalid_argument_error, "conv2d: the result would take",
                u::conv2d(u::placeholder(element_type::float32, {std::int64_t{1} << 31, 1, 1, 1}),
                          u::placeholder(element_type::float32, {1, 1, 1, 1 << 30})));
}

TEST_CASE("sizes of a file that overflow are refused") {
    const auto split = [](const char* sizes) {
        return std::string(R"({"format": "tenon graph", "version": 1, "seed": 0, "nodes": [
            {"name":"x","op":"placeholder","attributes":{"element":{"element":"uint8"},"shape":{"shape":[4]}}},
            {"name":"s","op":"split","inputs":["x"],"attributes":{"axis":0,"parts":0,"sizes":)") +
               sizes + "}}], \"collections\": {}}";
    };
    CHECK(graph_from_json(split("[1, 3]")).size() == 2);
    CHECK_ERROR(invalid_argument_error, "split: the result would take more than 2^62 bytes",
                graph_from_json(split("[4611686018427387904,4611686018427387904,4611686018427387904,"
                                      "4611684918915760128,8,1099511627772]")));
    CHECK_ERROR(invalid_argument_error, "at most 8", graph_from_json(split("[0,0,0,0,0,0,0,4,0]")));
}

TEST_CASE_FIXTURE(in_graph, "a ninth dimension, axis or count is refused, and the limit is named") {
    const any_tensor x = bytes({2});
    extents nine;
    for (int i = 0; i < 9; ++i) nine.push_back(i == 0 ? 2 : 1);
    index_list list(1, 2, 3, 4, 5, 6, 7, 8);
    CHECK_ERROR(invalid_argument_error, "has at most 8 numbers", list.push_back(9));
    CHECK(list.count == 8);
    const std::string words = "a tensor has at most 8 dimensions: ";
    CHECK_ERROR(invalid_argument_error, "reshape: " + words + "[2] x [2, 1, 1, 1, 1, 1, 1, 1, ...]",
                u::reshape(x, nine));
    CHECK_ERROR(invalid_argument_error, "broadcast_to: " + words, u::broadcast_to(x, nine));
    CHECK_ERROR(invalid_argument_error, "placeholder: " + words, bytes(nine));
    CHECK_ERROR(invalid_argument_error, "more than 8 dimensions", any_array(element_type::float32, nine));
    const any_tensor eight = bytes({1, 1, 1, 1, 1, 1, 1, 1});
    CHECK_ERROR(invalid_argument_error, "expand_dims: " + words, u::expand_dims(eight, {0}));
    CHECK_ERROR(invalid_argument_error, "stack: " + words, u::stack({eight, eight}));
    CHECK_ERROR(invalid_argument_error, "one_hot: " + words,
                u::one_hot(u::placeholder(element_type::int32, eight.extents()), 3));
    CHECK_ERROR(invalid_argument_error, "more than 8 sizes",
                graph_from_json(R"({"format": "tenon graph", "version": 1, "seed": 0, "nodes": [
            {"name":"x","op":"placeholder","attributes":{"element":{"element":"uint8"},
             "shape":{"shape":[1,1,1,1,1,1,1,1,1]}}}], "collections": {}})"));
}

TEST_CASE("a slice's step may be as large as 64 bits: one element is taken, and its gradient goes there") {
    const graph_scope scope{graph()};
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const any_array a = counting({4, 3});
    for (const std::int64_t step : {std::int64_t{1} << 40, std::int64_t{1} << 62, most, most - 1}) {
        for (const std::int64_t sign : {1, -1}) {
            const any_tensor x = test::unknown_placeholder(a);
            const any_tensor y =
                u::slice(x, {range{unbounded, unbounded, sign * step}, range{unbounded, unbounded, sign * step}});
            const any_array r = test::run(y, x, a);
            REQUIRE(r.elements() == 1);
            CHECK(r.data<float>()[0] == (sign > 0 ? 1 : 12));
            const any_array d = test::run(gradients(u::sum(u::multiply(y, 7)), {x})[0], x, a);
            for (std::int64_t i = 0; i < 12; ++i) CHECK(d.data<float>()[i] == ((sign > 0 ? i == 0 : i == 11) ? 7 : 0));
        }
    }
    // Limits as far as 64 bits from the end.
    const auto refused = [&](const range& r) {
        return contains(refusal([&] { u::slice(u::placeholder(element_type::float32, {4}), {r}); }),
                        "slice is out of range");
    };
    CHECK(refused({most, most, 1}));
    CHECK(refused({unbounded + 1, unbounded + 2, 1}));
    CHECK(refused({most, unbounded + 1, -1}));
    CHECK(refused({0, 1, unbounded}));
    CHECK(refused({0, 1, 0}));
}

TEST_CASE_FIXTURE(in_graph, "convolutions of images without rows, channels or a batch") {
    const auto x_of = [](const extents& e) { return test::unknown_placeholder(any_array(element_type::float32, e)); };
    const any_tensor w = u::constant(counting({3, 3, 2, 2}));
    struct one_case {
        extents image, result;
        conv2d_options how;
    };
    // "same" gives as many rows as there are, divided by the stride; rows of zeros around nothing are summed over.
    for (const auto& [image, result, how] : {one_case{{2, 0, 4, 2}, {2, 0, 4, 2}, {.padding = same}},
                                             one_case{{2, 0, 4, 2}, {2, 0, 2, 2}, {.stride = 2, .padding = same}},
                                             one_case{{2, 0, 4, 2}, {2, 0, 1, 2}, {.stride = 5, .padding = same}},
                                             one_case{{0, 4, 4, 2}, {0, 2, 2, 2}, {}},
                                             one_case{{1, 0, 3, 2}, {1, 2, 1, 2}, {.padding = tenon::pad(2, 0)}}}) {
        const any_tensor x = x_of(image);
        const any_tensor y = u::conv2d(x, w, how);
        const any_array v(element_type::float32, image);
        const any_array r = test::run(y, x, v);
        CHECK(r.extents() == result);
        for (std::int64_t i = 0; i < r.elements(); ++i) CHECK(r.data<float>()[i] == 0);
        const auto d = gradients(u::sum(y), {x, w});
        CHECK(test::run(d[0], x, v).extents() == image);
        const any_array dw = test::run(d[1], x, v);
        for (std::int64_t i = 0; i < dw.elements(); ++i) CHECK(dw.data<float>()[i] == 0);
    }
    const auto why = [&](const any_tensor& t, const any_tensor& x, const extents& e) {
        return refusal([&] { test::run(t, x, any_array(element_type::float32, e)); });
    };
    const any_tensor x = x_of({1, 1, 1, 2});
    CHECK(contains(why(u::conv2d(x, w), x, {1, 0, 4, 2}), "conv2d: window is larger than the padded input"));
    // No image has no windows: nothing says how large the result would be.
    CHECK(contains(why(u::conv2d_transpose(x, w), x, {1, 0, 4, 2}),
                   "conv2d_transpose: an image has no rows or no columns: "));
    CHECK(contains(why(u::conv2d_transpose(x, w), x, {1, 4, 0, 2}),
                   "conv2d_transpose: an image has no rows or no columns: "));
    for (const conv2d_options& how : {conv2d_options{.padding = same}, conv2d_options{.stride = 3, .padding = same}}) {
        const any_tensor y = u::conv2d_transpose(x, w, how);
        const any_array v(element_type::float32, {2, 0, 4, 2});
        CHECK(test::run(y, x, v).extents() == extents{2, 0, 4 * how.stride.width, 2});
        CHECK(test::run(gradients(u::sum(y), {x})[0], x, v).extents() == v.extents());
    }
    const any_array none(element_type::float32, {0, 4, 4, 2});
    CHECK(test::run(u::conv2d_transpose(x, w), x, none).extents() == extents{0, 6, 6, 2});
}

TEST_CASE_FIXTURE(in_graph, "pools of images without rows, channels or a batch") {
    const auto check = [](const extents& image, const pool2d_options& how, const extents& result) {
        const any_array v(element_type::float32, image);
        for (const bool average : {false, true}) {
            const any_tensor x = test::unknown_placeholder(v);
            const any_tensor y = average ? u::average_pool2d(x, how) : u::max_pool2d(x, how);
            CHECK(test::run(y, x, v).extents() == result);
            CHECK(test::run(gradients(u::sum(y), {x})[0], x, v).extents() == image);
        }
    };
    check({2, 0, 4, 3}, {.window = 2, .padding = same}, {2, 0, 2, 3});
    check({2, 0, 4, 3}, {.window = 2, .stride = 5, .padding = same}, {2, 0, 1, 3});
    check({0, 4, 4, 3}, {.window = 2}, {0, 2, 2, 3});
    check({1, 4, 4, 0}, {.window = 2}, {1, 2, 2, 0});
    const any_tensor x = test::unknown_placeholder(counting({1, 1, 1, 1}));
    const any_array empty(element_type::float32, {1, 0, 4, 1});
    CHECK_ERROR(invalid_argument_error, "max_pool2d: window is larger than the padded input",
                test::run(u::max_pool2d(x, {.window = 2}), x, empty));
    // A window would see nothing but padding.
    CHECK_ERROR(invalid_argument_error, "average_pool2d: an image has no rows or no columns",
                test::run(u::average_pool2d(x, {.window = 3, .padding = tenon::pad(2)}), x, empty));
}

TEST_CASE_FIXTURE(in_graph, "numbers beside tensors of integers are exact") {
    constexpr std::int64_t odd = 9007199254740993; // 2^53 + 1
    constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    CHECK(value<std::int64_t>(u::add(one<std::int64_t>(0), odd)) == odd);
    CHECK(value<std::int64_t>(u::subtract(-odd, one<std::int64_t>(0))) == -odd);
    CHECK(value<std::uint64_t>(u::add(one<std::uint64_t>(0), all)) == all);
    CHECK(value<std::uint64_t>(u::maximum(one<std::uint64_t>(0), all - 1)) == all - 1);
    CHECK(value<bool>(u::equal(one<std::int64_t>(odd), odd)));
    CHECK_FALSE(value<bool>(u::equal(one<std::int64_t>(odd), odd - 1)));
    CHECK(value<std::int8_t>(u::add(one<std::int8_t>(0), -128.0)) == -128);
    CHECK(value<bool>(u::logical_and(one(true), true)));
    CHECK(value<float>(u::multiply(one(10.0f), 0.5)) == 5);
    CHECK(value<std::int64_t>(u::slice(u::pad(one<std::int64_t>(1), {{1, 0}}, odd), {range{0, 1}})) == odd);
    CHECK(value<std::uint64_t>(u::pad(one<std::uint64_t>(1), {{1, 0}}, all)) == all);
    CHECK(value<half>(u::pad(one(half(1.0f)), {{1, 0}}, 0.5)) == half(0.5f));
}

TEST_CASE_FIXTURE(in_graph, "numbers beside tensors that do not hold them are refused") {
    CHECK_ERROR(invalid_argument_error, "300 cannot be an element of type uint8", u::add(one<std::uint8_t>(1), 300));
    CHECK_ERROR(invalid_argument_error, "-1 cannot be an element of type uint8", u::subtract(-1, one<std::uint8_t>(1)));
    CHECK_ERROR(invalid_argument_error, "0.5 cannot be an element of type int32",
                u::multiply(one<std::int32_t>(10), 0.5));
    CHECK_ERROR(invalid_argument_error, "3000000000 cannot be an element of type int32",
                u::add(one<std::int32_t>(10), 3e9));
    CHECK_ERROR(invalid_argument_error, "2 cannot be an element of type bool", u::logical_or(one(true), 2));
    CHECK_ERROR(invalid_argument_error, "pad: elements of this type cannot hold the number: uint8[1], 300",
                u::pad(one<std::uint8_t>(1), {{0, 1}}, 300));
    CHECK_ERROR(invalid_argument_error, "int32[1], 0.5", u::pad(one<std::int32_t>(1), {{0, 1}}, 0.5));
    const auto x = placeholder<std::int32_t, shape<2>>("x");
    CHECK_ERROR(invalid_argument_error, "int32[2], 0.5", tenon::pad<margin{1, 1}>(x, 0.5));
}

TEST_CASE_FIXTURE(in_graph, "arange of integers is exact, or refused") {
    constexpr std::int64_t odd = 9007199254740993;
    session s;
    CHECK(s.run(arange<std::int64_t, 3>(odd, odd - 1))(1) == 2 * odd - 1);
    CHECK(s.run(arange<std::uint64_t, 2>(std::numeric_limits<std::uint64_t>::max(), -1))(1) ==
          std::numeric_limits<std::uint64_t>::max() - 1);
    CHECK(s.run(arange<std::int8_t, 3>(126, -127))(2) == -128);
    CHECK_ERROR(invalid_argument_error, "arange: 126 and 2 steps of 1 is no number of type int8",
                arange<std::int8_t, 3>(126));
    CHECK_ERROR(invalid_argument_error, "arange: step: 0.5 cannot be an element", arange<std::int32_t, 3>(0, 0.5));
}

TEST_CASE_FIXTURE(in_graph, "numbers are the same in a file and back") {
    constexpr std::int64_t odd = 9007199254740993;
    constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    u::identity(u::add(one<std::int64_t>(0), odd), "a");
    u::identity(u::add(one<std::uint64_t>(0), all), "b");
    u::identity(u::pad(one<std::int64_t>(1), {{1, 0}}, -odd), "c");
    u::identity(u::pad(one<std::uint64_t>(1), {{1, 0}}, all), "d");
    u::identity(u::pad(one(1.0f), {{1, 0}}, -0.0), "e");
    const std::string text = to_json(g);
    const graph back = graph_from_json(text);
    CHECK(to_json(back) == text);
    const graph_scope read(back);
    CHECK(value<std::int64_t>(back.tensor("a")) == odd);
    CHECK(value<std::uint64_t>(back.tensor("b")) == all);
    CHECK(value<std::int64_t>(back.tensor("c")) == -odd);
    CHECK(value<std::uint64_t>(back.tensor("d")) == all);
    CHECK(std::signbit(value<float>(back.tensor("e"))));

    const auto literal = [](const char* type, const char* number) {
        return std::string(R"({"format": "tenon graph", "version": 1, "nodes": [{"name": "y", "op": "fused",
            "attributes": {"tape": {"tape": {"inputs": [], "code": [["literal", ")") +
               type + "\", " + number + "]], \"outputs\": [[\"" + type +
               R"(", 0]]}}, "constants": [], "merge": []}}]})";
    };
    CHECK(value<std::int64_t>(graph_from_json(literal("int64", "9007199254740993")).tensor("y")) == odd);
    CHECK(value<std::int32_t>(graph_from_json(literal("int32", "3.0")).tensor("y")) == 3);
    CHECK_ERROR(invalid_argument_error, "a literal of type uint8 cannot be 300",
                graph_from_json(literal("uint8", "300")));
    CHECK_ERROR(invalid_argument_error, "a literal of type int32 cannot be 0.5",
                graph_from_json(literal("int32", "0.5")));
}
