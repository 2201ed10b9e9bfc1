#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <tenon/io/files/compressed.hpp>

/// The files in a tar archive, one after another: POSIX.1-1988 (ustar), with the long names and sizes of pax (POSIX.1-2001) and GNU tar.

namespace tenon {

struct tar_entry {
    std::string name;
    std::string bytes;
};

struct tar_limits {
    compression compressed = compression::automatic;   ///< of the archive
    std::int64_t largest_file = std::int64_t{1} << 30; ///< bytes; a larger one is a resource_exhausted_error
};

/// Reads an archive from its beginning to its end. One thread's at a time.
class tar_reader {
public:
    /// What opening a file throws.
    explicit tar_reader(const std::string& path, const tar_limits& o = {});
    /// The same of a file that is open; `name` stands in messages.
    tar_reader(std::unique_ptr<readable_file> file, std::string name, const tar_limits& o = {});

    /// The next file in it, folders, links and devices left out; false at the end. invalid_argument_error where it is no tar archive;
    /// data_loss_error where it is cut off or damaged, also where only its end is missing. Behind a resource_exhausted_error, for a file that
    /// is too large, and an unimplemented_error, for one that was stored without its holes (tar --sparse), the next file follows.
    bool next(tar_entry& e);

private:
    bool read_block(char* to);
    std::string contents(std::uint64_t size, const std::string& what, bool passed_over = false);
    [[noreturn]] void damaged(const std::string& what) const;

    std::unique_ptr<readable_file> file_;
    std::string name_;
    std::int64_t largest_;
    std::uint64_t at_ = 0;
    bool ended_ = false;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/records/tar.ipp>
#endif
