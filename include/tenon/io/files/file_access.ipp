#pragma once

#include <cerrno>
#include <cstdlib>
#include <memory>

#include <sys/stat.h>

#include <tenon/core/error.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/files/file_access.hpp>

namespace tenon {

namespace detail {

// Without symbolic links; empty, and errno, where there is no such file.
inline std::string real_path(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> found(::realpath(path.c_str(), nullptr), std::free);
    return found ? std::string(found.get()) : std::string();
}

} // namespace detail

TENON_INLINE file_access file_access::none() {
    file_access a;
    a.limited_ = true;
    return a;
}

TENON_INLINE file_access file_access::below(const std::string& folder) {
    file_access a;
    a.limited_ = true;
    a.folder_ = detail::real_path(folder);
    struct stat status {};
    if (a.folder_.empty() || ::stat(a.folder_.c_str(), &status) != 0)
        detail::throw_file_error("the folder that ops may use", folder, errno);
    if (!S_ISDIR(status.st_mode)) detail::throw_file_error("the folder that ops may use", folder, ENOTDIR);
    return a;
}

TENON_INLINE void file_access::refuse(const std::string& op, const std::string& path, const char* why) const {
    throw permission_denied_error(op + ": '" + path + "' " + why +
                                  (folder_.empty() ? "; its task allows ops no files: give server_options::files a "
                                                     "folder (tenon serve --files, or TENON_FILES)"
                                                   : "; its task allows ops the files below '" + folder_ + "' alone"));
}

TENON_INLINE std::string file_access::resolve_folder(const std::string& op, const std::string& path,
                                                     bool make_it) const {
    if (path.find('\0') != std::string::npos) throw invalid_argument_error(op + ": a path has a zero byte");
    if (limited_ && folder_.empty()) refuse(op, path, "is a file");
    std::string at = path.empty() ? "." : path;
    if (limited_ && at[0] != '/') at = folder_ + "/" + at;
    const auto is_below = [&](const std::string& real) {
        return !limited_ || real == folder_ || real.starts_with(folder_ == "/" ? folder_ : folder_ + "/");
    };
    std::string real = detail::real_path(at);
    if (real.empty() && errno == ENOENT && make_it) {
        // What is there is looked at before anything is made in it.
        const std::string wished = at.substr(0, at.find_last_not_of('/') + 1);
        const std::size_t slash = wished.rfind('/');
        const std::string name = wished.substr(slash + 1); // all, where there is no slash
        if (name.empty() || name == "." || name == "..") refuse(op, path, "leads by a folder that is not there");
        const std::string parent = slash == std::string::npos
                                       ? detail::real_path(".")
                                       : resolve_folder(op, wished.substr(0, slash > 0 ? slash : 1), true);
        real = (parent == "/" ? parent : parent + "/") + name;
        if (!is_below(real)) refuse(op, path, "is outside");
        if (::mkdir(real.c_str(), 0777) != 0 && errno != EEXIST) detail::throw_file_error(op.c_str(), real, errno);
        real = detail::real_path(real); // somebody else may have made another thing
    }
    if (real.empty()) {
        const int why = errno;
        // Of what is outside it is not told whether it is there.
        if (limited_ && !std::string_view(at).starts_with(folder_)) refuse(op, path, "is outside");
        detail::throw_file_error(op.c_str(), path, why);
    }
    if (!is_below(real)) refuse(op, path, "is outside");
    return real;
}

TENON_INLINE std::string file_access::resolve(const std::string& op, const std::string& path, bool make_folders) const {
    const std::size_t slash = path.rfind('/');
    const std::string name = path.substr(slash + 1); // all, where there is no slash
    if (name.empty() || name == "." || name == "..")
        throw invalid_argument_error(op + ": '" + path + "' names no file");
    if (!limited_ && !make_folders) {
        if (path.find('\0') != std::string::npos) throw invalid_argument_error(op + ": a path has a zero byte");
        return path;
    }
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash > 0 ? slash : 1);
    std::string real = resolve_folder(op, folder, make_folders) + "/" + name;
    struct stat status {};
    if (limited_ && ::lstat(real.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
        refuse(op, path, "is a symbolic link");
    return real;
}

} // namespace tenon
