#pragma once

#include <cstring>

#include <tenon/op/streamed.hpp>

namespace tenon::detail {

TENON_INLINE void stream(void* to, const void* from, std::size_t bytes) noexcept {
    auto* at = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    // What is no whole line is half of somebody else's.
    std::size_t head = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
    if (head > bytes) head = bytes;
    const std::size_t lines = (bytes - head) / 64;
    std::memcpy(at, source, head);
    TENON_SIMD_BEST(stream_lines)(at + head, source + head, lines);
    std::memcpy(at + head + lines * 64, source + head + lines * 64, bytes - head - lines * 64);
}

TENON_INLINE void stream(waiting_lines& w) noexcept {
    TENON_SIMD_BEST(stream_lines)(w.to, w.from, static_cast<std::size_t>(w.lines));
    w.lines = 0;
}

TENON_INLINE void finish_streams() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

} // namespace tenon::detail
