#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// The checksum of frames: CRC32C (Castagnoli), as iSCSI has it (RFC 3720, B.4).

namespace tenon::net {

/// Of these bytes, or of what stood before them and these, where `before` is the checksum of that.
std::uint32_t crc32c(std::span<const std::byte> of, std::uint32_t before = 0) noexcept;

namespace detail {
/// As crc32c, by tables alone: what a processor without the instruction does.
std::uint32_t crc32c_by_table(std::span<const std::byte> of, std::uint32_t before) noexcept;
} // namespace detail

} // namespace tenon::net
