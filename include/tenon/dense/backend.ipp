#pragma once

#include <tenon/dense/backend.hpp>
#include <tenon/dense/onednn_version.hpp>

namespace tenon::dense {

TENON_INLINE bool has_backend(backend which) noexcept { return which != backend::onednn || TENON_ONEDNN != 0; }

} // namespace tenon::dense
