#pragma once

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/concurrency/stop_source.hpp>
#include <tenon/io/files/file.hpp>

namespace tenon::detail {

inline std::string file_message(const char* what, const std::string& path) {
    return (*what ? std::string(what) + ": '" : "'") + path + "': ";
}

TENON_INLINE void throw_file_error(const char* what, const std::string& path, int error_number) {
    const std::string message = file_message(what, path) + std::generic_category().message(error_number);
    switch (error_number) {
    case ENOENT:
        throw not_found_error(message +
                              "; check the path, which is relative to the current folder unless it starts with '/'");
    case EACCES:
    case EPERM:
    case EROFS: throw permission_denied_error(message + "; check the permissions of the file and its folder");
    case EISDIR: throw invalid_argument_error(message + "; a file is needed");
    case ENOTDIR:
    case ELOOP:
    case EINVAL:
    case ENAMETOOLONG: throw invalid_argument_error(message);
    case EMFILE:
    case ENFILE: throw resource_exhausted_error(message + "; close other files or raise the limit (ulimit -n)");
    case ENOSPC:
    case EDQUOT:
    case EFBIG: throw resource_exhausted_error(message + "; free space on the disk");
    case ENOMEM: throw resource_exhausted_error(message);
    case EIO: throw data_loss_error(message);
    default: throw coded_error<error_code::unknown>(message);
    }
}

TENON_INLINE input_file::input_file(const char* what, std::string path) : what_(what), path_(std::move(path)) {
    // Of a pipe without a writer opening would wait, where nobody could stop it.
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) throw_file_error(what_, path_, errno);
    struct stat status {};
    int problem = ::fstat(descriptor_, &status) < 0 ? errno : 0;
    if (!problem && S_ISDIR(status.st_mode)) problem = EISDIR;
    if (problem) {
        ::close(descriptor_);
        throw_file_error(what_, path_, problem);
    }
    if (!S_ISREG(status.st_mode)) return;
    size_ = status.st_size;
#if defined(__APPLE__)
    const timespec at = status.st_mtimespec;
#else
    const timespec at = status.st_mtim;
#endif
    modified_ = std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

TENON_INLINE input_file::~input_file() { ::close(descriptor_); }

TENON_INLINE std::size_t input_file::read(void* to, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
        const std::size_t n = read_some(static_cast<std::byte*>(to) + done, bytes - done);
        if (n == 0) break;
        done += n;
    }
    return done;
}

TENON_INLINE std::size_t input_file::read_some(void* to, std::size_t bytes) {
    for (;;) {
        if (size_ < 0 && bytes > 0) wait_to_read(descriptor_, path_.c_str());
        const ssize_t n = ::read(descriptor_, to, bytes);
        if (n >= 0) return static_cast<std::size_t>(n);
        if (errno != EINTR && errno != EAGAIN) throw_file_error(what_, path_, errno);
    }
}

TENON_INLINE void input_file::seek(std::uint64_t position) {
    if (::lseek(descriptor_, static_cast<off_t>(position), SEEK_SET) >= 0) return;
    if (errno == ESPIPE)
        throw unimplemented_error(file_message(what_, path_) +
                                  "it is a pipe, in which there is no going to a place; use a file");
    throw_file_error(what_, path_, errno);
}

TENON_INLINE std::string text_of_file(const char* what, const std::string& path) {
    input_file file(what, path);
    std::string text;
    char block[1 << 14];
    while (const std::size_t n = file.read(block, sizeof block)) text.append(block, n);
    return text;
}

// Whether an open file has this name, still.
inline bool is_called(int descriptor, const std::string& name) {
    struct stat open {};
    struct stat named {};
    return ::fstat(descriptor, &open) == 0 && ::lstat(name.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

// Removes a file that nobody has locked: its writer was killed. Whether there was a file.
inline bool remove_left_behind(const std::string& partial) {
    const int descriptor = ::open(partial.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return false;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_called(descriptor, partial)) ::unlink(partial.c_str());
    ::close(descriptor);
    return true;
}

// Writers of one path at one time take the first numbers that are free; each holds a lock of its file until that has its name. So who
// is next to write the path sees which of them were left behind, also behind some that are free again. Where there are no locks, all
// stay.
TENON_INLINE output_file::output_file(const char* what, std::string path) : what_(what), path_(std::move(path)) {
    const auto called = [&](int n) { return path_ + ".partial-" + std::to_string(n); };
    for (int n = 0, free = 0; free < 3; ++n) free = remove_left_behind(called(n)) ? 0 : free + 1;
    for (int n = 0; descriptor_ < 0; ++n) {
        partial_ = called(n);
        descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ < 0 && (errno != EEXIST || n == 10'000)) throw_file_error(what_, path_, errno);
        // Before it was locked another may have taken it for left behind.
        if (descriptor_ >= 0 && ((::flock(descriptor_, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) ||
                                 !is_called(descriptor_, partial_)))
            ::close(std::exchange(descriptor_, -1));
    }
}

TENON_INLINE output_file::~output_file() {
    if (descriptor_ < 0) return;
    if (is_called(descriptor_, partial_)) ::unlink(partial_.c_str());
    ::close(descriptor_);
}

TENON_INLINE void output_file::write(const void* from, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t n = ::write(descriptor_, static_cast<const std::byte*>(from) + done, bytes - done);
        if (n >= 0) done += static_cast<std::size_t>(n);
        else if (errno != EINTR) throw_file_error(what_, path_, errno);
    }
}

TENON_INLINE void output_file::rehearse() {
    if (::fsync(descriptor_) < 0) throw_file_error(what_, path_, errno);
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) throw_file_error(what_, path_, EISDIR);
}

TENON_INLINE void output_file::commit() {
    if (::fsync(descriptor_) < 0) throw_file_error(what_, path_, errno);
    // On a network file system without locks another host may have removed it, and written its own under that name.
    if (!is_called(descriptor_, partial_))
        throw aborted_error(file_message(what_, path_) + "while it was written, '" + partial_ +
                            "' was removed by another program; write it again");
    if (::rename(partial_.c_str(), path_.c_str()) < 0) throw_file_error(what_, path_, errno);
    ::close(std::exchange(descriptor_, -1));
    // The new name is safe only when the folder is. Some file systems cannot sync a folder: that is not an
    // error.
    const auto slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    if (const int d = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); d >= 0) {
        (void)::fsync(d);
        ::close(d);
    }
}

TENON_INLINE void text_to_file(const char* what, const std::string& path, std::string_view text) {
    output_file file(what, path);
    file.write(text.data(), text.size());
    file.commit();
}

TENON_INLINE mapped_file::mapped_file(const char* what, const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw_file_error(what, path, errno);
    struct stat status {};
    int problem = ::fstat(descriptor, &status) < 0 ? errno : 0;
    if (!problem && S_ISDIR(status.st_mode)) problem = EISDIR;
    if (!problem && !S_ISREG(status.st_mode)) problem = EINVAL;
    if (!problem && status.st_size > 0) {
        size_ = static_cast<std::size_t>(status.st_size);
        // Private: a write to what was mapped would stay in this process, and never reach the file.
        data_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
        if (data_ == MAP_FAILED) problem = errno;
    }
    ::close(descriptor);
    if (problem) throw_file_error(what, path, problem);
}

TENON_INLINE mapped_file::~mapped_file() {
    if (data_) ::munmap(data_, size_);
}

} // namespace tenon::detail
