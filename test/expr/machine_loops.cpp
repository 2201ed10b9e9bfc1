#include <doctest/doctest.h>

#include <limits>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_tape.hpp"

using namespace tape_test;

namespace {

bool has_avx512() { return simd::has_isa(simd::isa::avx512); }
constexpr element_type f = element_type::float32;

bool is_allowed(opcode op) {
    switch (op) {
    case opcode::literal:
    case opcode::sigmoid: // what stands between loops
    case opcode::abs:
    case opcode::logical_not:
    case opcode::add:
    case opcode::subtract:
    case opcode::multiply:
    case opcode::divide:
    case opcode::fma:
    case opcode::sqrt:
    case opcode::negative:
    case opcode::relu:
    case opcode::minimum:
    case opcode::maximum:
    case opcode::select: return true;
    default: return info_of(op).group == opcode_group::comparison;
    }
}
int steps_of(const tape& t, std::int64_t n, const std::vector<std::int64_t>& constants = {}) {
    return detail::interpreter(t, constants.data(), 0, false, n, simd::isa::avx512).steps();
}

} // namespace

TEST_CASE("simple steps between others are loops of machine code, and give what they give one by one, to the bit") {
    if (!has_avx512()) return;
    std::mt19937 random(7);
    std::vector<std::int64_t> constants;
    int joined = 0;
    for (int round = 0; round < 400; ++round) {
        const tape t = random_tape(random, constants, is_allowed);
        const std::int64_t n = std::vector<std::int64_t>{64, 100, 1000, 1003, 1030, 2500}[random() % 6];
        joined += steps_of(t, n, constants) < steps_of(t, 16, constants);
        std::vector<buffer> inputs;
        for (int i = 0; i < t.input_count; ++i) {
            inputs.push_back(random_buffer(t.inputs[i], extents(n), random));
            if (!is_floating(t.inputs[i])) continue;
            for (std::int64_t k = 0; k < n; k += 1 + static_cast<std::int64_t>(random() % 40)) {
                constexpr double infinity = std::numeric_limits<double>::infinity();
                const double some[] = {0, -0.0, 1, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
                inputs.back().set(static_cast<std::size_t>(k), some[random() % 6]);
            }
        }
        const expected want = run_naively(t, constants, inputs, simd::isa::avx512);
        for (const bool in_place : {false, true}) {
            const auto got = run(t, constants, inputs, options{.isa = simd::isa::avx512, .in_place = in_place});
            CAPTURE(round);
            CAPTURE(n);
            CAPTURE(in_place);
            for (std::size_t o = 0; o < got.size(); ++o) CHECK(matches(got[o], want, o));
        }
    }
    CHECK(joined > 50);
}

TEST_CASE("what is simple waits for what it needs, and for nobody longer than he can") {
    if (!has_avx512()) return;
    tape t;
    const int a = t.emit_input(t.add_input(f)), b = t.emit_input(t.add_input(f)), g = t.emit_input(t.add_input(f));
    const int early = t.emit(opcode::divide, f, a, b), product = t.emit(opcode::multiply, f, a, b);
    const int s = t.emit(opcode::sigmoid, f, product), u = t.emit(opcode::multiply, f, g, s);
    const int square = t.emit(opcode::multiply, f, early, early);
    t.add_output(t.emit(opcode::multiply, f, u, a), f);
    t.add_output(t.emit(opcode::multiply, f, u, square), f);
    CHECK(steps_of(t, 1000) == 2); // the sigmoid of the product, and all else behind it
    CHECK(steps_of(t, 16) == 4);
    tape again = t; // another needs that loop before it
    again.add_output(again.emit(opcode::sigmoid, f, again.emit(opcode::divide, f, u, square)), f);
    CHECK(steps_of(again, 1000) == 3);
}

TEST_CASE("more than registers and pointers allow is several loops") {
    if (!has_avx512()) return;
    std::mt19937 random(8);
    tape t;
    std::vector<int> in, sums;
    for (int k = 0; k < 14; ++k) in.push_back(t.emit_input(t.add_input(f)));
    for (std::size_t k = 0; k < 14; ++k)
        for (std::size_t j = 0; j < k; j += 3) sums.push_back(t.emit(opcode::subtract, f, in[k], in[j]));
    int product = sums[0];
    for (std::size_t k = sums.size(); k-- > 1;) product = t.emit(opcode::multiply, f, sums[k], product);
    t.add_output(product, f);
    const int steps = steps_of(t, 1000);
    CHECK(steps > 1);
    CHECK(steps < steps_of(t, 16));
    std::vector<buffer> inputs;
    for (int i = 0; i < t.input_count; ++i) inputs.push_back(random_buffer(f, extents(1003), random));
    options how{.isa = simd::isa::avx512};
    CHECK(matches(run(t, {}, inputs, how)[0], run_naively(t, {}, inputs, simd::isa::avx512), 0));
}

TEST_CASE("where a process may run no code that it has written, steps stay steps") {
    if (!has_avx512()) return;
    tape t;
    const int a = t.emit_input(t.add_input(f)), b = t.emit_input(t.add_input(f));
    const int difference = t.emit(opcode::subtract, f, a, b), quotient = t.emit(opcode::divide, f, difference, b);
    t.add_output(difference, f);
    t.add_output(t.emit(opcode::divide, f, quotient, difference), f);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        constexpr int refuse = 65; // PR_SET_MDWE, of Linux 6.3
        if (::prctl(refuse, 1, 0, 0, 0) != 0) ::_exit(0);
        std::mt19937 random(9);
        const std::vector<buffer> inputs{random_buffer(f, extents(1000), random),
                                         random_buffer(f, extents(1000), random)};
        options how{.isa = simd::isa::avx512};
        const auto got = run(t, {}, inputs, how);
        const expected want = run_naively(t, {}, inputs, how.isa);
        ::_exit(steps_of(t, 1000) == 3 && matches(got[0], want, 0) && matches(got[1], want, 1) ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(steps_of(t, 1000) == 1);
}
