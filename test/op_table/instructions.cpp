#include "tests.hpp"
#include "running.hpp"
#include "central_differences.hpp"

// The instructions of tapes: an entry each, with a function of numbers to compare with.

using namespace op_table;
using tenon::test::compare_slopes, tenon::test::slopes;

namespace {

using formula = double (*)(double, double, double);

struct instruction_entry {
    element_types elements;
    std::vector<double> a;      ///< where the function is defined and, where it has a slope, smooth
    std::vector<double> b = {}; ///< of a second operand; every a meets every b
    std::vector<double> c = {};
    formula expected;
    double tolerance = 1; ///< times the usual error of rounding
    bool first_has_slope = true;
};

#define OF(...)                                  \
    [](double a, double b, double c) -> double { \
        (void)a, (void)b, (void)c;               \
        return static_cast<double>(__VA_ARGS__); \
    }

// Smooth functions of the statistics, by what defines them.
double polygamma(int order, double x) { // recurrence up to where the asymptotic series is exact
    double sum = 0, factorial = 1;
    for (int k = 2; k <= order; ++k) factorial *= k;
    for (; x < 30; x += 1) sum += factorial / std::pow(x, order + 1);
    const double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66};
    double tail = factorial / order / std::pow(x, order) + factorial / 2 / std::pow(x, order + 1), rising = factorial;
    for (int k = 1; k <= 5; ++k) { // B_2k (2k + order - 1)! / (2k)! / x^(2k + order)
        rising = 1;
        for (int j = 2 * k + 1; j <= 2 * k + order - 1; ++j) rising *= j;
        tail += bernoulli[k - 1] * rising / std::pow(x, 2 * k + order);
    }
    return (order % 2 == 1 ? 1 : -1) * (sum + tail);
}
double digamma(double x) {
    double r = 0;
    for (; x < 30; x += 1) r -= 1 / x;
    const double i = 1 / (x * x);
    return r + std::log(x) - 0.5 / x - i * (1.0 / 12 - i * (1.0 / 120 - i * (1.0 / 252 - i / 240)));
}
double erf_inverse(double p) { // Newton's method
    if (!(std::fabs(p) < 1)) return std::fabs(p) == 1 ? p * INFINITY : NAN;
    double x = 0;
    for (int k = 0; k < 60; ++k) x -= (std::erf(x) - p) / (2 / std::sqrt(M_PI) * std::exp(-x * x));
    return x;
}
double modulo(double a, double b) { return a - b * std::floor(a / b); }
double whole_quotient(double a, double b) { return a / b; }

const std::vector<double> usual{-2.3, -1.1, -0.4, 0.3, 0.9, 1.7}, positive{0.2, 0.6, 1.3, 2.7},
    inner{-0.8, -0.3, 0.2, 0.7};
const std::vector<double> other{-1.9, -0.7, 0.8, 2.1}, nonzero{-3, -2, 2, 3};
const element_types real = floating, fixed = integers.with(element_type::boolean), any_number = numeric;
const element_types chosen = numeric.with(element_type::boolean);
const std::vector<double> bits{0, 1, 1, 0}, other_bits{1, 0, 1}, small{0, 1, 2, 3};

