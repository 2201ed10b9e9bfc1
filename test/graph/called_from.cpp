#include <tenon/input.hpp>

#include "tests.hpp"

// A node knows the line of the program that made it, and what goes wrong in a step says it.

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

TEST_CASE_FIXTURE(
    in_graph,
    "so does a placeholder or a variable whose type is known at run time, and what is computed of it says so") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {tn::dynamic_extent, 3}, "x");
    const unsigned fed = __LINE__ - 1;
    const tn::any_tensor v = tn::untyped::variable("v", {tn::element_type::float32, {2}}, tn::zeros());
    CHECK(line_of(v) == __LINE__ - 1);
    CHECK(line_of(tn::untyped::variable("w", v)) == __LINE__);
    CHECK(line_of(x) == fed);
    const tn::any_tensor y = tn::untyped::placeholder(tn::element_type::float32, {tn::dynamic_extent, 3}, "y");
    tn::session s;
    CHECK_ERROR(tn::invalid_argument_error, "which is computed of x" + place(fed),
                s.run(tn::feed(x, tn::array<float>(tn::extents{2, 3})),
                      tn::feed(y, tn::array<float>(tn::extents{4, 3})), x + y));
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

TEST_CASE_FIXTURE(in_graph, "an expression has the line on which a function of it stands, whenever it becomes a node") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto y = tn::log(x) * 2.0f + 1.0f;
    const unsigned written = __LINE__ - 1;
    const auto rounded = tn::cast<int>(x / 2.0f);
    const unsigned cast = __LINE__ - 1;
    const auto chosen = tn::select(x > 0.0f, x,
                                   tn::silu(x)); // of an operator's operands, and of what is composed of functions
    const unsigned selected = __LINE__ - 2;
    const auto halved = y / 2.0f; // y is a node of its own
    CHECK(line_of(tn::sum(y * 1.0f)) == __LINE__);
    CHECK(line_of(tn::detail::as_tensor(y)) == written);
    CHECK(line_of(tn::detail::as_tensor(rounded)) == cast);
    CHECK(line_of(tn::detail::as_tensor(chosen)) == selected);
    CHECK(line_of(tn::detail::as_tensor(halved)) == 0);
    CHECK(line_of(tn::detail::as_tensor(tn::identity(x) + tn::exp(x))) == __LINE__);
}

TEST_CASE_FIXTURE(in_graph, "operators alone have no line of their own: what takes them gives them its own") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto doubled = x * 2.0f;
    CHECK(line_of(tn::detail::as_tensor(doubled)) == 0);
    const auto tripled = x * 3.0f;
    const auto total = tn::sum(tripled);
    CHECK(line_of(tn::any_tensor(total.node()->inputs[0])) == __LINE__ - 1);
    std::thread([&] { CHECK(line_of(tn::detail::as_tensor(x * 4.0f)) == 0); }).join(); // nor of another thread's calls
}

TEST_CASE_FIXTURE(in_graph, "functions of one to four tensors know their line; of more it is that of the tensors") {
    const auto x = tn::placeholder<float, tn::shape<2, 2>>("x");
    const auto y = tn::exp(x);
    CHECK(line_of(tn::concat<0>(x)) == __LINE__);
    CHECK(line_of(tn::concat<0>(x, y)) == __LINE__);
    CHECK(line_of(tn::concat<1>(x, y, x, x)) == __LINE__);
    CHECK(line_of(tn::stack<0>(x, y, x)) == __LINE__);
    CHECK(line_of(tn::add_n(x, y, x)) == __LINE__);
    CHECK(line_of(tn::einsum<"ij,jk->ik">(x, y)) == __LINE__);
    CHECK(line_of(tn::einsum<"ij,jk,kl->il">(x, y, x)) == __LINE__);
    const auto many = tn::concat<0>(x, y, x, x, y);
    CHECK(many.type().extents == tn::extents{10, 2});
    CHECK(line_of(many) == 0);
    const auto last =
        tn::while_loop([](const auto& i, const auto&) { return i < 3; },
                       [](const auto& i, const auto& v) { return std::tuple(i + 1, v + v); }, tn::constant(0), y);
    CHECK(line_of(std::get<1>(last)) >= __LINE__ - 3);
    CHECK(line_of(std::get<1>(last)) < __LINE__);
    CHECK(line_of(tn::scan([](const auto& c, const auto& s) { return std::pair(c + s, s); }, y, y).second) == __LINE__);
}

TEST_CASE_FIXTURE(in_graph, "members know their line: of variables, queues, iterators, readers and accumulators") {
    const auto v = tn::variable("v", tn::constant({1.0f, 2.0f}));
    CHECK(line_of(v.assign(tn::exp(v))) == __LINE__);
    CHECK(line_of(v.assign_add(v * 2.0f)) == __LINE__);
    CHECK(line_of(v.scatter_sub(tn::constant({1}), 2.0f)) == __LINE__);
    const tn::fifo_queue<float, std::string> q(4);
    CHECK(q.enqueue(1, "one").node()->made_at.line == __LINE__);
    CHECK(line_of(std::get<0>(q.dequeue())) == __LINE__);
    CHECK(line_of(std::get<1>(q.dequeue_many<2>())) == __LINE__);
    CHECK(line_of(std::get<1>(q.dequeue_up_to(2))) == __LINE__);
    CHECK(q.close().node()->made_at.line == __LINE__);
    const auto it = tn::make_one_shot_iterator(tn::data::range(3));
    CHECK(line_of(it.get_next()) == __LINE__);
    const tn::accumulator<float, tn::shape<2>> sums;
    CHECK(line_of(sums.apply(v, 0)) == __LINE__);
    CHECK(line_of(sums.take(1)) == __LINE__);
}

