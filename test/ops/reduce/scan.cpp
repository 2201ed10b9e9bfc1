#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

using namespace tenon;
using test::element;
using test::random_array;

namespace {
inline constexpr struct batch_size : dim<"batch"> {} batch;

static_assert(
    std::is_same_v<decltype(cumsum<-1>(std::declval<tensor<int, shape<batch, 3>>>())), tensor<int, shape<batch, 3>>>);
static_assert(
    std::is_same_v<decltype(cumlogsumexp<0>(std::declval<tensor<half, shape<dyn>>>())), tensor<half, shape<dyn>>>);
static_assert(std::is_same_v<decltype(cumsum<0>(ill_shaped{})), ill_shaped>);

constexpr double infinite = std::numeric_limits<double>::infinity(),
                 no_number = std::numeric_limits<double>::quiet_NaN();

using scan_function = any_tensor (*)(const any_tensor&, int, scan_options, called_from);

/// What a scan of x gives.
template <class T> any_array scanned(scan_function f, const any_array& x, int axis, scan_options o = {}) {
    const graph_scope scope{graph()};
    const any_tensor in = untyped::placeholder(element_type_of<T>, x.extents());
    session s;
    return std::move(s.run_untyped(test::fed(in, x), {f(in, axis, o, caller())})[0]);
}

/// The same by a loop for each element over all that count for it, in double: combined(so far, x), from `start`.
template <class T, class F>
std::vector<double> looped(F combined, double start, const any_array& x, int axis, scan_options o) {
    std::int64_t inner = 1;
    const extents& sizes = x.extents();
    for (int i = axis + 1; i < sizes.rank(); ++i) inner *= sizes[i].size;
    const std::int64_t count = sizes[axis].size;
    std::vector<double> y;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
        const std::int64_t at = i / inner % count, line = i - at * inner;
        double so_far = start;
        const auto take = [&](std::int64_t k) { so_far = combined(so_far, element<T>(x, line + k * inner)); };
        if (o.reversed)
            for (std::int64_t k = count - 1; k > at; --k) take(k);
        else
            for (std::int64_t k = 0; k < at; ++k) take(k);
        if (!o.exclusive) take(at);
        y.push_back(so_far);
    }
    return y;
}

double sum_of(double a, double b) { return a + b; }
double product_of(double a, double b) { return a * b; }
double larger_of(double a, double b) { return std::isnan(a) || std::isnan(b) ? no_number : std::fmax(a, b); }
double lesser_of(double a, double b) { return std::isnan(a) || std::isnan(b) ? no_number : std::fmin(a, b); }
double log_of_sum(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return no_number;
    const double most = std::fmax(a, b);
    return std::isinf(most) ? most : most + std::log(std::exp(a - most) + std::exp(b - most));
}

template <class T, class F> void check_scan(scan_function f, F combined, double start, double tolerance) {
    for (const extents& shape : {extents(3, 4, 5), extents(2, 31, 300), extents(2000), extents(0, 3), extents(3, 0)})
        for (int axis = 0; axis < shape.rank(); ++axis)
            for (const scan_options o : {scan_options{false, false}, scan_options{true, false},
                                         scan_options{false, true}, scan_options{true, true}}) {
                const any_array x = random_array<T>(shape, 9);
                const any_array y = scanned<T>(f, x, axis, o);
                REQUIRE(y.extents() == shape);
                const auto wanted = looped<T>(combined, start, x, axis, o);
                for (std::int64_t i = 0; i < x.elements(); ++i) {
                    const double w = wanted[static_cast<std::size_t>(i)], is = element<T>(y, i);
                    INFO("axis ", axis, " exclusive ", o.exclusive, " reversed ", o.reversed, " element ", i);
                    if (is == w) continue;
                    if constexpr (std::is_integral_v<T>)
                        REQUIRE(is == static_cast<double>(static_cast<T>(static_cast<std::int64_t>(w))));
                    else REQUIRE(std::fabs(is - w) <= tolerance * (10 + std::fabs(w)));
                }
            }
}
template <class T> constexpr double rounding = sizeof(T) == 2 ? 1e-2 : sizeof(T) == 4 ? 1e-5 : 1e-12;
} // namespace

TEST_CASE_FIXTURE(in_graph, "scans refuse an axis that is not there, and elements that they are not of") {
    const auto x = constant({1, 2, 3, 4});
    CHECK_ERROR(invalid_argument_error, "cumsum: axis is out of range: [4]", untyped::cumsum(x, 1));
    CHECK_ERROR(invalid_argument_error, "cumlogsumexp: element type must be float, double, half or bfloat16",
                untyped::cumlogsumexp(x, 0));
}

TEST_CASE_TEMPLATE("scans: along any axis, with any options, as a loop gives", T, float, double, half, std::int8_t,
                   std::uint32_t, std::int64_t) {
    using limits = std::numeric_limits<T>;
    constexpr bool whole = std::is_integral_v<T>;
    check_scan<T>(untyped::cumsum, sum_of, 0, rounding<T>);
    check_scan<T>(untyped::cummax, larger_of, whole ? static_cast<double>(limits::lowest()) : -infinite, 0);
    check_scan<T>(untyped::cummin, lesser_of, whole ? static_cast<double>(limits::max()) : infinite, 0);
    if constexpr (!whole) check_scan<T>(untyped::cumlogsumexp, log_of_sum, -infinite, rounding<T>);
}

