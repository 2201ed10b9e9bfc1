#include "tests.hpp"
#include "runtime/support.hpp"

// SEMANTICS 16: any tensor can be fed.

using namespace probe;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using bad = tn::invalid_argument_error;
} // namespace

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 16: feeding replaces any tensor's value for the step, and what it was made of does not run") {
    const auto c = tn::constant(1.0f);
    const auto a = watched(c, "a", deed::fail); // fails when it runs
    const auto b = a + 1.0f;
    tn::session s;
    CHECK(s.run(tn::feed(a, 41.0f), b).item() == 42);
    CHECK_THROWS_AS(s.run(b), tn::out_of_range_error);
    CHECK(s.run(tn::feed(c, 7.0f), c * 2.0f).item() == 14); // a constant
    CHECK(s.run(c * 2.0f).item() == 2);                     // the next step has its own value again
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 16: a value that was made ready to be fed serves any number of runs") {
    const auto x = tn::placeholder<float>("x");
    const auto y = x + 1.0f;
    tn::session s;
    const auto fed = tn::feed(x, 41.0f);
    CHECK(s.run(fed, y).item() == 42);
    CHECK(s.run(fed, y).item() == 42);
    CHECK(s.report(fed, y).nodes == 1);
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 16: where a size has a name, an array may say a number: it is what the size is in that step") {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto y = tn::placeholder<float, tn::shape<batch>>("y");
    const auto sums = tn::sum<1>(x) + y;
    tn::session s;
    const tn::array<float, tn::shape<3, 2>> three{{1, 2}, {3, 4}, {5, 6}};
    const auto r = s.run(tn::feed(x, three), tn::feed(y, tn::array<float, tn::shape<batch>>{1, 1, 1}), sums);
    CHECK(r.size() == 3);
    CHECK(r(2) == 12);
    const auto step = s.callable(tn::feeds(x, y), tn::fetches(sums));
    CHECK(std::get<0>(step(three, tn::array<float, tn::shape<3>>{2, 2, 2}))(0) == 5);
    CHECK_ERROR(bad, "batch is 3 in x and 2 in y", step(three, tn::array<float, tn::shape<2>>{2, 2}));
    CHECK(std::get<0>(step(three, tn::array<float, tn::shape<3>>{0, 0, 0}))(1) == 7);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 16: a variable can be fed, which leaves the variable alone") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    tn::session s;
    CHECK(s.run(tn::feed(v, 9.0f), v + 1.0f).item() == 10); // even before it has a value
    s.run(tn::initialize_variables());
    CHECK(s.run(tn::feed(v, 9.0f), v + 1.0f).item() == 10);
    CHECK(s.run(v).item() == 1);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 16: an intermediate that would be fused away can be fed and fetched") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    const tn::tensor<float, tn::shape<2>> h = exp(x);
    const auto y = h * 2.0f;
    tn::session s;
    const tn::array<float> v{3, 4};
    CHECK(s.run(tn::feed(h, v), y)(1) == 8);
    const auto [fed, out] = s.run(tn::feed(h, v), h, y);
    CHECK(fed(0) == 3);
    CHECK(out(0) == 6);
    CHECK(s.run(tn::feed(x, tn::array<float>{0, 0}), h)(0) == 1);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 16: a needed placeholder that is not fed is an error naming it") {
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("images");
    const std::string made = ", made at " __FILE__ ":" + std::to_string(__LINE__ - 1) + "]";
    tn::session s;
    CHECK(message_of<bad>([&] { s.run(exp(x)); }) ==
          "placeholder images of type float[batch, 3] must be fed in this step [node images (placeholder)" + made);
}

TEST_CASE_FIXTURE(in_graph, "a placeholder of which only the sizes matter need not be fed where they are known") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x"), y = tn::placeholder<float, tn::shape<batch>>("y");
    tn::session s;
    // batch is known from y.
    const auto v = s.run(tn::feed(y, tn::array<float>{1, 2, 3}), tn::ones_like(x) + y);
    CHECK(v.size() == 3);
    CHECK(v(2) == 4);
    CHECK_THROWS_AS(s.run(tn::ones_like(x)), bad);
}

