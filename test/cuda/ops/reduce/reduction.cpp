// Reductions on a GPU against loops in float64.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include <tenon/op/axes.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/reduce/reduction.hpp>

#include "../random/drawn_numbers.hpp"

using namespace tenon;
using test::array_of;
using test::difference;
using test::drawn_numbers;
using test::infinity;
using test::not_a_number;
using test::number_at;
using test::run_on_gpu;
using test::same_bits;
using test::spacing;

namespace {

using members = std::vector<double>;

// For each output, in row-major order, the elements it is made of, in row-major order.
std::vector<members> groups_of(const any_array& x, unsigned axes) {
    const detail::axis_set set{fault::none, axes};
    std::vector<members> result(static_cast<std::size_t>(detail::reduced_extents(x.extents(), set, false).elements()));
    for (std::int64_t i = 0; i < x.elements(); ++i) {
        std::int64_t rest = i, to = 0, step = 1;
        for (int d = x.rank(); d-- > 0;) {
            const std::int64_t size = x.extents()[d].size, at = rest % size;
            rest /= size;
            if (set.has(d)) continue;
            to += at * step;
            step *= size;
        }
        result[static_cast<std::size_t>(to)].push_back(number_at(x, i));
    }
    return result;
}

using op = std::function<any_tensor(const any_tensor&, const index_list&, bool)>;

any_array reduced(const any_array& x, unsigned axes, bool kept, const op& f) {
    index_list list;
    for (int i = 0; i < x.rank(); ++i)
        if ((axes >> i & 1U) != 0) list.push_back(i);
    return std::move(run_on_gpu({&x}, [&](const auto& in) { return std::vector{f(in[0], list, kept)}; })[0]);
}

// Every set of axes of the shape. `tolerance`: of a result, from its members and its value.
template <class T, class Draw>
void check(const extents& shape, const Draw& draw, const op& f, const std::function<double(const members&)>& formula,
           const std::function<double(const members&, double)>& tolerance) {
    for (unsigned axes = shape.rank() == 0 ? 0 : 1; axes < std::max(1U << shape.rank(), 1U); ++axes) {
        const any_array x = array_of<T>(shape, draw);
        const bool kept = axes % 2 == 1;
        CAPTURE(to_string(shape));
        CAPTURE(axes);
        const any_array y = reduced(x, axes, kept, f);
        REQUIRE(y.extents() == detail::reduced_extents(shape, {fault::none, axes}, kept));
        const std::vector<members> groups = groups_of(x, axes);
        std::vector<double> wanted;
        for (const members& g : groups) wanted.push_back(formula(g));
        REQUIRE(difference(y, wanted, [&](std::int64_t i) {
                    const auto k = static_cast<std::size_t>(i);
                    return tolerance(groups[k], wanted[k]);
                }) == "");
    }
}

const std::vector<extents>& shapes() {
    static const std::vector<extents> all{
        extents(),          extents(1),         extents(7),          extents(5000),       extents(5, 3),
        extents(3, 70),     extents(70, 3),     extents(33, 130),    extents(300, 40),    extents(2, 9000),
        extents(3, 17, 40), extents(40, 3, 33), extents(2, 3, 4, 5), extents(1, 9, 1, 8), extents(6, 2, 3, 2, 5)};
    return all;
}
const std::vector<extents>& with_nothing() {
    static const std::vector<extents> all{extents(0), extents(0, 3), extents(3, 0), extents(2, 0, 3)};
    return all;
}

double sum_of(const members& g) {
    long double s = 0;
    for (const double v : g) s += v;
    return static_cast<double>(s);
}
double magnitudes(const members& g) {
    long double s = 0;
    for (const double v : g) s += std::fabs(v);
    return static_cast<double>(s);
}
double squares(const members& g) {
    long double s = 0;
    for (const double v : g) s += v * v;
    return static_cast<double>(s);
}
double deviations(const members& g) {
    long double mean = 0;
    for (const double v : g) mean += v;
    mean /= static_cast<long double>(g.size());
    long double s = 0;
    for (const double v : g) s += (v - mean) * (v - mean);
    return static_cast<double>(s);
}

template <class T> constexpr bool is_whole = std::is_integral_v<T>;
template <class T> double wrapped(double v) {
    return static_cast<double>(static_cast<T>(static_cast<std::int64_t>(v)));
}
// Of results of type T, whose terms were rounded a few times in the type that is computed in.
template <class T> double rounding(double terms, double value) {
    if (is_whole<T>) return 0;
    const double computed = std::max(spacing(element_type_of<T>) > 1e-10 ? 0x1p-23 : 0x1p-52, 0x1p-52);
    return 3 * computed * terms + 0.51 * spacing(element_type_of<T>) * std::fabs(value) + 1e-300;
}

} // namespace

