#pragma once

#include <string>

#include <net/http/status/facts.hpp>

/// What a task counts, as Prometheus reads it: text format 0.0.4. docs/operating.md has the metrics' names.

namespace tenon::net {

/// Of one name, no more series than this are told; how many were left out is a metric itself.
inline constexpr std::size_t most_series = 2000;

std::string metrics_text(const task_row& own, const task_totals& totals);

} // namespace tenon::net
