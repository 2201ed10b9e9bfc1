#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

/// A folder for what a program writes, which goes with it.
class own_folder {
public:
    explicit own_folder(const std::string& name) :
        path_(std::filesystem::temp_directory_path() / (name + "-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
    }
    own_folder(own_folder&&) = delete;
    ~own_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    /// Writes a file; its path.
    std::string write(const std::string& name, std::string_view text) const {
        std::ofstream(*this / name, std::ios::binary) << text;
        return *this / name;
    }

private:
    std::filesystem::path path_;
};
