#pragma once

/// Whether the thread sanitizer watches this program. It knows no threads that a child of a process of several begins.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool is_thread_sanitized = true;
#else
inline constexpr bool is_thread_sanitized = false;
#endif
