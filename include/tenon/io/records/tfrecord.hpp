#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tenon/io/files/crc32c.hpp>

/// TFRecord files, as TensorFlow has them (tensorflow/core/lib/io/record_writer.h): of each record its length (uint64), the
/// length's masked CRC32C (uint32), the data, and their masked CRC32C; numbers are little-endian.

namespace tenon::detail {

inline constexpr std::size_t tfrecord_head_bytes = 12, tfrecord_tail_bytes = 4;

/// A checksum that is stored beside what it is of is turned and moved, so that checksums of such data stay good ones.
inline std::uint32_t masked_crc32c(const void* from, std::size_t bytes) noexcept {
    const std::uint32_t crc = crc32c({static_cast<const std::byte*>(from), bytes});
    return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

template <class T> T little_endian(const char* at) noexcept {
    T value = 0;
    for (std::size_t i = sizeof(T); i > 0; --i)
        value = static_cast<T>(static_cast<T>(value << 8) | static_cast<unsigned char>(at[i - 1]));
    return value;
}
template <class T> void put_little_endian(T value, char* at) noexcept {
    for (std::size_t i = 0; i < sizeof(T); ++i, value = static_cast<T>(value >> 8)) at[i] = static_cast<char>(value);
}

/// What stands before and behind a record.
struct tfrecord_frame {
    explicit tfrecord_frame(std::string_view record) noexcept {
        put_little_endian(static_cast<std::uint64_t>(record.size()), head);
        put_little_endian(masked_crc32c(head, 8), head + 8);
        put_little_endian(masked_crc32c(record.data(), record.size()), tail);
    }
    char head[tfrecord_head_bytes], tail[tfrecord_tail_bytes];
};

} // namespace tenon::detail
