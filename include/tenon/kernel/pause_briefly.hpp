#pragma once

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// For loops that wait for another thread for less time than sleeping takes.
inline void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

} // namespace tenon::detail
