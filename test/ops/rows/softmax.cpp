#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

using tn::array, tn::any_array, tn::any_tensor, tn::shape, tn::extents, tn::half, tn::bfloat16;
using tn::test::check_gradients, tn::test::input, tn::test::random_array;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Relative error of a result of type T.
template <class T> double tolerance() {
    return std::is_same_v<T, double> ? 1e-13 : std::is_same_v<T, float> ? 1e-6 : std::is_same_v<T, half> ? 1e-3 : 8e-3;
}

// softmax or its logarithm in double, along the middle of [outer, n, inner].
std::vector<double> naive_softmax(const std::vector<double>& x, std::int64_t outer, std::int64_t n, std::int64_t inner,
                                  bool log) {
    std::vector<double> y(x.size());
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t i = 0; i < inner; ++i) {
            const auto at = [&](std::int64_t c) { return static_cast<std::size_t>((o * n + c) * inner + i); };
            double most = -infinity, sum = 0;
            for (std::int64_t c = 0; c < n; ++c) most = std::fmax(most, x[at(c)]);
            for (std::int64_t c = 0; c < n; ++c) sum += std::exp(x[at(c)] - most);
            for (std::int64_t c = 0; c < n; ++c)
                y[at(c)] = log ? x[at(c)] - most - std::log(sum) : std::exp(x[at(c)] - most) / sum;
        }
    return y;
}

template <class T> std::vector<double> numbers(const any_array& a) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < a.elements(); ++i) v.push_back(static_cast<double>(a.data<T>()[i]));
    return v;
}

template <class T> void check_close(const any_array& found, const std::vector<double>& wanted, double factor = 1) {
    REQUIRE(found.elements() == static_cast<std::int64_t>(wanted.size()));
    const std::vector<double> f = numbers<T>(found);
    for (std::size_t i = 0; i < f.size(); ++i) {
        INFO(i << ": " << f[i] << " instead of " << wanted[i]);
        CHECK(std::fabs(f[i] - wanted[i]) <= factor * tolerance<T>() * (std::fabs(wanted[i]) + 0.1));
    }
}

any_array run_one(const any_tensor& t, const any_tensor& fed, const any_array& value) {
    tn::session s(tn::graph(t.node()->graph));
    return std::move(s.run_untyped(tn::test::fed(fed, value), {t})[0]);
}

} // namespace

TEST_CASE_TEMPLATE("softmax and log_softmax along every axis are the formulas", T, float, double, half, bfloat16) {
    for_each_isa([] {
        for (const extents& sizes : {extents{7}, extents{1, 1}, extents{3, 1}, extents{5, 10}, extents{4, 16},
                                     extents{3, 100}, extents{2, 129}, extents{2, 3, 4}, extents{3, 17, 5},
                                     extents{2, 4, 70}, extents{0, 4}, extents{4, 0}, extents{3, 2, 0}}) {
            const tn::graph_scope scope{tn::graph()};
            const any_array x = random_array<T>(sizes, 3);
            const any_tensor in = tn::untyped::placeholder(tn::element_type_of<T>, sizes);
            for (int axis = -1; axis < sizes.rank() - 1; ++axis) {
                CAPTURE(axis);
                std::int64_t outer = 1, n = 1, inner = 1;
                const int at = axis < 0 ? sizes.rank() - 1 : axis;
                for (int i = 0; i < sizes.rank(); ++i) (i < at ? outer : i == at ? n : inner) *= sizes[i].size;
                check_close<T>(run_one(tn::untyped::softmax(in, axis), in, x),
                               naive_softmax(numbers<T>(x), outer, n, inner, false));
                check_close<T>(run_one(tn::untyped::log_softmax(in, axis), in, x),
                               naive_softmax(numbers<T>(x), outer, n, inner, true), 4);
            }
        }
    });
}

