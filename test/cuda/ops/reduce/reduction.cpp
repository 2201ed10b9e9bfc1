// Reductions on a GPU beside the host, which computes in double.

#include "tests.hpp"
#include "../both_devices.hpp"
#include "../random/drawn_numbers.hpp"

using namespace tenon;
using namespace test;

namespace {

using op = std::function<any_tensor(const any_tensor&, const index_list&, bool, called_from)>;
using drawing = std::function<double(std::int64_t)>;
// What a result may be off, by its value and the number of elements that it is made of.
using allowance = std::function<double(double value, double count)>;
double exactly(double, double) { return 0; }
any_tensor variance_of(const any_tensor& x, const index_list& axes, bool kept, called_from) {
    return untyped::variance(x, axes, kept);
}

index_list list_of(unsigned axes) {
    index_list list;
    for (int i = 0; axes >> i != 0; ++i)
        if ((axes >> i & 1U) != 0) list.push_back(i);
    return list;
}
// Beyond the type's range: infinity.
double in_range_of(element_type e, double v) {
    const double most = e == element_type::float32    ? static_cast<double>(std::numeric_limits<float>::max())
                        : e == element_type::float16  ? 65504.0
                        : e == element_type::bfloat16 ? 0x1.FEp127
                                                      : std::numeric_limits<double>::max();
    return std::fabs(v) > most ? std::copysign(infinity, v) : v;
}

// Every set of axes of the shape; in every run the same.
void check(element_type e, const extents& shape, const drawing& some, const op& f, const allowance& allowed,
           bool again = false) {
    for (unsigned axes = shape.rank() == 0 ? 0 : 1; axes < std::max(1U << shape.rank(), 1U); ++axes) {
        const any_array x = array_of(e, shape, some);
        const bool kept = axes % 2 == 1;
        INFO(std::string(name_of(e)), " ", to_string(shape), ", axes ", axes);
        const test::build_function build = [&](const auto& in) {
            return std::vector{f(in[0], list_of(axes), kept, caller())};
        };
        const any_array y = std::move(run_on_gpu({&x}, build)[0]);
        REQUIRE(y.extents() == detail::reduced_extents(shape, {fault::none, axes}, kept));
        std::vector<double> wanted = test::on_host_in_double({&x}, build)[0];
        for (double& w : wanted)
            if (y.element() == e) w = in_range_of(e, w);
        const double count =
            static_cast<double>(x.elements()) / static_cast<double>(std::max<std::int64_t>(y.elements(), 1));
        REQUIRE(difference(y, wanted,
                           [&](std::int64_t i) { return allowed(wanted[static_cast<std::size_t>(i)], count); }) == "");
        if (again) CHECK(same_bits(y, run_on_gpu({&x}, build)[0]));
    }
}

const std::vector<extents> shapes{
    extents(),          extents(1),         extents(7),          extents(5000),       extents(5, 3),
    extents(3, 70),     extents(70, 3),     extents(33, 130),    extents(300, 40),    extents(2, 9000),
    extents(3, 17, 40), extents(40, 3, 33), extents(2, 3, 4, 5), extents(1, 9, 1, 8), extents(6, 2, 3, 2, 5)};
const std::vector<extents> with_nothing{extents(0), extents(0, 3), extents(3, 0), extents(2, 0, 3)};

void check_all(element_type e, const drawing& some, const op& f, const allowance& allowed, bool of_nothing = true) {
    for (const extents& shape : shapes) check(e, shape, some, f, allowed);
    if (of_nothing)
        for (const extents& shape : with_nothing) check(e, shape, some, f, allowed);
}

// Of results whose terms were rounded a few times in the type that is computed in.
double rounding(element_type e, double terms, double value) {
    if (!is_floating(e)) return 0;
    return 3 * (e == element_type::float64 ? 0x1p-52 : 0x1p-23) * terms + 0.51 * spacing(e) * std::fabs(value) + 1e-300;
}

} // namespace

TEST_CASE("GPU: sum, mean and norms over any axes; integers wrap around") {
    drawn_numbers draw;
    for (const element_type e : number_types) {
        const auto some = [&](std::int64_t) {
            return is_floating(e) ? draw(-3, 3) : draw.whole(is_signed_integer(e) ? -100 : 0, 100);
        };
        check_all(e, some, untyped::sum, [=](double v, double n) { return rounding(e, 2 * n, v); });
        if (!is_floating(e)) continue;
        const auto of_itself = [=](double v, double) { return rounding(e, v, v); };
        check_all(e, some, untyped::mean, [=](double v, double) { return rounding(e, 2, v); });
        check_all(
            e, some, [=](const auto& x, const auto& a, bool k, called_from) { return untyped::norm(x, 1, a, k); },
            of_itself);
        check_all(
            e, some, [=](const auto& x, const auto& a, bool k, called_from) { return untyped::norm(x, 2, a, k); },
            of_itself);
        check_all(
            e, some, [=](const auto& x, const auto& a, bool k, called_from) { return untyped::norm(x, 0, a, k); },
            exactly);
    }
}

