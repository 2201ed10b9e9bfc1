#pragma once

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <sys/stat.h>

#include <tenon/io/files/file.hpp>
#include <tenon/io/files/file_system.hpp>

namespace tenon {

namespace detail {

inline constexpr const char* local_scheme = "file://";

// Where the scheme of a path ends ("memory://" has 9 characters); 0 where it has none. RFC 3986, 3.1.
inline std::size_t scheme_length(std::string_view path) noexcept {
    std::size_t n = 0;
    const auto letter = [&](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    while (n < path.size() && (letter(path[n]) || (n > 0 && ((path[n] >= '0' && path[n] <= '9') || path[n] == '+' ||
                                                             path[n] == '-' || path[n] == '.'))))
        ++n;
    return n > 0 && path.substr(n, 3) == "://" ? n + 3 : 0;
}

class local_readable_file final : public readable_file {
public:
    local_readable_file(std::string path) : file_("", std::move(path)) {}
    std::size_t read(void* to, std::size_t bytes) override { return file_.read_some(to, bytes); }
    void seek(std::uint64_t position) override { file_.seek(position); }
    std::int64_t size() const override { return file_.size(); }
    std::int64_t modified() const override { return file_.modified(); }

private:
    input_file file_;
};

class local_writable_file final : public writable_file {
public:
    local_writable_file(std::string path) : file_("", std::move(path)) {}
    void write(const void* from, std::size_t bytes) override { file_.write(from, bytes); }
    void commit() override { file_.commit(); }

private:
    output_file file_;
};

class local_file_system final : public file_system {
public:
    std::unique_ptr<readable_file> open(const std::string& path) override {
        return std::make_unique<local_readable_file>(local(path));
    }
    std::unique_ptr<writable_file> create(const std::string& path) override {
        return std::make_unique<local_writable_file>(local(path));
    }
    std::vector<std::string> list(const std::string& path) override {
        const std::string folder = local(path);
        const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
        if (!open) throw_file_error("", folder, errno);
        std::vector<std::string> names;
        for (;;) {
            errno = 0;
            const dirent* const entry = ::readdir(open.get());
            if (!entry) break;
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") names.emplace_back(name);
        }
        if (errno != 0) throw_file_error("", folder, errno);
        std::sort(names.begin(), names.end());
        return names;
    }
    bool exists(const std::string& path) override {
        struct stat status {};
        return ::stat(local(path).c_str(), &status) == 0;
    }
    bool is_folder(const std::string& path) override {
        struct stat status {};
        return ::stat(local(path).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    }

private:
    static std::string local(const std::string& path) {
        // A path with a NUL would be taken for the shorter one before it.
        if (path.find('\0') != std::string::npos)
            throw invalid_argument_error("'" + path.substr(0, path.find('\0')) +
                                         "...': the path has a NUL in it, which no file's name has");
        return path.starts_with(local_scheme) ? path.substr(std::string_view(local_scheme).size()) : path;
    }
};

// Guarded by its own lock; what was added stays, so that references to it do.
class file_systems {
public:
    static file_systems& all() {
        static auto& f = *new file_systems;
        return f;
    }
    void add(const std::string& scheme, std::shared_ptr<file_system> files) {
        const std::lock_guard lock(guard_);
        if (find(scheme))
            throw already_exists_error("add_file_system: the scheme '" + scheme +
                                       "' has a file system already; choose another scheme");
        added_.emplace_back(scheme, std::move(files));
    }
    file_system& of(const std::string& path) {
        const std::size_t length = scheme_length(path);
        if (length == 0) return local_;
        const std::string_view scheme = std::string_view(path).substr(0, length);
        const std::lock_guard lock(guard_);
        if (file_system* const f = find(scheme)) return *f;
        std::string known = local_scheme;
        for (const auto& [name, files] : added_) known += ", " + name;
        throw not_found_error("'" + path + "': no file system has the scheme '" + std::string(scheme) +
                              "'; known are " + known + "; add it with add_file_system");
    }

private:
    file_system* find(std::string_view scheme) {
        if (scheme == local_scheme) return &local_;
        for (const auto& [name, files] : added_)
            if (name == scheme) return files.get();
        return nullptr;
    }

    local_file_system local_;
    std::mutex guard_;
    std::vector<std::pair<std::string, std::shared_ptr<file_system>>> added_;
};

// "[a-c]" at the front of `pattern`: how long it is, and whether c is in it. 0 where no ']' ends it: then '[' is itself.
inline std::size_t match_set(std::string_view pattern, char c, bool& matches) {
    std::size_t i = 1;
    const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    i += negated;
    bool found = false;
    const auto code = [](char x) { return static_cast<unsigned char>(x); };
    for (const std::size_t first = i; i < pattern.size(); ++i) {
        if (pattern[i] == ']' && i > first) {
            matches = found != negated;
            return i + 1;
        }
        const char low = pattern[i];
        if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') i += 2;
        found = found || (code(low) <= code(c) && code(c) <= code(pattern[i]));
    }
    return 0;
}

// Whether a name matches a pattern of one name. After a '*' only the last one needs to be tried again: what an earlier one
// could take more of, it can too.
inline bool matches_name(std::string_view pattern, std::string_view name) {
    if (name.starts_with('.') && !pattern.starts_with('.')) return false; // hidden, as in a shell
    std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
    while (n < name.size()) {
        bool ok = false;
        std::size_t step = 1;
        if (p < pattern.size()) {
            if (pattern[p] == '*') {
                star = p++;
                resume = n;
                continue;
            }
            if (pattern[p] == '[') step = match_set(pattern.substr(p), name[n], ok);
            if (pattern[p] == '?') ok = true;
            else if (pattern[p] != '[' || step == 0) {
                const bool escaped = pattern[p] == '\\' && p + 1 < pattern.size();
                ok = pattern[p + escaped] == name[n];
                step = 1 + escaped;
            }
        }
        if (ok) {
            p += step;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++resume;
        } else return false;
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

inline bool is_pattern(std::string_view name) { return name.find_first_of("*?[\\") != std::string_view::npos; }

// What matches the names of `pattern` from its first on, below `found`, which is a path that ends where a name begins.
inline void match_below(file_system& files, const std::string& found, std::string_view pattern,
                        std::vector<std::string>& matching) {
    // Names without a pattern are gone through together.
    std::size_t begin = 0, end = 0;
    for (;; begin = end + 1) {
        end = std::min(pattern.find('/', begin), pattern.size());
        if (is_pattern(pattern.substr(begin, end - begin))) break;
        if (end == pattern.size()) {
            const std::string path = found + std::string(pattern);
            if (files.exists(path) && !files.is_folder(path)) matching.push_back(path);
            return;
        }
    }
    const std::string folder = found + std::string(pattern.substr(0, begin));
    const std::string listed = folder.empty() ? "." : folder;
    if (!files.is_folder(listed)) return;
    for (const std::string& name : files.list(listed)) {
        if (!matches_name(pattern.substr(begin, end - begin), name)) continue;
        const bool last = end == pattern.size();
        if (files.is_folder(folder + name) == last) continue;
        if (last) matching.push_back(folder + name);
        else match_below(files, folder + name + '/', pattern.substr(end + 1), matching);
    }
}

TENON_INLINE std::size_t read_fully(readable_file& file, void* to, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
        const std::size_t n = file.read(static_cast<std::byte*>(to) + done, bytes - done);
        if (n == 0) break;
        done += n;
    }
    return done;
}

} // namespace detail

TENON_INLINE void add_file_system(const std::string& scheme, std::shared_ptr<file_system> files) {
    if (scheme.empty() || detail::scheme_length(scheme) != scheme.size())
        throw invalid_argument_error("add_file_system: '" + scheme + "' is no scheme such as \"memory://\"");
    if (!files) throw invalid_argument_error("add_file_system: there is no file system for '" + scheme + "'");
    detail::file_systems::all().add(scheme, std::move(files));
}

TENON_INLINE file_system& file_system_of(const std::string& path) { return detail::file_systems::all().of(path); }

TENON_INLINE bool has_scheme(const std::string& path) noexcept { return detail::scheme_length(path) != 0; }

TENON_INLINE std::vector<std::string> matching_files(const std::string& pattern) {
    file_system& files = file_system_of(pattern);
    std::vector<std::string> matching;
    if (!detail::is_pattern(pattern)) {
        if (files.exists(pattern)) matching.push_back(pattern);
        return matching;
    }
    const std::size_t scheme = detail::scheme_length(pattern);
    detail::match_below(files, pattern.substr(0, scheme), std::string_view(pattern).substr(scheme), matching);
    std::sort(matching.begin(), matching.end());
    return matching;
}

} // namespace tenon
