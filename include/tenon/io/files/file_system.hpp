#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/config.hpp>

/// Where input files are: the machine's own files, and others that a program adds.

namespace tenon {

/// A file open for reading. For one thread at a time. What goes wrong is the error that fits, naming the file.
class readable_file {
public:
    readable_file() = default;
    readable_file(readable_file&&) = delete;
    virtual ~readable_file() = default;

    /// Up to `bytes`, and 0 only at the end of the file (or for 0).
    virtual std::size_t read(void* to, std::size_t bytes) = 0;
    /// The next read begins there, counted from the file's beginning. unimplemented_error for what cannot go back, such as a
    /// pipe.
    virtual void seek(std::uint64_t position) = 0;
    /// Bytes in the file; -1 for what has no size.
    virtual std::int64_t size() const = 0;
    /// When it was last written to, in nanoseconds since some moment; -1 where nobody knows.
    virtual std::int64_t modified() const { return -1; }
};

/// A file that is being written, which appears whole, when commit() is called, or not at all.
class writable_file {
public:
    writable_file() = default;
    writable_file(writable_file&&) = delete;
    virtual ~writable_file() = default;

    virtual void write(const void* from, std::size_t bytes) = 0;
    /// Brings it to its name, replacing what was there. Nothing is written after it.
    virtual void commit() = 0;
};

/// Files by name. Thread-safe.
class file_system {
public:
    virtual ~file_system() = default;
    /// not_found_error, permission_denied_error, invalid_argument_error for a folder, ...
    virtual std::unique_ptr<readable_file> open(const std::string& path) = 0;
    virtual std::unique_ptr<writable_file> create(const std::string& path) = 0;
    /// Names, without the folder's, of the files and folders in it, sorted.
    virtual std::vector<std::string> list(const std::string& folder) = 0;
    virtual bool exists(const std::string& path) = 0;
    virtual bool is_folder(const std::string& path) = 0;
};

/// Paths that begin with `scheme`, such as "memory://", are this one's from now on, for the process; it is given them whole.
/// already_exists_error where the scheme has another one.
void add_file_system(const std::string& scheme, std::shared_ptr<file_system> files);
/// Whose a path is: that of its scheme, or the machine's where it has none. not_found_error for a scheme that nobody added.
file_system& file_system_of(const std::string& path);
/// Whether a path names its file system.
bool has_scheme(const std::string& path) noexcept;

/// The files that match a pattern, sorted: '*' and '?' stand for characters of one name, "[a-c]" for one of these. Of a pattern
/// without any of them the file itself. Empty where there are none.
std::vector<std::string> matching_files(const std::string& pattern);

namespace detail {
/// Reads `bytes`; fewer only at the end of the file.
std::size_t read_fully(readable_file& file, void* to, std::size_t bytes);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/files/file_system.ipp>
#endif
