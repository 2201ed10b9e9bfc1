#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <tenon/core/array/any_array.hpp>

namespace tenon::test {

/// An array of these sizes, whose elements are these, row by row; of sizes {} where it is one.
template <class T> any_array array_of(const extents& sizes, const std::vector<T>& elements) {
    any_array a(element_type_of<T>, sizes);
    std::copy(elements.begin(), elements.end(), a.data<T>());
    return a;
}
/// Of as many elements as there are.
template <class T> any_array array_of(const std::vector<T>& elements) {
    return array_of<T>({static_cast<std::int64_t>(elements.size())}, elements);
}

} // namespace tenon::test
