#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "reference/compute.hpp"

#include <tenon/tape/tape.hpp>

/// Elementwise arithmetic by plain loops: what rounds each operation once, so that there is one right answer.

namespace reference {

/// x op y of numbers. Integers wrap around, and by zero they give zero.
template <class T> T one_instruction(tenon::opcode op, T x, T y) {
    using enum tenon::opcode;
    if constexpr (std::is_same_v<T, tenon::half> || std::is_same_v<T, tenon::bfloat16>)
        return T(one_instruction(op, static_cast<float>(x), static_cast<float>(y)));
    else {
        const auto wrapped = [](auto value) { return static_cast<T>(value); };
        if constexpr (std::is_floating_point_v<T>) {
            if (op == add) return x + y;
            if (op == subtract) return x - y;
            if (op == multiply) return x * y;
            if (op == divide) return x / y;
            if (std::isnan(x) || std::isnan(y)) return x + y;
        } else {
            const auto a = static_cast<std::uint64_t>(x), b = static_cast<std::uint64_t>(y);
            if (op == add) return wrapped(a + b);
            if (op == subtract) return wrapped(a - b);
            if (op == multiply) return wrapped(a * b);
            if (op == divide) {
                if (y == 0) return 0;
                if constexpr (std::is_signed_v<T>)
                    if (y == T(-1)) return wrapped(-a);
                return wrapped(x / y);
            }
        }
        return op == minimum ? std::min(x, y) : std::max(x, y);
    }
}

/// The outputs of a fused node whose tape has only such arithmetic, of one type; nothing where it has more.
std::vector<shared_array> by_loops(const work& w);

} // namespace reference
