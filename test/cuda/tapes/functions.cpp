#include "tests.hpp"
#include "run_on_gpu.hpp"

using namespace tape_test;

namespace {

/// Numbers at which functions have edges.
std::vector<double> edges(element_type e) {
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    if (is_floating(e))
        return {0.0,  -0.0, 1,    -1,  0.5,  -0.5, 1.5,   2.5,  -2.5, 2,    -2,  3,     7,      100,
                -100, 300,  -300, 3e9, -3e9, 1e20, -1e20, 1e30, inf,  -inf, nan, 1e-30, -1e-30, 1e-6};
    if (is_signed_integer(e)) return {0, 1, -1, 2, -2, 3, 7, -7, 8, 31, 33, 63, 64, 100, -128, 127, -127};
    if (e == element_type::boolean) return {0, 1};
    return {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 200, 255};
}
/// Every pair of them, as two operands; beside the lowest and the highest integer.
std::pair<buffer, buffer> pairs(element_type e) {
    std::vector<double> values = edges(e);
    if (e == element_type::int64 || e == element_type::int32 || e == element_type::int16) {
        const double high = std::ldexp(1, static_cast<int>(8 * size_of(e)) - 1);
        values.push_back(-high);
        values.push_back(e == element_type::int64 ? high - 1024 : high - 1);
    }
    const auto n = static_cast<std::int64_t>(values.size());
    buffer a(e, extents(n, n)), b(e, extents(n, n));
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t k = 0; k < values.size(); ++k) {
            a.set(i * values.size() + k, values[i]);
            b.set(i * values.size() + k, values[k]);
        }
    return {std::move(a), std::move(b)};
}

struct case_of_type {
    tape code;
    std::vector<tensor_type> types;
    std::vector<buffer> inputs;
    std::unique_ptr<gpu_tape> on_gpu;
};

constexpr element_type all_types[] = {
    element_type::float32, element_type::float64, element_type::float16, element_type::bfloat16, element_type::int8,
    element_type::int16,   element_type::int32,   element_type::int64,   element_type::uint8,    element_type::uint16,
    element_type::uint32,  element_type::uint64,  element_type::boolean};

/// What is compared to the bit, of one type: as many tapes as hold it.
std::vector<std::unique_ptr<case_of_type>> exact_cases(element_type e) {
    std::vector<std::unique_ptr<case_of_type>> all;
    const element_type computed = compute_type(e);
    int a = 0, b = 0;
    const auto begin = [&] {
        all.push_back(std::make_unique<case_of_type>());
        tape& t = all.back()->code;
        a = t.emit_input(t.add_input(e));
        b = t.emit_input(t.add_input(e));
        auto [x, y] = pairs(e);
        all.back()->types = {{e, x.sizes}, {e, y.sizes}};
        all.back()->inputs.push_back(std::move(x));
        all.back()->inputs.push_back(std::move(y));
    };
    const auto give = [&](opcode op, element_type result, element_type stored, int c = -1) {
        if (all.empty() || all.back()->code.output_count == max_tape_outputs) begin();
        tape& t = all.back()->code;
        const int n = info_of(op).operands;
        const int p = op == opcode::select ? t.emit(opcode::not_equal, element_type::boolean, a, b) : a;
        t.add_output(t.emit(op, result, p, n > 1 ? (op == opcode::select ? a : b) : -1, n > 2 ? (c < 0 ? b : c) : -1),
                     stored);
    };
    for (int k = 0; k < opcode_count; ++k) {
        const auto op = static_cast<opcode>(k);
        if (op == opcode::cast) {
            for (const element_type to : all_types) give(op, to, to);
        } else if (op == opcode::select || (info_of(op).operands > 0 && accepts_element(op, e) && is_exact(op))) {
            const element_type result = result_type(op, computed);
            give(op, result, result == computed ? e : result);
        }
    }
    return all;
}

} // namespace