#define TENON_NUMBERS                                                                                                  \
    float, double, half, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, \
        std::uint32_t, std::uint64_t

TEST_CASE_TEMPLATE("GPU: sum over any axes; integers wrap around", T, TENON_NUMBERS) {
    drawn_numbers draw;
    const auto some = [&](std::int64_t) {
        return is_whole<T> ? draw.whole(std::is_signed_v<T> ? -100 : 0, 100) : draw(-3, 3);
    };
    const auto run = [&](const extents& shape) {
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::sum(x, a, k); },
            [](const members& g) { return is_whole<T> ? wrapped<T>(sum_of(g)) : sum_of(g); },
            [](const members& g, double v) { return rounding<T>(magnitudes(g), v); });
    };
    for (const extents& shape : shapes()) run(shape);
    for (const extents& shape : with_nothing()) run(shape);
}

TEST_CASE_TEMPLATE("GPU: mean and norms over any axes", T, float, double, half, bfloat16) {
    drawn_numbers draw;
    const auto some = [&](std::int64_t) { return draw(-3, 3); };
    const auto run = [&](const extents& shape) {
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::mean(x, a, k); },
            [](const members& g) { return sum_of(g) / static_cast<double>(g.size()); },
            [](const members& g, double v) { return rounding<T>(magnitudes(g) / static_cast<double>(g.size()), v); });
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::norm(x, 1, a, k); }, magnitudes,
            [](const members&, double v) { return rounding<T>(v, v); });
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::norm(x, 2, a, k); },
            [](const members& g) { return std::sqrt(squares(g)); },
            [](const members&, double v) { return rounding<T>(v, v); });
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::norm(x, 0, a, k); },
            [](const members& g) {
                double most = 0;
                for (const double v : g) most = std::max(most, std::fabs(v));
                return most;
            },
            [](const members&, double) { return 0.0; });
    };
    for (const extents& shape : shapes()) run(shape);
    for (const extents& shape : with_nothing()) run(shape);
}

TEST_CASE_TEMPLATE("GPU: prod over any axes; integers wrap around", T, float, double, half, bfloat16, std::int8_t,
                   std::uint16_t, std::int32_t, std::uint64_t) {
    drawn_numbers draw;
    const auto some = [&](std::int64_t) { return is_whole<T> ? draw.whole(1, 3) : draw(0.7, 1.35); };
    const auto run = [&](const extents& shape) {
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::prod(x, a, k); },
            [](const members& g) {
                if constexpr (is_whole<T>) {
                    std::uint64_t p = 1;
                    for (const double v : g) p *= static_cast<std::uint64_t>(v);
                    return static_cast<double>(static_cast<T>(p));
                } else {
                    double p = 1;
                    for (const double v : g) p *= v;
                    const T rounded = static_cast<T>(p); // beyond its range: infinity, or 0
                    return std::isfinite(static_cast<double>(rounded)) ? p : static_cast<double>(rounded);
                }
            },
            [](const members& g, double v) {
                const double least = static_cast<double>(std::numeric_limits<T>::denorm_min());
                return is_whole<T>
                           ? 0
                           : (0x1p-52 * static_cast<double>(g.size()) + spacing(element_type_of<T>)) * std::fabs(v) +
                                 least;
            });
    };
    for (const extents& shape : shapes()) run(shape);
    for (const extents& shape : with_nothing()) run(shape);
}

TEST_CASE_TEMPLATE("GPU: min, max, argmin and argmax over any axes: the first of equals", T, TENON_NUMBERS) {
    drawn_numbers draw;
    using limits = std::numeric_limits<T>;
    const auto some = [&](std::int64_t i) {
        if (i % 97 == 5) return static_cast<double>(limits::lowest());
        if (i % 89 == 7 && sizeof(T) < 8) return static_cast<double>(limits::max());
        return is_whole<T> ? draw.whole(std::is_signed_v<T> ? -50 : 0, 50) : std::round(draw(-50, 50));
    };
    const auto exactly = [](const members&, double) { return 0.0; };
    const auto at = [](const members& g, auto better) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < g.size(); ++i)
            if (better(g[i], g[best])) best = i;
        return static_cast<double>(best);
    };
    for (const extents& shape : shapes()) {
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::min(x, a, k); },
            [](const members& g) { return *std::min_element(g.begin(), g.end()); }, exactly);
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::max(x, a, k); },
            [](const members& g) { return *std::max_element(g.begin(), g.end()); }, exactly);
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::argmin(x, a, k); },
            [&](const members& g) { return at(g, std::less<double>()); }, exactly);
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::argmax(x, a, k); },
            [&](const members& g) { return at(g, std::greater<double>()); }, exactly);
    }
}