TEST_CASE_TEMPLATE("elements of 16 bits give what the same values give in float, rounded", T, half, bfloat16) {
    for_each_isa([] {
        for (const extents& sizes : {extents{5, 37}, extents{0, 3}}) {
            const tn::graph_scope scope{tn::graph()};
            const any_array x = random_array<T>(sizes, 3);
            any_array wide(tn::element_type::float32, sizes);
            for (std::int64_t i = 0; i < x.elements(); ++i) wide.data<float>()[i] = static_cast<float>(x.data<T>()[i]);
            const any_tensor in = tn::untyped::placeholder(tn::element_type_of<T>, sizes);
            const any_tensor in_float = tn::untyped::placeholder(tn::element_type::float32, sizes);
            const auto compare = [&](auto f) {
                const any_array found = run_one(f(in), in, x), wanted = run_one(f(in_float), in_float, wide);
                for (std::int64_t i = 0; i < x.elements(); ++i) CHECK(found.data<T>()[i] == T(wanted.data<float>()[i]));
            };
            for (const int axis : {0, 1}) {
                CAPTURE(axis);
                compare([&](const any_tensor& t) { return tn::untyped::softmax(t, axis); });
                compare([&](const any_tensor& t) { return tn::untyped::log_softmax(t, axis); });
            }
        }
    });
}

TEST_CASE_TEMPLATE("extreme logits: nothing overflows; -inf is probability 0; NaN, +inf and nothing but -inf are NaN",
                   T, float, double) {
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const T most = std::numeric_limits<T>::max();
    for_each_isa([&] {
        const tn::graph_scope scope{tn::graph()};
        const auto x = tn::placeholder<T, shape<tn::dyn, 3>>("x");
        tn::session s(tn::graph::current());
        const auto run = [&](array<T> a) { return s.run(tn::feed(x, a), tn::softmax(x), tn::log_softmax(x)); };
        const auto [p, l] =
            run({{1000, 1001, 999}, {-inf, 0, 0}, {most, most, -most}, {-1e30F, 0, -1e30F}, {-inf, -inf, 5}});
        CHECK(p(0, 1) == doctest::Approx(0.6652409558));
        CHECK(p(1, 0) == 0);
        CHECK(p(1, 1) == doctest::Approx(0.5));
        CHECK(l(1, 0) == -inf);
        CHECK(l(1, 2) == doctest::Approx(std::log(0.5)));
        CHECK(p(2, 0) == doctest::Approx(0.5));
        CHECK(p(2, 2) == 0);
        CHECK(p(3, 1) == 1);
        CHECK(l(3, 0) == doctest::Approx(-1e30));
        CHECK(p(4, 2) == 1);
        CHECK(l(4, 2) == 0);
        const auto [bad, bad_log] = run({{nan, 0, 0}, {0, nan, 1}, {inf, 0, 0}, {-inf, -inf, -inf}});
        for (const T v : bad.span()) CHECK(std::isnan(v));
        CHECK(std::isnan(bad_log(0, 1)));
        CHECK(std::isnan(bad_log(3, 1)));
    });
}