TEST_CASE("at the edges of all types exact instructions give what the CPU gives: integers by zero, the lowest by -1, "
          "shifts beyond the width, "
          "NaN, infinities, both zeros, conversions out of range") {
    gpu_context gpu(0);
    std::vector<std::unique_ptr<case_of_type>> cases;
    for (const element_type e : all_types)
        for (auto& c : exact_cases(e)) cases.push_back(std::move(c));
    for (auto& c : cases) c->on_gpu = std::make_unique<gpu_tape>(gpu, c->code, std::vector<std::int64_t>{}, c->types);
    for (const bool compiled : {false, true})
        for (auto& c : cases) {
            if (compiled) c->on_gpu->settle(c->inputs);
            const expected want = run_naively(c->code, {}, c->inputs, simd::best_isa());
            const auto got = c->on_gpu->run(c->inputs, {});
            for (std::size_t o = 0; o < got.size(); ++o) {
                if (matches(got[o], want, o)) continue;
                const instruction& i = c->code.code[c->code.outputs[o].reg];
                for (std::size_t k = 0; k < got[o].count(); ++k) {
                    const double x = got[o].at(k), y = want.outputs[o].at(k);
                    const bool same =
                        (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
                    INFO(info_of(i.op).name, " to ", name_of(i.type), " of ", name_of(c->inputs[0].element), " ",
                         c->inputs[0].at(k), " and ", c->inputs[1].at(k), ": ", x, " for ", y);
                    CHECK(same);
                }
            }
        }
}

namespace {

/// The function in double, or nothing.
double by_the_c_library(opcode op, double a, double b) {
    using enum opcode;
    switch (op) {
    case exp: return std::exp(a);
    case exp2: return std::exp2(a);
    case expm1: return std::expm1(a);
    case log: return std::log(a);
    case log2: return std::log2(a);
    case log10: return std::log10(a);
    case log1p: return std::log1p(a);
    case cbrt: return std::cbrt(a);
    case sin: return std::sin(a);
    case cos: return std::cos(a);
    case tan: return std::tan(a);
    case asin: return std::asin(a);
    case acos: return std::acos(a);
    case atan: return std::atan(a);
    case sinh: return std::sinh(a);
    case cosh: return std::cosh(a);
    case tanh: return std::tanh(a);
    case asinh: return std::asinh(a);
    case acosh: return std::acosh(a);
    case atanh: return std::atanh(a);
    case erf: return std::erf(a);
    case erfc: return std::erfc(a);
    case lgamma: return std::lgamma(a);
    case sigmoid: return 1 / (1 + std::exp(-a));
    case softplus: return a > 0 ? a + std::log1p(std::exp(-a)) : std::log1p(std::exp(a));
    case pow: return std::pow(a, b);
    case atan2: return std::atan2(a, b);
    case hypot: return std::hypot(a, b);
    default: return 0;
    }
}

} // namespace

TEST_CASE("real functions are within a few units in the last place of the C library's in double, and their limits are "
          "those of the CPU") {
    const auto seed = std::random_device{}();
    INFO("seed ", seed);
    std::mt19937 random(seed);
    gpu_context gpu(0);
    for (const element_type e : {element_type::float32, element_type::float64}) {
        std::vector<double> values = edges(e);
        for (int k = 0; k < 200; ++k)
            values.push_back(
                std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), static_cast<int>(random() % 12) - 6));
        for (int k = 0; k < 8; ++k) values.push_back(-k - 0.25), values.push_back(-k);
        buffer a(e, extents(static_cast<std::int64_t>(values.size()))), b(e, a.sizes);
        for (std::size_t k = 0; k < values.size(); ++k) {
            a.set(k, values[k]);
            b.set(k, values[random() % values.size()]);
        }
        std::vector<opcode> ops;
        for (int k = 0; k < opcode_count; ++k)
            if (!is_exact(static_cast<opcode>(k))) ops.push_back(static_cast<opcode>(k));
        for (std::size_t first = 0; first < ops.size(); first += max_tape_outputs) {
            tape t;
            const int x = t.emit_input(t.add_input(e)), y = t.emit_input(t.add_input(e));
            for (std::size_t k = first; k < ops.size() && k < first + max_tape_outputs; ++k)
                t.add_output(t.emit(ops[k], e, x, info_of(ops[k]).operands > 1 ? y : -1), e);
            std::vector<buffer> inputs;
            inputs.push_back(a);
            inputs.push_back(b);
            const std::vector<tensor_type> types{{e, a.sizes}, {e, b.sizes}};
            gpu_tape on_gpu(gpu, t, {}, types);
            on_gpu.settle(inputs);
            const auto got = on_gpu.run(inputs, {});
            const expected cpu = run_naively(t, {}, inputs, simd::best_isa());
            for (std::size_t o = 0; o < got.size(); ++o) {
                const opcode op = ops[first + o];
                const bool of_gamma = op == opcode::digamma || op == opcode::polygamma || op == opcode::lgamma;
                const bool inverse = op == opcode::erfinv || op == opcode::erfcinv;
                const double unit = e == element_type::float32 ? 0x1p-23 : 0x1p-52;
                for (std::size_t k = 0; k < values.size(); ++k) {
                    const double p = a.at(k), q = b.at(k), have = got[o].at(k), on_cpu = cpu.outputs[o].at(k);
                    const bool by_cpu = of_gamma || inverse;
                    double want = by_cpu ? on_cpu : by_the_c_library(op, p, q);
                    if (e == element_type::float32) want = static_cast<double>(static_cast<float>(want));
                    INFO(info_of(op).name, " of ", name_of(e), " ", p, " and ", q, ": ", have, " for ", want,
                         ", on the CPU ", on_cpu);
                    CHECK(std::isnan(have) == std::isnan(on_cpu));
                    if (std::isnan(have) || std::isnan(on_cpu)) continue;
                    CHECK(std::isinf(have) == std::isinf(on_cpu));
                    if (std::isinf(have)) {
                        CHECK(have == on_cpu);
                        continue;
                    }
                    // Near a zero of a function of gamma the terms cancel.
                    const double least = e == element_type::float32 ? 0x1p-149 : 0x1p-1074;
                    const double allowed = 8 * unit * std::fabs(want) + (of_gamma ? 32 * unit : 4 * least);
                    CHECK(std::fabs(have - want) <= allowed);
                }
            }
        }
    }
}