TEST_CASE("GPU: any and all over any axes; of nothing false and true") {
    drawn_numbers draw;
    for (const double share : {0.001, 0.5, 0.999}) {
        const auto some = [&](std::int64_t) { return draw(0, 1) < share ? 1.0 : 0.0; };
        const auto exactly = [](const members&, double) { return 0.0; };
        const auto run = [&](const extents& shape) {
            check<bool>(
                shape, some, [](const auto& x, const auto& a, bool k) { return untyped::any(x, a, k); },
                [](const members& g) { return sum_of(g) > 0 ? 1.0 : 0.0; }, exactly);
            check<bool>(
                shape, some, [](const auto& x, const auto& a, bool k) { return untyped::all(x, a, k); },
                [](const members& g) { return sum_of(g) == static_cast<double>(g.size()) ? 1.0 : 0.0; }, exactly);
        };
        for (const extents& shape : shapes()) run(shape);
        for (const extents& shape : with_nothing()) run(shape);
    }
}

TEST_CASE_TEMPLATE("GPU: count_nonzero: -0 is 0, NaN is not", T, TENON_NUMBERS, bool) {
    drawn_numbers draw;
    const auto some = [&](std::int64_t i) {
        if (i % 5 == 1) return -0.0;
        if (i % 7 == 1 && std::is_same_v<T, float>) return not_a_number;
        return draw.whole(0, 2);
    };
    const auto run = [&](const extents& shape) {
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::count_nonzero(x, a, k); },
            [](const members& g) {
                return static_cast<double>(g.size()) - static_cast<double>(std::count(g.begin(), g.end(), 0.0));
            },
            [](const members&, double) { return 0.0; });
    };
    for (const extents& shape : shapes()) run(shape);
    for (const extents& shape : with_nothing()) run(shape);
}

TEST_CASE_TEMPLATE("GPU: logsumexp over any axes", T, float, double, half, bfloat16) {
    drawn_numbers draw;
    // In some groups the largest element comes last, and most terms do not count.
    const auto some = [&](std::int64_t i) {
        return draw(-3, 3) + 0.01 * static_cast<double>(i % 5000) + (i % 50 == 0 ? -infinity : 0);
    };
    const auto run = [&](const extents& shape) {
        check<T>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::logsumexp(x, a, k); },
            [](const members& g) {
                double m = -infinity, s = 0;
                for (const double v : g) m = std::max(m, v);
                if (m == -infinity) return m;
                for (const double v : g) s += std::exp(v - m);
                return m + std::log(s);
            },
            [](const members&, double v) { return rounding<T>(2 + std::fabs(v), v); });
    };
    for (const extents& shape : shapes()) run(shape);
    for (const extents& shape : with_nothing()) run(shape);
}

TEST_CASE_TEMPLATE("GPU: variance and standard deviation over any axes, far from 0 too", T, float, double, half,
                   bfloat16) {
    drawn_numbers draw;
    const double center = sizeof(T) == 2 ? 2 : 1000;
    const auto some = [&](std::int64_t) { return center + draw(-3, 3); };
    const auto run = [&](const extents& shape, int less) {
        const auto divisor = [=](const members& g) { return std::max(static_cast<double>(g.size()) - less, 0.0); };
        // Doubles' means are rounded as numbers near `center` are; floats' are kept in double.
        const auto near = [&](const members& g) {
            return rounding<T>(sizeof(T) == 8 ? 10 + center : 10, 0) * static_cast<double>(g.size()) / divisor(g);
        };
        check<T>(
            shape, some, [=](const auto& x, const auto& a, bool k) { return untyped::variance(x, a, k, less); },
            [=](const members& g) { return deviations(g) / divisor(g); },
            [&](const members& g, double v) { return near(g) + rounding<T>(v, v); });
        check<T>(
            shape, some,
            [=](const auto& x, const auto& a, bool k) { return untyped::standard_deviation(x, a, k, less); },
            [=](const members& g) { return std::sqrt(deviations(g) / divisor(g)); },
            [&](const members& g, double v) { return near(g) / std::max(v, std::sqrt(near(g))) + rounding<T>(v, v); });
    };
    for (const extents& shape : shapes()) {
        run(shape, 0);
        run(shape, 1);
    }
    for (const extents& shape : with_nothing()) run(shape, 0);
}

