#include "tests.hpp"
#include "ops/random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

// Expressions that are combined as they are computed, and passes over the same elements that become one.

namespace {

double at(const tn::any_array& a, std::int64_t k) {
    switch (a.element()) {
    case tn::element_type::float64: return tn::test::element<double>(a, k);
    case tn::element_type::float16: return tn::test::element<tn::half>(a, k);
    case tn::element_type::bfloat16: return tn::test::element<tn::bfloat16>(a, k);
    default: return tn::test::element<float>(a, k);
    }
}
double precision(tn::element_type e) {
    return e == tn::element_type::float64    ? 1e-12
           : e == tn::element_type::float16  ? 2e-3
           : e == tn::element_type::bfloat16 ? 2e-2
                                             : 2e-6;
}
bool is_near(double a, double b, double within) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= within;
}

tn::any_array random_of(tn::element_type e, const tn::extents& sizes, std::uint64_t seed) {
    switch (e) {
    case tn::element_type::float64: return tn::test::random_array<double>(sizes, seed);
    case tn::element_type::float16: return tn::test::random_array<tn::half>(sizes, seed);
    case tn::element_type::bfloat16: return tn::test::random_array<tn::bfloat16>(sizes, seed);
    default: return tn::test::random_array<float>(sizes, seed);
    }
}

using maker = tn::any_tensor (*)(const tn::any_tensor&, const tn::index_list&, bool, tn::called_from);
struct reduction {
    const char* name;
    maker make;
    double (*of)(const std::vector<double>&);
};
double mean_of(const std::vector<double>& v) {
    long double s = 0;
    for (const double x : v) s += x;
    return static_cast<double>(s / static_cast<long double>(v.size()));
}
double variance_of(const std::vector<double>& v) {
    const double m = mean_of(v);
    long double s = 0;
    for (const double x : v) s += (x - m) * (x - m);
    return static_cast<double>(s / static_cast<long double>(v.size()));
}
template <class F> double folded(const std::vector<double>& v, long double start, F f) {
    for (const double x : v) start = f(start, static_cast<long double>(x));
    return static_cast<double>(start);
}
const reduction reductions[] = {
    {"sum", tn::untyped::sum, [](const std::vector<double>& v) { return mean_of(v) * static_cast<double>(v.size()); }},
    {"mean", tn::untyped::mean, mean_of},
    {"max", tn::untyped::max,
     [](const std::vector<double>& v) {
         return folded(v, v[0], [](long double a, long double b) { return a > b || a != a ? a : b; });
     }},
    {"min", tn::untyped::min,
     [](const std::vector<double>& v) {
         return folded(v, v[0], [](long double a, long double b) { return a < b || a != a ? a : b; });
     }},
    {"variance",
     [](const tn::any_tensor& x, const tn::index_list& a, bool k, tn::called_from) {
         return tn::untyped::variance(x, a, k);
     },
     variance_of},
    {"deviation",
     [](const tn::any_tensor& x, const tn::index_list& a, bool k, tn::called_from) {
         return tn::untyped::standard_deviation(x, a, k);
     },
     [](const std::vector<double>& v) { return std::sqrt(variance_of(v)); }},
    {"norm 1",
     [](const tn::any_tensor& x, const tn::index_list& a, bool k, tn::called_from) {
         return tn::untyped::norm(x, 1, a, k);
     },
     [](const std::vector<double>& v) {
         return folded(v, 0, [](long double a, long double b) { return a + std::fabs(b); });
     }},
    {"norm 2",
     [](const tn::any_tensor& x, const tn::index_list& a, bool k, tn::called_from) {
         return tn::untyped::norm(x, 2, a, k);
     },
     [](const std::vector<double>& v) {
         return std::sqrt(folded(v, 0, [](long double a, long double b) { return a + b * b; }));
     }},
    {"largest",
     [](const tn::any_tensor& x, const tn::index_list& a, bool k, tn::called_from) {
         return tn::untyped::norm(x, 0, a, k);
     },
     [](const std::vector<double>& v) {
         return folded(v, 0, [](long double a, long double b) { return std::fmax(a, std::fabs(b)); });
     }},
};