const std::map<std::string, instruction_entry> table{
    {"exp", {real, usual, {}, {}, OF(std::exp(a))}},
    {"exp2", {real, usual, {}, {}, OF(std::exp2(a))}},
    {"expm1", {real, usual, {}, {}, OF(std::expm1(a))}},
    {"log", {real, positive, {}, {}, OF(std::log(a))}},
    {"log2", {real, positive, {}, {}, OF(std::log2(a))}},
    {"log10", {real, positive, {}, {}, OF(std::log10(a))}},
    {"log1p", {real, {-0.6, -0.1, 0.5, 2.0}, {}, {}, OF(std::log1p(a))}},
    {"sqrt", {real, positive, {}, {}, OF(std::sqrt(a))}},
    {"rsqrt", {real, positive, {}, {}, OF(1 / std::sqrt(a))}},
    {"cbrt", {real, usual, {}, {}, OF(std::cbrt(a))}},
    {"reciprocal", {real, usual, {}, {}, OF(1 / a)}},
    {"sin", {real, usual, {}, {}, OF(std::sin(a))}},
    {"cos", {real, usual, {}, {}, OF(std::cos(a))}},
    {"tan", {real, {-1.1, -0.4, 0.3, 1.2}, {}, {}, OF(std::tan(a))}},
    {"asin", {real, inner, {}, {}, OF(std::asin(a))}},
    {"acos", {real, inner, {}, {}, OF(std::acos(a))}},
    {"atan", {real, usual, {}, {}, OF(std::atan(a))}},
    {"sinh", {real, usual, {}, {}, OF(std::sinh(a))}},
    {"cosh", {real, usual, {}, {}, OF(std::cosh(a))}},
    {"tanh", {real, usual, {}, {}, OF(std::tanh(a))}},
    {"asinh", {real, usual, {}, {}, OF(std::asinh(a))}},
    {"acosh", {real, {1.3, 1.8, 4.0}, {}, {}, OF(std::acosh(a))}},
    {"atanh", {real, inner, {}, {}, OF(std::atanh(a))}},
    {"erf", {real, usual, {}, {}, OF(std::erf(a))}},
    {"erfc", {real, usual, {}, {}, OF(std::erfc(a))}},
    {"erfinv", {real, inner, {}, {}, OF(erf_inverse(a))}},
    {"erfcinv", {real, {0.3, 0.9, 1.4}, {}, {}, OF(erf_inverse(1 - a))}},
    {"lgamma", {real, positive, {}, {}, OF(std::lgamma(a)), 10}},
    {"digamma", {real, positive, {}, {}, OF(digamma(a)), 10}},
    {"sigmoid", {real, usual, {}, {}, OF(1 / (1 + std::exp(-a)))}},
    {"softplus", {real, usual, {}, {}, OF(std::log1p(std::exp(a)))}},
    {"negative", {any_number, usual, {}, {}, OF(-a)}},
    {"abs", {any_number, usual, {}, {}, OF(std::fabs(a))}},
    {"sign",
     {any_number,
      usual,
      {},
      {},
      OF(a > 0   ? 1
         : a < 0 ? -1
                 : a)}},
    {"floor", {any_number, usual, {}, {}, OF(std::floor(a))}},
    {"ceil", {any_number, usual, {}, {}, OF(std::ceil(a))}},
    {"round", {any_number, usual, {}, {}, OF(std::nearbyint(a))}},
    {"trunc", {any_number, usual, {}, {}, OF(std::trunc(a))}},
    {"relu", {any_number, usual, {}, {}, OF(a > 0 || std::isnan(a) ? a : 0)}},
    {"is_nan", {real, {0, 1, NAN, INFINITY}, {}, {}, OF(std::isnan(a))}},
    {"is_inf", {real, {0, 1, NAN, INFINITY}, {}, {}, OF(std::isinf(a))}},
    {"is_finite", {real, {0, 1, NAN, INFINITY}, {}, {}, OF(std::isfinite(a))}},
    {"logical_not", {truths, bits, {}, {}, OF(a == 0)}},
    {"bit_not", {fixed, bits, {}, {}, OF(~static_cast<std::int64_t>(a))}},
    {"add", {any_number, usual, other, {}, OF(a + b)}},
    {"subtract", {any_number, usual, other, {}, OF(a - b)}},
    {"multiply", {any_number, usual, other, {}, OF(a* b)}},
    {"divide", {any_number, {-7, -2, 3, 9}, nonzero, {}, OF(whole_quotient(a, b))}},
    {"mod", {any_number, {-7, -2, 1, 5}, {-3, 3, 4}, {}, OF(modulo(a, b))}},
    {"fmod", {any_number, {-7, -2, 1, 5}, {-3, 3, 4}, {}, OF(std::fmod(a, b))}},
    {"minimum", {any_number, usual, other, {}, OF(std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b))}},
    {"maximum", {any_number, usual, other, {}, OF(std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b))}},
    {"pow", {any_number, positive, {0.5, 2.4, 1.3, 3.0}, {}, OF(std::pow(a, b)), 4}},
    {"atan2", {real, usual, other, {}, OF(std::atan2(a, b))}},
    {"hypot", {real, usual, other, {}, OF(std::hypot(a, b))}},
    {"polygamma", {real, {1, 2}, positive, {}, OF(polygamma(static_cast<int>(a), b)), 100, false}},
    {"bit_and", {fixed, bits, other_bits, {}, OF(static_cast<std::int64_t>(a) & static_cast<std::int64_t>(b))}},
    {"bit_or", {fixed, bits, other_bits, {}, OF(static_cast<std::int64_t>(a) | static_cast<std::int64_t>(b))}},
    {"bit_xor", {fixed, bits, other_bits, {}, OF(static_cast<std::int64_t>(a) ^ static_cast<std::int64_t>(b))}},
    {"shift_left", {integers, small, {0, 1, 4}, {}, OF(static_cast<std::int64_t>(a) << static_cast<std::int64_t>(b))}},
    {"shift_right",
     {integers, {0, 5, 64, 100}, {0, 1, 4}, {}, OF(static_cast<std::int64_t>(a) >> static_cast<std::int64_t>(b))}},
    {"logical_and", {truths, bits, other_bits, {}, OF(a != 0 && b != 0)}},
    {"logical_or", {truths, bits, other_bits, {}, OF(a != 0 || b != 0)}},
    {"logical_xor", {truths, bits, other_bits, {}, OF((a != 0) != (b != 0))}},
    {"equal", {chosen, small, {1, 3}, {}, OF(a == b)}},
    {"not_equal", {chosen, small, {1, 3}, {}, OF(a != b)}},
    {"less", {any_number, small, {1, 2}, {}, OF(a < b)}},
    {"less_equal", {any_number, small, {1, 2}, {}, OF(a <= b)}},
    {"greater", {any_number, small, {1, 2}, {}, OF(a > b)}},
    {"greater_equal", {any_number, small, {1, 2}, {}, OF(a >= b)}},
    {"select", {chosen, bits, usual, other, OF(a != 0 ? b : c), 1, false}},
    {"fma", {any_number, usual, other, {-0.6, 0.7, 1.6}, OF(std::fma(a, b, c))}},
    {"cast", {chosen, usual, {}, {}, OF(a)}},
};