TEST_CASE_TEMPLATE(
    "rows that are spread widely, begin far from the rest or at -inf, or lie far from 0: within some ulp of float64", T,
    float, double) {
    const auto wide = [](double first, double center, double spread) {
        return [=](std::int64_t i, std::int64_t n, double random) {
            return i == 0 ? center + first : i == n / 2 ? center + spread : center + random * spread;
        };
    };
    using value = std::function<double(std::int64_t i, std::int64_t n, double random)>;
    const value rows[] = {
        wide(0, 0, 3),
        wide(-43, 0, 3),
        wide(-60, 0, 3),
        wide(60, 0, 3),
        wide(43, 0, 43),
        wide(0, 0, 200),
        wide(0, 0, 800),
        wide(0, 1000, 20),
        wide(5, -20000, 40),
        wide(0, 1e6, 2),
        wide(-1e5, 0, 5),
        wide(1e30, 0, 5),
        wide(-infinity, 0, 3),
        [](std::int64_t i, std::int64_t n, double random) { return i < n / 2 ? 4 * random : -infinity; },
        [](std::int64_t i, std::int64_t n, double random) { return i < n / 2 ? -infinity : 4 * random; }};
    const auto several = static_cast<std::int64_t>(std::size(rows));
    for_each_isa([&] {
        for (const std::int64_t n : {2, 5, 17, 40, 100, 129, 1000}) {
            CAPTURE(n);
            const any_array random = random_array<double>({several, n}, 7); // -3 .. 3
            any_array x(tn::element_type_of<T>, {several, n}), across(tn::element_type_of<T>, {n, several});
            std::vector<double> exact;
            for (std::int64_t r = 0; r < several; ++r)
                for (std::int64_t i = 0; i < n; ++i) {
                    const auto v = static_cast<T>(rows[r](i, n, random.data<double>()[r * n + i] / 3));
                    x.data<T>()[r * n + i] = v;
                    across.data<T>()[i * several + r] = v;
                    exact.push_back(static_cast<double>(v));
                }
            const std::vector<double> wanted = naive_softmax(exact, several, n, 1, false);
            const std::vector<double> logs = naive_softmax(exact, several, n, 1, true);
            const tn::graph_scope scope{tn::graph()};
            const any_tensor in = tn::untyped::placeholder(tn::element_type_of<T>, {several, n});
            const any_tensor in_across = tn::untyped::placeholder(tn::element_type_of<T>, {n, several});
            const any_array y = run_one(tn::untyped::softmax(in, 1), in, x),
                            l = run_one(tn::untyped::log_softmax(in, 1), in, x);
            const any_array y0 = run_one(tn::untyped::softmax(in_across, 0), in_across, across);
            const any_array l0 = run_one(tn::untyped::log_softmax(in_across, 0), in_across, across);
            const double ulp = std::numeric_limits<T>::epsilon(), tiny = std::numeric_limits<T>::min() * 4;
            for (std::int64_t r = 0; r < several; ++r)
                for (std::int64_t i = 0; i < n; ++i) {
                    const auto at = static_cast<std::size_t>(r * n + i);
                    CAPTURE(r);
                    CAPTURE(i);
                    // what is rounded in the distance to the largest, in double too, and in sums of n
                    const double distance = std::isinf(logs[at]) ? 0 : std::fabs(logs[at]);
                    const double share = wanted[at] < tiny ? wanted[at] : 6 * ulp * wanted[at] * (1 + distance);
                    CHECK(std::fabs(static_cast<double>(y.data<T>()[r * n + i]) - wanted[at]) <= share);
                    CHECK(std::fabs(static_cast<double>(y0.data<T>()[i * several + r]) - wanted[at]) <= share);
                    for (const T found : {l.data<T>()[r * n + i], l0.data<T>()[i * several + r]})
                        CHECK((found == logs[at] ||
                               std::fabs(static_cast<double>(found) - logs[at]) <= 3 * ulp * (1 + distance)));
                }
        }
    });
}