TEST_CASE("GPU: prod over any axes; integers wrap around") {
    drawn_numbers draw;
    for (const element_type e : number_types)
        check_all(
            e, [&](std::int64_t) { return is_floating(e) ? draw(0.7, 1.35) : draw.whole(1, 3); }, untyped::prod,
            [=](double v, double n) {
                if (!is_floating(e)) return 0.0;
                return (0x1p-52 * n + spacing(e)) * std::fabs(v) + (e == element_type::float16 ? 0x1p-24 : 1e-37);
            });
}

TEST_CASE("GPU: min, max, argmin and argmax over any axes: the first of equals") {
    drawn_numbers draw;
    for (const element_type e : number_types) {
        const auto some = [&](std::int64_t i) {
            if (i % 97 == 5) return is_signed_integer(e) || is_floating(e) ? -100.0 : 0.0;
            if (i % 89 == 7) return 100.0;
            return is_floating(e) ? std::round(draw(-50, 50)) : draw.whole(is_signed_integer(e) ? -50 : 0, 50);
        };
        check_all(e, some, untyped::min, exactly, false);
        check_all(e, some, untyped::max, exactly, false);
        check_all(e, some, untyped::argmin, exactly, false);
        check_all(e, some, untyped::argmax, exactly, false);
    }
}

TEST_CASE("GPU: any and all over any axes; of nothing false and true") {
    drawn_numbers draw;
    for (const double share : {0.001, 0.5, 0.999}) {
        const auto some = [&](std::int64_t) { return draw(0, 1) < share ? 1.0 : 0.0; };
        check_all(element_type::boolean, some, untyped::any, exactly);
        check_all(element_type::boolean, some, untyped::all, exactly);
    }
}

TEST_CASE("GPU: count_nonzero: -0 is 0, NaN is not") {
    drawn_numbers draw;
    const auto check_of = [&](element_type e) {
        check_all(
            e,
            [&](std::int64_t i) {
                if (i % 5 == 1) return -0.0;
                if (i % 7 == 1 && is_floating(e)) return not_a_number;
                return draw.whole(0, 2);
            },
            untyped::count_nonzero, exactly);
    };
    for (const element_type e : number_types) check_of(e);
    check_of(element_type::boolean);
}

TEST_CASE("GPU: logsumexp over any axes") {
    drawn_numbers draw;
    // In some groups the largest element comes last, and most terms do not count.
    const auto some = [&](std::int64_t i) {
        return draw(-3, 3) + 0.01 * static_cast<double>(i % 5000) + (i % 50 == 0 ? -infinity : 0);
    };
    for (const element_type e : floating_types)
        check_all(e, some, untyped::logsumexp, [=](double v, double) { return rounding(e, 2 + std::fabs(v), v); });
}

TEST_CASE("GPU: variance and standard deviation over any axes, far from 0 too") {
    drawn_numbers draw;
    for (const element_type e : floating_types) {
        const double center = size_of(e) == 2 ? 2 : 1000;
        const auto some = [&](std::int64_t) { return center + draw(-3, 3); };
        for (const int less : {0, 1}) {
            // Doubles' means are rounded as numbers near `center` are; floats' are kept in double.
            const auto near = [=](double n) {
                return rounding(e, e == element_type::float64 ? 10 + center : 10, 0) * n / std::max(n - less, 1.0);
            };
            check_all(
                e, some,
                [=](const auto& x, const auto& a, bool k, called_from) { return untyped::variance(x, a, k, less); },
                [=](double v, double n) { return near(n) + rounding(e, v, v); }, less == 0);
            check_all(
                e, some,
                [=](const auto& x, const auto& a, bool k, called_from) {
                    return untyped::standard_deviation(x, a, k, less);
                },
                [=](double v, double n) { return near(n) / std::max(v, std::sqrt(near(n))) + rounding(e, v, v); },
                less == 0);
        }
    }
}

TEST_CASE("GPU: NaN goes through min, max and their positions; infinities as in mathematics") {
    drawn_numbers draw;
    const auto near = [](double v, double) { return 1e-5 * (1 + std::fabs(v)); };
    for (const extents& shape : {extents(3, 700), extents(700, 3), extents(20000)}) {
        const auto some = [&](std::int64_t i) {
            return i == 457 || i == 1301 ? not_a_number : i % 11 == 3 ? infinity : draw(-1, 1);
        };
        check(element_type::float32, shape, some, untyped::max, exactly);
        check(element_type::float16, shape, some, untyped::argmin, exactly);
        check(element_type::float32, shape, some, untyped::logsumexp, near);
        check(element_type::float64, shape, some, untyped::sum,
              [](double v, double n) { return rounding(element_type::float64, n, v); });
        check(element_type::float32, shape, some, variance_of, near);
    }
}