// Further operands, where functions have no slope, or none that differences find: values alone are compared.
const std::vector<double> special{-INFINITY, -1, -0.0, 0, 2, INFINITY, NAN},
    ties{-2.5, -2, -0.5, 0, 0.5, 1.5, 2.5, 1e4};
const std::map<std::string, std::vector<std::pair<std::vector<double>, std::vector<double>>>> edges{
    {"exp", {{special, {}}}},
    {"log", {{special, {}}}},
    {"erfinv", {{{-2, -1, 1, 2, NAN}, {}}}},
    {"lgamma", {{{0.25, 0.5, 3, 10, 40}, {}}}},
    {"digamma", {{{0.5, 1, 2.25, 3, 10, 40}, {}}}},
    {"acosh", {{{1, 1.5, 3, 40}, {}}}},
    {"softplus", {{{-20, -9, 40}, {}}}},
    {"negative", {{special, {}}}},
    {"abs", {{special, {}}}},
    {"sign", {{special, {}}}},
    {"relu", {{special, {}}}},
    {"floor", {{ties, {}}}},
    {"ceil", {{ties, {}}}},
    {"round", {{ties, {}}}},
    {"trunc", {{ties, {}}}},
    {"add", {{usual, special}}},
    {"subtract", {{usual, special}}},
    {"multiply", {{usual, special}}},
    {"divide", {{usual, special}}},
    {"minimum", {{usual, special}, {special, usual}}},
    {"maximum", {{usual, special}, {special, usual}}},
    {"equal", {{special, special}}},
    {"not_equal", {{special, special}}},
    {"less", {{special, special}}},
    {"less_equal", {{special, special}}},
    {"greater", {{special, special}}},
    {"greater_equal", {{special, special}}},
    {"pow", {{{0, 0.5, 1, 2.5}, {-1.5, 0, 1, 2, 3.5}}, {{-2, -0.5}, {-3, 0, 2, 0.5}}}},
    {"hypot", {{usual, {-2, 0.5, 1e4}}}},
};

