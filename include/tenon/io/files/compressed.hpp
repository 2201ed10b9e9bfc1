#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <tenon/io/files/file_system.hpp>

/// gzip (RFC 1952) and zlib (RFC 1950) around files that are read and written. Both need a build with zlib: without it,
/// unimplemented_error.

namespace tenon {

enum class compression {
    automatic, ///< gzip and zlib are known by their first bytes; of what is written, by a name that ends in .gz or .zlib
    none,
    gzip,
    zlib,
};

/// What is in `file`, unpacked; members of gzip may follow one another. Its size() is -1, and seek() goes back by reading again
/// from the beginning. Where the file is cut off or damaged, what came before is given, then data_loss_error, which names
/// `path`. With automatic, a file that is not packed is given as it is.
std::unique_ptr<readable_file> unpacked(std::unique_ptr<readable_file> file, const std::string& path,
                                        compression how = compression::automatic);

/// What is written is packed into `file`; `level` is zlib's, 0 to 9, or -1 for what it takes by itself.
std::unique_ptr<writable_file> packed(std::unique_ptr<writable_file> file, const std::string& path,
                                      compression how = compression::automatic, int level = -1);

namespace detail {

/// Bytes in memory that outlive it, as a file.
std::unique_ptr<readable_file> file_of_bytes(const void* bytes, std::size_t size);
/// Deflate never packs better than 1 : 1032 (zlib's technical notes).
inline constexpr std::int64_t best_compression = 1032;
/// Whether `file`, of which nothing has been read, is packed. It stays at its beginning where it can go back; what was
/// read is in front of the file that it is replaced by where it cannot.
bool is_packed(std::unique_ptr<readable_file>& file);
/// What deflate (RFC 1951) packed, without gzip or zlib around it.
std::unique_ptr<readable_file> inflated(std::unique_ptr<readable_file> file, const std::string& path);

} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/files/compressed.ipp>
#endif
