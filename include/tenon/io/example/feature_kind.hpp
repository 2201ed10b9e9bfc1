#pragma once

#include <tenon/core/config.hpp>

/// What a feature of an example may hold.

namespace tenon {

enum class feature_kind { none, bytes, floats, int64s };
/// As the format names it.
constexpr const char* name_of(feature_kind k) noexcept {
    switch (k) {
    case feature_kind::none: return "empty feature";
    case feature_kind::bytes: return "bytes_list";
    case feature_kind::floats: return "float_list";
    case feature_kind::int64s: return "int64_list";
    }
    return "feature";
}

} // namespace tenon