bool is_source(opcode op) { return info_of(op).group == opcode_group::source; }

template <class F> void for_each_instruction(F&& f) {
    for (int k = 0; k < opcode_count; ++k) {
        const auto op = static_cast<opcode>(k);
        if (is_source(op)) continue;
        const auto found = table.find(info_of(op).name);
        INFO(std::string(info_of(op).name));
        REQUIRE_MESSAGE(found != table.end(), "an instruction without an entry");
        f(op, found->second);
    }
}

// One node of the instruction, of operands of type e that meet each other by broadcasting: [a, 1, 1], [b, 1], [c].
struct instruction_graph {
    graph in;
    std::vector<any_tensor> operands;
    any_tensor result;

    instruction_graph(opcode op, const instruction_entry& t, element_type e) {
        const graph_scope here(in);
        const std::vector<double>* values[] = {&t.a, &t.b, &t.c};
        const int n = info_of(op).operands;
        for (int k = 0; k < n; ++k) {
            extents sizes{static_cast<std::int64_t>(values[k]->size())};
            for (int more = k + 1; more < n; ++more) sizes.push_back(1);
            const bool condition = op == opcode::select && k == 0;
            operands.push_back(untyped::placeholder(condition ? element_type::boolean : e, sizes));
        }
        result = tenon::detail::add_instruction(op, operands,
                                                op == opcode::cast ? element_type::float64 : element_type::none);
    }
    std::vector<any_array> values(const instruction_entry& t) const {
        std::vector<any_array> all;
        const std::vector<double>* given[] = {&t.a, &t.b, &t.c};
        for (std::size_t k = 0; k < operands.size(); ++k) {
            any_array a(operands[k].element(), operands[k].extents());
            for (std::int64_t i = 0; i < a.elements(); ++i) {
                double v = (*given[k])[static_cast<std::size_t>(i)];
                if (is_integer(a.element())) v = std::round(v);
                if (is_integer(a.element()) && !is_signed_integer(a.element())) v = std::fabs(v);
                set_number(a, i, v);
            }
            all.push_back(std::move(a));
        }
        return all;
    }
    any_array run(const std::vector<any_array>& fed) const {
        session s(in);
        std::vector<fed_value> feeds;
        for (std::size_t k = 0; k < operands.size(); ++k) feeds.push_back({operands[k], fed[k].share()});
        return std::move(s.run_untyped(std::move(feeds), {result})[0]);
    }
};

// The value of the entry's function at each element; whole where the element type is.
plain expected(opcode op, const instruction_entry& t, element_type e, const std::vector<any_array>& values) {
    std::vector<std::int64_t> sizes;
    for (const any_array& a : values) sizes.push_back(a.elements());
    return tabulate(sizes, [&](const op_table::index& i) {
        double at[3] = {};
        for (std::size_t k = 0; k < values.size(); ++k) at[k] = number_at(values[k], i[k]);
        const double v = t.expected(at[0], at[1], at[2]);
        if (op == opcode::bit_not && e == element_type::boolean) return at[0] == 0 ? 1.0 : 0.0;
        return is_integer(e) && info_of(op).group != opcode_group::comparison ? std::trunc(v) : v;
    });
}

struct kept_isa {
    simd::isa was = simd::best_isa();
    ~kept_isa() { simd::set_isa_for_testing(was); }
};

} // namespace

