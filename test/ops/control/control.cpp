#include <unistd.h>

#include "tests.hpp"

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

// What f writes to standard error.
template <class F> std::string printed_by(F&& f) {
    const temporary_folder folder;
    const std::string path = folder / "stderr";
    std::fflush(stderr);
    const int kept = ::dup(STDERR_FILENO);
    std::FILE* to = std::fopen(path.c_str(), "wb");
    REQUIRE(to);
    ::dup2(::fileno(to), STDERR_FILENO);
    f();
    std::fflush(stderr);
    ::dup2(kept, STDERR_FILENO);
    ::close(kept);
    std::fclose(to);
    return read_bytes(path);
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "placeholder: the value that is fed") {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    tn::session s;
    const tn::array<float> v{{1, 2}, {3, 4}};
    CHECK(s.run(tn::feed(x, v), x) == v);
}

TEST_CASE_FIXTURE(in_graph, "placeholder_with_default: its default unless it is fed, also with other sizes") {
    const auto usual = tn::constant({1.0f, 2.0f});
    const auto x = tn::placeholder_with_default<tn::shape<tn::dyn>>(usual, "x");
    const auto same = tn::placeholder_with_default(usual);
    const auto doubled = x * 2.0f;
    tn::session s;
    CHECK(s.run(doubled)(1) == 4);
    const auto other = s.run(tn::feed(x, tn::array<float>{5, 6, 7}), doubled);
    CHECK(other.size() == 3);
    CHECK(other(2) == 14);
    CHECK(s.run(same)(0) == 1);
    CHECK(message_of<tn::invalid_argument_error>([&] {
              s.run(tn::feed(same, tn::array<float>{5, 6, 7}), same);
          }).starts_with("feed of placeholder_with_default"));
    // An expression may be the default.
    const auto e = tn::placeholder_with_default(usual + 1.0f, "e");
    CHECK(s.run(e)(0) == 2);
}

TEST_CASE_FIXTURE(in_session, "identity and stop_gradient are their input, of every element type") {
    const auto check = [&](auto value) {
        const auto c = tn::constant(value);
        CHECK(s.run(tn::identity(c)).item() == value);
        CHECK(s.run(tn::identity(c, "named")).item() == value);
        CHECK(s.run(tn::stop_gradient(c)).item() == value);
    };
    check(1.5f);
    check(1.5);
    check(tn::half(1.5f));
    check(tn::bfloat16(1.5f));
    check(std::int8_t{-3});
    check(std::uint64_t{1} << 63);
    check(true);
    check(std::string("text"));
}

TEST_CASE_FIXTURE(in_graph, "zeros_like and ones_like have the sizes of their input, whose value is not computed") {
    const auto x = tn::placeholder<std::int32_t, tn::shape<batch, 2>>("x");
    tn::session s;
    const tn::array<std::int32_t> v{{1, 2}, {3, 4}, {5, 6}};
    const auto [zeros, ones] = s.run(tn::feed(x, v), tn::zeros_like(x), tn::ones_like(x));
    CHECK(zeros.extent(0) == 3);
    for (const std::int32_t n : zeros) CHECK(n == 0);
    for (const std::int32_t n : ones) CHECK(n == 1);
    // A failing node is not run for its sizes.
    const tn::operation fails = tn::assert_true(tn::constant(false), "never");
    tn::tensor<std::int32_t, tn::shape<batch, 2>> guarded;
    {
        const tn::control_dependencies after(fails);
        guarded = tn::identity(x);
    }
    CHECK(s.run(tn::feed(x, v), tn::ones_like(guarded)).size() == 6);
    CHECK_THROWS_AS(s.run(tn::feed(x, v), guarded), tn::invalid_argument_error);
    const tn::any_tensor text = tn::constant("text");
    CHECK_ERROR(tn::invalid_argument_error, "element type is not supported: string[]", tn::untyped::zeros_like(text));
}

TEST_CASE_FIXTURE(in_session, "fill_like in every element type") {
    const auto check = [&]<class T>(T) {
        const auto x = tn::placeholder<T, tn::shape<3>>();
        const tn::array<T, tn::shape<3>> v;
        const auto ones = s.run(tn::feed(x, v), tn::ones_like(x));
        for (std::int64_t i = 0; i < 3; ++i) CHECK(ones[i] == static_cast<T>(1));
    };
    check(float{});
    check(double{});
    check(tn::half{});
    check(tn::bfloat16{});
    check(std::int8_t{});
    check(std::int16_t{});
    check(std::int32_t{});
    check(std::int64_t{});
    check(std::uint8_t{});
    check(std::uint16_t{});
    check(std::uint32_t{});
    check(std::uint64_t{});
    check(bool{});
}

TEST_CASE_FIXTURE(in_graph, "a group has any number of members, each of which it runs after once") {
    const auto a = tn::variable("a", tn::constant({0.0f}));
    std::vector<tn::operation> members;
    for (int i = 0; i < 5000; ++i) members.push_back(a.scatter_add(tn::constant({0}), 1.0f).operation());
    members.push_back(members.front());
    const tn::operation all = tn::group(members);
    CHECK(all.node()->controls.size() == 5000);
    tn::session s;
    s.run(a.initializer());
    s.run(all);
    CHECK(s.run(a)(0) == 5000);
}

TEST_CASE_FIXTURE(in_graph, "group: an operation that has run when all its members have; no_op does nothing") {
    const auto a = tn::variable<float, tn::shape<>>("a", tn::zeros());
    const auto b = tn::variable<float, tn::shape<>>("b", tn::zeros());
    const tn::operation both = tn::group(a.assign_add(1.0f), b.assign_add(2.0f), tn::no_op());
    const tn::operation list = tn::group({both, tn::no_op()}, "list");
    CHECK(list.name() == "list");
    CHECK(list.node()->outputs.empty());
    initialized_session s;
    s.run(list);
    const auto [x, y] = s.run(a, b);
    CHECK(x.item() == 1);
    CHECK(y.item() == 2);
    s.run(tn::group()); // of nothing
}