TEST_CASE("a sum in float that float cannot add up is exact, over any dimensions, and the same each time") {
    tape t;
    const int x = t.emit_input(t.add_input(element_type::float32));
    t.add_input(element_type::float32);
    t.add_output(x, element_type::float32, 1);
    gpu_context gpu(0);
    std::mt19937 random(1);
    struct summed {
        std::vector<tensor_type> types;
        std::vector<buffer> in;
        std::unique_ptr<gpu_tape> on_gpu;
    };
    std::vector<summed> all; // made first: they are compiled together
    for (const extents& sizes :
         {extents(60000), extents(200, 300), extents(6000, 10), extents(20, 30, 100), extents(1800, 33)})
        for (int kind = 0; kind < 4; ++kind) {
            extents like;
            if (kind == 1) like = extents(sizes[sizes.rank() - 1]);
            if (kind == 2 && sizes.rank() == 2) like = extents(sizes[0], extent(1));
            if (kind == 3 && sizes.rank() == 3) like = extents(extent(1), sizes[1], extent(1));
            if (like.rank() == 0 && kind > 0) continue;
            summed& s = all.emplace_back();
            s.types = {{element_type::float32, sizes}, {element_type::float32, like}};
            s.in.emplace_back(element_type::float32, sizes);
            s.in.emplace_back(element_type::float32, like);
            for (std::size_t i = 0; i < s.in[0].count(); ++i) s.in[0].set(i, 4097); // the sum has more than 24 bits
            s.on_gpu = std::make_unique<gpu_tape>(gpu, t, std::vector<std::int64_t>{}, s.types);
        }
    for (summed& s : all) {
        INFO(to_string(s.types[0]), " like ", to_string(s.types[1]));
        s.on_gpu->settle(s.in);
        const auto got = s.on_gpu->run(s.in, {});
        bool exact = true;
        for (std::size_t i = 0; i < got[0].count(); ++i)
            exact = exact &&
                    got[0].at(i) == static_cast<double>(4097.0F * static_cast<float>(s.in[0].count() / got[0].count()));
        CHECK(exact);
        s.in[0] = random_buffer(element_type::float32, s.types[0].extents, random);
        const auto once = s.on_gpu->run(s.in, {}), again = s.on_gpu->run(s.in, {});
        CHECK(same_bits(once[0], again[0]));
        const expected want = run_naively(t, {}, s.in, simd::best_isa());
        CHECK(matches(once[0], want, 0));
    }
}

TEST_CASE("the sum of no elements is 0, and what has no elements is not touched") {
    tape t;
    const int x = t.emit_input(t.add_input(element_type::float32));
    t.add_input(element_type::float32);
    t.add_output(x, element_type::float32, 1);
    t.add_output(x, element_type::float32);
    gpu_context gpu(0);
    const std::vector<tensor_type> types{{element_type::float32, extents(0, 5)}, {element_type::float32, extents(5)}};
    gpu_tape on_gpu(gpu, t, {}, types);
    CHECK(on_gpu.kernel().may_be_recorded());
    std::vector<buffer> in;
    for (const tensor_type& type : types) in.emplace_back(type.element, type.extents);
    const auto got = on_gpu.run(in, {});
    for (std::size_t i = 0; i < 5; ++i) CHECK(got[0].at(i) == 0);
}
