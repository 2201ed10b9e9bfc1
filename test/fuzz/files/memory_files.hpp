#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/files/file_system.hpp>

/// Files that a fuzz target holds: "fuzz://0" is the first. Not written while one is open.

namespace fuzz {

class memory_files final : public tenon::file_system {
public:
    std::vector<std::string> bytes; ///< of each

    std::unique_ptr<tenon::readable_file> open(const std::string& path) override {
        if (!exists(path)) throw tenon::not_found_error("there is no '" + path + "'");
        return std::make_unique<file>(bytes[number(path)]);
    }
    std::unique_ptr<tenon::writable_file> create(const std::string& path) override {
        throw tenon::permission_denied_error("'" + path + "' is not written");
    }
    std::vector<std::string> list(const std::string&) override { return {}; }
    bool exists(const std::string& path) override { return number(path) < bytes.size(); }
    bool is_folder(const std::string&) override { return false; }

private:
    static std::size_t number(const std::string& path) { return static_cast<std::size_t>(path.back() - '0'); }
    class file final : public tenon::readable_file {
    public:
        explicit file(const std::string& of) : of_(of) {}
        std::size_t read(void* to, std::size_t most) override {
            const std::size_t at = std::min(at_, of_.size()), n = std::min(most, of_.size() - at);
            std::memcpy(to, of_.data() + at, n);
            at_ = at + n;
            return n;
        }
        void seek(std::uint64_t position) override { at_ = static_cast<std::size_t>(position); }
        std::int64_t size() const override { return static_cast<std::int64_t>(of_.size()); }

    private:
        const std::string& of_;
        std::size_t at_ = 0;
    };
};

inline memory_files& the_files() {
    static const auto files = [] {
        auto made = std::make_shared<memory_files>();
        tenon::add_file_system("fuzz://", made);
        return made;
    }();
    return *files;
}

} // namespace fuzz
