#include "tests.hpp"

// SEMANTICS 20: variables, their initial values, updates and collections.

namespace {

struct moments {
    double mean = 0, deviation = 0, least = 0, most = 0;
};
template <class A> moments moments_of(const A& a) {
    moments m;
    m.least = m.most = static_cast<double>(a[0]);
    for (const auto x : a) {
        m.mean += static_cast<double>(x);
        m.least = std::min(m.least, static_cast<double>(x));
        m.most = std::max(m.most, static_cast<double>(x));
    }
    m.mean /= static_cast<double>(a.size());
    for (const auto x : a) m.deviation += (static_cast<double>(x) - m.mean) * (static_cast<double>(x) - m.mean);
    m.deviation = std::sqrt(m.deviation / static_cast<double>(a.size()));
    return m;
}

} // namespace

TEST_CASE_FIXTURE(in_session, "constants of every kind") {
    CHECK(s.run(tn::constant(2.5)).item() == 2.5);
    CHECK(s.run(tn::constant({1, 2, 3}))(2) == 3);
    CHECK(s.run(tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}}))(1, 0) == 3);
    CHECK(s.run(tn::constant("text")).item() == "text");
    CHECK(s.run(tn::constant({std::string("a"), std::string("b")}))(1) == "b");
    tn::array<float, tn::shape<2>> host{5, 6};
    const auto c = tn::constant(host.copy());
    host.fill(0);
    CHECK(s.run(c)(1) == 6);
    CHECK(s.run(tn::constant<tn::shape<2, 1>>(tn::array<float>{{7}, {8}}))(1, 0) == 8);
    CHECK_THROWS_AS((void)(tn::constant<tn::shape<2, 2>>(tn::array<float>{{7}, {8}})), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_session, "a constant of no elements") {
    CHECK(s.run(tn::constant(tn::array<float, tn::shape<0, 3>>())).size() == 0);
}

TEST_CASE("SEMANTICS 20: a variable begins with what an array holds, which may be used for something else after that") {
    const own_graph g;
    tn::array<double, tn::shape<2, 2>> values{{1, 2}, {3, 4}};
    const auto v = tn::variable("v", values);
    const auto w = tn::variable("w", tn::array<std::int32_t, tn::shape<3>>{7, 8, 9}, {.trainable = false});
    static_assert(std::is_same_v<decltype(v)::shape_type, tn::shape<2, 2>>);
    values(1, 1) = 0;
    initialized_session s;
    const auto [a, b] = s.run(v, w);
    CHECK(a(1, 1) == 4);
    CHECK(b(2) == 9);
}

TEST_CASE("SEMANTICS 20: a variable begins with a value, a function of its sizes, or a tensor that may be fed") {
    const tn::graph_scope in{tn::graph()};
    const auto value = tn::variable(3.0f);
    const auto named = tn::variable("named", 4);
    const auto zeros = tn::variable<float, tn::shape<2, 2>>("zeros", tn::zeros());
    const auto ones = tn::variable<std::int64_t, tn::shape<3>>("ones", tn::ones());
    const auto half = tn::variable<tn::half, tn::shape<3>>("half", tn::constant_value(0.5));
    const auto truth = tn::variable<bool, tn::shape<2>>("truth", tn::ones());
    const auto fed = tn::placeholder<float, tn::shape<2>>("fed");
    const auto from_feed = tn::variable("from_feed", fed);
    const auto text = tn::variable(std::string("words"));
    tn::session s;
    s.run(tn::feed(fed, tn::array<float>{8, 9}), tn::initialize_variables());
    CHECK(s.run(value).item() == 3);
    CHECK(s.run(named).item() == 4);
    CHECK(s.run(zeros)(1, 1) == 0);
    CHECK(s.run(ones)(2) == 1);
    CHECK(static_cast<float>(s.run(half)(2)) == 0.5f);
    CHECK(s.run(truth)(1));
    CHECK(s.run(from_feed)(1) == 9);
    CHECK(s.run(text).item() == "words");
}

