#pragma once

#include <cstddef>

#include <tenon/core/config.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define TENON_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef TENON_ADDRESS_SANITIZER
#define TENON_ADDRESS_SANITIZER 0
#endif

/// Memory in pieces so large that their first touch costs more than most kernels that use them. What is given back is
/// kept for the next piece of its size, up to a limit for the process, and comes in huge pages where it fills some.

namespace tenon::detail {

inline constexpr std::size_t large_memory = std::size_t{32} << 10; ///< pieces below are malloc's business

/// Aligned to 256 bytes; nullptr where there is none. Any thread.
void* new_large(std::size_t bytes) noexcept;

/// Takes back what new_large gave for so many bytes. Any thread.
void delete_large(void* memory, std::size_t bytes) noexcept;

/// Bytes that are kept and in nobody's use.
std::size_t kept_large_memory() noexcept;

/// Gives those that were used longest ago back to the system, until at most so many are kept.
void shrink_kept_large_memory(std::size_t bytes) noexcept;

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/core/array/large_memory.ipp>
#endif
