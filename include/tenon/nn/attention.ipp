#pragma once

#include <cmath>

#include <tenon/nn/attention.hpp>

namespace tenon::detail {

TENON_INLINE double attention_scale(std::int64_t size) { return 1 / std::sqrt(static_cast<double>(size)); }

} // namespace tenon::detail
