#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "../untyped_run.hpp"

using namespace tenon;
using test::check_gradients;
using test::element;
using test::input;
using test::random_array;
using test::run;
using test::unknown_placeholder;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");

using members = std::vector<double>;

// For each output, in row-major order, the elements it is made of, in row-major order.
std::vector<members> groups(const any_array& x, const index_list& axes) {
    const detail::axis_set reduced = detail::axes_or_all(axes, x.rank());
    std::vector<members> result(
        static_cast<std::size_t>(detail::reduced_extents(x.extents(), reduced, false).elements()));
    for (std::int64_t i = 0; i < x.elements(); ++i) {
        std::int64_t rest = i, to = 0, step = 1;
        for (int d = x.rank(); d-- > 0;) {
            const std::int64_t at = rest % x.extents()[d].size;
            rest /= x.extents()[d].size;
            if (reduced.has(d)) continue;
            to += at * step;
            step *= x.extents()[d].size;
        }
        result[static_cast<std::size_t>(to)].push_back(test::number(x, i));
    }
    return result;
}

using reduction = std::function<any_tensor(const any_tensor&, const index_list&, bool, called_from)>;
using formula = double (*)(const members&);

double rounding(element_type e) {
    switch (e) {
    case element_type::float64: return 1e-14;
    case element_type::float32: return 3e-7;
    case element_type::float16: return 1e-3;
    case element_type::bfloat16: return 8e-3;
    default: return 0;
    }
}

// Every way to reduce tensors of a few shapes, against the formula in double; integers wrap around.
void check_values(element_type e, element_type out, const reduction& reduce, formula of, double tolerance = 0,
                  bool empty = true) {
    INFO(std::string(name_of(e)));
    std::vector<extents> shapes{extents(1),         extents(7),          extents(1000),       extents(5, 3),
                                extents(3, 70),     extents(70, 3),      extents(33, 130),    extents(4, 6, 5),
                                extents(3, 17, 40), extents(2, 3, 4, 5), extents(1, 9, 1, 8), extents(2, 1, 300)};
    if (empty) shapes.insert(shapes.end(), {extents(0), extents(0, 3), extents(3, 0), extents(2, 0, 3)});
    for (const extents& shape : shapes)
        for (unsigned bits = 0; bits < (1U << shape.rank()); ++bits) {
            index_list axes;
            for (int i = 0; i < shape.rank(); ++i)
                if ((bits >> i & 1U) != 0) axes.push_back(i % 2 == 0 ? i : i - shape.rank());
            const graph_scope scope{graph()};
            const any_array x = random_array(e, shape, 7 + bits);
            const any_tensor in = unknown_placeholder(x);
            const bool keepdims = bits % 2 == 1;
            const any_array y = run(reduce(in, axes, keepdims, caller()), in, x);
            REQUIRE(y.element() == out);
            REQUIRE(y.extents() == detail::reduced_extents(shape, detail::axes_or_all(axes, shape.rank()), keepdims));
            const auto from = groups(x, axes);
            REQUIRE(static_cast<std::int64_t>(from.size()) == y.elements());
            for (std::size_t i = 0; i < from.size(); ++i) {
                const double found = test::number(y, static_cast<std::int64_t>(i));
                double w = of(from[i]);
                detail::with_element(out, [&]<class T>(const T&) {
                    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
                        w = static_cast<double>(static_cast<T>(static_cast<std::int64_t>(w)));
                });
                if (std::isnan(w)) REQUIRE(std::isnan(found));
                else if (std::isinf(w)) REQUIRE(found == w);
                else REQUIRE(std::fabs(found - w) <= tolerance * (1 + std::fabs(w)));
            }
        }
}

double sum_of(const members& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double mean_of(const members& v) { return sum_of(v) / static_cast<double>(v.size()); }
double least_of(const members& v) {
    double m = infinity;
    for (const double x : v) m = x < m ? x : m;
    return m;
}
double largest_of(const members& v) {
    double m = -infinity;
    for (const double x : v) m = x > m ? x : m;
    return m;
}
double squares_of(const members& v) { return std::inner_product(v.begin(), v.end(), v.begin(), 0.0); }
template <int Less> double variance_of(const members& v) {
    const double m = mean_of(v), divisor = static_cast<double>(v.size()) - Less;
    double s = 0;
    for (const double x : v) s += (x - m) * (x - m);
    return divisor > 0 ? s / divisor : std::nan("");
}
template <bool Largest> double place_of(const members& v) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < v.size(); ++i)
        if (Largest ? v[i] > v[best] : v[i] < v[best]) best = i;
    return static_cast<double>(best);
}

