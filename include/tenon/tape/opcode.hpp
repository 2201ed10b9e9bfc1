#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// The elementwise instructions: what a tape is made of, on every device. Their list is tape/instructions.inl.

namespace tenon {

enum class opcode : std::uint8_t {
#define TENON_SOURCE(NAME) NAME,
#define TENON_UNARY(NAME, ...) NAME,
#define TENON_BINARY(NAME, ...) NAME,
#define TENON_TERNARY(NAME, ...) NAME,
#define TENON_CONVERSION(NAME, ...) NAME,
#include <tenon/tape/instructions.inl>
    count_
};

inline constexpr int opcode_count = static_cast<int>(opcode::count_);

/// What an instruction accepts.
enum class opcode_group : std::uint8_t {
    source,
    real,
    number,
    real_test,
    integer,
    boolean,
    comparison,
    choice,
    conversion
};

struct opcode_info {
    const char* name;
    int operands;
    opcode_group group;
};

constexpr opcode_info info_of(opcode op) noexcept { // by choices: a table of its own would be made by each call
    using enum opcode_group;
#define TENON_SOURCE(NAME) \
    if (op == opcode::NAME) return {#NAME, 0, source};
#define TENON_UNARY(NAME, GROUP, ...) \
    if (op == opcode::NAME) return {#NAME, 1, GROUP};
#define TENON_BINARY(NAME, GROUP, ...) \
    if (op == opcode::NAME) return {#NAME, 2, GROUP};
#define TENON_TERNARY(NAME, GROUP, ...) \
    if (op == opcode::NAME) return {#NAME, 3, GROUP};
#define TENON_CONVERSION(NAME, ...) \
    if (op == opcode::NAME) return {#NAME, 1, conversion};
#include <tenon/tape/instructions.inl>
    return {"", 0, source};
}

/// True when `op` accepts first operands of (compute) type `e`.
constexpr bool accepts_element(opcode op, element_type e) noexcept {
    const element_type c = compute_type(e);
    switch (info_of(op).group) {
    case opcode_group::real:
    case opcode_group::real_test: return is_floating(c);
    case opcode_group::number: return is_numeric(c);
    case opcode_group::integer:
        return is_integer(c) || (c == element_type::boolean && op != opcode::shift_left && op != opcode::shift_right);
    case opcode_group::boolean: return c == element_type::boolean;
    case opcode_group::comparison:
        return is_numeric(c) || (c == element_type::boolean && (op == opcode::equal || op == opcode::not_equal));
    case opcode_group::choice:
    case opcode_group::conversion: return is_numeric(c) || c == element_type::boolean;
    default: return c != element_type::none && c != element_type::string;
    }
}

/// Type of the result of `op` on operands of type `e` (of the chosen values for select; cast names its own).
constexpr element_type result_type(opcode op, element_type e) noexcept {
    const opcode_group g = info_of(op).group;
    return g == opcode_group::real_test || g == opcode_group::comparison ? element_type::boolean : e;
}

} // namespace tenon
