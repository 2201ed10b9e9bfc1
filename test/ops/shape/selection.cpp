#include "ops/waiting.hpp"

// Elements that their values choose: types, rules and kernels, driven by hand. Steps that run them are in
// selection_steps.cpp.

using namespace waiting;
using tn::element_type;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct chosen : tn::dim<"chosen"> {} chosen;

template <class T> tn::any_array of(const tn::extents& sizes, const std::vector<T>& values) {
    return tn::test::array_of(sizes, values);
}
tn::any_array mask_of(const tn::extents& sizes, const std::vector<int>& values) {
    tn::any_array a(element_type::boolean, sizes);
    std::transform(values.begin(), values.end(), a.data<bool>(), [](int i) { return i != 0; });
    return a;
}
template <class T> std::vector<T> values_of(const tn::any_array& a) {
    return {a.data<T>(), a.data<T>() + a.elements()};
}
using list = std::vector<std::int64_t>;

// The outputs of an op that chooses.
std::vector<tn::any_array> select(const tn::any_tensor& t, std::vector<tn::any_array> values) {
    device here;
    started s(t.node(), here, std::move(values));
    REQUIRE(s.done); // at once
    REQUIRE(s.failure.empty());
    CHECK(!s.stop());
    return std::move(s.got());
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "boolean_mask gives the parts of x where the mask is true, in their order") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn, 2>>("x");
    const auto by_row = boolean_mask(x, tn::placeholder<bool, tn::shape<tn::dyn>>());
    const auto by_element = boolean_mask(x, tn::placeholder<bool, tn::shape<tn::dyn, 2>>());
    const tn::any_array six = of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
    const auto rows = [&](const std::vector<int>& mask) {
        return std::move(select(by_row, tuple(six.share(), mask_of({3}, mask)))[0]);
    };
    CHECK(rows({1, 0, 1}) == of<float>({2, 2}, {1, 2, 5, 6}));
    CHECK(rows({1, 1, 1}) == six);
    CHECK(rows({0, 0, 0}) == of<float>({0, 2}, {}));
    const auto elements = select(by_element, tuple(six.share(), mask_of({3, 2}, {0, 1, 1, 1, 0, 1})));
    CHECK(elements[0] == of<float>({4}, {2, 3, 4, 6}));
    CHECK(select(by_row, tuple(of<float>({0, 2}, {}), mask_of({0}, {})))[0] == of<float>({0, 2}, {}));
}

TEST_CASE_FIXTURE(in_graph, "boolean_mask of text, of parts without elements, and of every element type") {
    const auto words =
        boolean_mask(tn::placeholder<std::string, tn::shape<3>>("x"), tn::placeholder<bool, tn::shape<3>>());
    CHECK(values_of<std::string>(select(words, tuple(of<std::string>({3}, {"a", "long enough for the heap", "c"}),
                                                     mask_of({3}, {0, 1, 1})))[0]) ==
          std::vector<std::string>{"long enough for the heap", "c"});
    const auto empty =
        boolean_mask(tn::placeholder<float, tn::shape<3, 0>>("x"), tn::placeholder<bool, tn::shape<3>>());
    CHECK(select(empty, tuple(of<float>({3, 0}, {}), mask_of({3}, {0, 1, 1})))[0].extents() == tn::extents{2, 0});
    const auto bytes =
        boolean_mask(tn::placeholder<std::int8_t, tn::shape<3>>("x"), tn::placeholder<bool, tn::shape<3>>());
    CHECK(select(bytes, tuple(of<std::int8_t>({3}, {1, 2, 3}), mask_of({3}, {0, 1, 1})))[0] ==
          of<std::int8_t>({2}, {2, 3}));
}

