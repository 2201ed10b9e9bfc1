#pragma once

#include <tenon/graph/attachments.hpp>
#include <tenon/graph/graph_state.inl>

namespace tenon::detail {

TENON_INLINE void attach(const graph& g, std::shared_ptr<const void> kept) {
    graph_state& s = *g.state();
    const std::lock_guard lock(s.guard);
    for (const auto& held : s.attachments)
        if (held == kept) return;
    s.attachments.push_back(std::move(kept));
}

} // namespace tenon::detail
