#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>

/// Files as this library reads and writes them; included by .ipp files only. `what` is the function that
/// wants the file, for messages; empty where it is told by who catches them.

namespace tenon::detail {

/// Throws the exception that fits `error_number` (an errno value): not_found_error, permission_denied_error,
/// resource_exhausted_error, ...
[[noreturn]] void throw_file_error(const char* what, const std::string& path, int error_number);

/// A file open for reading.
class input_file {
public:
    input_file(const char* what, std::string path);
    input_file(input_file&&) = delete;
    ~input_file();

    const std::string& path() const noexcept { return path_; }
    /// Bytes in the file; -1 for what has no size, such as a pipe.
    std::int64_t size() const noexcept { return size_; }
    /// When it was last written to, in nanoseconds since 1970; -1 for what has no size.
    std::int64_t modified() const noexcept { return modified_; }
    /// Reads up to `bytes`; fewer only at the end of the file.
    std::size_t read(void* to, std::size_t bytes);
    /// Reads what is there, up to `bytes`, without waiting for more; 0 only at the end of the file. Where a pipe has nothing it waits,
    /// until the thread's stop_source is stopped: cancelled_error.
    std::size_t read_some(void* to, std::size_t bytes);
    /// The next read begins there. unimplemented_error for a pipe.
    void seek(std::uint64_t position);

private:
    const char* what_;
    std::string path_;
    int descriptor_ = -1;
    std::int64_t size_ = -1, modified_ = -1;
};

/// All that is in a file.
std::string text_of_file(const char* what, const std::string& path);

/// A file that appears whole or not at all: it is written beside its place, as path.partial-0 or the next number that is free, and commit()
/// puts it there. What a program that was killed left there goes when the path is written again.
class output_file {
public:
    output_file(const char* what, std::string path);
    output_file(output_file&&) = delete;
    /// Without commit() nothing stays behind.
    ~output_file();

    void write(const void* from, std::size_t bytes);
    /// Brings the file to the disk and then to its name, replacing what was there.
    void commit();
    /// Whatever commit() could fail for, but nothing is replaced: the file goes away with this object.
    void rehearse();

private:
    const char* what_;
    std::string path_;
    std::string partial_;
    int descriptor_ = -1; // -1 from commit() on
};

/// Writes this text into a file so.
void text_to_file(const char* what, const std::string& path, std::string_view text);

/// A file as read-only memory. Empty files have a null data().
class mapped_file {
public:
    mapped_file(const char* what, const std::string& path);
    mapped_file(mapped_file&&) = delete;
    ~mapped_file();

    const std::byte* data() const noexcept { return static_cast<const std::byte*>(data_); }
    std::size_t size() const noexcept { return size_; }

private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/files/file.ipp>
#endif