TEST_CASE_TEMPLATE("sparse cross entropy and its gradient are the formulas, for both label types", T, float, double,
                   half, bfloat16) {
    for_each_isa([] {
        for (const std::int64_t classes : {1, 2, 10, 16, 17, 100}) {
            const std::int64_t rows = 37;
            CAPTURE(classes);
            const tn::graph_scope scope{tn::graph()};
            const any_array x = random_array<T>({rows, classes}, 5);
            any_array labels(tn::element_type::int64, {rows}), narrow(tn::element_type::int32, {rows});
            for (std::int64_t r = 0; r < rows; ++r) {
                labels.data<std::int64_t>()[r] = r * 7 % classes;
                narrow.data<std::int32_t>()[r] = static_cast<std::int32_t>(r * 7 % classes);
            }
            const any_tensor in = tn::untyped::placeholder(tn::element_type_of<T>, {rows, classes});
            const any_tensor label = tn::untyped::placeholder(tn::element_type::int64, {rows});
            const any_tensor label32 = tn::untyped::placeholder(tn::element_type::int32, {rows});
            const any_tensor loss = tn::untyped::sparse_softmax_cross_entropy(in, label);
            const any_tensor loss32 = tn::untyped::sparse_softmax_cross_entropy(in, label32);
            const any_tensor dx = tn::detail::add_gradients({loss}, {in})[0];
            tn::session s(tn::graph::current());
            const auto results =
                s.run_untyped(tn::test::fed(in, x, label, labels, label32, narrow), {loss, loss32, dx});
            const std::vector<double> y = naive_softmax(numbers<T>(x), rows, classes, 1, true);
            std::vector<double> wanted, wanted_dx;
            for (std::int64_t r = 0; r < rows; ++r) {
                const std::int64_t hit = r * 7 % classes;
                wanted.push_back(-y[static_cast<std::size_t>(r * classes + hit)]);
                for (std::int64_t c = 0; c < classes; ++c)
                    wanted_dx.push_back(std::exp(y[static_cast<std::size_t>(r * classes + c)]) - (c == hit ? 1 : 0));
            }
            check_close<T>(results[0], wanted, 4);
            check_close<T>(results[2], wanted_dx, 2);
            CHECK(results[0] == results[1]);
        }
    });
}

TEST_CASE_FIXTURE(in_graph, "a label that is no class fails the step, naming label, row and number of classes") {
    const auto x = tn::placeholder<float, shape<batch, 10>>("x");
    const auto labels = tn::placeholder<std::int32_t, shape<batch>>("labels");
    const auto loss = tn::sparse_softmax_cross_entropy(x, labels);
    tn::session s(tn::graph::current());
    for (const std::int32_t bad : {10, -1}) {
        const std::string message = message_of<tn::invalid_argument_error>([&] {
            s.run(tn::feed(x, array<float>(extents{3, 10})), tn::feed(labels, array<std::int32_t>{0, 9, bad}), loss);
        });
        CHECK(contains(message, "label " + std::to_string(bad) + " of row 2"));
        CHECK(contains(message, "10 classes"));
    }
    const auto none = tn::placeholder<float, shape<batch, 0>>("none");
    CHECK_ERROR(tn::invalid_argument_error, "label 5 of row 0 is of no class: the last size of the logits is 0",
                s.run(tn::feed(none, array<float>(extents{1, 0})), tn::feed(labels, array<std::int32_t>{5}),
                      tn::sparse_softmax_cross_entropy(none, labels)));
    const auto good =
        s.run(tn::feed(x, array<float>(extents{3, 10})), tn::feed(labels, array<std::int32_t>{0, 9, 5}), loss);
    CHECK(good[2] == doctest::Approx(std::log(10.0)));
}

TEST_CASE("cross entropy of logits of any magnitude is finite; of a class at -inf it is infinite") {
    const float inf = std::numeric_limits<float>::infinity();
    for_each_isa([&] {
        const tn::graph_scope scope{tn::graph()};
        const auto x = tn::placeholder<float, shape<tn::dyn, 3>>("x");
        const auto labels = tn::placeholder<std::int32_t, shape<tn::dyn>>("labels");
        const auto p = tn::placeholder<float, shape<tn::dyn, 3>>("p");
        tn::session s(tn::graph::current());
        const auto [a, b] = s.run(tn::feed(x, array<float>{{1e30F, -1e30F, 0}, {-inf, 2, 2}, {-inf, 2, 2}}),
                                  tn::feed(labels, array<std::int32_t>{1, 1, 0}),
                                  tn::feed(p, array<float>{{1, 0, 0}, {0, 0.5, 0.5}, {1, 0, 0}}),
                                  tn::sparse_softmax_cross_entropy(x, labels), tn::softmax_cross_entropy(x, p));
        CHECK(a[0] == doctest::Approx(2e30));
        CHECK(a[1] == doctest::Approx(std::log(2.0)));
        CHECK(a[2] == inf);
        CHECK(b[0] == 0);
        CHECK(b[1] == doctest::Approx(std::log(2.0))); // 0 * -inf counts as 0
        CHECK(b[2] == inf);
    });
}