// Groups of `values` along axes, in row-major order of what is left.
std::vector<std::vector<double>> groups_of(const tn::any_array& values, unsigned axes) {
    std::vector<std::vector<double>> groups;
    const tn::extents& s = values.extents();
    std::int64_t count = 1;
    for (int d = 0; d < s.rank(); ++d)
        if ((axes >> d & 1U) == 0) count *= s[d].size;
    groups.resize(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < values.elements(); ++k) {
        std::int64_t rest = k, group = 0, step = 1;
        for (int d = s.rank(); d-- > 0;) {
            const std::int64_t i = rest % s[d].size;
            rest /= s[d].size;
            if ((axes >> d & 1U) != 0) continue;
            group += i * step;
            step *= s[d].size;
        }
        groups[static_cast<std::size_t>(group)].push_back(at(values, k));
    }
    return groups;
}

tn::session_options with_threads(int n) { return {.intra_op_threads = n, .use_per_session_threads = true}; }

int count_of(const std::vector<std::string>& order, const std::string& op) {
    int n = 0;
    for (const std::string& line : order) n += line.find("(" + op + ")") != std::string::npos;
    return n;
}

} // namespace

TEST_CASE("what is combined of an expression equals the formula in double, on any number of threads") {
    int joined = 0;
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        const auto upto = [&](unsigned most) { return 1 + static_cast<std::int64_t>(random() % most); };
        const tn::graph_scope scope{tn::graph()};
        const tn::element_type types[] = {tn::element_type::float32, tn::element_type::float64,
                                          tn::element_type::float16, tn::element_type::bfloat16};
        const tn::element_type e = types[random() % 4 == 0 ? 2 + random() % 2 : random() % 2];
        // The planner leaves what is smaller than 512 KB apart.
        const bool is_large = random() % 3 > 0;
        const int rank = static_cast<int>(upto(4));
        tn::extents sizes, other;
        for (int d = 0; d < rank; ++d) sizes.push_back(d + 1 == rank && random() % 3 == 0 ? upto(700) : upto(9));
        if (is_large) {
            const int along = static_cast<int>(random() % static_cast<unsigned>(rank));
            sizes[along] = 1 + sizes[along].size * (std::int64_t{1} << 19) / 4 / sizes.elements();
            if (e != tn::element_type::float32) sizes[along] = sizes[along].size * 2;
        }
        for (int d = 0; d < rank; ++d) other.push_back(random() % 3 == 0 ? 1 : sizes[d].size);
        const auto a = random_of(e, sizes, seed), b = random_of(e, other, seed + 1000);
        // Sizes are known to the graph, or in the step only.
        const auto place = [&](const tn::any_array& v) {
            return random() % 2 ? tn::untyped::placeholder(v.element(), v.extents()) : tn::test::unknown_placeholder(v);
        };
        const tn::any_tensor x = place(a), y = place(b);
        tn::any_tensor z =
            tn::detail::add_instruction(random() % 2 ? tn::opcode::multiply : tn::opcode::subtract, {x, y});
        if (random() % 2) z = tn::detail::add_instruction(tn::opcode::tanh, {z});
        std::vector<tn::any_tensor> fetches;
        std::vector<std::pair<const reduction*, unsigned>> made;
        for (std::int64_t k = upto(4); k > 0; --k) {
            const reduction& r = reductions[random() % std::size(reductions)];
            unsigned axes = static_cast<unsigned>(random()) & ((1U << rank) - 1);
            if (axes == 0) axes = (1U << rank) - 1;
            tn::index_list list;
            for (int d = 0; d < rank; ++d)
                if ((axes >> d & 1U) != 0) list.push_back(random() % 2 ? d : d - rank);
            fetches.push_back(r.make(random() % 3 == 0 ? x : z, list, random() % 2, tn::caller()));
            made.emplace_back(&r, axes);
        }
        const std::size_t reduced = fetches.size();
        fetches.push_back(z);
        const bool is_fetched = random() % 2;
        tn::session plain({.fuse = false}), alone(with_threads(1)), many(with_threads(4));
        const auto values = plain.run_untyped(tn::test::fed(x, a, y, b), fetches);
        if (!is_fetched) fetches.pop_back();
        joined += count_of(alone.report_untyped(tn::test::fed(x, a, y, b), fetches).order, "fused_reductions");
        const auto one = alone.run_untyped(tn::test::fed(x, a, y, b), fetches),
                   four = many.run_untyped(tn::test::fed(x, a, y, b), fetches);
        for (std::size_t f = 0; f < reduced; ++f) {
            INFO("seed " << seed << ", " << std::string(made[f].first->name) << " " << f << ", axes " << made[f].second
                         << " of " << tn::to_string(a.type()) << " and " << tn::to_string(b.type()));
            REQUIRE(one[f].type() == values[f].type());
            REQUIRE(std::memcmp(one[f].data(), four[f].data(), one[f].bytes()) == 0);
            const bool is_of_x = fetches[f].node()->inputs[0].node == x.node();
            const auto groups = groups_of(is_of_x ? a : values[reduced], made[f].second);
            for (std::size_t k = 0; k < groups.size(); ++k) {
                const auto n = static_cast<std::int64_t>(k);
                double scale = 1;
                for (const double v : groups[k]) scale += std::fabs(v) * (1 + std::fabs(v));
                if (made[f].first->name != std::string("sum") && made[f].first->name != std::string("norm 1"))
                    scale = 1 + 10 * scale / static_cast<double>(groups[k].size());
                const double within = precision(e) * scale;
                double exact = made[f].first->of(groups[k]);
                if (e == tn::element_type::float16 && std::fabs(exact) > 65520) // beyond what a half can be
                    exact = std::copysign(std::numeric_limits<double>::infinity(), exact);
                INFO("fused " << at(one[f], n) << ", apart " << at(values[f], n) << ", in double " << exact);
                REQUIRE(is_near(at(one[f], n), exact, within + precision(e) * std::fabs(exact)));
                REQUIRE(is_near(at(values[f], n), exact, within + precision(e) * std::fabs(exact)));
            }
        }
        if (is_fetched) REQUIRE(std::memcmp(one[reduced].data(), values[reduced].data(), one[reduced].bytes()) == 0);
    }
    CHECK(joined > 50);
}

