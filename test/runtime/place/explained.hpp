#pragma once

#include <doctest/doctest.h>

#include <tenon/runtime/place/explanation.hpp>

namespace probe {

/// What an explanation says of a tensor's node.
inline const tenon::placement_explanation::node& of(const tenon::placement_explanation& e, const tenon::any_tensor& t) {
    for (const auto& n : e.nodes)
        if (n.name == t.node()->name) return n;
    FAIL("no node " << t.name());
    return e.nodes.front();
}

} // namespace probe