TEST_CASE_FIXTURE(
    in_graph, "SEMANTICS 16: a value of the wrong dtype or sizes, known at run time, is an error with both shapes") {
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const std::string line = std::to_string(__LINE__ - 1);
    const tn::any_tensor any = x;
    const auto y = x + 1.0f;
    tn::session s;
    const std::string sizes = message_of<bad>([&] { s.run(tn::feed(x, tn::array<float>{{1, 2}}), y); });
    CHECK(contains(sizes, "feed of x: it is float[batch, 3], the value is float[1, 2]"));
    CHECK(contains(sizes, "not 3 [node x (placeholder), made at " __FILE__ ":" + line + "]"));
    CHECK_ERROR(bad, "feed of x: it is float[batch, 3], the value is float[3]",
                s.run(tn::feed(x, tn::array<float>{1, 2, 3}), y));
    CHECK_ERROR(bad, "feed of x: it is float[batch, 3], the value is double[1, 3]",
                s.run(tn::feed(any, tn::any_array(tn::array<double>{{1, 2, 3}})), y));
    // The callable says the same, also when it has a plan already.
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    step(tn::array<float>{{1, 2, 3}});
    CHECK_ERROR(bad, "feed of x: it is float[batch, 3], the value is float[1, 2]", step(tn::array<float>{{1, 2}}));
    CHECK_ERROR(bad, "feed of x", s.report(tn::feed(x, tn::array<float>{{1, 2}}), y));
}

TEST_CASE_FIXTURE(in_graph, "a row of a const array can be fed") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto y = x + 1.0f;
    tn::session s;
    const tn::array<float, tn::shape<2, 3>> rows{{1, 2, 3}, {4, 5, 6}};
    CHECK(s.run(tn::feed(x, rows.row(1)), y) == tn::array<float>{5, 6, 7});
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    CHECK(std::get<0>(step(rows.row(0))) == tn::array<float>{2, 3, 4});
}

TEST_CASE_FIXTURE(in_graph, "an array that was moved from, or never had a value, cannot be fed") {
    const tn::any_tensor x = tn::placeholder<float>("x");
    tn::session s;
    CHECK_ERROR(bad, "feed of x: it is float[]", s.run(tn::feed(x, tn::any_array()), x));
}

TEST_CASE_FIXTURE(in_graph, "a tensor that is fed twice is an error naming it") {
    const auto x = tn::placeholder<float>("x");
    tn::session s;
    CHECK_ERROR(bad, "x is fed twice [node x (placeholder), made at " __FILE__ ":",
                s.run(tn::feed(x, 1.0f), tn::feed(x, 2.0f), x));
}

TEST_CASE_FIXTURE(in_graph, "a named size has one value in a step; a conflict names both tensors") {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("images");
    const auto y = tn::placeholder<float, tn::shape<batch>>("labels");
    const auto made = [line = __LINE__](int before) {
        return ", made at " __FILE__ ":" + std::to_string(line - before) + "]";
    };
    const auto both = sum(x) + sum(y);
    tn::session s;
    CHECK(
        message_of<bad>([&] {
            s.run(tn::feed(x, tn::array<float>{{1, 2}, {3, 4}}), tn::feed(y, tn::array<float>{1, 2, 3}), both);
        }) ==
        "size batch is 2 in images and 3 in labels; in one step a named size has one value [node images (placeholder)" +
            made(2) + " [node labels (placeholder)" + made(1));
    CHECK(s.run(tn::feed(x, tn::array<float>{{1, 2}, {3, 4}}), tn::feed(y, tn::array<float>{1, 2}), both).item() == 13);
}