TEST_CASE("SEMANTICS 20: a variable begins with an expression of random numbers, other ones each time it begins") {
    own_graph g;
    g.set_seed(11);
    const auto w = tn::variable("w", tn::random_uniform<float, tn::shape<100>>(0, 1) * 2.0f + 3.0f);
    initialized_session s;
    const auto first = s.run(w), same = s.run(w);
    const moments m = moments_of(first);
    CHECK(m.least >= 3);
    CHECK(m.most < 5);
    CHECK(m.deviation > 0.3);
    CHECK(first == same);
    s.run(w.initializer());
    CHECK_FALSE(s.run(w) == first);
}

TEST_CASE("SEMANTICS 20: a variable begins with what is fed when its initialiser runs, and only then") {
    const tn::graph_scope in{tn::graph()};
    const auto data = tn::placeholder<float, tn::shape<3>>("data");
    const auto centred = tn::variable("centred", data - tn::mean(data), {.trainable = false, .collected = false});
    const auto other = tn::variable("other", 1.0f);
    tn::session s;
    s.run(tn::initialize_variables()); // it is in no collection
    CHECK(message_of<tn::invalid_argument_error>([&] { s.run(centred.initializer()); }).find("placeholder data") == 0);
    s.run(tn::feed(data, tn::array<float>{1, 2, 6}), centred.initializer());
    CHECK(s.run(centred) == tn::array<float, tn::shape<3>>{-2, -1, 3});
    CHECK(s.run(centred + other)(2) == 4);
}

TEST_CASE("SEMANTICS 20: a variable begins with what another begins with, in whatever order they are initialised") {
    own_graph g;
    g.set_seed(3);
    const auto w = tn::variable<float, tn::shape<50>>("w", tn::normal(0, 1));
    const auto twice = tn::variable("twice", w.initialized_value() * 2.0f);
    const auto more = tn::variable("more", twice.initialized_value() + w.initialized_value());
    const auto same = tn::variable("same", w.initialized_value());
    tn::session s;
    const auto check = [&] {
        const auto [a, b, c, d] = s.run(w, twice, more, same);
        for (std::int64_t i = 0; i < 50; ++i) {
            CHECK(b(i) == a(i) * 2);
            CHECK(c(i) == a(i) * 2 + a(i));
            CHECK(d(i) == a(i));
        }
        return a(0);
    };
    s.run(tn::initialize_variables());
    const float first = check();
    s.run(w.assign(0.0f * w), twice.assign_add(1.0f));
    s.run(tn::initialize_variables()); // once more, although they had values
    CHECK(check() != first);
    s.run(tn::initialize_variables(more, same, twice, w));
    check();
    // Alone it asks nothing of the other, and leaves it.
    tn::session fresh;
    fresh.run(twice.initializer());
    CHECK(fresh.run(twice)(0) != 0);
    CHECK_THROWS_AS(fresh.run(w), tn::failed_precondition_error);
    // The untyped world says the same.
    CHECK(tn::untyped::initialized_value(w).output() == w.initialized_value().output());
}

TEST_CASE_FIXTURE(in_graph, "an initial value that reads another variable is told what to read instead") {
    const auto w = tn::variable<float, tn::shape<2>>("w", tn::ones());
    const auto copy = tn::variable("copy", w * 2.0f);
    tn::session s;
    const std::string text = message_of<tn::failed_precondition_error>([&] { s.run(tn::initialize_variables()); });
    CHECK_MESSAGE(contains(text, "variable \"w\" is read before it has a value"), text);
    CHECK_MESSAGE(contains(text, "initialized_value()"), text);
    s.run(w.initializer());
    s.run(w.assign_add(4.0f));
    s.run(copy.initializer()); // of what it holds now
    CHECK(s.run(copy)(1) == 10);
}