TEST_CASE_FIXTURE(in_graph, "nonzero gives the indices of what is not 0, a row for each") {
    const auto where = nonzero(tn::placeholder<float, tn::shape<tn::dyn, 3>>("x"));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(select(where, tuple(of<float>({2, 3}, {0, 5, -0.0f, nan, 0, -1})))[0] ==
          of<std::int64_t>({3, 2}, {0, 1, 1, 0, 1, 2}));
    CHECK(select(where, tuple(of<float>({2, 3}, {0, 0, 0, 0, 0, 0})))[0] == of<std::int64_t>({0, 2}, {}));
    CHECK(select(where, tuple(of<float>({0, 3}, {})))[0] == of<std::int64_t>({0, 2}, {}));
    const auto truths = nonzero(tn::placeholder<bool, tn::shape<4>>("x"));
    CHECK(select(truths, tuple(mask_of({4}, {1, 0, 0, 1})))[0] == of<std::int64_t>({2, 1}, {0, 3}));
    const auto halves = nonzero(tn::placeholder<tn::half, tn::shape<3>>("x"));
    CHECK(select(halves, tuple(of<tn::half>({3}, {tn::half(0.0f), tn::half(1.0f), tn::half(-0.0f)})))[0] ==
          of<std::int64_t>({1, 1}, {1}));
}

TEST_CASE_FIXTURE(in_graph, "arange_to gives as many numbers as a value says, from 0 on") {
    const auto numbers = arange_to<chosen>(tn::placeholder<std::int64_t, tn::shape<>>("n"));
    CHECK(select(numbers, tuple(of<std::int64_t>({}, {4})))[0] == of<std::int64_t>({4}, {0, 1, 2, 3}));
    CHECK(select(numbers, tuple(of<std::int64_t>({}, {0})))[0] == of<std::int64_t>({0}, {}));
    const auto few = arange_to(tn::placeholder<std::int32_t, tn::shape<>>("few"));
    CHECK(select(few, tuple(of<std::int32_t>({}, {2})))[0] == of<std::int64_t>({2}, {0, 1}));
    CHECK_ERROR(tn::invalid_argument_error, "arange_to: there are no -3 numbers",
                select(numbers, tuple(of<std::int64_t>({}, {-3}))));
    CHECK_THROWS_AS(tn::untyped::arange_to(tn::placeholder<std::int64_t, tn::shape<2>>("two")),
                    tn::invalid_argument_error);
}

TEST_CASE("unique gives the different elements as they first occur, and where each element is among them") {
    const own_graph g;
    const auto [values, indices] = unique(tn::placeholder<std::int64_t, tn::shape<tn::dyn>>("x"));
    CHECK(values.node() == indices.node());
    const auto got = select(values, tuple(of<std::int64_t>({9}, {1, 1, 2, 4, 4, 4, 7, 8, 8})));
    CHECK(got[0] == of<std::int64_t>({5}, {1, 2, 4, 7, 8}));
    CHECK(got[1] == of<std::int32_t>({9}, {0, 0, 1, 2, 2, 2, 3, 4, 4}));
    const auto none = select(values, tuple(of<std::int64_t>({0}, {})));
    CHECK(none[0] == of<std::int64_t>({0}, {}));
    CHECK(none[1] == of<std::int32_t>({0}, {}));

    const auto words = std::get<0>(unique<std::int64_t>(tn::placeholder<std::string, tn::shape<4>>("x")));
    const auto text = select(words, tuple(of<std::string>({4}, {"b", "a", "b", ""})));
    CHECK(values_of<std::string>(text[0]) == std::vector<std::string>{"b", "a", ""});
    CHECK(text[1] == of<std::int64_t>({4}, {0, 1, 0, 2}));
    const auto truths =
        select(std::get<0>(unique(tn::placeholder<bool, tn::shape<3>>("x"))), tuple(mask_of({3}, {1, 0, 1})));
    CHECK(truths[0] == mask_of({2}, {1, 0}));
}

TEST_CASE_FIXTURE(in_graph, "unique: -0 is 0, given as what came first; a NaN equals nothing") {
    const auto check = [&]<class T>(const T&) {
        const T nan = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
        const T zero = static_cast<T>(0.0f), minus = static_cast<T>(-0.0f), one = static_cast<T>(1.0f);
        const auto got = select(std::get<0>(unique(tn::placeholder<T, tn::shape<6>>("x"))),
                                tuple(of<T>({6}, {minus, nan, zero, one, nan, one})));
        CHECK(got[1] == of<std::int32_t>({6}, {0, 1, 0, 2, 3, 2}));
        CHECK(got[0].elements() == 4);
        CHECK(std::signbit(static_cast<float>(got[0].template data<T>()[0])));
        CHECK(std::isnan(static_cast<float>(got[0].template data<T>()[3])));
    };
    check(float{});
    check(double{});
    check(tn::half{});
    check(tn::bfloat16{});
}