TEST_CASE_FIXTURE(in_graph, "a named size is checked within one tensor too") {
    const auto square = tn::placeholder<float, tn::shape<batch, batch>>("square");
    tn::session s;
    const std::string text = message_of<bad>([&] { s.run(tn::feed(square, tn::array<float>{{1, 2}}), square); });
    CHECK(contains(text, "square"));
    CHECK(contains(text, "batch"));
}

TEST_CASE_FIXTURE(in_graph, "what flows into a tensor whose sizes were declared is checked against them, always") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x"), y = tn::placeholder<float, tn::shape<tn::dyn>>("y");
    const auto z = x + y;
    tn::session s;
    CHECK(s.run(tn::feed(x, tn::array<float>{1, 2}), tn::feed(y, tn::array<float>{1}), z)(1) == 3); // broadcast
    const std::string text = message_of<bad>([&] {
        s.run(tn::feed(x, tn::array<float>{1, 2}), tn::feed(y, tn::array<float>{1, 2, 3}), z);
    });
    CHECK(contains(text, "sizes do not broadcast: [2] x [3]"));
    CHECK(contains(text, "in this step's sizes"));
}

TEST_CASE_FIXTURE(in_graph, "sizes of 0 are sizes") {
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    tn::session s;
    const tn::array<float> none(tn::extents{0, 3});
    const auto [y, total] = s.run(tn::feed(x, none), x * 2.0f, sum(x));
    CHECK(y.size() == 0);
    CHECK(total.item() == 0);
}

TEST_CASE_FIXTURE(in_graph, "a fed view need not be aligned") {
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    tn::session s;
    std::vector<float> memory(100);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
    for (std::size_t begin = 0; begin < 17; ++begin) {
        const auto view = tn::array<float>::view(std::span<float>(memory).subspan(begin, 80), tn::extents{80});
        const auto y = s.run(tn::feed(x, view), x + 0.5f);
        for (std::int64_t i = 0; i < 80; ++i) REQUIRE(y[i] == static_cast<float>(begin) + static_cast<float>(i) + 0.5f);
    }
}

TEST_CASE_FIXTURE(in_graph, "strings are fed and fetched") {
    const auto x = tn::placeholder<std::string>("x");
    tn::session s;
    CHECK(s.run(tn::feed(x, std::string("hello")), tn::identity(x, "y")).item() == "hello");
    CHECK(s.run(tn::constant("Hello distributed Tenon!")).item() == "Hello distributed Tenon!");
}