TEST_CASE_FIXTURE(in_graph, "initialisers run one by one, or some of them") {
    const auto a = tn::variable(1.0f), b = tn::variable(2.0f), c = tn::variable(3.0f);
    tn::session s;
    s.run(a.initializer());
    CHECK(s.run(a).item() == 1);
    CHECK_THROWS_AS(s.run(b), tn::failed_precondition_error);
    s.run(tn::initialize_variables(b, c));
    CHECK(s.run(b + c).item() == 5);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 20: assign, assign_add and assign_sub, each is the variable after it") {
    const auto v = tn::variable<float, tn::shape<2>>("v", tn::constant_value(10));
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    initialized_session s;
    const tn::array<float> two{1, 2};
    CHECK(s.run(tn::feed(x, two), v.assign_add(x))(1) == 12);
    CHECK(s.run(tn::feed(x, two), v.assign_sub(x * 2.0f))(0) == 9);
    CHECK(s.run(v.assign_add(1.0f))(0) == 10);
    CHECK(s.run(tn::feed(x, two), v.assign(x))(1) == 2);
    CHECK(s.run(v)(1) == 2);
    const auto scalar = tn::variable(1);
    s.run(scalar.initializer());
    CHECK(s.run(scalar.assign(7)).item() == 7);
    const auto text = tn::variable(std::string("a"));
    s.run(text.initializer());
    CHECK(s.run(text.assign(tn::constant("a longer text than fits inside a string object"))).item() ==
          "a longer text than fits inside a string object");
    CHECK(s.run(text).item() == "a longer text than fits inside a string object");
}

TEST_CASE_FIXTURE(in_graph, "assigning gives a variable its first value as well") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    tn::session s;
    CHECK(s.run(v.assign(5.0f)).item() == 5);
    CHECK(s.run(v).item() == 5);
}

TEST_CASE_FIXTURE(in_graph, "what a run returned of a variable does not change with it") {
    const auto v = tn::variable<float, tn::shape<3>>("v", tn::ones());
    initialized_session s;
    const auto before = s.run(v), updated = s.run(v.assign_add(1.0f));
    s.run(v.assign_add(1.0f));
    CHECK(before(0) == 1);
    CHECK(updated(0) == 2);
}

TEST_CASE_FIXTURE(in_graph, "an update of what is fed for the variable") {
    const auto v = tn::variable<float, tn::shape<>>("v", tn::ones());
    const auto update = v.assign_add(1.0f);
    initialized_session s;
    // The read is fed; what is written is the variable.
    CHECK(s.run(tn::feed(v, 100.0f), update).item() == 101);
    CHECK(s.run(v).item() == 101);
}

TEST_CASE("SEMANTICS 20: collections: variables, and the trainable ones; a preloaded data set is in neither") {
    const own_graph g;
    const auto w = tn::variable<float, tn::shape<2>>("w", tn::zeros());
    const auto counter = tn::variable<std::int64_t, tn::shape<>>("counter", tn::zeros(), {.trainable = false});
    const auto data = tn::variable<float, tn::shape<2>>("data", tn::ones(), {.collected = false});
    const auto names = [&](const char* collection) {
        std::vector<std::string> all;
        for (const tn::any_tensor& t : g.collection(collection)) all.push_back(t.name());
        return all;
    };
    CHECK(names(tn::global_variables) == std::vector<std::string>{"w", "counter"});
    CHECK(names(tn::trainable_variables) == std::vector<std::string>{"w"});
    initialized_session s;
    CHECK_THROWS_AS(s.run(data), tn::failed_precondition_error);
    s.run(data.initializer());
    CHECK(s.run(data)(0) == 1);
}

TEST_CASE_FIXTURE(in_graph, "names of variables follow name scopes") {
    const tn::name_scope layer("layer");
    const auto w = tn::variable<float, tn::shape<2>>("w", tn::zeros());
    CHECK(w.name() == "layer/w");
    initialized_session s;
    CHECK(s.run(w)(0) == 0);
}

