#pragma once

#include <atomic>

#include <tenon/core/error.hpp>
#include <tenon/io/files/image_library.hpp>

namespace tenon::detail {

// Written before main, and where a shared library is loaded.
inline std::atomic<const image_library*>& linked_image_library() noexcept {
    static std::atomic<const image_library*> linked{nullptr};
    return linked;
}
TENON_INLINE void register_image_library(const image_library& l) noexcept { linked_image_library().store(&l); }
TENON_INLINE const image_library* find_image_library() noexcept { return linked_image_library().load(); }
TENON_INLINE const image_library& require_image_library(const std::string& who) {
    if (const image_library* const l = find_image_library()) return *l;
    throw unimplemented_error(who +
                              ": this program has no images: link tenon::image (or tenon::tenon, which has it) beside "
                              "tenon::core; with pkg-config: tenon");
}

} // namespace tenon::detail
