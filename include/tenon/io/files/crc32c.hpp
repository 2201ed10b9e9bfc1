#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tenon/core/config.hpp>

/// The checksum of TFRecords and of what a cluster sends: CRC32C (Castagnoli), as iSCSI has it (RFC 3720, B.4).

namespace tenon {

/// Of these bytes, or of what stood before them and these, where `before` is the checksum of that.
std::uint32_t crc32c(std::span<const std::byte> of, std::uint32_t before = 0) noexcept;

namespace detail {
/// As crc32c, by tables alone: what a processor without the instruction does.
std::uint32_t crc32c_by_table(std::span<const std::byte> of, std::uint32_t before) noexcept;
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/files/crc32c.ipp>
#endif
