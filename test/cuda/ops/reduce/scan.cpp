// Running operations on a GPU against loops in float64.

#include <doctest/doctest.h>

#include <limits>

#include <tenon/ops/gradients.hpp>
#include <tenon/ops/reduce/scan.hpp>

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

// y[i] along the axis: `step` from the state to the next one with x (and w) of an element, `value` of a state.
struct formula {
    double start;
    std::function<double(double state, double x, double w, double earlier_w)> step;
};

std::vector<double> scanned(const any_array& x, const any_array* w, int axis, scan_options how, const formula& f) {
    std::vector<double> y(static_cast<std::size_t>(x.elements()));
    std::int64_t outer = 1, inner = 1;
    const std::int64_t n = x.extents()[axis].size;
    for (int i = 0; i < axis; ++i) outer *= x.extents()[i].size;
    for (int i = axis + 1; i < x.rank(); ++i) inner *= x.extents()[i].size;
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t j = 0; j < inner; ++j) {
            double state = f.start, earlier = 0;
            for (std::int64_t k = 0; k < n; ++k) {
                const std::int64_t at = (o * n + (how.reversed ? n - 1 - k : k)) * inner + j;
                const double before = state, weight = w ? number_at(*w, at) : 0;
                state = f.step(state, number_at(x, at), weight, earlier);
                earlier = weight;
                y[static_cast<std::size_t>(at)] = how.exclusive ? before : state;
            }
        }
    return y;
}

struct scan_case {
    extents sizes;
    int axis;
};
// Rows of one thread, some, a block, a block some times, and cut into parts; columns the same.
const std::vector<scan_case>& cases() {
    static const std::vector<scan_case> all{{extents(1), 0},      {extents(7, 5), 1},      {extents(300, 9), 1},
                                            {extents(5, 100), 1}, {extents(3, 1000), 1},   {extents(2, 5000), 1},
                                            {extents(40003), 0},  {extents(2, 3, 301), 2}, {extents(5, 7), 0},
                                            {extents(300, 3), 0}, {extents(3, 200, 9), 1}, {extents(4000, 2), 0},
                                            {extents(0, 3), 1},   {extents(3, 0), 1}};
    return all;
}
const scan_options ways[] = {{false, false}, {true, false}, {false, true}, {true, true}};

using op = std::function<any_tensor(const any_tensor&, int, scan_options)>;

template <class T, class Draw>
void check(const op& run, const Draw& draw, const formula& f, const std::function<double(double)>& tolerance) {
    for (const scan_case& c : cases())
        for (const scan_options& how : ways) {
            CAPTURE(to_string(c.sizes));
            CAPTURE(how.exclusive);
            CAPTURE(how.reversed);
            const any_array x = array_of<T>(c.sizes, draw);
            const auto once = [&] {
                return std::move(
                    run_on_gpu({&x}, [&](const auto& in) { return std::vector{run(in[0], c.axis, how)}; })[0]);
            };
            const any_array y = once();
            const std::vector<double> wanted = scanned(x, nullptr, c.axis, how, f);
            REQUIRE(difference(y, wanted,
                               [&](std::int64_t i) { return tolerance(wanted[static_cast<std::size_t>(i)]); }) == "");
            if (c.sizes.elements() > 30000) CHECK(same_bits(y, once()));
        }
}

template <class T> constexpr bool is_whole = std::is_integral_v<T>;
template <class T> double unit() { return is_whole<T> ? 0 : sizeof(T) == 8 ? 0x1p-52 : 0x1p-23; }
template <class T> double wrapped(double v) {
    return static_cast<double>(static_cast<T>(static_cast<std::int64_t>(v)));
}

} // namespace

#define TENON_NUMBERS                                                                                                  \
    float, double, half, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, \
        std::uint32_t, std::uint64_t

