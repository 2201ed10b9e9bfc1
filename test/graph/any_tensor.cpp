#include "tests.hpp"

// The untyped escape, and the checked way back.

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct time_step : tn::dim<"time"> {} time_step;

} // namespace

TEST_CASE_FIXTURE(in_graph, "a typed tensor is an any_tensor, and comes back with as<T, shape>") {
    const auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    const tn::any_tensor t = x;
    const auto back = tn::as<float, tn::shape<batch, 784>>(t);
    CHECK(back.output() == x.output());
    CHECK(t.name() == "x");
}

TEST_CASE_FIXTURE(in_graph, "as checks what is known: numbers, names and element types") {
    const tn::any_tensor t = tn::placeholder<float, tn::shape<batch, 784>>("x");
    CHECK(message_of<tn::invalid_argument_error>([&] { (void)tn::as<float, tn::shape<batch, 300>>(t); }) ==
          "as: x is float[batch, 784], not float[batch, 300]");
    CHECK(message_of<tn::invalid_argument_error>([&] { (void)tn::as<double, tn::shape<batch, 784>>(t); }) ==
          "as: x is float[batch, 784], not double[batch, 784]");
    CHECK(message_of<tn::invalid_argument_error>([&] { (void)tn::as<float, tn::shape<batch>>(t); }) ==
          "as: x is float[batch, 784], not float[batch]");
    CHECK(message_of<tn::invalid_argument_error>([&] { (void)tn::as<float, tn::shape<time_step, 784>>(t); }) ==
          "as: x is float[batch, 784], not float[time, 784]");
    CHECK_NOTHROW((void)tn::as<float, tn::shape<tn::dyn, 784>>(t));
}

TEST_CASE_FIXTURE(in_graph,
                  "2: a size the graph does not know is checked in the step, always, whatever reads the tensor") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const auto y = tn::as<float, tn::shape<3>>(x);
    tn::session s;
    const auto check = [&](auto fetched, float expected) {
        CHECK(s.run(tn::feed(x, tn::array<float>{1, 2, 3}), fetched).item() == expected);
        for (const std::int64_t n : {0, 1, 2, 4})
            CHECK(message_of<tn::invalid_argument_error>(
                      [&] { s.run(tn::feed(x, tn::array<float>(tn::extents{n})), fetched); })
                      .starts_with("x: declared as [3], but its sizes in this step are [" + std::to_string(n) +
                                   "] [node x (placeholder), made at "));
    };
    check(sum(y), 6);
    check(sum(y * tn::constant({1.0f, 2.0f, 3.0f})), 14); // one value would be repeated
    check(sum(tn::ones_like(y)), 3);                      // only its sizes matter
    CHECK(s.run(tn::feed(x, tn::array<float>{1, 2, 3}), y)(2) == 3);
}

TEST_CASE_FIXTURE(in_graph, "2: a name that as gives to an unknown size has one value in a step") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn, 2>>("x");
    const auto y = tn::placeholder<float, tn::shape<batch>>("y");
    const auto named = tn::as<float, tn::shape<batch, 2>>(x);
    const auto together = std::pair{sum(named), sum(y)};
    tn::session s;
    const auto run = [&](std::int64_t rows_of_x, std::int64_t rows_of_y) {
        return s.run(tn::feed(x, tn::array<float>::full(tn::extents{rows_of_x, 2}, 1)),
                     tn::feed(y, tn::array<float>::full(tn::extents{rows_of_y}, 1)), together.first, together.second);
    };
    CHECK(std::get<0>(run(3, 3)).item() == 6);
    CHECK(std::get<0>(run(4, 4)).item() == 8);
    CHECK(message_of<tn::invalid_argument_error>([&] {
              run(2, 3);
          }).starts_with("size batch is 3 in y and 2 in x; in one step a named size has one value"));
}

