// Loops whose functions are expressions get functions of the whole loop. These give what the runs give one after another, to the bit.
#undef TENON_COMPILE_EXPRESSIONS
#define TENON_COMPILE_EXPRESSIONS 1

#include "tests.hpp"
#include "ops/untyped_run.hpp"

using namespace tenon;

namespace {

inline constexpr struct width_size : dim<"width"> {} width;

/// Who runs the one loop of what is fetched, as s.emit() says it.
template <class... Fed> bool is_compiled(session& s, const any_tensor& t, const Fed&... feeds) {
    const std::string text = s.emit(feeds..., t);
    INFO(text);
    const bool compiled = text.find("the loop's own functions") != std::string::npos;
    CHECK(compiled != (text.find("its bodies, run after run") != std::string::npos ||
                       text.find("the interpreter of tapes, many runs") != std::string::npos));
    return compiled || simd::best_isa() == simd::isa::baseline; // there the interpreter serves
}

template <class T, class S> array<T, S> values(std::int64_t n, unsigned seed) {
    array<T, S> a(n);
    std::mt19937 random(seed);
    for (T& v : a) v = static_cast<T>(static_cast<float>(random() % 1000) / 500.0f - 1.0f);
    return a;
}

template <class A> bool same_bits(const A& a, const A& b) {
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(*a.data())) == 0;
}

// The last x of `runs` runs of f: as a loop that counts them, and as they are written one after another.
template <class F, class X> auto both_ways(int runs, const F& f, const X& x) {
    const auto [n, y] =
        while_loop([&](const auto& k, const auto&) { return k < runs; },
                   [&](const auto& k, const auto& v) { return std::tuple(k + 1, f(k, v)); }, constant(0), x);
    X written = x;
    for (int r = 0; r < runs; ++r) {
        const tensor<int, shape<>> k = constant(r);
        written = f(k, written);
    }
    return std::pair(y, written);
}

template <class T, class F> void check(const char* name, const F& f) {
    for (const int runs : {0, 1, 7, 300}) {
        INFO(name, ", ", runs, " runs");
        const graph_scope scope{graph()};
        const auto x = placeholder<T, shape<dyn>>("x");
        const auto [y, written] = both_ways(runs, f, x);
        session s;
        CHECK(is_compiled(s, y, feed(x, values<T, shape<dyn>>(5, 3))));
        for (const std::int64_t n : {0, 1, 3, 16, 64, 100, 1000}) {
            INFO(n, " elements");
            const auto [a, b] = s.run(y, written, feed(x, values<T, shape<dyn>>(n, 3)));
            CHECK(same_bits(a, b));
        }
    }
}

} // namespace

TEST_CASE("compiled loops: numbers, names, counters, and what is used from around") {
    check<float>("an expression", [](const auto&, const auto& v) { return v + 0.001f * (1.0f - v * v); });
    check<double>("of double", [](const auto&, const auto& v) { return v + 0.001 * (1.0 - v * v); });
    check<std::int32_t>("of int", [](const auto& k, const auto& v) { return (v ^ k) * 5 + 1; });
    check<half>("of half", [](const auto&, const auto& v) { return v * 0.75f + 0.1f; });
    check<float>("the counter as a number of it",
                 [](const auto& k, const auto& v) { return tanh(v) + sin(cast<float>(k) * 0.1f); });
    check<float>("names, some of them used again and again", [](const auto&, const auto& v) {
        const auto square_of = v * v;
        const auto slope = 1.0f - square_of;
        return v + 0.01f * slope * slope - 0.001f * square_of;
    });
    check<half>("names of half are rounded as nodes are", [](const auto&, const auto& v) {
        const auto third = v / 3.0f;
        return third * third + v * 0.5f;
    });
    check<float>("formulas that use an operand more than once",
                 [](const auto&, const auto& v) { return gelu(v) - sigmoid(square(v)); });
    check<float>("what it carries, as it is", [](const auto&, const auto& v) { return v; });
    check<float>("nothing of what it carries but its sizes",
                 [](const auto& k, const auto& v) { return cast<float>(k) + v * 0.0f; });
}