TEST_CASE_FIXTURE(in_graph, "what the rules refuse, where types are known at run time only") {
    const tn::any_tensor x = tn::placeholder<float, tn::shape<3, 2>>("x"),
                         vector = tn::placeholder<float, tn::shape<3>>("vector");
    const tn::any_tensor mask = tn::placeholder<bool, tn::shape<2>>("mask"), scalar = tn::placeholder<bool>("scalar");
    const tn::any_tensor words = tn::placeholder<std::string, tn::shape<3>>("words");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::untyped::boolean_mask(x, mask); }) ==
          "boolean_mask: sizes differ: [3, 2] x [2] (inputs x mask)");
    CHECK_ERROR(tn::invalid_argument_error, "boolean_mask: element type must be bool: float[3, 2] x float[3]",
                tn::untyped::boolean_mask(x, vector));
    CHECK_THROWS_AS(tn::untyped::boolean_mask(x, scalar), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::boolean_mask(vector, tn::placeholder<bool, tn::shape<3, 2>>()),
                    tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::nonzero(words), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::nonzero(scalar), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::unique(x), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::unique(scalar), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::unique(vector, element_type::float32), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::unique(vector, element_type::int32, {2, 3}), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "sizes that are named, and graphs as text") {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto rows = tn::boolean_mask<chosen>(x, tn::placeholder<bool, tn::shape<batch>>());
    CHECK(tn::to_string(rows.type()) == "float[chosen, 2]");
    CHECK(tn::to_string(tn::nonzero<chosen>(x).type()) == "int64[chosen, 2]");
    const auto [values, indices] = tn::unique<chosen>(tn::placeholder<std::string, tn::shape<batch>>());
    CHECK(tn::to_string(values.type()) == "string[chosen]");
    CHECK(tn::to_string(indices.type()) == "int32[batch]");
    CHECK(tn::to_string(tn::untyped::nonzero(x).type()) == "int64[?, 2]");
    const auto [by] = gradients(sum(square(rows)), x);
    CHECK(tn::to_string(by.type()) == "float[batch, 2]");
    const std::string text = tn::to_json(g);
    CHECK(to_json(tn::graph_from_json(text)) == text);
}

TEST_CASE_FIXTURE(in_graph, "equal choices are one node") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    CHECK(nonzero(x).node() == nonzero(x).node());
    CHECK(nonzero(x).node() != tn::nonzero<chosen>(x).node());
}

TEST_CASE_FIXTURE(in_graph, "the gradient of boolean_mask is zero but where the mask is true") {
    const auto run_gradient = [&](const tn::any_array& gradient, const tn::any_array& mask, const tn::extents& x) {
        const auto given = [&](const tn::any_array& a) { return tn::untyped::placeholder(a.element(), a.extents()); };
        const tn::any_tensor n = tn::add<tn::boolean_mask_gradient_op>(
            {}, {given(gradient), given(mask), tn::untyped::placeholder(gradient.element(), x)});
        device here;
        prepared p(n.node(), here);
        tn::any_array made(gradient.element(), x);
        const void* const in[] = {gradient.data(), mask.data(), nullptr};
        void* out[] = {made.data()};
        p.kernel().run({in, out, nullptr, nullptr});
        return made;
    };
    CHECK(run_gradient(of<float>({2, 2}, {1, 2, 3, 4}), mask_of({3}, {1, 0, 1}), {3, 2}) ==
          of<float>({3, 2}, {1, 2, 0, 0, 3, 4}));
    CHECK(run_gradient(of<double>({3}, {1, 2, 3}), mask_of({2, 2}, {0, 1, 1, 1}), {2, 2}) ==
          of<double>({2, 2}, {0, 1, 2, 3}));
    CHECK(run_gradient(of<float>({0}, {}), mask_of({3}, {0, 0, 0}), {3}) == of<float>({3}, {0, 0, 0}));
    CHECK(run_gradient(of<float>({0, 2}, {}), mask_of({0}, {}), {0, 2}) == of<float>({0, 2}, {}));
    CHECK(message_of<tn::invalid_argument_error>([&] {
              run_gradient(of<float>({1}, {1}), mask_of({3}, {1, 0, 1}), {3});
          }).ends_with("the mask chooses 2 of 3, and the gradient is of 1"));
}
