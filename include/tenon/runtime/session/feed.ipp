#pragma once

#include <tenon/runtime/session/feed.hpp>

namespace tenon::detail {

TENON_INLINE fetch_request::fetch_request() = default;
TENON_INLINE fetch_request::~fetch_request() = default;
TENON_INLINE fetch_request::fetch_request(const fetch_request&) = default;
TENON_INLINE fetch_request::fetch_request(fetch_request&&) noexcept = default;
TENON_INLINE fetch_request& fetch_request::operator=(fetch_request&&) noexcept = default;
TENON_INLINE run_request::run_request() = default;
TENON_INLINE run_request::~run_request() = default;
TENON_INLINE run_request::run_request(run_request&&) noexcept = default;
TENON_INLINE run_request& run_request::operator=(run_request&&) noexcept = default;
TENON_INLINE void add_fetch(fetch_request& r, const any_tensor& t) { r.fetches.push_back(t); }
TENON_INLINE void add_fetch(fetch_request& r, const operation& o) { r.targets.push_back(o); }

TENON_INLINE fed_value feed_values(const any_tensor& x, const nested_value& values) {
    const tensor_type& type = x.type();
    return {x, array_of(values, type, "feed: " + x.name())};
}

} // namespace tenon::detail
