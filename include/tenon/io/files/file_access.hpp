#pragma once

#include <string>

#include <tenon/core/config.hpp>

/// Which files kernels may read and write.

namespace tenon {

/// All files, those below one folder, or none. A value.
class file_access {
public:
    /// All.
    file_access() = default;
    static file_access none();
    /// Those below this folder, which must be there: else not_found_error, or what the file system says.
    static file_access below(const std::string& folder);

    /// The folder, without symbolic links; empty: there is none.
    const std::string& folder() const noexcept { return folder_; }

    /// Where the file is that an op calls `path`, which is relative to the folder, or, where all files are allowed, to the
    /// process's own. Missing folders on the way are made where that is asked for. Throws permission_denied_error, naming the
    /// op, the path and what is allowed, for a file that is outside of the folder by its path or by symbolic links on the way
    /// or at its end; invalid_argument_error for a path that is empty or has a zero byte. Who else may make links in the
    /// folder is trusted: a link that is made between this and the opening is followed.
    std::string resolve(const std::string& op, const std::string& path, bool make_folders = false) const;
    /// The same for a folder.
    std::string resolve_folder(const std::string& op, const std::string& path, bool make_it = false) const;

private:
    [[noreturn]] void refuse(const std::string& op, const std::string& path, const char* why) const;

    bool limited_ = false;
    std::string folder_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/files/file_access.ipp>
#endif
