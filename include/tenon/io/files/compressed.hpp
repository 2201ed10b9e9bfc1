#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <tenon/io/files/file_system.hpp>

/// gzip (RFC 1952), zlib (RFC 1950) and zstd (RFC 8878) around files that are read and written. They need a build with zlib and
/// with libzstd: without it, unimplemented_error.

namespace tenon {

enum class compression {
    automatic, ///< all are known by their first bytes; of what is written, by a name that ends in .gz, .zlib or .zst
    none,
    gzip,
    zlib,
    zstd,
};

/// What is in `file`, unpacked; members of gzip and frames of zstd may follow one another. Its size() is -1, and seek() goes back
/// by reading again from the beginning. Where the file is cut off or damaged, what came before is given, then data_loss_error,
/// which names `path`; resource_exhausted_error for a frame of zstd that needs a window of more than 128 MiB (zstd --long=28).
/// With automatic, a file that is not packed is given as it is.
std::unique_ptr<readable_file> unpacked(std::unique_ptr<readable_file> file, const std::string& path,
                                        compression how = compression::automatic);

/// What is written is packed into `file`; `level` is zlib's, 0 to 9, or zstd's, 1 to 22, or -1 for what they take by themselves.
std::unique_ptr<writable_file> packed(std::unique_ptr<writable_file> file, const std::string& path,
                                      compression how = compression::automatic, int level = -1);

namespace detail {

/// All that is in a file, unpacked; `who` begins messages.
std::string unpacked_text(const char* who, const std::string& path);
/// Bytes in memory that outlive it, as a file.
std::unique_ptr<readable_file> file_of_bytes(const void* bytes, std::size_t size);
/// Deflate never packs better than 1 : 1032 (zlib's technical notes).
inline constexpr std::int64_t best_compression = 1032;
/// How `file`, of which nothing has been read, is packed, or none. It stays at its beginning where it can go back; what was
/// read is in front of the file that it is replaced by where it cannot.
compression compression_of(std::unique_ptr<readable_file>& file);
/// How many bytes of a file of so many, packed so, there are at most when it is unpacked; -1 of -1, which is nobody knows.
std::int64_t most_unpacked(std::int64_t packed, compression how);
/// What deflate (RFC 1951) packed, without gzip or zlib around it.
std::unique_ptr<readable_file> inflated(std::unique_ptr<readable_file> file, const std::string& path);

} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/files/compressed.ipp>
#endif
