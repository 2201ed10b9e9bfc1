#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

/// What is wrong with a text that should say an element.

namespace tenon::detail {

enum class text_fault : std::uint8_t { none, no_value, out_of_range };

} // namespace tenon::detail