TEST_CASE_FIXTURE(in_graph, "uniform, normal and truncated initialisers have the moments they name") {
    using sizes = tn::shape<200, 100>;
    const auto u = tn::variable<float, sizes>("u", tn::uniform(-3, 5, 1));
    const auto n = tn::variable<float, sizes>("n", tn::normal(2, 0.5, 2));
    const auto t = tn::variable<double, sizes>("t", tn::truncated_normal(-1, 2, 3));
    initialized_session s;
    const moments mu = moments_of(s.run(u)), mn = moments_of(s.run(n)), mt = moments_of(s.run(t));
    CHECK(mu.least >= -3);
    CHECK(mu.most < 5);
    CHECK(mu.mean == doctest::Approx(1).epsilon(0.05));
    CHECK(mu.deviation == doctest::Approx(8 / std::sqrt(12.0)).epsilon(0.02));
    CHECK(mn.mean == doctest::Approx(2).epsilon(0.01));
    CHECK(mn.deviation == doctest::Approx(0.5).epsilon(0.02));
    CHECK(mt.least >= -5);
    CHECK(mt.most <= 3);
    CHECK(mt.mean == doctest::Approx(-1).epsilon(0.05));
    CHECK(mt.deviation == doctest::Approx(2 * 0.8796).epsilon(0.02));
}

TEST_CASE_FIXTURE(in_graph, "Glorot and He initialisers scale with what flows in and out: of matrices and of filters") {
    const auto gu = tn::variable<float, tn::shape<300, 100>>("gu", tn::glorot_uniform(1));
    const auto gn = tn::variable<float, tn::shape<300, 100>>("gn", tn::glorot_normal(2));
    const auto hu = tn::variable<float, tn::shape<300, 100>>("hu", tn::he_uniform(3));
    const auto hn = tn::variable<float, tn::shape<300, 100>>("hn", tn::he_normal(4));
    const auto filter = tn::variable<float, tn::shape<3, 3, 32, 64>>("filter", tn::he_normal(5));
    initialized_session s;
    const double glorot = std::sqrt(2.0 / 400), he = std::sqrt(2.0 / 300);
    const moments a = moments_of(s.run(gu));
    CHECK(a.deviation == doctest::Approx(glorot).epsilon(0.02));
    CHECK(a.most <= std::sqrt(6.0 / 400));
    CHECK(a.least >= -std::sqrt(6.0 / 400));
    CHECK(moments_of(s.run(gn)).deviation == doctest::Approx(glorot).epsilon(0.02));
    CHECK(moments_of(s.run(hu)).deviation == doctest::Approx(he).epsilon(0.02));
    CHECK(moments_of(s.run(hn)).deviation == doctest::Approx(he).epsilon(0.02));
    CHECK(moments_of(s.run(filter)).deviation == doctest::Approx(std::sqrt(2.0 / (9 * 32))).epsilon(0.02));
}

TEST_CASE("SEMANTICS 21: the same seeds give the same initial values; other seeds and other variables give others") {
    const auto values = [](std::uint64_t graph_seed, std::uint64_t seed, const char* name) {
        own_graph g;
        g.set_seed(graph_seed);
        const auto v = tn::variable<float, tn::shape<64>>(name, tn::uniform(0, 1, seed));
        initialized_session s;
        return s.run(v);
    };
    CHECK(values(0, 5, "v") == values(0, 5, "v"));
    CHECK(values(7, 0, "v") == values(7, 0, "v"));
    CHECK_FALSE(values(0, 5, "v") == values(0, 6, "v"));
    CHECK_FALSE(values(7, 0, "v") == values(8, 0, "v"));
}

TEST_CASE_FIXTURE(in_graph, "two variables of one graph do not begin alike") {
    g.set_seed(3);
    const auto a = tn::variable<float, tn::shape<64>>("a", tn::glorot_uniform());
    const auto b = tn::variable<float, tn::shape<64>>("b", tn::glorot_uniform());
    initialized_session s;
    const auto [x, y] = s.run(a, b);
    CHECK_FALSE(x == y);
}