TEST_CASE_FIXTURE(in_graph, "functions of tensors whose types are known at run time know their line, and members too") {
    namespace u = tn::untyped;
    const tn::any_tensor x = u::placeholder(tn::element_type::float32, {tn::dynamic_extent, 3}, "x");
    CHECK(line_of(u::tanh(x)) == __LINE__);
    CHECK(line_of(u::add(x, x)) == __LINE__);
    CHECK(line_of(u::multiply(x, 2)) == __LINE__);
    CHECK(line_of(u::subtract(1, x)) == __LINE__);
    CHECK(line_of(u::where(u::greater(x, 0), x, 3)) == __LINE__);
    CHECK(line_of(u::gelu(x)) == __LINE__);
    CHECK(line_of(u::clip(x, -1, 1)) == __LINE__);
    CHECK(line_of(u::mean(x, {0})) == __LINE__);
    CHECK(line_of(u::l2_normalize(x, {1})) == __LINE__);
    CHECK(line_of(u::matmul(x, u::transpose(x))) == __LINE__);
    CHECK(line_of(u::concat({x, x, x, x, x}, 0)) == __LINE__); // also of more than four
    CHECK(line_of(u::split(x, 3, 1)[2]) == __LINE__);
    CHECK(line_of(u::zeros(tn::element_type::float32, {2, 3})) == __LINE__);
    CHECK(line_of(u::random_normal(tn::element_type::float32, {2, 3})) == __LINE__);
    CHECK(line_of(u::softmax(x, -1)) == __LINE__);
    CHECK(line_of(tn::nn::untyped::mean_squared_error(x, u::exp(x))) == __LINE__);
    CHECK(line_of(tn::add<tn::reverse_op>({{1}}, {x})) == __LINE__); // of one's own ops
    CHECK(line_of(tn::any_tensor(u::sum(u::cos(x)).node()->inputs[0])) == __LINE__);
    const u::queue q = u::fifo_queue({{tn::element_type::float32, {2, 3}}}, 4);
    CHECK(line_of(q.handle()) == __LINE__ - 1);
    CHECK(line_of(q.dequeue()[0]) == __LINE__);
    CHECK(q.enqueue({u::ones(tn::element_type::float32, {2, 3})}).node()->made_at.line == __LINE__);
    CHECK(line_of(u::accumulator({tn::element_type::float32, {3}}).count()) == __LINE__);

    const tn::any_tensor rows = u::gather(x, u::placeholder(tn::element_type::int32, {2}, "i"));
    const std::string here = place(__LINE__ - 1);
    tn::session s(g);
    const std::string words = message_of<tn::error>([&] {
        (void)s.run(tn::feed(x, tn::array<float, tn::shape<1, 3>>()), tn::feed(g.tensor("i"), tn::array<int>({1, 7})),
                    rows);
    });
    CHECK_MESSAGE(contains(words, "[node gather (gather) on /device:CPU:0" + here + "]"), words);
}

TEST_CASE_FIXTURE(in_graph, "of an untyped function that is made of ops of other names, the name is told") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {tn::dynamic_extent}, "x");
    const tn::any_tensor y = tn::untyped::pad(x, {{2, 0}}, tn::pad_mode::reflect);
    CHECK(y.node()->made_at.function == std::string("pad"));
}

TEST_CASE_FIXTURE(in_graph, "what a step asserts and prints says its line") {
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    CHECK(line_of(tn::print(x, "x is", x + 1.0f)) == __LINE__);
    CHECK(line_of(tn::string_join("-", tn::constant("a"), tn::constant("b"))) == __LINE__);
    const auto positive = tn::assert_true(x > 0.0f, "x must be positive", x);
    const std::string here = place(__LINE__ - 1);
    tn::session s(g);
    const std::string words = message_of<tn::invalid_argument_error>([&] {
        s.run(tn::feed(x, tn::array<float>({1, -1})), positive);
    });
    CHECK_MESSAGE(contains(words, here + "]"), words);
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

TEST_CASE_FIXTURE(in_graph, "of a node without a line the nearest that has one is told, named or not") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const auto y = tn::reverse<0>(x);
    const unsigned reversed = __LINE__ - 1;
    tn::session s(g);
    const std::string words = message_of<tn::invalid_argument_error>([&] {
        (void)s.run(tn::feed(x, tn::array<float>({1, 2})), y + tn::constant({1.0f, 2.0f, 3.0f}));
    });
    CHECK_MESSAGE(contains(words, ", which is computed of reverse" + place(reversed) + "]"), words);
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