TEST_CASE("GPU: NaN goes through min, max and their positions; infinities as in mathematics") {
    drawn_numbers draw;
    for (const extents& shape : {extents(3, 700), extents(700, 3), extents(20000)}) {
        const auto some = [&](std::int64_t i) {
            return i == 457 || i == 1301 ? not_a_number : i % 11 == 3 ? infinity : draw(-1, 1);
        };
        const auto exactly = [](const members&, double) { return 0.0; };
        const auto first_nan = [](const members& g) {
            return std::find_if(g.begin(), g.end(), [](double v) { return std::isnan(v); });
        };
        check<float>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::max(x, a, k); },
            [&](const members& g) {
                return first_nan(g) != g.end() ? not_a_number : *std::max_element(g.begin(), g.end());
            },
            exactly);
        check<half>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::argmin(x, a, k); },
            [&](const members& given) {
                members g = given;
                for (double& v : g) v = static_cast<double>(half(v));
                const auto nan = first_nan(g);
                return static_cast<double>((nan != g.end() ? nan : std::min_element(g.begin(), g.end())) - g.begin());
            },
            exactly);
        check<float>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::logsumexp(x, a, k); },
            [&](const members& g) {
                if (first_nan(g) != g.end()) return not_a_number;
                double s = 0;
                for (const double v : g) s += std::exp(v);
                return std::log(s);
            },
            [](const members&, double v) { return 1e-5 * (1 + std::fabs(v)); });
        check<double>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::sum(x, a, k); }, sum_of,
            [](const members& g, double v) { return rounding<double>(magnitudes(g), v); });
        check<float>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::variance(x, a, k); },
            [](const members& g) {
                const double d = deviations(g) / static_cast<double>(g.size());
                return std::isfinite(d) ? d : not_a_number;
            },
            [](const members&, double v) { return 1e-5 * (1 + v); });
    }
}

TEST_CASE("GPU: denormal numbers count") {
    const auto some = [](std::int64_t) { return 0x1p-149; };
    check<float>(
        extents(4, 1000), some, [](const auto& x, const auto& a, bool k) { return untyped::sum(x, a, k); }, sum_of,
        [](const members&, double) { return 0.0; });
    check<float>(
        extents(4, 1000), some, [](const auto& x, const auto& a, bool k) { return untyped::max(x, a, k); },
        [](const members&) { return 0x1p-149; }, [](const members&, double) { return 0.0; });
    check<float>(
        extents(4, 1000), some, [](const auto& x, const auto& a, bool k) { return untyped::count_nonzero(x, a, k); },
        [](const members& g) { return static_cast<double>(g.size()); }, [](const members&, double) { return 0.0; });
}

TEST_CASE("GPU: long sums are as exact as doubles, and the same in every run") {
    drawn_numbers draw;
    for (const extents& shape : {extents(1000003), extents(2, 300001), extents(400009, 2), extents(30, 11, 1001)}) {
        const any_array x = array_of<float>(shape, [&](std::int64_t) { return draw(0.9, 1.1); });
        for (unsigned axes = 1; axes < 1U << shape.rank(); ++axes) {
            CAPTURE(to_string(shape));
            CAPTURE(axes);
            const op f = [](const auto& t, const auto& a, bool k) { return untyped::sum(t, a, k); };
            const any_array y = reduced(x, axes, false, f);
            std::vector<double> wanted;
            for (const members& g : groups_of(x, axes)) wanted.push_back(sum_of(g));
            // Sums of few neighbours are rounded some times, the whole once: nothing that grows with their number.
            CHECK(difference(y, wanted, [&](std::int64_t i) { return 2.5e-7 * wanted[static_cast<std::size_t>(i)]; }) ==
                  "");
            CHECK(same_bits(y, reduced(x, axes, false, f)));
        }
    }
}

TEST_CASE("GPU: positions and variances of long lines are found from parts") {
    drawn_numbers draw;
    for (const extents& shape : {extents(300007), extents(100003, 3), extents(7, 60013)}) {
        const auto some = [&](std::int64_t) { return draw(-1, 1); };
        check<float>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::argmax(x, a, k); },
            [](const members& g) { return static_cast<double>(std::max_element(g.begin(), g.end()) - g.begin()); },
            [](const members&, double) { return 0.0; });
        check<float>(
            shape, some, [](const auto& x, const auto& a, bool k) { return untyped::variance(x, a, k); },
            [](const members& g) { return deviations(g) / static_cast<double>(g.size()); },
            [](const members&, double v) { return 3e-7 * (v + 0.1); });
    }
}