TEST_CASE_FIXTURE(in_graph, "16: a number that is fed is one the element type can hold") {
    const auto small = tn::placeholder<std::uint8_t>("small");
    const auto wide = tn::placeholder<std::uint64_t>("wide");
    const auto real = tn::placeholder<tn::half>("real");
    tn::session s;
    CHECK(s.run(tn::feed(small, 255), small).item() == 255);
    CHECK_ERROR(tn::invalid_argument_error, "256 is not a value of uint8", tn::feed(small, 256));
    CHECK_THROWS_AS(tn::feed(small, -1), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::feed(wide, -1), tn::invalid_argument_error);
    CHECK(s.run(tn::feed(real, 1.5), real).item() == tn::half(1.5f)); // rounded to the type, as in a list
    const auto next = s.callable(tn::feeds(small), tn::fetches(small + std::uint8_t{1}));
    CHECK(std::get<0>(next(7)).item() == 8);
    CHECK_THROWS_AS(next(1000), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "elements in braces are fed as the array that they make") {
    const auto x = tn::placeholder<float, tn::shape<2, tn::dyn>>("x");
    tn::session s;
    const auto sums = s.run(tn::feed(x, {{1, 2, 3}, {4, 5, 6}}), tn::sum<1>(x));
    CHECK(sums(0) == 6);
    CHECK(sums(1) == 15);
    CHECK_THROWS_AS(tn::feed(x, {{1, 2}, {3}}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::feed(x, {1, 2}), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph,
                  "elements in braces are fed to a tensor whose type is known at run time, found by its name too") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {tn::extent::named("batch"), 2}, "x");
    const tn::any_tensor ids = tn::untyped::placeholder(tn::element_type::uint64, 1, "ids");
    const tn::any_tensor rate = tn::untyped::placeholder(tn::element_type::float16, {}, "rate");
    const tn::any_tensor words = tn::untyped::placeholder(tn::element_type::string, {2, 1}, "words");
    const tn::any_tensor sums = tn::untyped::sum(x, 1);
    tn::session s;
    const tn::any_array rows = s.run(tn::feed(g.tensor("x"), {{1, 2}, {3, 4.5}, {5, true}}), sums);
    CHECK(rows.extents() == tn::extents{3});
    CHECK(rows.data<float>()[1] == 7.5f);
    CHECK(rows.data<float>()[2] == 6);
    constexpr std::uint64_t most = ~std::uint64_t{0};
    CHECK(s.run(tn::feed(ids, {most}), ids + 0).data<std::uint64_t>()[0] == most);
    CHECK(s.run(tn::feed(rate, 1.5), rate * 2).data<tn::half>()[0] == tn::half(3.0f));
    CHECK(s.run(tn::feed(words, {{"a"}, {"bc"}}), words).data<std::string>()[1] == "bc");
    const tn::array<float, tn::shape<1, 2>> held{{1, 6}};
    CHECK(s.run(tn::feed(x, held), sums).data<float>()[0] == 7);
    CHECK(s.run(tn::feed(x, tn::any_array::zeros(tn::element_type::float32, {0, 2})), sums).elements() == 0);
}

TEST_CASE_FIXTURE(in_graph, "what in braces does not fit an untyped tensor is refused, with its name and both shapes") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {tn::extent{}, 2}, "x");
    const tn::any_tensor n = tn::untyped::placeholder(tn::element_type::uint8, 2, "n");
    const tn::any_tensor words = tn::untyped::placeholder(tn::element_type::string, 1, "words");
    const auto refused = [](const auto& feed, const char* why) { CHECK_ERROR(bad, why, feed()); };
    refused([&] { tn::feed(x, {{1, 2, 3}}); }, "feed: x: float[1, 3] does not fit float[?, 2]: size 1 is 3, not 2");
    refused([&] { tn::feed(x, {1, 2}); }, "feed: x: float[2] does not fit float[?, 2]");
    refused([&] { tn::feed(x, 1); }, "feed: x: float[] does not fit float[?, 2]");
    refused(
        [&] {
            tn::feed(x, {{1, 2}, {3}});
        },
        "feed: x is float[?, 2], but the nested list is ragged: its first entries make it [2, 2]");
    refused([&] { tn::feed(x, {{1, 2}, 3}); }, "feed: x is float[?, 2], but the nested list is ragged");
    refused([&] { tn::feed(x, {1, {2, 3}}); }, "feed: x is float[?, 2], but the nested list is ragged");
    refused([&] { tn::feed(x, {{{{{{{{{1}}}}}}}}}); }, "nested more than 8 deep");
    refused([&] { tn::feed(n, {1, 300}); }, "feed: n: 300 cannot be an element of type uint8");
    refused([&] { tn::feed(n, {1, -1}); }, "feed: n: -1 cannot be an element of type uint8");
    refused([&] { tn::feed(n, {1, 0.5}); }, "feed: n: 0.5 cannot be an element of type uint8");
    refused([&] { tn::feed(n, {"1", "2"}); }, "feed: n is uint8[2], but \"1\" is given in braces");
    refused([&] { tn::feed(words, {1}); }, "feed: words is string[1], but 1 is given in braces");
    refused([] { tn::feed(tn::any_tensor(), {1}); }, "tensor is empty");
}

TEST_CASE_FIXTURE(in_session, "what a run of one tensor gives can be bound as what a callable gives") {
    auto [value] = s.run(tn::constant(3.0f) * 2.0f);
    CHECK(value.item() == 6);
    value() = 7;
    CHECK(value.item() == 7);
}
