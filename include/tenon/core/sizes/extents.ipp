#pragma once

#include <tenon/core/error.hpp>
#include <tenon/core/sizes/extents.hpp>

namespace tenon {

namespace detail {
TENON_INLINE void list_is_full(std::int64_t next) {
    throw invalid_argument_error("a list of axes, sizes or counts has at most " + std::to_string(max_rank) +
                                 " numbers, as a tensor has dimensions; " + std::to_string(next) + " is one too many");
}
TENON_INLINE void list_is_too_long(std::size_t count) {
    throw invalid_argument_error("a list of axes, sizes or counts has at most " + std::to_string(max_rank) +
                                 " numbers, as a tensor has dimensions; this one has " + std::to_string(count));
}
TENON_INLINE void not_in_list(const std::string& number, const char* wanted) {
    throw invalid_argument_error("a list of axes, sizes or counts: " + number + " is given, but " + wanted);
}
} // namespace detail

TENON_INLINE std::string to_string(const extent& e) {
    if (e.is_number() || e.size < dynamic_extent.size)
        return std::to_string(e.size); // a negative one is somebody's mistake
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
TENON_INLINE std::string to_string(const std::vector<tensor_type>& types) {
    std::string text = "(";
    for (const tensor_type& t : types) text += (text.size() > 1 ? ", " : "") + to_string(t);
    return text + ")";
}

} // namespace tenon