TEST_CASE_FIXTURE(in_graph, "leading dimensions of any number, named, dynamic and static sizes") {
    const auto x = tn::placeholder<float, shape<batch, 5, 4>>("x");
    const auto labels = tn::placeholder<std::int64_t, shape<tn::dyn, 5>>("labels");
    const auto loss = tn::sparse_softmax_cross_entropy(x, labels);
    static_assert(std::is_same_v<decltype(loss), const tn::tensor<float, shape<batch, 5>>>);
    tn::session s(tn::graph::current());
    const auto a =
        s.run(tn::feed(x, array<float>(extents{2, 5, 4})), tn::feed(labels, array<std::int64_t>(extents{2, 5})), loss);
    CHECK(a.extents() == extents{2, 5});
    CHECK(a(1, 4) == doctest::Approx(std::log(4.0)));
    const auto one = tn::placeholder<float, shape<4>>("one");
    const auto label = tn::placeholder<std::int32_t>("label");
    CHECK(
        s.run(tn::feed(one, array<float>{0, 0, 0, 0}), tn::feed(label, 2), tn::sparse_softmax_cross_entropy(one, label))
            .item() == doctest::Approx(std::log(4.0)));
    CHECK_THROWS_AS(
        s.run(tn::feed(x, array<float>(extents{2, 5, 4})), tn::feed(labels, array<std::int64_t>(extents{3, 5})), loss),
        tn::invalid_argument_error);
}

TEST_CASE("sigmoid_cross_entropy: gradients agree with central differences") {
    CHECK(check_gradients([](auto x, auto z) { return tn::sigmoid_cross_entropy(x, z); }, input<shape<batch, 3>>(2, 3),
                          input<shape<tn::dyn, 3>>(2, 3)) == "");
}

TEST_CASE_FIXTURE(in_graph, "sigmoid_cross_entropy keeps its precision at both ends") {
    const auto x = tn::placeholder<float, shape<tn::dyn>>("x"), z = tn::placeholder<float, shape<tn::dyn>>("z");
    tn::session s(tn::graph::current());
    const auto a = s.run(tn::feed(x, array<float>{-100, -20, 0, 20, 100, 100}),
                         tn::feed(z, array<float>{0, 0, 1, 1, 1, 0}), tn::sigmoid_cross_entropy(x, z));
    const double wanted[] = {std::exp(-100.0), std::log1p(std::exp(-20.0)),
                             std::log(2.0),    std::log1p(std::exp(-20.0)),
                             std::exp(-100.0), 100};
    for (std::int64_t i = 0; i < 6; ++i) CHECK(a[i] == doctest::Approx(wanted[i]).epsilon(1e-5));
}

TEST_CASE_FIXTURE(in_graph, "shapes that do not fit are refused with the rule's words") {
    const any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {4, 10});
    const auto refused = [](auto f) { return message_of<tn::invalid_argument_error>(f); };
    const auto sparse = [&](tn::element_type e, const extents& sizes) {
        return refused([&] { tn::untyped::sparse_softmax_cross_entropy(x, tn::untyped::placeholder(e, sizes)); });
    };
    CHECK(contains(sparse(tn::element_type::int32, {5}), "batch sizes differ: [4, 10] x [5]"));
    CHECK(contains(sparse(tn::element_type::int32, {4, 10}), "ranks differ"));
    CHECK(contains(sparse(tn::element_type::float32, {4}), "must be an integer"));
    CHECK_ERROR(tn::invalid_argument_error, "axis is out of range", tn::untyped::softmax(x, 2));
    CHECK_ERROR(tn::invalid_argument_error, "numbers of classes differ",
                tn::untyped::softmax_cross_entropy(x, tn::untyped::placeholder(tn::element_type::float32, {4, 9})));
}
