#pragma once

#include <utility>
#include <vector>

#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/runtime/session/session.hpp>

/// Running untyped tensors whose sizes are known in the step only.

namespace tenon::test {

/// A placeholder of a's element type and rank, with no size known.
inline any_tensor unknown_placeholder(const any_array& a) {
    extents sizes;
    for (int i = 0; i < a.rank(); ++i) sizes.push_back({});
    return untyped::placeholder(a.element(), sizes);
}

/// What is fed: fed(x, a, y, b) is a for x and b for y.
template <class... More> std::vector<fed_value> fed(const any_tensor& x, const any_array& value, const More&... more) {
    std::vector<fed_value> feeds;
    if constexpr (sizeof...(More) > 0) feeds = fed(more...);
    feeds.push_back({x, value.share()});
    return feeds;
}

/// A constant of one element, and a tensor's first.
template <class V> any_tensor one(V v) {
    any_array a(element_type_of<V>, extents{1});
    *static_cast<V*>(a.data()) = v;
    return untyped::constant(std::move(a));
}
template <class V> V value(const any_tensor& t) {
    session s(graph(t.node()->graph));
    return s.run_untyped({}, {t})[0].data<V>()[0];
}

/// t with `value` for x.
inline any_array run(const any_tensor& t, const any_tensor& x, const any_array& value) {
    session s(graph(t.node()->graph));
    return std::move(s.run_untyped(fed(x, value), {t})[0]);
}

} // namespace tenon::test
