#include "tests.hpp"

using tn::array, tn::shape, tn::extents;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

// The numbers of one run in a new graph and a new session.
template <class Build> auto first_run(std::uint64_t graph_seed, Build build, tn::session_options o = {}) {
    const tn::graph_scope scope{tn::graph()};
    tn::graph::current().set_seed(graph_seed);
    const auto t = build();
    tn::session s(tn::graph::current(), o);
    return s.run(t);
}

} // namespace

TEST_CASE("SEMANTICS 21: same seeds give the same numbers, other seeds and other runs others") {
    const auto uniform = [](std::uint64_t seed) {
        return [seed] { return tn::random_uniform<float, shape<3, 50>>(-1, 1, seed); };
    };
    const auto a = first_run(7, uniform(5));
    CHECK(a == first_run(7, uniform(5)));
    CHECK_FALSE(a == first_run(7, uniform(6)));
    CHECK_FALSE(a == first_run(8, uniform(5)));
    CHECK(first_run(0, uniform(5)) == first_run(0, uniform(5)));
    CHECK(first_run(0, uniform(5)) == first_run(tn::default_graph_seed, uniform(5)));
    CHECK(first_run(7, uniform(0)) == first_run(7, uniform(0)));
    CHECK_FALSE(first_run(0, uniform(0)) == first_run(0, uniform(0))); // drawn from the system

    const tn::graph_scope scope{tn::graph()};
    const auto t = tn::random_uniform<float, shape<3, 50>>(-1, 1, 5);
    const auto other = tn::random_uniform<float, shape<3, 50>>(-1, 1, 5); // stateful: a node of its own
    CHECK(t.node() != other.node());
    tn::session s(tn::graph::current());
    const auto first = s.run(t), second = s.run(t);
    CHECK_FALSE(first == second);
    const auto [third, equal] = s.run(t, other);
    CHECK(equal == first); // its own first run
    tn::session again(tn::graph::current());
    CHECK(again.run(t) == first);
    CHECK(again.run(t) == second);
    CHECK(again.run(t) == third);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 21: with a graph seed alone, ops of different names differ") {
    tn::graph::current().set_seed(3);
    const auto a = tn::random_normal<float, shape<20>>(), b = tn::random_normal<float, shape<20>>();
    tn::session s(tn::graph::current());
    const auto [x, y] = s.run(a, b);
    CHECK_FALSE(x == y);
}

