#pragma once

#include <tenon/core/extents.hpp>

namespace tenon {

TENON_INLINE std::string to_string(const extent& e) {
    if (e.is_number()) return std::to_string(e.size);
    return e.is_named() ? e.name : "?";
}

TENON_INLINE std::string to_string(const extents& e) {
    std::string text = "[";
    for (int i = 0; i < e.rank(); ++i) {
        if (i) text += ", ";
        text += to_string(e[i]);
    }
    if (e.overfull()) text += ", ...";
    return text += "]";
}

TENON_INLINE std::string to_string(const tensor_type& t) {
    if (t.element == element_type::none) return "nothing (empty, or moved from)";
    return name_of(t.element) + to_string(t.extents);
}

} // namespace tenon