TEST_CASE("GPU: sum_like sums over what was repeated") {
    drawn_numbers draw;
    const any_array x = array_of<float>(extents(4, 5, 6, 7), [&](std::int64_t) { return draw(-1, 1); });
    struct {
        extents like;
        unsigned axes;
    } const cases[] = {{extents(4, 5, 6, 7), 0},
                       {extents(6, 7), 3},
                       {extents(5, 1, 7), 5},
                       {extents(1, 1, 6, 1), 11},
                       {extents(), 15}};
    for (const auto& c : cases) {
        const any_array like = array_of<float>(c.like, [](std::int64_t) { return 0; });
        const any_array y = std::move(
            run_on_gpu({&x, &like}, [](const auto& in) { return std::vector{untyped::sum_like(in[0], in[1])}; })[0]);
        std::vector<double> wanted;
        for (const members& g : groups_of(x, c.axes)) wanted.push_back(sum_of(g));
        CHECK(y.extents() == c.like);
        CHECK(difference(y, wanted, [](std::int64_t) { return 1e-4; }) == "");
    }
}

TEST_CASE_TEMPLATE("GPU: derivatives of products are right where elements are 0, of first and of second order", T,
                   float, double, half, bfloat16) {
    drawn_numbers draw;
    struct {
        extents sizes;
        unsigned axes;
    } const cases[] = {
        {extents(1), 1},   {extents(7), 1},       {extents(5, 30), 2}, {extents(30, 5), 1}, {extents(3, 20, 4, 5), 10},
        {extents(700), 1}, {extents(2, 1500), 2}, {extents(0, 3), 1},  {extents(3, 0), 1}};
    for (const auto& c : cases) {
        CAPTURE(to_string(c.sizes));
        index_list axes;
        for (int i = 0; i < c.sizes.rank(); ++i)
            if ((c.axes >> i & 1U) != 0) axes.push_back(i);
        // Of some groups one element is 0, of some two are.
        const any_array x =
            array_of<T>(c.sizes, [&](std::int64_t i) { return i % 61 == 5 || i % 97 == 8 ? 0 : draw(0.95, 1.05); });
        const any_array h = array_of<T>(c.sizes, [&](std::int64_t) { return draw(-1, 1); });
        const any_array g = array_of<T>(detail::reduced_extents(c.sizes, {fault::none, c.axes}, true),
                                        [&](std::int64_t) { return draw(-1, 1); });
        const auto out = run_on_gpu({&g, &x, &h}, [&](const auto& in) {
            return std::vector{add<prod_gradient_op>({axes, true}, {in[0], in[1]}),
                               add<prod_gradient_op>({axes, true}, in)};
        });
        const any_array numbers_of = array_of<double>(c.sizes, [](std::int64_t i) { return static_cast<double>(i); });
        const std::vector<members> places = groups_of(numbers_of, c.axes);
        std::vector<double> first(static_cast<std::size_t>(x.elements())), second(first.size()), scale(first.size());
        for (std::size_t k = 0; k < places.size(); ++k)
            for (const double m : places[k]) {
                // The product without m, and its derivative along h, as a number with a part in t.
                double plain = number_at(g, static_cast<std::int64_t>(k)), along = 0, most = 0;
                for (const double other : places[k]) {
                    if (other == m) continue;
                    const double v = number_at(x, static_cast<std::int64_t>(other));
                    along = along * v + plain * number_at(h, static_cast<std::int64_t>(other));
                    most = most * std::fabs(v) + std::fabs(plain);
                    plain *= v;
                }
                const auto at = static_cast<std::size_t>(m);
                first[at] = plain;
                second[at] = along;
                scale[at] = static_cast<double>(places[k].size()) * (most + std::fabs(plain));
            }
        const double own = 0.51 * spacing(x.element()), unit = sizeof(T) == 8 ? 0x1p-52 : 0x1p-23,
                     least = sizeof(T) == 2 ? 1e-7 : 1e-30;
        const auto tolerance = [&](const std::vector<double>& wanted) {
            return [&](std::int64_t i) {
                const auto k = static_cast<std::size_t>(i);
                return 4 * unit * scale[k] + own * std::fabs(wanted[k]) + 8 * unit * std::fabs(first[k]) * scale[k] +
                       least;
            };
        };
        CHECK(difference(out[0], first, tolerance(first)) == "");
        CHECK(difference(out[1], second, tolerance(second)) == "");
    }
}
