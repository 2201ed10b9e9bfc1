// Running operations on a GPU beside the host, which computes in double.

#include "tests.hpp"
#include "../both_devices.hpp"
#include "../random/drawn_numbers.hpp"

using namespace tenon;
using namespace test;

namespace {

struct scan_case {
    extents sizes;
    int axis;
};
// Rows of one thread, some, a block, a block some times, and cut into parts; columns the same.
const scan_case cases[] = {{extents(1), 0},      {extents(7, 5), 1},      {extents(300, 9), 1},
                           {extents(5, 100), 1}, {extents(3, 1000), 1},   {extents(2, 5000), 1},
                           {extents(40003), 0},  {extents(2, 3, 301), 2}, {extents(5, 7), 0},
                           {extents(300, 3), 0}, {extents(3, 200, 9), 1}, {extents(4000, 2), 0},
                           {extents(0, 3), 1},   {extents(3, 0), 1}};
const scan_options ways[] = {{false, false}, {true, false}, {false, true}, {true, true}};

using op = any_tensor (*)(const any_tensor&, int, scan_options, called_from);
using drawing = std::function<double(std::int64_t)>;
using allowance = std::function<double(double)>;
double exactly(double) { return 0; }

void check(element_type e, op run, const drawing& draw, const allowance& allowed) {
    for (const scan_case& c : cases)
        for (const scan_options& how : ways) {
            INFO(std::string(name_of(e)), " ", to_string(c.sizes), how.exclusive ? ", exclusive" : "",
                 how.reversed ? ", reversed" : "");
            const any_array x = array_of(e, c.sizes, draw);
            const test::build_function build = [&](const auto& in) {
                return std::vector{run(in[0], c.axis, how, caller())};
            };
            const any_array y = std::move(run_on_gpu({&x}, build)[0]);
            const std::vector<double> wanted = test::on_host_in_double({&x}, build)[0];
            REQUIRE(difference(y, wanted,
                               [&](std::int64_t i) { return allowed(wanted[static_cast<std::size_t>(i)]); }) == "");
            if (c.sizes.elements() > 30000) CHECK(same_bits(y, run_on_gpu({&x}, build)[0]));
        }
}

// 16 bits are added up in float, as on the CPU, the others in double.
double beside(element_type e) { return size_of(e) == 2 ? 1e-3 : size_of(e) == 4 ? 1e-9 : 1e-10; }

} // namespace

TEST_CASE("GPU: cumsum along any axis; integers wrap around") {
    drawn_numbers draw;
    for (const element_type e : number_types)
        check(
            e, untyped::cumsum,
            [&](std::int64_t) { return is_floating(e) ? draw(-1, 1) : draw.whole(is_signed_integer(e) ? -50 : 0, 50); },
            [=](double v) { return is_floating(e) ? beside(e) + 0.51 * spacing(e) * std::fabs(v) : 0; });
}

TEST_CASE("GPU: cumprod along any axis; integers wrap around") {
    drawn_numbers draw;
    for (const element_type e : number_types)
        check(
            e, untyped::cumprod,
            [&](std::int64_t i) {
                if (is_floating(e)) return draw(0.98, 1.02);
                return draw.whole(1, 3) - (i % 4 == 0 && is_signed_integer(e) ? 2 * draw.whole(0, 1) : 0);
            },
            [=](double v) { return is_floating(e) ? (beside(e) + 0.51 * spacing(e)) * std::fabs(v) : 0; });
}

TEST_CASE("GPU: cummax and cummin along any axis; before the first is the least, or the largest, number") {
    drawn_numbers draw;
    for (const element_type e : number_types) {
        const auto some = [&](std::int64_t) {
            return is_floating(e) ? std::round(draw(-500, 500)) : draw.whole(is_signed_integer(e) ? -50 : 0, 50);
        };
        check(e, untyped::cummax, some, exactly);
        check(e, untyped::cummin, some, exactly);
    }
}