constexpr element_type floating_types[] = {element_type::float32, element_type::float64, element_type::float16,
                                           element_type::bfloat16};
constexpr element_type number_types[] = {element_type::float32,  element_type::float64, element_type::float16,
                                         element_type::bfloat16, element_type::int8,    element_type::int16,
                                         element_type::int32,    element_type::int64,   element_type::uint8,
                                         element_type::uint16,   element_type::uint32,  element_type::uint64};

} // namespace

TEST_CASE("sum, min, max, argmin, argmax, count_nonzero: over any axes; the first of equals") {
    for (const element_type e : number_types) {
        check_values(e, e, untyped::sum, sum_of, 200 * rounding(e));
        check_values(e, e, untyped::min, least_of, 0, false);
        check_values(e, e, untyped::max, largest_of, 0, false);
        check_values(e, element_type::int64, untyped::argmin, place_of<false>, 0, false);
        check_values(e, element_type::int64, untyped::argmax, place_of<true>, 0, false);
    }
    const formula count = [](const members& v) {
        return static_cast<double>(v.size()) - static_cast<double>(std::count(v.begin(), v.end(), 0.0));
    };
    for (const element_type e : number_types) check_values(e, element_type::int64, untyped::count_nonzero, count);
    check_values(element_type::boolean, element_type::int64, untyped::count_nonzero, count);
}

TEST_CASE("mean, norms, logsumexp, variance: over any axes") {
    for (const element_type e : floating_types) {
        check_values(e, e, untyped::mean, mean_of, 3 * rounding(e));
        check_values(
            e, e, [=](const auto& x, const auto& a, bool k, called_from) { return untyped::norm(x, 1, a, k); },
            [](const members& v) {
                return std::accumulate(v.begin(), v.end(), 0.0, [](double s, double x) { return s + std::fabs(x); });
            },
            rounding(e));
        check_values(
            e, e, [=](const auto& x, const auto& a, bool k, called_from) { return untyped::norm(x, 2, a, k); },
            [](const members& v) { return std::sqrt(squares_of(v)); }, rounding(e));
        check_values(
            e, e, [=](const auto& x, const auto& a, bool k, called_from) { return untyped::norm(x, 0, a, k); },
            [](const members& v) { return v.empty() ? 0 : std::fmax(largest_of(v), -least_of(v)); }, rounding(e));
        check_values(
            e, e, untyped::logsumexp,
            [](const members& v) {
                double s = 0;
                for (const double x : v) s += std::exp(x);
                return std::log(s);
            },
            rounding(e));
        check_values(
            e, e, [=](const auto& x, const auto& a, bool k, called_from) { return untyped::variance(x, a, k, 0); },
            variance_of<0>, 4 * rounding(e));
        check_values(
            e, e, [=](const auto& x, const auto& a, bool k, called_from) { return untyped::variance(x, a, k, 1); },
            variance_of<1>, 4 * rounding(e));
    }
}

TEST_CASE("prod: over any axes") {
    // Of few elements: products of many overflow.
    for (const element_type e :
         {element_type::float64, element_type::float32, element_type::int64, element_type::int32})
        for (const extents& shape : {extents(6), extents(4, 5), extents(3, 4, 2), extents(0, 3)})
            for (const index_list& axes : {index_list{}, index_list{0}, index_list{-1}}) {
                const graph_scope scope{graph()};
                const any_array x = random_array(e, shape, 3);
                const any_tensor in = unknown_placeholder(x);
                const any_array y = run(untyped::prod(in, axes), in, x);
                const auto from = groups(x, axes);
                for (std::size_t i = 0; i < from.size(); ++i) {
                    const double wanted =
                        std::accumulate(from[i].begin(), from[i].end(), 1.0, std::multiplies<double>());
                    if (is_integer(e) && std::fabs(wanted) > 2e9) continue;
                    REQUIRE(std::fabs(test::number(y, static_cast<std::int64_t>(i)) - wanted) <=
                            rounding(e) * 4 * (1 + std::fabs(wanted)));
                }
            }
}