TEST_CASE_TEMPLATE("GPU: cumsum along any axis; integers wrap around", T, TENON_NUMBERS) {
    drawn_numbers draw;
    check<T>([](const auto& x, int a, scan_options o) { return untyped::cumsum(x, a, o); },
             [&](std::int64_t) { return is_whole<T> ? draw.whole(std::is_signed_v<T> ? -50 : 0, 50) : draw(-1, 1); },
             {0, [](double s, double x, double, double) { return is_whole<T> ? wrapped<T>(s + x) : s + x; }},
             // halves are added up in float, as on the CPU
             [](double v) {
                 return is_whole<T>      ? 0
                        : sizeof(T) == 2 ? 1e-3 + 0.51 * spacing(element_type_of<T>) * std::fabs(v)
                        : sizeof(T) == 4 ? 1e-9 + 0.51 * spacing(element_type_of<T>) * std::fabs(v)
                                         : 1e-10;
             });
}

TEST_CASE_TEMPLATE("GPU: cumprod along any axis; integers wrap around", T, float, double, half, bfloat16, std::int8_t,
                   std::uint16_t, std::int32_t, std::uint64_t) {
    drawn_numbers draw;
    check<T>([](const auto& x, int a, scan_options o) { return untyped::cumprod(x, a, o); },
             [&](std::int64_t i) {
                 return is_whole<T> ? draw.whole(1, 3) - (i % 4 == 0 ? 2 * draw.whole(0, 1) * std::is_signed_v<T> : 0)
                                    : draw(0.98, 1.02);
             },
             {1,
              [](double s, double x, double, double) {
                  // Of 64 bits doubles hold less than is kept: products that wrapped around once stay even.
                  return is_whole<T> ? static_cast<double>(
                                           static_cast<T>(static_cast<std::uint64_t>(static_cast<std::int64_t>(s)) *
                                                          static_cast<std::uint64_t>(static_cast<std::int64_t>(x))))
                                     : s * x;
              }},
             [](double v) {
                 return is_whole<T> ? (sizeof(T) == 8 ? infinity : 0)
                                    : (1e-3 * (sizeof(T) == 2) + 1e-9 * (sizeof(T) == 4) + 1e-11 +
                                       0.51 * spacing(element_type_of<T>)) *
                                          std::fabs(v);
             });
}

TEST_CASE_TEMPLATE("GPU: cummax and cummin along any axis; before the first is the least, or the largest, number", T,
                   TENON_NUMBERS) {
    drawn_numbers draw;
    using limits = std::numeric_limits<T>;
    const double least = is_whole<T> ? static_cast<double>(limits::lowest()) : -infinity;
    const double most = is_whole<T> ? static_cast<double>(limits::max()) : infinity;
    const auto some = [&](std::int64_t) {
        return is_whole<T> ? draw.whole(std::is_signed_v<T> ? -50 : 0, 50) : std::round(draw(-500, 500));
    };
    const auto exactly = [](double) { return 0.0; };
    check<T>([](const auto& x, int a, scan_options o) { return untyped::cummax(x, a, o); }, some,
             {least, [](double s, double x, double, double) { return x > s ? x : s; }}, exactly);
    check<T>([](const auto& x, int a, scan_options o) { return untyped::cummin(x, a, o); }, some,
             {most, [](double s, double x, double, double) { return x < s ? x : s; }}, exactly);
}

TEST_CASE("GPU: from the first NaN on extremes, sums and logarithms of sums of exponentials are NaN") {
    drawn_numbers draw;
    const auto some = [&](std::int64_t i) { return i % 2113 == 977 ? not_a_number : draw(-1, 1); };
    const auto close = [](double) { return 1e-5; };
    check<float>([](const auto& x, int a, scan_options o) { return untyped::cummax(x, a, o); }, some,
                 {-infinity, [](double s, double x, double, double) { return x > s || x != x ? x : s; }}, close);
    check<half>([](const auto& x, int a, scan_options o) { return untyped::cummin(x, a, o); }, some,
                {infinity, [](double s, double x, double, double) { return x < s || x != x ? x : s; }}, close);
    check<double>([](const auto& x, int a, scan_options o) { return untyped::cumsum(x, a, o); }, some,
                  {0, [](double s, double x, double, double) { return s + x; }}, close);
    check<float>([](const auto& x, int a, scan_options o) { return untyped::cumlogsumexp(x, a, o); }, some,
                 {-infinity, [](double s, double x, double, double) { return std::log(std::exp(s) + std::exp(x)); }},
                 close);
}

