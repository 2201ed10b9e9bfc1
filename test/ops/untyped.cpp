#include "tests.hpp"
#include "untyped_run.hpp"

// Tensors whose types are known at run time only: what numbers beside them are, and what is refused. test/op_table/twins*.cpp
// compare what is computed.

using namespace tenon;
namespace u = tenon::untyped;
using test::one, test::value;

namespace {

template <class F> std::string refusal(F f) { return message_of<invalid_argument_error>(f); }

} // namespace

TEST_CASE_FIXTURE(in_graph, "numbers in operators and in formulas are exact too") {
    constexpr std::int64_t odd = 9007199254740993; // 2^53 + 1
    const any_tensor x = one<std::int64_t>(odd);
    CHECK(value<std::int64_t>(x - odd) == 0);
    CHECK(value<std::int64_t>(-odd + x) == 0);
    CHECK(value<bool>(x == odd));
    CHECK_FALSE(value<bool>(x == odd - 1));
    CHECK(value<std::int64_t>(u::clip(one<std::int64_t>(0), odd, odd)) == odd);
    CHECK(value<std::int64_t>(u::floor_divide(odd, one<std::int64_t>(1))) == odd);
    CHECK(value<std::int64_t>(u::select(one(true), odd, x)) == odd);
    CHECK(value<std::int64_t>(u::fma(one<std::int64_t>(1), odd, 1)) == odd + 1);
    CHECK_ERROR(invalid_argument_error, "300 cannot be an element of type uint8", one<std::uint8_t>(1) + 300);
    CHECK(contains(refusal([] { 0.5 * one<std::int32_t>(1); }), "0.5 cannot be an element of type int32"));
    CHECK_ERROR(invalid_argument_error, "0.5 cannot be an element of type int32", one<std::int32_t>(1) & 0.5);
    CHECK_ERROR(invalid_argument_error, "-1 cannot be an element of type uint8", u::clip(one<std::uint8_t>(1), -1, 3));
    CHECK_ERROR(invalid_argument_error, "int64[1] x float[1]", x + one(1.0f));
    CHECK_ERROR(invalid_argument_error, "[2] x [3]",
                u::placeholder(element_type::int64, 2) + u::placeholder(element_type::int64, 3));
    CHECK_ERROR(invalid_argument_error, "fma: one of the operands must be a tensor", u::fma(1, 2, 3));
    CHECK_ERROR(invalid_argument_error, "select: one of the operands must be a tensor", u::select(one(true), 1, 2));
}

TEST_CASE("a tensor is no condition") {
    static_assert(!std::is_constructible_v<bool, any_tensor>);
    static_assert(!std::is_constructible_v<bool, tensor<bool, shape<>>>);
    CHECK(any_tensor().node() == nullptr);
}