TEST_CASE("any, all: over any axes") {
    constexpr element_type truth = element_type::boolean;
    check_values(truth, truth, untyped::any, [](const members& v) { return largest_of(v) > 0 ? 1.0 : 0.0; });
    check_values(truth, truth, untyped::all, [](const members& v) { return least_of(v) > 0 ? 1.0 : 0.0; });
}

TEST_CASE("reductions: every instruction set gives the same") {
    for_each_isa([&] {
        check_values(element_type::float32, element_type::float32, untyped::sum, sum_of, 6e-5);
        check_values(element_type::float64, element_type::float64, untyped::sum, sum_of, 1e-12);
        check_values(element_type::float16, element_type::float16, untyped::sum, sum_of, 0.1);
        check_values(element_type::float32, element_type::float32, untyped::max, largest_of, 0, false);
        check_values(
            element_type::float32, element_type::float32,
            [=](const auto& x, const auto& a, bool k, called_from) { return untyped::norm(x, 2, a, k); },
            [](const members& v) { return std::sqrt(squares_of(v)); }, 3e-7);
    });
}

TEST_CASE_FIXTURE(in_graph, "sum: ten million ones are exact in float; a mean is accurate to a few roundings") {
    any_array ones(element_type::float32, extents(10'000'000));
    for (std::int64_t i = 0; i < ones.elements(); ++i) ones.data<float>()[i] = 1;
    const any_tensor x = unknown_placeholder(ones);
    CHECK(element<float>(run(untyped::sum(x), x, ones), 0) == 1e7);
    // Down columns as well.
    const any_array columns = ones.reshape(extents(5'000'000, 2));
    const any_tensor y = unknown_placeholder(columns);
    CHECK(element<float>(run(untyped::sum(y, {0}), y, columns), 1) == 5e6);

    const any_array values = random_array<float>(extents(3'000'000));
    double exact = 0;
    for (std::int64_t i = 0; i < values.elements(); ++i) exact += element<float>(values, i) + 3;
    any_array shifted = values.copy();
    for (std::int64_t i = 0; i < values.elements(); ++i) shifted.data<float>()[i] += 3;
    const double found = element<float>(run(untyped::mean(x), x, shifted), 0);
    CHECK(std::fabs(found - exact / 3e6) < 1e-6 * found);
}

TEST_CASE_FIXTURE(in_graph, "reductions: NaN and infinities") {
    const auto of = [](std::vector<double> v) {
        any_array a(element_type::float64, extents(static_cast<std::int64_t>(v.size())));
        for (std::size_t i = 0; i < v.size(); ++i) a.data<double>()[i] = v[i];
        return a;
    };
    const any_tensor x = untyped::placeholder(element_type::float64, extents(extent{}));
    for (const std::size_t n : {std::size_t{2}, std::size_t{40}, std::size_t{500}})
        for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
            std::vector<double> v(n, 1.0);
            v[at] = not_a_number;
            CHECK(std::isnan(element<double>(run(untyped::sum(x), x, of(v)), 0)));
            CHECK(std::isnan(element<double>(run(untyped::min(x), x, of(v)), 0)));
            CHECK(std::isnan(element<double>(run(untyped::max(x), x, of(v)), 0)));
            CHECK(std::isnan(element<double>(run(untyped::logsumexp(x), x, of(v)), 0)));
            CHECK(element<std::int64_t>(run(untyped::argmax(x), x, of(v)), 0) == static_cast<double>(at));
            CHECK(element<std::int64_t>(run(untyped::argmin(x), x, of(v)), 0) == static_cast<double>(at));
            v[at] = 1000;
            CHECK(element<double>(run(untyped::logsumexp(x), x, of(v)), 0) == doctest::Approx(1000.0));
            v[at] = infinity;
            CHECK(element<double>(run(untyped::logsumexp(x), x, of(v)), 0) == infinity);
            v[at] = -infinity;
            CHECK(element<double>(run(untyped::logsumexp(x), x, of(v)), 0) ==
                  doctest::Approx(1 + std::log(static_cast<double>(n - 1))));
            CHECK(element<double>(run(untyped::min(x), x, of(v)), 0) == -infinity);
        }
    CHECK(element<double>(run(untyped::logsumexp(x), x, of({-infinity, -infinity})), 0) == -infinity);
    CHECK(element<double>(run(untyped::max(x), x, of({-infinity, -infinity})), 0) == -infinity);
    CHECK(element<std::int64_t>(run(untyped::argmax(x), x, of({-infinity, -infinity})), 0) == 0);
}

