#pragma once

#include <mutex>
#include <utility>

#include <tenon/train/session/chief_limit.hpp>

namespace tenon::detail {

struct kept_chief_limit {
    std::mutex guard;
    chief_limit limit;
    static kept_chief_limit& get() {
        static auto& k = *new kept_chief_limit;
        return k;
    }
};

TENON_INLINE void set_chief_limit(chief_limit l) {
    kept_chief_limit& k = kept_chief_limit::get();
    const std::lock_guard lock(k.guard);
    k.limit = std::move(l);
}
TENON_INLINE chief_limit get_chief_limit() {
    kept_chief_limit& k = kept_chief_limit::get();
    const std::lock_guard lock(k.guard);
    return k.limit;
}

} // namespace tenon::detail
