#pragma once

#include <memory>

#include <tenon/graph/graph.hpp>

namespace tenon::detail {

/// Keeps what a graph's nodes refer to by number for as long as the graph lives.
void attach(const graph& g, std::shared_ptr<const void> kept);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/graph/attachments.ipp>
#endif