TEST_CASE_FIXTURE(in_graph, "what is small, and rows that are short, are computed and combined apart") {
    const auto small = tn::placeholder<float, tn::shape<100, 100>>("small");
    const auto narrow = tn::placeholder<float, tn::shape<100000, 4>>("narrow");
    tn::session s;
    const auto order_of = [&](const tn::any_tensor& of, const tn::any_tensor& x) {
        return s.report_untyped(tn::test::fed(x, tn::any_array(x.element(), x.extents())), {of}).order;
    };
    CHECK(count_of(order_of(tn::sum(small * small), small), "fused_reductions") == 0);
    CHECK(count_of(order_of(tn::sum<1>(narrow * narrow), narrow), "fused_reductions") == 0);
    CHECK(count_of(order_of(tn::sum<0>(narrow * narrow), narrow), "fused_reductions") == 1);
    CHECK(count_of(order_of(tn::sum(narrow * narrow), narrow), "fused_reductions") == 1);
}

TEST_CASE_FIXTURE(in_graph, "the mean of the squares of a difference is one pass, whose squares lie nowhere") {
    const auto x = tn::placeholder<float, tn::shape<500, 1000>>("x"),
               y = tn::placeholder<float, tn::shape<500, 1000>>("y");
    const auto loss = tn::mean(square(x - y));
    tn::session s(with_threads(1));
    const tn::any_array a = tn::test::random_array<float>({500, 1000}),
                        b = tn::test::random_array<float>({500, 1000}, 2);
    const auto report = s.report_untyped(tn::test::fed(x, a, y, b), {loss});
    CHECK(report.nodes == 1);
    CHECK(report.peak_bytes < 100000);
}