TEST_CASE_FIXTURE(in_graph, "as adds nothing where the graph knows as much, and no work where it does not") {
    const auto x = tn::placeholder<float, tn::shape<batch, tn::dyn>>("x");
    CHECK(tn::as<float, tn::shape<batch, tn::dyn>>(x).output() == x.output());
    CHECK(tn::as<float, tn::shape<tn::dyn, tn::dyn>>(x).output() == x.output());
    CHECK(g.size() == 1);
    const auto y = tn::as<float, tn::shape<tn::dyn, 3>>(x);
    CHECK(to_string(y.type()) == "float[batch, 3]"); // the more static of both
    CHECK(tn::as<float, tn::shape<batch, 3>>(x).output() == y.output());
    tn::session s;
    const auto fed = tn::feed(x, tn::array<float>(tn::extents{2, 3}));
    CHECK(s.report(tn::fed_value{x, fed.value.share()}, exp(y)).nodes ==
          s.report(tn::fed_value{x, fed.value.share()}, exp(x)).nodes);
}

TEST_CASE("as works outside the scope of the tensor's graph, and gradients flow through it") {
    const tn::graph g;
    const auto x = [&] {
        const tn::graph_scope in(g);
        return tn::placeholder<float, tn::shape<tn::dyn>>("x");
    }();
    const auto y = tn::as<float, tn::shape<2>>(x);
    CHECK(y.node()->graph == g.state());
    const tn::graph_scope in(g);
    const auto [dx] = tn::gradients(sum(y * y), x);
    tn::session s;
    const auto value = s.run(tn::feed(x, tn::array<float>{3, 4}), dx);
    CHECK(value(0) == 6);
    CHECK(value(1) == 8);
}

TEST_CASE_FIXTURE(in_graph, "an empty handle is an invalid_argument_error wherever it is used") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    const tn::any_tensor none;
    const tn::operation nothing;
    const auto is_empty = [&](auto f) {
        const std::string text = message_of<tn::invalid_argument_error>(f);
        CHECK_MESSAGE(contains(text, " is empty: "), text);
    };
    is_empty([&] { (void)tn::as<float, tn::shape<2>>(none); });
    is_empty([&] { (void)none.type(); });
    is_empty([&] { (void)none.element(); });
    is_empty([&] { (void)none.extents(); });
    is_empty([&] { (void)nothing.name(); });
    is_empty([&] { tn::untyped::reshape(none, {2}); });
    is_empty([&] { tn::untyped::identity(none); });
    is_empty([&] { tn::untyped::variable("v", none); });
    is_empty([&] { tn::untyped::assign(none, x); });
    is_empty([&] { tn::untyped::assign(tn::untyped::variable("v", tn::constant(1.0f)), none); });
    is_empty([&] { (void)tn::gradients(none, {x}); });
    is_empty([&] { (void)tn::gradients(sum(x), {none}); });
    is_empty([&] { tn::graph(g).add_to_collection("c", none); });
    is_empty([&] { tn::group(x, nothing); });
    is_empty([&] { tn::group(none); });
    is_empty([&] { const tn::control_dependencies after(none); });
    is_empty([&] { const tn::control_dependencies after(nothing); });
    CHECK(none.name() == "(no tensor)");
    // Of a scope that failed nothing stays behind.
    CHECK(tn::untyped::identity(x, "after").node()->controls.empty());
    CHECK_THROWS_AS(g.at(-1), tn::out_of_range_error);
    CHECK_THROWS_AS(g.at(g.size()), tn::out_of_range_error);
}

TEST_CASE_FIXTURE(in_graph, "a tensor known more exactly stands for one known less, not the reverse") {
    const auto x = tn::placeholder<float, tn::shape<3, 4>>("x");
    const tn::tensor<float, tn::shape<tn::dyn, 4>> less = x;
    CHECK(less.output() == x.output());
    static_assert(!std::is_convertible_v<tn::tensor<float, tn::shape<tn::dyn, 4>>, tn::tensor<float, tn::shape<3, 4>>>);
    static_assert(!std::is_convertible_v<tn::tensor<double, tn::shape<3, 4>>, tn::tensor<float, tn::shape<3, 4>>>);
    static_assert(!std::is_convertible_v<tn::tensor<float, tn::shape<batch>>, tn::tensor<float, tn::shape<time_step>>>);
}