TEST_CASE_FIXTURE(in_graph, "sizes, axes and counts of untyped functions that cannot be are refused") {
    const any_tensor x = u::placeholder(element_type::float32, {2, 3});
    constexpr element_type f = element_type::float32, n = element_type::int8;
    CHECK_ERROR(invalid_argument_error, "flatten: the first dimension to be joined is one of 0 to 7",
                u::flatten(x, -1));
    CHECK_ERROR(invalid_argument_error, "reshape: ", u::flatten(x, 3));
    CHECK_ERROR(invalid_argument_error, "transpose: ", u::swapaxes(x, 0, 2));
    CHECK_ERROR(invalid_argument_error, "transpose: ", u::moveaxis(x, 2, 0));
    CHECK_ERROR(invalid_argument_error, "concat: axis is out of range: [2, 3], axis 2", u::roll(x, 1, 2));
    CHECK_ERROR(invalid_argument_error, "repeat: the count is at least 1, not 0", u::repeat(x, 0));
    CHECK_ERROR(invalid_argument_error, "concat: axis is out of range", u::repeat(x, 2, -3));
    CHECK_ERROR(invalid_argument_error, "this one has 9", u::sum(x, std::vector<int>(9, 0)));
    CHECK_ERROR(invalid_argument_error, "global_average_pool: ", u::global_average_pool(x));
    CHECK_ERROR(invalid_argument_error, "sigmoid_cross_entropy: ", u::sigmoid_cross_entropy(x, u::transpose(x)));
    CHECK_ERROR(invalid_argument_error, "float[2, 3] and does not have the sizes [2, 4]",
                u::placeholder_with_default(x, extents{2, 4}));
    CHECK_ERROR(invalid_argument_error, "full: the sizes must be numbers", u::full(f, {2, extent{}}, 1));
    CHECK_ERROR(invalid_argument_error, "full: 128 cannot be an element of type int8", u::full(n, 2, 128));
    CHECK_ERROR(invalid_argument_error, "full: string is no type of numbers", u::zeros(element_type::string, 2));
    CHECK_ERROR(invalid_argument_error, "eye: the sizes must be numbers", u::eye(f, -1));
    CHECK_ERROR(invalid_argument_error, "2^62 bytes", u::eye(f, std::int64_t{1} << 40, std::int64_t{1} << 40));
    CHECK_ERROR(invalid_argument_error, "arange: 126 and 2 steps of 1 is no number of type int8", u::arange(n, 3, 126));
    CHECK_ERROR(invalid_argument_error, "arange: step: 0.5 cannot be an element of type int64",
                u::arange(n, 3, 0, 0.5));
    CHECK_ERROR(invalid_argument_error, "linspace: one or more numbers of a floating type", u::linspace(n, 3, 0, 1));
    CHECK_ERROR(invalid_argument_error, "linspace: one or more numbers of a floating type", u::linspace(f, 0, 0, 1));
    CHECK_ERROR(invalid_argument_error, "random_integers: ", u::random_integers_like(x, 3, 3));
    CHECK_ERROR(invalid_argument_error, "assign_add: placeholder is no variable but a placeholder",
                u::assign_add(x, 1));
    CHECK_ERROR(invalid_argument_error, "is no variable", u::scatter_add(x, u::arange(element_type::int32, 2), 1));
    CHECK_ERROR(invalid_argument_error, "variable: ", u::variable("v", {f, {extent{}}}, zeros()));
    CHECK_ERROR(invalid_argument_error, "assert: ", u::assert_true(x, "why"));
}

TEST_CASE("an untyped variable begins, is updated and scattered to as a typed one, by tensors and by numbers") {
    const graph_scope scope{graph()};
    const any_tensor v = u::variable("v", {element_type::int64, {3}}, constant_value(7));
    const any_tensor w = u::variable("w", u::arange(element_type::int64, 3));
    session s;
    s.run(u::initialize_variables({v, w}));
    const auto value = [&](const any_tensor& t) {
        const any_array a = s.run(t);
        return std::vector<std::int64_t>(a.data<std::int64_t>(), a.data<std::int64_t>() + 3);
    };
    using values = std::vector<std::int64_t>;
    CHECK(value(u::assign_add(v, w)) == values{7, 8, 9});
    constexpr std::int64_t odd = 9007199254740993; // 2^53 + 1
    CHECK(value(u::assign_add(v, odd)) == values{odd + 7, odd + 8, odd + 9});
    CHECK(value(u::assign_sub(v, odd)) == values{7, 8, 9});
    CHECK(value(u::assign(v, w + 1)) == values{1, 2, 3});
    const any_tensor ids = constant({2, 0});
    CHECK(value(u::scatter_update(v, ids, 5)) == values{5, 2, 5});
    CHECK(value(u::scatter_max(v, ids, constant({std::int64_t{9}, std::int64_t{1}}))) == values{5, 2, 9});
    CHECK(value(v) == values{5, 2, 9});
    CHECK_THROWS_AS(u::assign(v, 0.5), invalid_argument_error);
    CHECK_THROWS_AS(u::assign(v, 1), invalid_argument_error); // a number is a scalar
}
