#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/config.hpp>
#include <tenon/simd/pack.hpp>

/// Results that have left the caches before anybody reads them. A line that is stored in the usual way is read from memory first; past the
/// caches it is only written, so that a kernel of one operand and one result moves a third less.

namespace tenon::detail {

/// Whether a result of so many bytes is one: with what it is made of it fills what cores have of a third-level cache.
constexpr bool is_streamed(std::int64_t bytes) noexcept { return bytes >= std::int64_t{8} << 20; }

/// Whole lines of a result, in a buffer in the cache, that go past the caches while something else is computed: a kernel writes a few
/// now and then (write_packs of streamed.inl), and neither waits for the other.
struct waiting_lines {
    std::byte* to = nullptr; ///< begins a line, as `from` does
    const std::byte* from = nullptr;
    std::int64_t lines = 0;
};

/// memcpy past the caches, from what is in one. Other threads see it after finish_streams() on this one.
void stream(void* to, const void* from, std::size_t bytes) noexcept;
/// Writes all that still wait.
void stream(waiting_lines& w) noexcept;
/// Orders what this thread has streamed before what it stores next.
void finish_streams() noexcept;

/// Where in `buffer`, which has 64 bytes to spare and is aligned to as many, a copy of what goes to `to` has its lines as there.
template <class T> T* aligned_like(T* buffer, const T* to) noexcept {
    return buffer + reinterpret_cast<std::uintptr_t>(to) % 64 / sizeof(T);
}

} // namespace tenon::detail

#define TENON_SIMD_FILE <tenon/op/streamed.inl>
#include <tenon/simd/for_each_isa.hpp>

#if TENON_HEADER_ONLY
#include <tenon/op/streamed.ipp>
#endif
