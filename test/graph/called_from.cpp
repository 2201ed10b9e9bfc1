#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <tuple>

#include <tenon/tenon.hpp>

#include "messages.hpp"
#include "own_graph.hpp"

// A node knows the line of the program that made it, and what goes wrong in a step says it.

namespace tn = tenon;

namespace {

unsigned line_of(const tn::any_tensor& t) { return t.node()->made_at.line; }
std::string place(unsigned line) { return std::string(", made at ") + __FILE__ + ":" + std::to_string(line); }

} // namespace

TEST_CASE_FIXTURE(in_graph, "a node knows the line of the call that made it") {
    const auto x = tn::placeholder<float, tn::shape<4, 3>>("x");
    CHECK(line_of(x) == __LINE__ - 1);
    CHECK(x.node()->made_at.file == std::string(__FILE__));
    const auto rows = tn::gather(x, tn::constant({1, 2}));
    CHECK(line_of(rows) == __LINE__ - 1);
    const auto sum = tn::sum(tn::exp(x) * 2.0f);
    CHECK(line_of(sum) == __LINE__ - 1);
    CHECK(line_of(tn::any_tensor(sum.node()->inputs[0])) == line_of(sum)); // what is fused becomes a node there
    CHECK(x.node()->made_at.file == sum.node()->made_at.file);             // kept once
}

TEST_CASE_FIXTURE(in_graph, "what a layer makes was made where the program called it") {
    const auto x = tn::placeholder<float, tn::shape<4, 3>>("x");
    const auto model = tn::nn::sequential(tn::nn::dense<5>(tn::nn::relu), tn::nn::layer_norm(), tn::nn::dense<2>());
    const auto before = g.size();
    const auto y = model(x);
    const unsigned called = __LINE__ - 1;
    (void)tn::detail::as_tensor(y);
    for (auto n = before; n < g.size(); ++n) CHECK_MESSAGE(g.at(n)->made_at.line == called, g.at(n)->name);
}

TEST_CASE_FIXTURE(in_graph, "what a body of control flow makes was made at the line in the body") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    unsigned inside = 0;
    const auto y = tn::cond(
        tn::sum(x) > 0.0f, [&] { return x; },
        [&] {
            const auto r = tn::reverse<0>(x);
            inside = __LINE__ - 1;
            CHECK(line_of(r) == inside);
            return r;
        });
    CHECK(inside != 0);
    (void)y;
}

TEST_CASE_FIXTURE(in_graph, "an expression that is only written is no node, and one that is used alone has no line") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto doubled = x * 2.0f;
    CHECK(line_of(tn::detail::as_tensor(doubled)) == 0);
    std::thread([&] { CHECK(line_of(tn::detail::as_tensor(x * 3.0f)) == 0); }).join(); // nor of another thread's calls
}

TEST_CASE_FIXTURE(in_graph, "an error of a step says the line where its node was made") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    const auto i = tn::placeholder<int, tn::shape<2>>("i");
    const auto rows = tn::gather(x, i);
    const std::string here = place(__LINE__ - 1);
    tn::session s(g);
    const std::string words = message_of<tn::invalid_argument_error>([&] {
        (void)s.run(tn::feed(x, tn::array<float>({1, 2, 3, 4})), tn::feed(i, tn::array<int>({1, 7})), rows);
    });
    CHECK_MESSAGE(contains(words, "[node gather (gather) on /device:CPU:0" + here + "]"), words);
}

TEST_CASE_FIXTURE(in_graph, "an error of a gradient says the line of what it is a gradient of") {
    const auto w = tn::variable("w", tn::constant({1.0f, 2.0f, 3.0f, 4.0f}));
    const auto n = tn::placeholder<float, tn::shape<tn::dyn>>("n");
    const auto loss = tn::sum(tn::sqrt(w) * 0.0f + tn::mean(n));
    const std::string here = place(__LINE__ - 1);
    tn::session s(g, {.check_numerics = true});
    const auto d = std::get<0>(tn::gradients(loss, w));
    s.run(tn::initialize_variables());
    s.run(w.assign(tn::constant({0.0f, 2.0f, 3.0f, 4.0f})));
    const std::string words = message_of<tn::invalid_argument_error>([&] {
        (void)s.run(tn::feed(n, tn::array<float>({1, 2})), d);
    });
    CHECK_MESSAGE(contains(words, "for the gradient or an update of"), words);
    CHECK_MESSAGE(contains(words, here), words);
}

TEST_CASE_FIXTURE(in_graph, "of a node without a line those of what it is computed of are told") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const unsigned first = __LINE__ - 1;
    const auto y = tn::placeholder<float, tn::shape<tn::dyn>>("y");
    tn::session s(g);
    const std::string words = message_of<tn::invalid_argument_error>([&] {
        (void)s.run(tn::feed(x, tn::array<float>({1, 2})), tn::feed(y, tn::array<float>({1, 2, 3})), x + y);
    });
    CHECK_MESSAGE(contains(words, ", which is computed of x" + place(first) + ", and of y" + place(first + 2)), words);
}

TEST_CASE("a graph that is read, and one whose text has gone, has no lines") {
    std::string text;
    {
        const own_graph g;
        (void)tn::placeholder<float, tn::shape<4>>("x");
        text = tn::to_json(g);
    }
    CHECK(tn::graph_from_json(text).find("x")->made_at.file == nullptr);
}
