#pragma once

#include <tenon/kernel/dense/backend.hpp>

namespace tenon::dense {

TENON_INLINE bool has_backend(backend which) noexcept {
#if defined(TENON_WITH_ONEDNN) && TENON_WITH_ONEDNN
    static_cast<void>(which);
    return true;
#else
    return which != backend::onednn;
#endif
}

} // namespace tenon::dense