TEST_CASE_TEMPLATE("logsumexp of rows: wherever the largest element is, and however large", T, float, double) {
    const double most = static_cast<double>(std::numeric_limits<T>::max());
    const auto rows_of = [&](std::int64_t n) {
        std::vector<std::vector<double>> rows;
        const auto add = [&](auto f) {
            std::vector<double>& row = rows.emplace_back();
            for (std::int64_t i = 0; i < n; ++i) row.push_back(static_cast<double>(static_cast<T>(f(i))));
        };
        add([](std::int64_t i) { return 0.37 * static_cast<double>(i); }); // each chunk has larger ones
        add([](std::int64_t i) { return -0.37 * static_cast<double>(i); });
        add([](std::int64_t i) { return 0.003 * static_cast<double>(i); }); // hardly larger ones
        add([](std::int64_t i) { return std::sin(static_cast<double>(i)) * 40 - 1000; });
        add([&](std::int64_t i) { return i == n - 1 ? 500.0 : -500.0; });
        add([&](std::int64_t i) { return i == n / 2 ? most : -most; });
        add([&](std::int64_t i) { return i % 3 == 0 ? -infinity : 0.1 * static_cast<double>(i % 7); });
        add([](std::int64_t) { return -infinity; });
        add([&](std::int64_t i) { return i == n - 2 ? infinity : i % 2 == 0 ? -infinity : most; });
        add([&](std::int64_t i) { return i == 3 ? not_a_number : static_cast<double>(i); });
        return rows;
    };
    for_each_isa([&] {
        for (const std::int64_t n : {63, 64, 100, 128, 1000, 4096, 20000}) {
            CAPTURE(n);
            const auto rows = rows_of(n);
            const auto count = static_cast<std::int64_t>(rows.size());
            any_array a(element_type_of<T>, {count, n});
            for (std::int64_t i = 0; i < count * n; ++i)
                a.data<T>()[i] = static_cast<T>(rows[static_cast<std::size_t>(i / n)][static_cast<std::size_t>(i % n)]);
            const graph_scope scope{graph()};
            const any_tensor x = untyped::placeholder(element_type_of<T>, {count, n});
            const any_array found = run(untyped::logsumexp(x, {1}), x, a);
            for (std::int64_t r = 0; r < count; ++r) {
                CAPTURE(r);
                const std::vector<double>& row = rows[static_cast<std::size_t>(r)];
                long double top = -infinity, sum = 0;
                for (const double v : row) top = v > top ? v : top;
                for (const double v : row) sum += std::isinf(v) ? 0 : std::exp(static_cast<long double>(v) - top);
                const double wanted =
                    std::isinf(top) ? static_cast<double>(top) : static_cast<double>(top + std::log(sum));
                const double value = element<T>(found, r);
                if (r + 1 == count) CHECK(std::isnan(value));
                else if (std::isinf(wanted)) CHECK(value == wanted);
                else CHECK(std::fabs(value - wanted) <= 2 * rounding(element_type_of<T>) * (std::fabs(wanted) + 1));
            }
        }
    });
}

