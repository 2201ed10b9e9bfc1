#pragma once

#include <tenon/core/array/array.hpp>

namespace tenon::detail {

TENON_INLINE void throw_bad_index(const any_array& a, const std::int64_t* index, int count) {
    std::string text = "(";
    for (int i = 0; i < count; ++i) text += (i ? ", " : "") + std::to_string(index[i]);
    throw out_of_range_error("array: no element " + text + ") in " + to_string(a.type()));
}

TENON_INLINE void throw_bad_flat_index(const any_array& a, std::int64_t index) {
    throw out_of_range_error("array: no element [" + std::to_string(index) + "] in " + to_string(a.type()) + " of " +
                             std::to_string(a.elements()) + " elements");
}

TENON_INLINE std::string how_ragged(const extents& sizes, int depth, std::int64_t found) {
    std::string text = "the nested list is ragged: its first entries make it " + to_string(sizes) + ", but at depth " +
                       std::to_string(depth) + " there is ";
    text += found < 0 ? std::string("a value") : "a list of " + std::to_string(found);
    text += depth < sizes.rank() ? " where a list of " + to_string(sizes[depth]) : std::string(" where a value");
    return text + " is needed";
}
TENON_INLINE void throw_ragged(const extents& sizes, int depth, std::int64_t found) {
    throw invalid_argument_error("array: " + how_ragged(sizes, depth, found));
}

TENON_INLINE void throw_value_out_of_range(element_type element, const std::string& value) {
    throw invalid_argument_error("array: " + value + " is not a value of " + name_of(element));
}

TENON_INLINE void throw_not_one_element(const any_array& a) {
    throw invalid_argument_error("array: item() of " + to_string(a.type()) + ", which has " +
                                 std::to_string(a.elements()) + " elements instead of one");
}

TENON_INLINE void require_fit(const tensor_type& given, const tensor_type& declared) {
    if (const std::string why = misfit(given, declared); !why.empty()) throw invalid_argument_error("array: " + why);
}

TENON_INLINE void require_count(element_type element, const extents& sizes, std::int64_t given) {
    if (const std::int64_t wanted = checked_elements(element, sizes); wanted != given)
        throw invalid_argument_error("array: " + std::to_string(given) + " values are given for " +
                                     to_string(tensor_type{element, sizes}) + ", which takes " +
                                     std::to_string(wanted));
}

TENON_INLINE extents with_sizes(const extents& declared, const std::int64_t* values) {
    extents sizes = declared;
    for (int i = 0; i < declared.rank(); ++i) {
        if (declared[i].is_number()) continue;
        int earlier = 0;
        while (earlier < i && !(declared[i].is_named() && declared[i] == declared[earlier])) ++earlier;
        if (earlier < i) {
            sizes[i] = sizes[earlier];
            continue;
        }
        if (*values < 0)
            throw invalid_argument_error("array: " + to_string(declared[i]) + " in " + to_string(declared) +
                                         " cannot be " + std::to_string(*values) + "; a size is not negative");
        sizes[i] = *values++;
    }
    return sizes;
}

} // namespace tenon::detail
