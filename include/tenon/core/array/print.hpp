#pragma once

#include <iosfwd>
#include <string>

#include <tenon/core/array/array.hpp>

/// Arrays as text, for people: type and sizes, then the elements in brackets.
///
///     float[batch=2, 3]
///     [[1, 2.5, 3],
///      [4, 5  , 6]]

namespace tenon {

/// Columns are aligned, numbers have the fewest digits (at most 8) that tell them apart, and of more than
/// 1000 elements the first and last three along each axis are shown.
std::string to_string(const any_array& a);

/// As to_string, with the names that `declared` gives to sizes; it has the array's rank.
std::string to_string(const any_array& a, const extents& declared);

template <Element T, Shape S> std::string to_string(const array<T, S>& a) { return to_string(a.untyped(), S::extents); }

std::ostream& operator<<(std::ostream& out, const any_array& a);
/// "float", "[batch, 784]", "float[batch, 784]".
std::ostream& operator<<(std::ostream& out, element_type type);
std::ostream& operator<<(std::ostream& out, const extents& sizes);
std::ostream& operator<<(std::ostream& out, const tensor_type& type);
namespace detail {
void print(std::ostream& out, const any_array& a, const extents& declared);
}
template <Element T, class S> std::ostream& operator<<(std::ostream& out, const array<T, S>& a) {
    if constexpr (Shape<S>) detail::print(out, a.untyped(), S::extents);
    else out << a.untyped();
    return out;
}
template <Element T, class S> std::ostream& operator<<(std::ostream& out, const const_array<T, S>& a) {
    if constexpr (Shape<S>) detail::print(out, a.untyped(), S::extents);
    else out << a.untyped();
    return out;
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/array/print.ipp>
#endif
