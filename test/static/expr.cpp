// What trees write on tapes, and what vjp() makes of them, as constants.
#include <tenon/ops/elementwise/activations.hpp>
#include <tenon/tape/vjp.hpp>

using namespace tenon;

namespace {

template <class E> constexpr const tape& forward = detail::forward_program<typename E::tree_type>::code;
template <class E>
constexpr const tape& backward = detail::gradient_program<detail::forward_program<typename E::tree_type>>::code;

constexpr int count(const tape& t, opcode op) {
    int n = 0;
    for (int r = 0; r < t.length; ++r) n += t.code[r].op == op;
    return n;
}

using vector = tensor<float, shape<dyn>>;
template <class F, class... X> using result_of = decltype(std::declval<F>()(std::declval<X&>()...));

constexpr auto fused = [](auto& a, auto& x, auto& b, auto& c) { return relu(a * x + b) * sigmoid(c - x); };
using fused_t = result_of<decltype(fused), vector, vector, vector, vector>;

// Each occurrence of an operand is an input; a * x + b is one instruction.
static_assert(tape_defect(forward<fused_t>) == nullptr);
static_assert(forward<fused_t>.input_count == 5);
static_assert(count(forward<fused_t>, opcode::fma) == 1);
static_assert(count(forward<fused_t>, opcode::add) == 0);
static_assert(forward<fused_t>.length == 5 + 5);
static_assert(forward<fused_t>.output_count == 1 && forward<fused_t>.outputs[0].like == -1);

// The gradient has one output for each operand, like it.
static_assert(tape_defect(backward<fused_t>) == nullptr);
static_assert(backward<fused_t>.output_count == 5);
static_assert(backward<fused_t>.input_count == 6);
static_assert(count(backward<fused_t>, opcode::sigmoid) == 1);

// Numbers given at run time are constants; numbers of the library's functions are literals.
constexpr auto scaled = [](auto& x) { return 2 * x + 3; };
using scaled_t = result_of<decltype(scaled), vector>;
static_assert(forward<scaled_t>.constant_count == 2 && count(forward<scaled_t>, opcode::literal) == 0);
constexpr auto squashed = [](auto& x) { return softsign(x); };
using squashed_t = result_of<decltype(squashed), vector>;
static_assert(forward<squashed_t>.constant_count == 0 && count(forward<squashed_t>, opcode::literal) == 1);

// A composite computes its operand once.
constexpr auto twice = [](auto& x, auto& y) { return mish(exp(x) + y); };
using twice_t = result_of<decltype(twice), vector, vector>;
static_assert(forward<twice_t>.input_count == 2);
static_assert(count(forward<twice_t>, opcode::exp) == 1);

// Elements are computed in float where they are stored in half.
using halves = tensor<half, shape<dyn>>;
using half_t = decltype(std::declval<halves&>() * std::declval<halves&>());
static_assert(forward<half_t>.inputs[0] == element_type::float16);
static_assert(forward<half_t>.code[2].type == element_type::float32);
static_assert(forward<half_t>.outputs[0].type == element_type::float16);

// Sizes are no part of a tree: one kernel serves all.
using row = tensor<float, shape<7>>;
using matrix = tensor<float, shape<3, 7>>;
static_assert(std::is_same_v<decltype(std::declval<vector&>() + std::declval<vector&>())::tree_type,
                             decltype(std::declval<matrix&>() + std::declval<row&>())::tree_type>);

// What comes from outside is checked.
constexpr tape with(int a, element_type type) {
    tape t;
    t.emit_input(t.add_input(element_type::float32));
    instruction i{.op = opcode::exp, .type = type, .a = static_cast<std::int16_t>(a)};
    t.emit(i);
    t.add_output(1, type);
    return t;
}
static_assert(tape_defect(with(0, element_type::float32)) == nullptr);
static_assert(tape_defect(with(1, element_type::float32)) != nullptr);
static_assert(tape_defect(with(-1, element_type::float32)) != nullptr);
static_assert(tape_defect(with(0, element_type::float64)) != nullptr);
static_assert(tape_defect(with(0, element_type::int32)) != nullptr);
static_assert(tape_defect(tape{}) != nullptr);

// Every instruction has a name, and takes floats where the library says so.
static_assert([] {
    for (int i = 0; i < opcode_count; ++i) {
        const opcode_info info = info_of(static_cast<opcode>(i));
        if (info.name == nullptr || info.operands < 0 || info.operands > 3) return false;
    }
    return true;
}());
static_assert(accepts_element(opcode::exp, element_type::bfloat16) &&
              !accepts_element(opcode::exp, element_type::int32));
static_assert(accepts_element(opcode::bit_and, element_type::boolean) &&
              !accepts_element(opcode::shift_left, element_type::boolean));

} // namespace
