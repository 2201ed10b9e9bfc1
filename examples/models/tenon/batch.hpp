#pragma once

#include <tenon/tenon.hpp>

namespace models {
inline constexpr struct batch : tenon::dim<"batch"> {} batch; // how many examples there are
} // namespace models