TEST_CASE_TEMPLATE("SEMANTICS 21: the numbers of 16 bits are those of float, rounded", T, tn::half, tn::bfloat16) {
    using many = shape<70'001>;
    const auto normal = [](auto t) { return tn::random_normal<decltype(t), many>(2, 3, 9); };
    const auto truncated = [](auto t) { return tn::truncated_normal<decltype(t), many>(2, 3, 9); };
    const auto check = [](auto build) {
        const auto wide = first_run(1, [&] { return build(float{}); });
        const auto found = first_run(1, [&] { return build(T{}); });
        std::int64_t different = 0;
        for (std::int64_t i = 0; i < 70'001; ++i) different += found(i) == T(wide(i)) ? 0 : 1;
        CHECK(different == 0);
    };
    check(normal);
    check(truncated);
}

TEST_CASE_TEMPLATE("SEMANTICS 21: integers of any width are the same numbers", T, std::int8_t, std::uint8_t,
                   std::int16_t, std::uint16_t, std::uint32_t, std::int64_t, std::uint64_t) {
    using many = shape<70'001>;
    const auto wide = first_run(1, [] { return tn::random_integers<std::int32_t, many>(3, 100, 9); });
    const auto found = first_run(1, [] { return tn::random_integers<T, many>(3, 100, 9); });
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < 70'001; ++i) different += found(i) == static_cast<T>(wide(i)) ? 0 : 1;
    CHECK(different == 0);
}

TEST_CASE("SEMANTICS 21: the number of threads changes nothing") {
    const auto build = [] { return tn::random_normal<double, shape<300'000>>(1, 2, 9); };
    tn::session_options one, three;
    one.intra_op_threads = 1;
    three.intra_op_threads = 3;
    three.use_per_session_threads = true;
    CHECK(first_run(1, build, one) == first_run(1, build, three));
}

TEST_CASE_FIXTURE(in_graph, "element types, sizes of other tensors, and the step's sizes") {
    const auto x = tn::placeholder<float, shape<batch, 3>>("x");
    const auto u = tn::random_uniform_like(x, 2, 3, 1);
    const auto d = tn::random_normal_like<double>(x, 0, 1, 1);
    const auto h = tn::truncated_normal_like<tn::half>(x, 10, 1, 1);
    const auto i = tn::random_integers_like<std::int64_t>(x, -2, 3, 1);
    const auto p = tn::random_permutation_like(x, 1);
    tn::session s(tn::graph::current());
    const auto [au, ad, ah, ai, ap] = s.run(tn::feed(x, array<float>(extents{40, 3})), u, d, h, i, p);
    CHECK(au.extents() == extents{40, 3});
    for (const float v : au.span()) CHECK((v >= 2 && v < 3));
    CHECK(ad.extents() == extents{40, 3});
    for (const tn::half v : ah.span()) CHECK((v >= tn::half(8.0F) && v <= tn::half(12.0F)));
    for (const std::int64_t v : ai.span()) CHECK((v >= -2 && v < 3));
    CHECK(std::set<std::int64_t>(ai.begin(), ai.end()).size() == 5);
    CHECK(ap.extents() == extents{40});
    CHECK(std::set<std::int64_t>(ap.begin(), ap.end()).size() == 40);
    CHECK(*std::max_element(ap.begin(), ap.end()) == 39);
    const auto none = s.run(tn::feed(x, array<float>(extents{0, 3})), u);
    CHECK(none.extents() == extents{0, 3});
}

TEST_CASE_FIXTURE(in_graph, "a shuffle moves whole rows, of any element type") {
    const auto x = tn::placeholder<std::int32_t, shape<tn::dyn, 2>>("x");
    const auto names = tn::placeholder<std::string, shape<5>>("names");
    const auto y = tn::random_shuffle(x, 4);
    const auto z = tn::random_shuffle(names, 4);
    tn::session s(tn::graph::current());
    array<std::int32_t> rows(extents{100, 2});
    for (std::int64_t i = 0; i < 100; ++i) {
        rows(i, 0) = static_cast<std::int32_t>(i);
        rows(i, 1) = static_cast<std::int32_t>(-i);
    }
    const auto a = s.run(tn::feed(x, rows), y);
    std::set<std::int32_t> seen;
    bool moved = false;
    for (std::int64_t i = 0; i < 100; ++i) {
        CHECK(a(i, 1) == -a(i, 0));
        seen.insert(a(i, 0));
        moved = moved || a(i, 0) != i;
    }
    CHECK(seen.size() == 100);
    CHECK(moved);
    const auto b = s.run(tn::feed(names, array<std::string>{"a", "b", "c", "d", "e"}), z);
    CHECK(std::set<std::string>(b.begin(), b.end()).size() == 5);
}

TEST_CASE("no gradient flows through random tensors") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<double, shape<4>>("x");
    const auto [g] = tn::gradients(sum(x * tn::random_uniform_like(x, 1, 2, 3)), x);
    const auto [zero] = tn::gradients(sum(tn::random_uniform_like(x, 1, 2, 3)), x);
    tn::session s(tn::graph::current());
    const auto [a, b] = s.run(tn::feed(x, array<double>{1, 2, 3, 4}), g, zero);
    for (const double v : a.span()) CHECK((v >= 1 && v < 2));
    CHECK(b == array<double>{0, 0, 0, 0});
}

TEST_CASE_FIXTURE(in_graph, "bounds and deviations that make no sense are refused where they are written") {
    CHECK_ERROR(tn::invalid_argument_error, "holds no number", tn::random_uniform<float>(1, 1));
    CHECK_THROWS_AS(tn::random_uniform<double>(0, HUGE_VAL), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::random_normal<float>(0, -1), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::truncated_normal<float>(0, std::nan("")), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::random_integers<std::int32_t>(5, 5), tn::invalid_argument_error);
    CHECK_ERROR(tn::invalid_argument_error, "uint8", tn::random_integers<std::uint8_t>(0, 257));
    CHECK_NOTHROW(tn::random_integers<std::uint8_t>(0, 256));
    CHECK_NOTHROW(tn::random_integers<std::int8_t>(-128, 128));
    CHECK_THROWS_AS(tn::random_integers<std::int8_t>(-129, 0), tn::invalid_argument_error);
    // Two doubles that are one float:
    const auto t = tn::random_uniform<float>(1, 1 + 1e-12);
    tn::session s(tn::graph::current());
    CHECK_ERROR(tn::invalid_argument_error, "no number of type float", s.run(t));
    CHECK_THROWS_AS(s.run(tn::random_uniform<tn::half>(1, 1.0001)), tn::invalid_argument_error);
    CHECK_THROWS_AS(s.run(tn::random_uniform<tn::bfloat16>(1, 1.001)), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::random_uniform(tn::element_type::float32, {tn::dynamic_extent}, 0, 1),
                    tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::untyped::random_uniform(tn::element_type::int32, {3}, 0, 1), tn::invalid_argument_error);
}
