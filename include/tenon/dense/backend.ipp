#pragma once

#include <tenon/dense/backend.hpp>
#include <tenon/dense/onednn_version.hpp>

namespace tenon::dense {

TENON_INLINE bool has_backend(backend which) noexcept {
    if (which == backend::onednn) return TENON_ONEDNN != 0;
    return which != backend::libxsmm || TENON_WITH_LIBXSMM != 0;
}

} // namespace tenon::dense