TEST_CASE("GPU: denormal numbers count") {
    const auto some = [](std::int64_t) { return 0x1p-149; };
    check(element_type::float32, extents(4, 1000), some, untyped::sum, exactly);
    check(element_type::float32, extents(4, 1000), some, untyped::max, exactly);
    check(element_type::float32, extents(4, 1000), some, untyped::count_nonzero, exactly);
}

TEST_CASE("GPU: long sums are as exact as doubles, and the same in every run") {
    drawn_numbers draw;
    // Sums of few neighbours are rounded some times, the whole once: nothing that grows with their number.
    for (const extents& shape : {extents(1000003), extents(2, 300001), extents(400009, 2), extents(30, 11, 1001)})
        check(
            element_type::float32, shape, [&](std::int64_t) { return draw(0.9, 1.1); }, untyped::sum,
            [](double v, double) { return 2.5e-7 * v; }, true);
}

TEST_CASE("GPU: positions and variances of long lines are found from parts") {
    drawn_numbers draw;
    for (const extents& shape : {extents(300007), extents(100003, 3), extents(7, 60013)}) {
        const auto some = [&](std::int64_t) { return draw(-1, 1); };
        check(element_type::float32, shape, some, untyped::argmax, exactly);
        check(element_type::float32, shape, some, variance_of, [](double v, double) { return 3e-7 * (v + 0.1); });
    }
}

TEST_CASE("GPU: sum_like sums over what was repeated") {
    drawn_numbers draw;
    const any_array x = array_of(element_type::float32, extents(4, 5, 6, 7), [&](std::int64_t) { return draw(-1, 1); });
    for (const extents& sizes :
         {extents(4, 5, 6, 7), extents(6, 7), extents(5, 1, 7), extents(1, 1, 6, 1), extents()}) {
        const any_array like = any_array::zeros(element_type::float32, sizes);
        const test::build_function build = [](const auto& in) { return std::vector{untyped::sum_like(in[0], in[1])}; };
        const any_array y = std::move(run_on_gpu({&x, &like}, build)[0]);
        CHECK(y.extents() == sizes);
        CHECK(difference(y, test::on_host_in_double({&x, &like}, build)[0], [](std::int64_t) { return 1e-4; }) == "");
    }
}

TEST_CASE("GPU: derivatives of products are right where elements are 0, of first and of second order") {
    drawn_numbers draw;
    const std::pair<extents, unsigned> cases[] = {
        {extents(1), 1},   {extents(7), 1},       {extents(5, 30), 2}, {extents(30, 5), 1}, {extents(3, 20, 4, 5), 10},
        {extents(700), 1}, {extents(2, 1500), 2}, {extents(0, 3), 1},  {extents(3, 0), 1}};
    for (const element_type e : floating_types)
        for (const auto& [of, along] : cases) {
            const extents& sizes = of;
            const unsigned axes = along;
            INFO(std::string(name_of(e)), " ", to_string(sizes));
            const index_list list = list_of(axes);
            const auto some = [&](std::int64_t) { return draw(-1, 1); };
            // Of some groups one element is 0, of some two are.
            const any_array x =
                array_of(e, sizes, [&](std::int64_t i) { return i % 61 == 5 || i % 97 == 8 ? 0 : draw(0.95, 1.05); });
            const any_array h = array_of(e, sizes, some),
                            g = array_of(e, detail::reduced_extents(sizes, {fault::none, axes}, true), some);
            const test::build_function build = [&](const auto& in) {
                return std::vector{add<prod_gradient_op>({list, true}, {in[0], in[1]}),
                                   add<prod_gradient_op>({list, true}, in)};
            };
            const auto got = run_on_gpu({&g, &x, &h}, build);
            const auto wanted = test::on_host_in_double({&g, &x, &h}, build);
            for (std::size_t o = 0; o < 2; ++o) {
                double most = 1;
                for (const double w : wanted[o]) most = std::max(most, std::fabs(w));
                const double terms =
                    static_cast<double>(x.elements()) * (e == element_type::float64 ? 0x1p-52 : 0x1p-23);
                CHECK(difference(got[o], wanted[o], [&](std::int64_t i) {
                          return 8 * terms * most +
                                 0.51 * spacing(e) * std::fabs(wanted[o][static_cast<std::size_t>(i)]) +
                                 1e-7 * (size_of(e) == 2) + 1e-30;
                      }) == "");
            }
        }
}