TEST_CASE_FIXTURE(in_graph, "untyped ops say the words of the typed ones, as exceptions") {
    const tn::any_tensor a = tn::placeholder<float, tn::shape<2, 3>>("a"),
                         b = tn::placeholder<double, tn::shape<2, 3>>("b");
    const tn::any_tensor n = tn::placeholder<std::int32_t, tn::shape<2, 3>>("n");
    const auto add = [](const tn::any_tensor& x, const tn::any_tensor& y) {
        return tn::detail::add_instruction(tn::opcode::add, {x, y});
    };
    CHECK(message_of<tn::invalid_argument_error>([&] { add(a, b); }) ==
          "add: element types differ: float[2, 3] x double[2, 3] (inputs a b)");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::detail::add_instruction(tn::opcode::exp, {n}); }) ==
          "exp: element type must be float, double, half or bfloat16: int32[2, 3] (inputs n)");
    CHECK(to_string(add(a, a).type()) == "float[2, 3]");
}

TEST_CASE_FIXTURE(in_graph, "what an op was asked for is shown beside its operands") {
    const tn::any_tensor x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    const tn::any_tensor i = tn::placeholder<std::int32_t, tn::shape<5>>("i");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              tn::untyped::reshape(x, {tn::extent::named("batch"), 28, 27});
          }) == "reshape: numbers of elements differ: [batch, 784] x [batch, 28, 27] (inputs x)");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              tn::untyped::broadcast_to(x, {3, 784});
          }) == "broadcast_to: sizes do not broadcast: [batch, 784] x [3, 784] (inputs x)");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::untyped::sum(x, tn::index_list(2)); }) ==
          "sum: axis is out of range: [batch, 784], axis 2 (inputs x)");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::untyped::sum(x, tn::index_list(0, -2)); }) ==
          "sum: axis is given twice: [batch, 784], axes 0, -2 (inputs x)");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::untyped::gather(x, i, -3); }) ==
          "gather: axis is out of range: [batch, 784] x [5], axis -3 (inputs x i)");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              tn::untyped::tile(x, {2, -1});
          }) == "tile: counts must be 0 or more: float[batch, 784], counts 2, -1 (inputs x)");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::untyped::one_hot(i, -2); }) ==
          "one_hot: depth must be 0 or more: int32[5], depth -2, axis -1 (inputs i)");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              tn::untyped::reshape(x, {-5, 28});
          }) == "reshape: a size is not negative: [-5, 28]; one that follows from the others is -1");
    CHECK_ERROR(tn::invalid_argument_error, "the sizes must be numbers, at most 8, but are [2, -3]",
                tn::untyped::full(tn::element_type::float32, {2, -3}, 1));
    // In the step's sizes too.
    const auto d = tn::placeholder<float, tn::shape<tn::dyn>>("d");
    tn::session s;
    const std::string text = message_of<tn::invalid_argument_error>([&] {
        s.run(tn::feed(d, tn::array<float>{1, 2, 3}), tn::reshape<tn::shape<2, tn::dyn>>(d));
    });
    CHECK_MESSAGE(contains(text, "[3] x [2, ?] in this step's sizes"), text);
}

TEST_CASE_FIXTURE(in_graph, "only floating tensors have gradients") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    const auto n = tn::placeholder<std::int32_t, tn::shape<2>>("n");
    const tn::any_tensor loss = sum(x * tn::cast<float>(n));
    CHECK(message_of<tn::invalid_argument_error>([&] {
              (void)tn::gradients(loss, {x, n});
          }) == "gradients: element type must be float, double, half or bfloat16: float[] x float[2] x int32[2] (" +
                    loss.name() + " x n)");
}