TEST_CASE("GPU: from the first NaN on extremes, sums and logarithms of sums of exponentials are NaN") {
    drawn_numbers draw;
    const auto some = [&](std::int64_t i) { return i % 2113 == 977 ? not_a_number : draw(-1, 1); };
    const auto close = [](double) { return 1e-5; };
    check(element_type::float32, untyped::cummax, some, close);
    check(element_type::float16, untyped::cummin, some, close);
    check(element_type::float64, untyped::cumsum, some, close);
    check(element_type::float32, untyped::cumlogsumexp, some, close);
}

TEST_CASE("GPU: cumlogsumexp along any axis, of rising and infinite elements too") {
    drawn_numbers draw;
    const drawing kinds[] = {[&](std::int64_t) { return draw(-3, 3); },
                             [](std::int64_t i) { return i % 31 == 5 ? -infinity : 0.001 * static_cast<double>(i); },
                             [&](std::int64_t i) { return i % 301 == 300 ? infinity : draw(-3, 3); }};
    for (const element_type e : floating_types)
        for (const drawing& some : kinds)
            check(e, untyped::cumlogsumexp, some, [=](double v) {
                return (4 * (e == element_type::float64 ? 0x1p-52 : 0x1p-23) + 0.51 * spacing(e)) * (1 + std::fabs(v)) +
                       1e-10 * (size_of(e) == 8);
            });
}

TEST_CASE("GPU: recurrence along any axis, with the weight of an element or of the one before") {
    drawn_numbers draw;
    for (const element_type e : floating_types)
        for (const scan_case& c : cases)
            for (const bool later : {false, true})
                for (const scan_options& how : ways) {
                    if (later && how.exclusive) continue;
                    INFO(std::string(name_of(e)), " ", to_string(c.sizes), later ? ", later" : "",
                         how.exclusive ? ", exclusive" : "", how.reversed ? ", reversed" : "");
                    const any_array x = array_of(e, c.sizes, [&](std::int64_t) { return draw(-1, 1); });
                    const any_array w =
                        array_of(e, c.sizes, [&](std::int64_t i) { return i % 17 == 3 ? 0 : draw(-0.99, 0.99); });
                    const test::build_function build = [&](const auto& in) {
                        return std::vector{add<recurrence_op>({c.axis, later, how.exclusive, how.reversed}, in)};
                    };
                    const std::vector<double> wanted = test::on_host_in_double({&x, &w}, build)[0];
                    const double unit = e == element_type::float64 ? 0x1p-52 : 0x1p-23;
                    REQUIRE(difference(run_on_gpu({&x, &w}, build)[0], wanted, [&](std::int64_t i) {
                                return 60 * unit + 0.51 * spacing(e) * std::fabs(wanted[static_cast<std::size_t>(i)]);
                            }) == "");
                }
}

TEST_CASE("GPU: a recurrence whose weights multiply to more than a double holds leaves zeros alone") {
    const any_array x =
        array_of(element_type::float32, extents(9000), [](std::int64_t i) { return i == 8500 ? 1.0 : 0.0; });
    const any_array w =
        array_of(element_type::float32, extents(9000), [](std::int64_t i) { return i < 8000 ? 1e30 : 0.5; });
    const any_array y = std::move(run_on_gpu({&x, &w}, [](const auto& in) {
        return std::vector{add<recurrence_op>({0, false, false, false}, {in[0], in[1]})};
    })[0]);
    std::vector<double> wanted;
    for (int i = 0; i < 9000; ++i) wanted.push_back(i < 8500 ? 0 : std::pow(0.5, i - 8500));
    CHECK(difference(y, wanted, [](std::int64_t) { return 1e-45; }) == "");
}

TEST_CASE("GPU: the gradient of cumsum through the graph runs the other way") {
    drawn_numbers draw;
    const auto some = [&](std::int64_t) { return draw(-1, 1); };
    const any_array x = array_of(element_type::float32, extents(5, 3000), some),
                    d = array_of(x.element(), x.extents(), some);
    const test::build_function build = [](const auto& in) {
        return detail::add_gradients({untyped::cumsum(in[0], 1, {true, false})}, {in[0]}, {in[1]});
    };
    CHECK(difference(run_on_gpu({&x, &d}, build)[0], test::on_host_in_double({&x, &d}, build)[0],
                     [](std::int64_t) { return 1e-5; }) == "");
}