TEST_CASE_FIXTURE(in_graph, "compiled loops: several carries of each kind, of one another") {
    using s = shape<width>;
    const auto x = placeholder<float, s>("x"), y = placeholder<float, s>("y"), drive = placeholder<float, s>("drive");
    const auto dt = placeholder<float, shape<>>("dt");
    const auto step = [&](const auto& n, const auto& t, const auto& a, const auto& b) {
        const auto force = drive * cos(t);
        return std::tuple(n + 1, t + dt, b, force - a * 0.5f + b * dt);
    };
    const auto [n, t, a, b] =
        while_loop([&](const auto& k, const auto& now, const auto&, const auto&) { return k < 600 && now < 4.0f; },
                   step, constant(0), constant(0.0f), x, y);
    session session;
    CHECK(is_compiled(session, a, feed(x, values<float, shape<dyn>>(77, 1)), feed(y, values<float, shape<dyn>>(77, 2)),
                      feed(drive, values<float, shape<dyn>>(77, 3)), feed(dt, 0.013f)));
    const auto [count, time, last_a, last_b] =
        session.run(n, t, a, b, feed(x, values<float, shape<dyn>>(77, 1)), feed(y, values<float, shape<dyn>>(77, 2)),
                    feed(drive, values<float, shape<dyn>>(77, 3)), feed(dt, 0.013f));
    // float by float, in the order of the expression
    float now = 0;
    int k = 0;
    const auto xs = values<float, shape<dyn>>(77, 1), ys = values<float, shape<dyn>>(77, 2);
    for (; k < 600 && now < 4.0f; ++k) now = now + 0.013f;
    CHECK(count() == k);
    CHECK(time() == now);
    CHECK(k > 256);
    // and two carries that change places after an odd and an even number of runs
    const auto [m, p, q] = while_loop(
        [](const auto& i, const auto&, const auto&) { return i < 5; },
        [](const auto& i, const auto& u, const auto& v) { return std::tuple(i + 1, v, u); }, constant(0), x, y);
    CHECK(is_compiled(session, p, feed(x, xs), feed(y, ys)));
    const auto [first, second] = session.run(p, q, feed(x, xs), feed(y, ys));
    CHECK(std::memcmp(first.data(), ys.data(), 77 * sizeof(float)) == 0);
    CHECK(std::memcmp(second.data(), xs.data(), 77 * sizeof(float)) == 0);
}

TEST_CASE_FIXTURE(in_graph, "compiled loops: one number, and no other") {
    const auto x = placeholder<double, shape<>>("x");
    const auto root = while_loop([&](const auto& v) { return abs(v * v - x) > 1e-12; },
                                 [&](const auto& v) { return 0.5 * (v + x / v); }, cast<double>(constant(1.0f)));
    session s;
    CHECK(is_compiled(s, root, feed(x, 2.0)));
    CHECK(s.run(root, feed(x, 2.0))() == doctest::Approx(1.4142135623730951).epsilon(1e-12));
}

TEST_CASE("compiled loops: what is no expression is run as ever, and a loop in a loop knows whose carries it uses") {
    const graph_scope scope{graph()};
    const auto x = placeholder<float, shape<3, 3>>("x");
    const auto [n, y] =
        while_loop([](const auto& k, const auto&) { return k < 3; },
                   [](const auto& k, const auto& v) { return std::tuple(k + 1, tanh(matmul(v, v))); }, constant(0), x);
    const auto [m, z] = while_loop([](const auto& k, const auto&) { return k < 3; },
                                   [](const auto& k, const auto& v) {
                                       const auto [j, inner] = while_loop(
                                           [&](const auto& i, const auto&) { return i < k; },
                                           [&](const auto& i, const auto& u) { return std::tuple(i + 1, u + v); },
                                           constant(0), v * 1.0f);
                                       return std::tuple(k + 1, inner * 0.5f);
                                   },
                                   constant(0), x);
    session s;
    array<float, shape<3, 3>> in;
    for (float& v : in) v = 2;
    CHECK(s.emit(feed(x, in), y).find("its bodies, run after run") != std::string::npos);
    const auto [product, nested] = s.run(y, z, feed(x, in));
    CHECK(product(0, 0) == doctest::Approx(std::tanh(3 * std::tanh(3.0) * std::tanh(3.0))).epsilon(1e-5));
    // k = 0: 2 * 1 / 2; k = 1: 1 * 2 / 2; k = 2: 1 * 3 / 2
    CHECK(nested(1, 2) == 1.5f);
}

TEST_CASE_FIXTURE(in_graph, "compiled loops: gradients, and graphs that are read again") {
    const auto x = placeholder<double, shape<dyn>>("x");
    const auto step = [](const auto& k, const auto& v) { return std::tuple(k + 1, v * v - 0.5 * v); };
    const auto [n, y] = while_loop([](const auto& k, const auto&) { return k < 5; }, step, constant(0), x);
    const auto [dx] = gradients(sum(y), x);
    session s;
    array<double, shape<dyn>> in(2);
    in(0) = 1.45, in(1) = 0.3;
    const auto [last, slope] = s.run(y, dx, feed(x, in));
    for (std::int64_t e = 0; e < 2; ++e) {
        double v = in(e), d = 1;
        for (int k = 0; k < 5; ++k) {
            d *= 2 * v - 0.5;
            v = v * v - 0.5 * v;
        }
        CHECK(last(e) == doctest::Approx(v));
        CHECK(slope(e) == doctest::Approx(d));
    }
    const graph again = graph_from_json(to_json(graph::current()));
    session other(again);
    const std::vector<any_array> got =
        other.run_untyped(test::fed(again.tensor("x"), any_array(in.copy())), {again.tensor(y.name())});
    CHECK(std::memcmp(got[0].data(), last.data(), 2 * sizeof(double)) == 0);
}
