#pragma once

#include <tenon/kernel/dense/backend.hpp>
#include <tenon/kernel/dense/onednn_version.hpp>

namespace tenon::dense {

TENON_INLINE bool has_backend(backend which) noexcept { return which != backend::onednn || TENON_ONEDNN != 0; }

} // namespace tenon::dense