TEST_CASE_FIXTURE(in_graph, "untyped variables: made and assigned by types known at run time, with the rule's words") {
    const tn::any_tensor v = tn::untyped::variable("v", tn::untyped::constant(tn::any_array(tn::array<float>{1, 2})));
    const tn::any_tensor x = tn::placeholder<float, tn::shape<3>>("x"), d = tn::placeholder<double, tn::shape<2>>("d");
    using bad = tn::invalid_argument_error;
    CHECK(message_of<bad>([&] { tn::untyped::assign(v, x); }) ==
          "assign: value does not fit the variable: [2] x [3] (inputs v x)");
    CHECK(message_of<bad>([&] { tn::untyped::assign(v, d); }) ==
          "assign: element types differ: float[2] x double[2] (inputs v d)");
    CHECK_ERROR(bad, "assign: x is no variable but a placeholder", tn::untyped::assign(x, x));
    const tn::any_tensor loose = tn::placeholder<float, tn::shape<tn::dyn>>("loose");
    CHECK_THROWS_AS(tn::untyped::variable("u", loose), bad);
    const tn::any_tensor update = tn::untyped::assign(v, loose);
    initialized_session s;
    CHECK(s.run(tn::feed(loose, tn::any_array(tn::array<float>{5, 6})), update).data<float>()[1] == 6);
    CHECK_THROWS_AS(s.run(tn::feed(loose, tn::any_array(tn::array<float>{5, 6, 7})), update), bad);
    CHECK(s.run(v).data<float>()[1] == 6);
}

TEST_CASE_FIXTURE(in_graph, "a variable whose memory there is not is a resource_exhausted_error that names it") {
    constexpr int large = 1 << 22; // 128 TiB
    const auto v = tn::variable<double, tn::shape<large, large>>("enormous", tn::zeros());
    tn::session s;
    const std::string text = message_of<tn::resource_exhausted_error>([&] { s.run(v.assign_add(1.0)); });
    CHECK_MESSAGE(contains(text, "enormous"), text);
    CHECK(s.run(tn::constant(1.0f) + 1.0f).item() == 2);
}

TEST_CASE_FIXTURE(in_graph, "an initialiser that cannot begin the variable is refused before there is a variable") {
    using bad = tn::invalid_argument_error;
    using pair = tn::shape<2>;
    const auto refused = [](const tn::initializer& how) {
        return message_of<bad>([&] { tn::variable<float, pair>("bad", how); });
    };
    CHECK(contains(refused(tn::uniform(1, 0)), "variable \"bad\": uniform: [1"));
    CHECK(contains(refused(tn::normal(0, -1)), "variable \"bad\": normal: mean 0"));
    CHECK(contains(refused(tn::truncated_normal(std::nan(""))), "truncated_normal"));
    CHECK_ERROR(bad, "variable \"bad\": its elements are int32",
                tn::variable<std::int32_t, pair>("bad", tn::glorot_uniform()));
    CHECK_ERROR(bad, "strings", tn::variable<std::string, pair>("bad", tn::zeros()));
    CHECK(g.size() == 0);
    CHECK(g.collection(tn::global_variables).empty());
}

TEST_CASE_FIXTURE(in_graph, "a number that is assigned is one the variable can hold") {
    const auto v = tn::variable<std::uint8_t, tn::shape<>>("v", tn::zeros());
    CHECK_ERROR(tn::invalid_argument_error, "300 is not a value of uint8", v.assign(300));
    CHECK_THROWS_AS(v.assign(-1), tn::invalid_argument_error);
    tn::session s;
    CHECK(s.run(v.assign(200)).item() == 200);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 18: whether a variable has a value can be asked, without reading it") {
    const auto v = tn::variable<float, tn::shape<2>>("v", tn::ones());
    const auto w = tn::on("/cpu:0", [] { return tn::variable("w", std::string("text")); });
    const tn::any_tensor v_is = tn::add<tn::is_initialized_op>({}, {v}), w_is = tn::add<tn::is_initialized_op>({}, {w});
    tn::session s;
    const auto ask = [&] {
        const auto is = s.run_untyped({}, {v_is, w_is});
        return std::pair(is[0].data<bool>()[0], is[1].data<bool>()[0]);
    };
    CHECK(ask() == std::pair(false, false));
    s.run(v.initializer());
    CHECK(ask() == std::pair(true, false));
    s.run(w.initializer());
    CHECK(ask() == std::pair(true, true));
    const tn::any_tensor none = tn::add<tn::is_initialized_op>({}, {v + 1.0f});
    CHECK_ERROR(tn::invalid_argument_error, "is no variable", s.run_untyped({}, {none}));
}
