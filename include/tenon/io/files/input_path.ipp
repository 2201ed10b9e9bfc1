#pragma once

#include <string_view>

#include <tenon/io/files/file_system.hpp>
#include <tenon/io/files/input_path.hpp>

namespace tenon {

TENON_INLINE std::string input_path(const file_access& files, const std::string& who, const std::string& path) {
    constexpr std::string_view local = "file://";
    if (path.starts_with(local)) return files.resolve(who, path.substr(local.size()));
    return has_scheme(path) ? path : files.resolve(who, path);
}

} // namespace tenon