TEST_CASE_TEMPLATE("GPU: cumlogsumexp along any axis, of rising and infinite elements too", T, float, double, half,
                   bfloat16) {
    drawn_numbers draw;
    const formula f{-infinity, [](double s, double x, double, double) {
                        const double m = std::max(s, x);
                        return m == -infinity || m == infinity ? m : m + std::log(std::exp(s - m) + std::exp(x - m));
                    }};
    const auto tolerance = [](double v) {
        return (4 * unit<T>() + 0.51 * spacing(element_type_of<T>)) * (1 + std::fabs(v)) + 1e-10 * (sizeof(T) == 8);
    };
    const op run = [](const auto& x, int a, scan_options o) { return untyped::cumlogsumexp(x, a, o); };
    check<T>(
        run, [&](std::int64_t) { return draw(-3, 3); }, f, tolerance);
    check<T>(
        run, [&](std::int64_t i) { return i % 31 == 5 ? -infinity : 0.001 * static_cast<double>(i); }, f, tolerance);
    check<T>(
        run, [&](std::int64_t i) { return i % 301 == 300 ? infinity : draw(-3, 3); }, f, tolerance);
}

TEST_CASE_TEMPLATE("GPU: recurrence along any axis, with the weight of an element or of the one before", T, float,
                   double, half, bfloat16) {
    drawn_numbers draw;
    for (const scan_case& c : cases())
        for (const bool later : {false, true})
            for (const scan_options& how : ways) {
                if (later && how.exclusive) continue;
                CAPTURE(to_string(c.sizes));
                CAPTURE(later);
                CAPTURE(how.exclusive);
                CAPTURE(how.reversed);
                const any_array x = array_of<T>(c.sizes, [&](std::int64_t) { return draw(-1, 1); });
                const any_array w =
                    array_of<T>(c.sizes, [&](std::int64_t i) { return i % 17 == 3 ? 0 : draw(-0.99, 0.99); });
                const any_array y = std::move(run_on_gpu({&x, &w}, [&](const auto& in) {
                    return std::vector{
                        add<recurrence_op>({c.axis, later, how.exclusive, how.reversed}, {in[0], in[1]})};
                })[0]);
                const std::vector<double> wanted =
                    scanned(x, &w, c.axis, how, {0, [=](double s, double v, double weight, double earlier) {
                                                     return v + (later ? earlier : weight) * s;
                                                 }});
                REQUIRE(difference(y, wanted, [&](std::int64_t i) {
                            return 60 * unit<T>() +
                                   0.51 * spacing(y.element()) * std::fabs(wanted[static_cast<std::size_t>(i)]);
                        }) == "");
            }
}

TEST_CASE("GPU: a recurrence whose weights multiply to more than a double holds leaves zeros alone") {
    const any_array x = array_of<float>(extents(9000), [](std::int64_t i) { return i == 8500 ? 1.0 : 0.0; });
    const any_array w = array_of<float>(extents(9000), [](std::int64_t i) { return i < 8000 ? 1e30 : 0.5; });
    const any_array y = std::move(run_on_gpu({&x, &w}, [](const auto& in) {
        return std::vector{add<recurrence_op>({0, false, false, false}, {in[0], in[1]})};
    })[0]);
    std::vector<double> wanted;
    for (int i = 0; i < 9000; ++i) wanted.push_back(i < 8500 ? 0 : std::pow(0.5, i - 8500));
    CHECK(difference(y, wanted, [](std::int64_t) { return 1e-45; }) == "");
}

TEST_CASE("GPU: the gradient of cumsum through the graph runs the other way") {
    drawn_numbers draw;
    const any_array x = array_of<float>(extents(5, 3000), [&](std::int64_t) { return draw(-1, 1); });
    const any_array d = array_of<float>(extents(5, 3000), [&](std::int64_t) { return draw(-1, 1); });
    const any_array dx = std::move(run_on_gpu({&x, &d}, [](const auto& in) {
        return detail::add_gradients({untyped::cumsum(in[0], 1, {true, false})}, {in[0]}, {in[1]});
    })[0]);
    const std::vector<double> wanted =
        scanned(d, nullptr, 1, {true, true}, {0, [](double s, double v, double, double) { return s + v; }});
    CHECK(difference(dx, wanted, [](std::int64_t) { return 1e-5; }) == "");
}
