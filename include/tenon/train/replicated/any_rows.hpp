#pragma once

#include <type_traits>

#include <tenon/core/check.hpp>
#include <tenon/graph/tensor.hpp>

/// Types of parts of a batch, for what trains on several of them.

namespace tenon::detail {

// A tensor like X with any number of rows.
template <class X> struct any_rows { using type = any_tensor; };
template <class T, class S> struct any_rows_of;
template <class T, auto Rows, auto... Rest> struct any_rows_of<T, shape<Rows, Rest...>> {
    using type = tensor<T, shape<dyn, Rest...>>;
};
template <Typed X> struct any_rows<X> : any_rows_of<typename X::element_type, typename X::shape_type> {};

template <class X> auto typed(const any_tensor& t) {
    if constexpr (std::is_same_v<X, any_tensor>) return t;
    else return X::unchecked(t);
}

// Complains of an X that the rule has a fault for; true of that, and of what was complained of before. What only the
// graph knows is judged there.
template <class Rule, class X> constexpr bool is_mistaken() {
    if constexpr (std::is_same_v<X, any_tensor>) return false;
    else {
        using verdict = verdict_on_operands<Rule, X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        return !verdict::fits;
    }
}

} // namespace tenon::detail