TEST_CASE("every instruction has an entry in the table, and every entry an instruction") {
    std::map<std::string, int> known_names;
    for (int k = 0; k < opcode_count; ++k) {
        const auto op = static_cast<opcode>(k);
        ++known_names[info_of(op).name];
        if (!is_source(op))
            CHECK_MESSAGE(table.count(info_of(op).name) == 1, std::string(info_of(op).name),
                          ": give it an entry in the table above");
    }
    for (const auto& entry : table) CHECK_MESSAGE(known_names.count(entry.first) == 1, entry.first);
    for (const auto& known : known_names) CHECK_MESSAGE(known.second == 1, known.first);
}

TEST_CASE("each instruction is its function, in every element type and on every instruction set") {
    const kept_isa restored;
    for (const simd::isa which : {simd::isa::baseline, simd::isa::avx2, simd::isa::avx512}) {
        if (!simd::has_isa(which)) continue;
        simd::set_isa_for_testing(which);
        for_each_instruction([&](opcode op, const instruction_entry& t) {
            for (const element_type e : every_element()) {
                if (!t.elements.has(e)) continue;
                INFO(std::string(info_of(op).name), " of ", std::string(tenon::name_of(e)), "; ",
                     std::string(simd::name_of(which)));
                const instruction_graph g(op, t, e);
                const std::vector<any_array> values = g.values(t);
                std::vector<any_array> got;
                got.push_back(g.run(values));
                CHECK(difference(got, {expected(op, t, e, values)}, t.tolerance) == "");
            }
        });
    }
}

TEST_CASE("each instruction is its function at zeros of both signs, at ties, beside infinities and NaN") {
    for_each_instruction([&](opcode op, const instruction_entry& t) {
        const auto found = edges.find(info_of(op).name);
        if (found == edges.end()) return;
        for (const auto& [a, b] : found->second)
            for (const element_type e : {element_type::float32, element_type::float64}) {
                INFO(std::string(info_of(op).name), " of ", std::string(tenon::name_of(e)));
                instruction_entry at_edges = t;
                at_edges.a = a, at_edges.b = b;
                const instruction_graph g(op, at_edges, e);
                const std::vector<any_array> values = g.values(at_edges);
                std::vector<any_array> got;
                got.push_back(g.run(values));
                CHECK(difference(got, {expected(op, at_edges, e, values)}, 4 * t.tolerance) == "");
            }
    });
}

TEST_CASE("each instruction refuses the element types that it does not take") {
    for_each_instruction([&](opcode op, const instruction_entry& t) {
        for (const element_type e : every_element()) {
            if (t.elements.has(e)) continue;
            if (op == opcode::select && e == element_type::string) continue; // an op of its own, string_where
            INFO(std::string(info_of(op).name), " of ", std::string(tenon::name_of(e)));
            CHECK_THROWS_AS(instruction_graph(op, t, e), invalid_argument_error);
        }
    });
}

TEST_CASE("each instruction's gradient, and that of its gradient, agree with differences") {
    for_each_instruction([&](opcode op, const instruction_entry& t) {
        if (!t.elements.has(element_type::float64)) return;
        INFO(std::string(info_of(op).name));
        const instruction_graph g(op, t, element_type::float64);
        if (!is_floating(g.result.element())) return; // a truth value
        const graph_scope in(g.in);
        std::vector<any_array> values = g.values(t);
        std::vector<fed_value> feeds;
        std::vector<any_tensor> of;
        for (std::size_t k = 0; k < values.size(); ++k) {
            if (k > 0 || t.first_has_slope) of.push_back(g.operands[k]);
            feeds.push_back({g.operands[k], std::move(values[k])});
        }
        session s(g.in);
        const slopes once = compare_slopes(s, feeds, {g.result}, of);
        CHECK(once.defect == "");
        CHECK(compare_slopes(s, feeds, once.gradients, of).defect == "");
    });
}