TEST_CASE_TEMPLATE("cumprod: along any axis", T, float, double) {
    // Random elements around 1, so that long products stay finite.
    for (const extents& shape : {extents(3, 40, 5), extents(300)})
        for (int axis = 0; axis < shape.rank(); ++axis)
            for (const bool exclusive : {false, true}) {
                any_array x = random_array<T>(shape, 9);
                for (std::int64_t i = 0; i < x.elements(); ++i)
                    static_cast<T*>(x.data())[i] = static_cast<T>(1 + 0.01 * std::tanh(element<T>(x, i)));
                const scan_options o{exclusive, axis == 1};
                const any_array y = scanned<T>(untyped::cumprod, x, axis, o);
                const auto wanted = looped<T>(product_of, 1, x, axis, o);
                for (std::int64_t i = 0; i < x.elements(); ++i)
                    REQUIRE(element<T>(y, i) ==
                            doctest::Approx(wanted[static_cast<std::size_t>(i)]).epsilon(rounding<T>));
            }
}

TEST_CASE_FIXTURE(in_session, "scans: infinities and NaN") {
    using four = array<double, shape<4>>;
    const auto same = [](const four& a, const four& b) {
        for (std::int64_t i = 0; i < 4; ++i)
            if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) return false;
        return true;
    };
    const auto x = constant({-infinite, 2.0, infinite, 1.0}), y = constant({1.0, no_number, 3.0, -infinite}),
               z = constant({-infinite, -infinite, 0.0, infinite});
    CHECK(same(s.run(cummax<0>(x)), four{-infinite, 2, infinite, infinite}));
    CHECK(same(s.run(cummin<0>(x)), four{-infinite, -infinite, -infinite, -infinite}));
    CHECK(same(s.run(cummax<0>(y)), four{1, no_number, no_number, no_number}));
    CHECK(same(s.run(cummin<0>(y, {.reversed = true})), four{no_number, no_number, -infinite, -infinite}));
    CHECK(same(s.run(cumlogsumexp<0>(x)), four{-infinite, 2, infinite, infinite}));
    CHECK(same(s.run(cumlogsumexp<0>(y)), four{1, no_number, no_number, no_number}));
    CHECK(same(s.run(cumlogsumexp<0>(z)), four{-infinite, -infinite, 0, infinite}));
    CHECK(same(s.run(cumlogsumexp<0>(z, {.exclusive = true})), four{-infinite, -infinite, -infinite, 0}));
    CHECK(same(s.run(cumsum<0>(x)), four{-infinite, -infinite, no_number, no_number}));
    // Numbers whose exponentials would overflow or vanish.
    CHECK(s.run(cumlogsumexp<0>(constant({1000.0, 1000.0})))[1] == doctest::Approx(1000 + std::log(2.0)));
    CHECK(s.run(cumlogsumexp<0>(constant({-1000.0, -1000.0})))[1] == doctest::Approx(-1000 + std::log(2.0)));
}

TEST_CASE("scans: gradients, and theirs, agree with central differences") {
    struct way {
        extents sizes;
        int axis;
        scan_options how;
    };
    for (const scan_function f :
         {untyped::cumsum, untyped::cumprod, untyped::cummax, untyped::cummin, untyped::cumlogsumexp})
        for (const way& w :
             {way{{5}, 0, {}}, way{{2, 4, 2}, 1, {.exclusive = true}}, way{{2, 4}, -1, {.reversed = true}},
              way{{3, 4}, -1, {.exclusive = true, .reversed = true}}}) {
            const auto scan = [&](const std::vector<any_tensor>& x) {
                const any_tensor y = f(x[0], w.axis, w.how, caller()); // the first of an exclusive scan may be infinite
                return untyped::select(untyped::is_finite(y), y, 0);
            };
            CHECK(test::check_untyped_gradients(scan, {{w.sizes}}) == "");
            const auto slope = [&](const std::vector<any_tensor>& x) {
                return tenon::gradients(untyped::sum(untyped::square(scan(x))), x)[0];
            };
            CHECK(test::check_untyped_gradients(slope, {{w.sizes}}) == "");
        }
}

TEST_CASE_FIXTURE(in_session, "gradients of scans at zeros, ties and infinities") {
    const auto slope = [&](const auto& x, const auto& y) {
        const auto [dx] = gradients(sum(y), x);
        return s.run(dx);
    };
    using four = array<double, shape<4>>;
    const auto x = constant({2.0, 0.0, 3.0, 0.0});
    // y = x0, x0 x1, x0 x1 x2, x0 x1 x2 x3
    CHECK(slope(x, cumprod<0>(x)) == four{1, 2 + 2 * 3, 0, 0});
    const auto t = constant({1.0, 3.0, 3.0, 2.0});
    CHECK(slope(t, cummax<0>(t)) == four{1, 3, 0, 0});
    const auto m = constant({-infinite, -infinite, 1.0, infinite});
    CHECK(slope(m, cummax<0>(m)) == four{2, 0, 1, 1});
    const auto l = constant({-infinite, 0.0, 0.0, 0.0});
    const auto dl = slope(l, cumlogsumexp<0>(l)), wanted = four{1, 1 + 1 / 2.0 + 1 / 3.0, 1 / 2.0 + 1 / 3.0, 1 / 3.0};
    for (std::int64_t i = 0; i < 4; ++i) CHECK(dl[i] == doctest::Approx(wanted[i]));
}
