#pragma once

#include <tenon/core/array/out_of_memory.hpp>
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
template <class T, class X> void add_to_run(std::vector<T>& all, X&& added) {
    naming_out_of_memory([] { return std::string("session: a run"); }, [&] { all.push_back(std::forward<X>(added)); });
}
TENON_INLINE void add_fetch(fetch_request& r, const any_tensor& t) { add_to_run(r.fetches, t); }
TENON_INLINE void add_fetch(fetch_request& r, const operation& o) { add_to_run(r.targets, o); }
TENON_INLINE void add_fetch(run_request& r, fed_value&& f) { add_to_run(r.feeds, std::move(f)); }
TENON_INLINE void add_fetch(run_request& r, const fed_value& f) { add_to_run(r.feeds, fed_value(f)); }

TENON_INLINE fed_value feed_values(const any_tensor& x, const nested_value& values) {
    const tensor_type& type = x.type();
    return {x, array_of(values, type, "feed: " + x.name())};
}

} // namespace tenon::detail
