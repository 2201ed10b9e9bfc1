#include <net/launch/private_file.hpp>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

class descriptor {
public:
    explicit descriptor(int file) noexcept : file_(file) {}
    descriptor(descriptor&&) = delete;
    ~descriptor() {
        if (file_ >= 0) ::close(file_);
    }
    int get() const noexcept { return file_; }

private:
    int file_;
};

[[noreturn]] void fail(const std::string& path, const char* what, const std::string& why) {
    throw unavailable_error("'" + path + "' " + what + ": " + why);
}

bool write_all(int to, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t wrote = ::write(to, text.data() + done, text.size() - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        done += static_cast<std::size_t>(wrote);
    }
    return true;
}

} // namespace

std::string private_folder() { return "/tmp/tenon-" + std::to_string(::geteuid()); }

bool is_private_folder(const std::string& path) {
    struct stat about {};
    return ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
           (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

void make_private_folder(const std::string& path) {
    if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
        throw unavailable_error("the folder '" + path + "' cannot be made: " + std::strerror(errno));
    if (!is_private_folder(path))
        throw permission_denied_error("'" + path +
                                      "' is no folder of this user alone; remove it, or have who it belongs to do so");
}

void write_private_file(const std::string& path, const std::string& text) {
    std::string beside = path + ".XXXXXX";
    const descriptor file(::mkstemp(beside.data())); // 0600, and none that is there
    if (file.get() < 0) fail(path, "cannot be written", std::strerror(errno));
    if (write_all(file.get(), text) && ::rename(beside.c_str(), path.c_str()) == 0) return;
    const std::string why = std::strerror(errno);
    ::unlink(beside.c_str());
    fail(path, "cannot be written", why);
}

std::string read_private_file(const std::string& path, std::size_t most) {
    const auto refuse = [&](const std::string& why) { fail(path, "cannot be read", why); };
    const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) refuse(std::strerror(errno));
    struct stat about {};
    if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) refuse("it is no file");
    if (about.st_uid != ::geteuid() || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        refuse("it belongs to another user, or others can write it");
    std::string text;
    char buffer[4096];
    ssize_t got = 0;
    while (text.size() <= most && (got = ::read(file.get(), buffer, sizeof buffer)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) refuse(std::strerror(errno));
        text.append(buffer, static_cast<std::size_t>(got));
    }
    if (text.size() > most) refuse("it is longer than " + std::to_string(most) + " bytes");
    return text;
}

} // namespace tenon::net