TEST_CASE_FIXTURE(in_graph, "mean and variance of the same elements are one pass, as are several sums") {
    const auto x = tn::placeholder<float, tn::shape<3000, 100>>("x");
    const auto [m, v] = tn::moments<0>(x);
    const auto total = tn::sum(x);
    tn::session s;
    const auto a = tn::test::random_array<float>({3000, 100});
    CHECK(s.report_untyped(tn::test::fed(x, a), {m, v, total}).nodes == 1);
}

TEST_CASE_FIXTURE(in_graph,
                  "a training step of a batch norm goes through its input twice, and makes no tensor of its size") {
    using sizes = tn::shape<16, 28, 28, 64>;
    const auto x = tn::placeholder<float, sizes>("x");
    const auto loss = tn::mean(square(tn::nn::batch_norm()(x, tn::nn::training)));
    const auto train = tn::gradient_descent(0.01).minimize(loss);
    initialized_session s(with_threads(1));
    const auto report = s.report(train, loss, tn::feed(x, tn::array<float, sizes>()));
    CHECK(count_of(report.order, "fused_reductions") == 2);
    CHECK(count_of(report.order, "variance") == 0);
    CHECK(count_of(report.order, "mean") == 0);
    CHECK(report.arena_bytes < 100000);
}

TEST_CASE_FIXTURE(in_graph, "a pass that needs what another has combined stays apart") {
    const auto x = tn::placeholder<float, tn::shape<2000, 300>>("x");
    const tn::tensor<float, tn::shape<2000, 300>> centered = x - tn::mean(x);
    const auto spread = tn::mean(square(centered));
    const tn::any_array a = tn::test::random_array<float>({2000, 300});
    tn::session s;
    CHECK(s.report_untyped(tn::test::fed(x, a), {spread}).nodes == 2);
    double m = 0, v = 0;
    for (std::int64_t k = 0; k < a.elements(); ++k) m += at(a, k);
    m /= static_cast<double>(a.elements());
    for (std::int64_t k = 0; k < a.elements(); ++k) v += (at(a, k) - m) * (at(a, k) - m);
    CHECK(at(s.run_untyped(tn::test::fed(x, a), {spread})[0], 0) ==
          doctest::Approx(v / static_cast<double>(a.elements())).epsilon(1e-5));
}

TEST_CASE_FIXTURE(in_graph, "infinities and NaN go through what is combined as it is computed") {
    const auto x = tn::placeholder<float, tn::shape<3, 50000>>("x");
    const auto y = x * 2.0f;
    tn::array<float, tn::shape<3, 50000>> a;
    for (float& v : a) v = 1;
    a(0, 7) = std::numeric_limits<float>::quiet_NaN();
    a(1, 49999) = std::numeric_limits<float>::infinity();
    tn::session s;
    CHECK(count_of(s.report(tn::max<1>(y), tn::feed(x, a)).order, "fused_reductions") == 1);
    const auto [sum, most, least] = s.run(tn::sum<1>(y), tn::max<1>(x * 2.0f), tn::min<1>(x * 3.0f), tn::feed(x, a));
    CHECK(std::isnan(sum(0)));
    CHECK(std::isinf(sum(1)));
    CHECK(sum(2) == 100000);
    CHECK(std::isnan(most(0)));
    CHECK(std::isinf(most(1)));
    CHECK(most(2) == 2);
    CHECK(std::isnan(least(0)));
    CHECK(least(1) == 3);
}
