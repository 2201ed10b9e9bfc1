#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/io/files/file_system.hpp>

/// Zstandard (RFC 8878) around files; `unpacked` and `packed` are what is called. Without libzstd all but begins_zstd is
/// unimplemented_error.

namespace tenon::detail {

/// A frame, or one that is to be skipped, which may stand before it. Four bytes tell.
bool begins_zstd(const std::vector<unsigned char>& first);
/// How many bytes a packed one may become: a block of 128 KiB takes four or more.
inline constexpr std::int64_t best_zstd = (128 << 10) / 4;
/// Frames may need a window of up to 128 MiB to be unpacked, which is what zstd takes without being asked (--long=27).
inline constexpr int most_zstd_window = 27;

/// Frames may follow one another.
std::unique_ptr<readable_file> unpacked_zstd(std::unique_ptr<readable_file> file, const std::string& path);
/// One frame with a checksum. `level` is 1 to 22, or -1 for zstd's own choice.
std::unique_ptr<writable_file> packed_zstd(std::unique_ptr<writable_file> file, const std::string& path, int level);
/// The library's version, or that there is none.
std::string zstd_library();

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/files/zstd.ipp>
#endif