TEST_CASE_FIXTURE(in_graph, "argmax: the first of equal elements, also in another block and on another thread") {
    any_array a = any_array::zeros(element_type::float32, extents(300000));
    a.data<float>()[70000] = 2;
    a.data<float>()[70001] = 2;
    a.data<float>()[250000] = 2;
    const any_tensor x = unknown_placeholder(a);
    CHECK(element<std::int64_t>(run(untyped::argmax(x), x, a), 0) == 70000);
    CHECK(element<std::int64_t>(run(untyped::argmin(x), x, a), 0) == 0);
    a.data<float>()[250000] = static_cast<float>(not_a_number); // larger than all, and smaller
    CHECK(element<std::int64_t>(run(untyped::argmax(x), x, a), 0) == 250000);
    CHECK(element<std::int64_t>(run(untyped::argmin(x), x, a), 0) == 250000);
}

TEST_CASE_FIXTURE(in_graph, "variance: two passes, so that a large mean does no harm") {
    any_array a(element_type::float32, extents(1000));
    for (std::int64_t i = 0; i < 1000; ++i) a.data<float>()[i] = 4096.0F + static_cast<float>(i % 2);
    const any_tensor x = unknown_placeholder(a);
    CHECK(element<float>(run(untyped::variance(x), x, a), 0) == doctest::Approx(0.25));
    CHECK(element<float>(run(untyped::standard_deviation(x, {}, false, 1), x, a), 0) ==
          doctest::Approx(std::sqrt(250.0 / 999.0)));
}

TEST_CASE_FIXTURE(in_graph, "reductions: an empty axis has no least or largest element") {
    const auto x = placeholder<float, shape<dyn, 3>>("x");
    session s;
    const any_array none(element_type::float32, extents(0, 3));
    CHECK_ERROR(invalid_argument_error, "max: an empty axis has no least or largest element: [0, 3]",
                s.run(max<0>(x), feed(x, none)));
    CHECK(s.run(sum<0>(x), feed(x, none)) == array<float, shape<3>>{0, 0, 0});
    CHECK(s.run(max<1>(x), feed(x, none)).size() == 0);
}

TEST_CASE_FIXTURE(in_graph, "reductions: axes and element types are checked") {
    const any_tensor x = untyped::placeholder(element_type::float32, extents(2, 3));
    const any_tensor flags = untyped::placeholder(element_type::boolean, extents(2, 3));
    CHECK_ERROR(invalid_argument_error, "sum: axis is out of range: [2, 3]", untyped::sum(x, {2}));
    CHECK_ERROR(invalid_argument_error, "axis is given twice", untyped::sum(x, {1, -1}));
    CHECK_ERROR(invalid_argument_error, "element type must be a number: bool[2, 3]", untyped::sum(flags));
    CHECK_ERROR(invalid_argument_error, "element type must be bool", untyped::any(x));
    CHECK_THROWS_AS(untyped::mean(untyped::placeholder(element_type::int32, extents(2))), invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "moments are the mean and the variance; l2_normalize divides by the length") {
    const auto x = placeholder<double, shape<batch, 2>>();
    session s;
    const auto [mean_of_x, variance_of_x] = moments<0>(x);
    const auto [all, spread] = moments(x, keepdims);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(spread)>::shape_type, shape<1, 1>>);
    const array<double> v{{3, 4}, {0, 0}, {-6, 8}};
    const auto [m, d, a, rows, whole] =
        s.run(feed(x, v), mean_of_x, variance_of_x, all, l2_normalize<1>(x), l2_normalize(x));
    CHECK(m(0) == -1);
    CHECK(m(1) == 4);
    CHECK(d(0) == doctest::Approx(14));
    CHECK(a(0, 0) == 1.5);
    CHECK(rows(0, 0) == doctest::Approx(0.6));
    CHECK(rows(1, 1) == 0); // not NaN
    CHECK(rows(2, 1) == doctest::Approx(0.8));
    CHECK(whole(2, 0) == doctest::Approx(-6 / std::sqrt(125.0)));
    CHECK(check_gradients([](const auto& t) { return l2_normalize<1>(t); }, input<shape<3, 4>>()) == "");
    CHECK(check_gradients([](const auto& t) { return l2_normalize<0>(t); }, input<shape<batch, dyn>>(3, 2)) == "");
    const auto product = [](const auto& t) {
        const auto [first, second] = moments<0>(t);
        return elementwise<opcode::multiply>(first, second);
    };
    CHECK(check_gradients(product, input<shape<dyn, 2>>(4, 2)) == "");
}
