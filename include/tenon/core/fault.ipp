#pragma once

#include <tenon/core/fault.hpp>

namespace tenon {

TENON_INLINE std::string fault_sentence(const char* op, const inferred& refused, type_list operands) {
    std::string text = std::string(op) + ": " + refused.words();
    for (int i = 0; i < operands.size(); ++i) {
        text += i ? " x " : ": ";
        text += is_about_elements(refused.what) ? to_string(operands[i]) : to_string(operands[i].extents);
    }
    return text;
}

} // namespace tenon
