#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/serve/serving_metrics.hpp>

namespace tenon::net {

/// What models that are served count, by their names, as Prometheus reads it: text format 0.0.4. docs/serving.md has the metrics' names.
/// Of none nothing.
std::string serving_metrics_text(const std::vector<std::pair<std::string, serving_metrics>>& models);

} // namespace tenon::net
