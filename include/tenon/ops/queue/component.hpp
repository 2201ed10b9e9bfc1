#pragma once

#include <tenon/graph/tensor.hpp>

/// What elements of queues and data sets, and rows of tables, are made of.

namespace tenon {

/// One component: element type T, sizes S, of which those that are no numbers may differ from element to element. Of a row of
/// comma-separated values component<T, shape<n>> is n columns in succession.
template <Element T, Shape S = shape<>> struct component {
    using element_type = T;
    using shape_type = canonical_t<S>;
};

namespace detail {

template <class C> struct component_from { using type = void; };
template <Element C> struct component_from<C> { using type = operand_type<C, shape<>>; };
// clang-format off
template <class C>
    requires requires {
        typename C::element_type;
        typename C::shape_type;
    }
struct component_from<C> {
    using type = operand_type<typename C::element_type, canonical_t<typename C::shape_type>>;
};
template <class T, class S>
    requires Shape<S>
struct component_from<array<T, S>> {
    using type = operand_type<T, canonical_t<S>>;
};
// clang-format on
/// The operand_type of a component: of component<T, S>, a tensor's or an array's type, or the type of a scalar.
template <class C> using component_t = typename component_from<C>::type;

} // namespace detail
} // namespace tenon