TEST_CASE_FIXTURE(in_graph, "print writes its message and values when it runs, in one piece, and is its first input") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    const auto n = tn::constant(7);
    const auto shown = tn::print(x, "x and n:", n);
    tn::session s;
    tn::array<float, tn::shape<2>> result;
    const std::string text = printed_by([&] { result = s.run(tn::feed(x, tn::array<float>{1.5f, 2.5f}), shown); });
    CHECK(result(1) == 2.5f);
    CHECK(text.starts_with("x and n:"));
    CHECK(contains(text, "1.5"));
    CHECK(contains(text, "7"));
    CHECK(text.back() == '\n');
    CHECK(printed_by([&] { s.run(tn::feed(x, tn::array<float>{1, 2}), x + 1.0f); }).empty()); // not needed, not run
    // Nothing reads it, but something waits for it.
    tn::operation then;
    {
        const tn::control_dependencies after(shown);
        then = tn::no_op();
    }
    CHECK(contains(printed_by([&] { s.run(tn::feed(x, tn::array<float>{8, 9}), then); }), "8"));
}

TEST_CASE("print in a loop, a scan and a branch says each run once, also where gradients compute it again") {
    const tn::graph_scope in{tn::graph()};
    const auto x = tn::placeholder<double, tn::shape<>>("x");
    const auto doubled = tn::while_loop([](const auto& v) { return v < 10.0; },
                                        [](const auto& v) { return tn::sin(tn::print(v, "run")) + v * 2.0; }, x);
    const auto [last, steps] = tn::scan(
        [](const auto& h, const auto& s) {
            const auto next = tn::print(tn::tanh(h * s), "step", h);
            return std::pair(next, next);
        },
        doubled, tn::constant({1.0, 2.0}));
    const auto& sum = last;
    const auto y = tn::cond(
        sum > 0.0, [&] { return tn::print(sum * sum, "above") * sum; }, [&] { return tn::print(sum, "below"); });
    const auto slope = std::get<0>(tn::gradients(y, x));
    tn::session s;
    double value = 0, by_x = 0;
    const std::string text = printed_by([&] {
        const auto [v, d] = s.run(y, slope, tn::feed(x, 2.0));
        value = v.item();
        by_x = d.item();
    });
    const auto count = [&](std::string_view word) {
        int n = 0;
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
        return n;
    };
    CHECK(count("run") == 3); // 2, 4.9 and 8.8
    CHECK(count("step") == 2);
    CHECK(count("above") == 1);
    CHECK(count("below") == 0);
    const auto by_hand = [](double v) {
        while (v < 10) v = std::sin(v) + v * 2;
        const double h = std::tanh(std::tanh(v) * 2);
        return h * h * h;
    };
    CHECK(value == doctest::Approx(by_hand(2)));
    CHECK(by_x == doctest::Approx((by_hand(2 + 1e-6) - by_hand(2 - 1e-6)) / 2e-6).epsilon(1e-4));
}

TEST_CASE("assert_true fails the step with its message, the first bad element and what it was told to show") {
    const tn::graph_scope in{tn::graph()};
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const tn::operation positive = tn::assert_true(x > 0.0f, "x must be positive, but is", x);
    tn::tensor<float, tn::shape<batch>> root;
    {
        const tn::control_dependencies after(positive);
        root = sqrt(x);
    }
    tn::session s;
    CHECK(s.run(tn::feed(x, tn::array<float>{1, 4, 9}), root)(2) == 3);
    const std::string text = message_of<tn::invalid_argument_error>([&] {
        s.run(tn::feed(x, tn::array<float>{1, -4, 9}), root);
    });
    CHECK(text.starts_with("assertion failed at element 1: x must be positive, but is"));
    CHECK(contains(text, "-4"));
    CHECK(contains(text, "[node assert (assert)"));
    CHECK_NOTHROW(s.run(tn::feed(x, tn::array<float>(tn::extents{0})), positive)); // all of nothing is true
    CHECK_NOTHROW(s.run(tn::feed(x, tn::array<float>{1}), positive));
    const tn::any_tensor number = x;
    CHECK_ERROR(tn::invalid_argument_error, "element type must be bool: float[batch]",
                tn::add_node(tn::assert_definition, {number}, tn::encode(tn::assert_op::attributes{"no bool"})));
}

TEST_CASE_FIXTURE(in_graph, "untyped placeholders and identities") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::int64, tn::extents{tn::dynamic_extent, 2}, "x");
    const tn::any_tensor y = tn::untyped::identity(tn::untyped::stop_gradient(x), "y");
    CHECK(to_string(y.type()) == "int64[?, 2]");
    tn::session s;
    tn::array<std::int64_t> v{{1, 2}};
    CHECK(s.run(tn::feed(x, v.untyped().share()), y) == v);
}

TEST_CASE_FIXTURE(in_graph, "no gradient goes through stop_gradient, and a printing tensor has one") {
    // The table of ops has the gradients of what changes no value.
    const auto a = tn::placeholder<double, tn::shape<batch, tn::dyn>>("a");
    const auto slope = std::get<0>(tn::gradients(tn::sum(tn::stop_gradient(a) * tn::print(a, "a")), a));
    tn::session s;
    const tn::array<double> v{{1, 2, 3}, {4, 5, 6}};
    CHECK(!printed_by([&] { CHECK(s.run(tn::feed(a, v.untyped().share()), slope) == v); }).empty());
}
