#include <doctest/doctest.h>

#include <tenon/core/error.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/state.hpp>
#include <tenon/runtime/session.hpp>

// The untyped escape, and the checked way back.

namespace tn = tenon;

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct time_step : tn::dim<"time"> {} time_step;

template <class F> std::string words_of(F&& f) {
    try {
        f();
    } catch (const tn::invalid_argument_error& e) {
        return e.what();
    }
    return "nothing was thrown";
}
} // namespace

TEST_CASE("a typed tensor is an any_tensor, and comes back with as<T, shape>") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    const tn::any_tensor t = x;
    const auto back = tn::as<float, tn::shape<batch, 784>>(t);
    CHECK(back.output() == x.output());
    CHECK(t.name() == "x");
}

TEST_CASE("as checks what is known: numbers, names and element types") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const tn::any_tensor t = tn::placeholder<float, tn::shape<batch, 784>>("x");
    CHECK(words_of([&] { (void)tn::as<float, tn::shape<batch, 300>>(t); }) == "as: x is float[batch, 784], not float[batch, 300]");
    CHECK(words_of([&] { (void)tn::as<double, tn::shape<batch, 784>>(t); }) ==
          "as: x is float[batch, 784], not double[batch, 784]");
    CHECK(words_of([&] { (void)tn::as<float, tn::shape<batch>>(t); }) == "as: x is float[batch, 784], not float[batch]");
    CHECK(words_of([&] { (void)tn::as<float, tn::shape<time_step, 784>>(t); }) ==
          "as: x is float[batch, 784], not float[time, 784]");
    CHECK_NOTHROW((void)tn::as<float, tn::shape<tn::dyn, 784>>(t));
}

TEST_CASE("a size the graph does not know is checked in the step, always") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const auto y = tn::as<float, tn::shape<3>>(x);
    const auto z = y + tn::constant({1.0f, 2.0f, 3.0f});
    tn::session s;
    const auto three = s.run(tn::feed(x, tn::array<float>{1, 1, 1}), z);
    CHECK(three(2) == 4.0f);
    const std::string text = words_of([&] { s.run(tn::feed(x, tn::array<float>{1, 1, 1, 1}), z); });
    CHECK(text.find("[4] x [3]") != std::string::npos);
    CHECK(text.find("add") != std::string::npos);
}

TEST_CASE("a tensor known more exactly stands for one known less, not the reverse") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, tn::shape<3, 4>>("x");
    const tn::tensor<float, tn::shape<tn::dyn, 4>> less = x;
    CHECK(less.output() == x.output());
    static_assert(!std::is_convertible_v<tn::tensor<float, tn::shape<tn::dyn, 4>>, tn::tensor<float, tn::shape<3, 4>>>);
    static_assert(!std::is_convertible_v<tn::tensor<double, tn::shape<3, 4>>, tn::tensor<float, tn::shape<3, 4>>>);
    static_assert(!std::is_convertible_v<tn::tensor<float, tn::shape<batch>>, tn::tensor<float, tn::shape<time_step>>>);
}

TEST_CASE("untyped ops say the words of the typed ones, as exceptions") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const tn::any_tensor a = tn::placeholder<float, tn::shape<2, 3>>("a"), b = tn::placeholder<double, tn::shape<2, 3>>("b");
    const tn::any_tensor n = tn::placeholder<std::int32_t, tn::shape<2, 3>>("n");
    const auto add = [](const tn::any_tensor& x, const tn::any_tensor& y) {
        return tn::detail::add_instruction(tn::opcode::add, {x, y});
    };
    CHECK(words_of([&] { add(a, b); }) == "add: element types differ: float[2, 3] x double[2, 3] (inputs a b)");
    CHECK(words_of([&] { tn::detail::add_instruction(tn::opcode::exp, {n}); }) ==
          "exp: element type must be float, double, half or bfloat16: int32[2, 3] (inputs n)");
    CHECK(to_string(add(a, a).type()) == "float[2, 3]");
}
