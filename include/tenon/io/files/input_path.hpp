#pragma once

#include <string>

#include <tenon/io/files/file_access.hpp>

/// Where input is that an op calls by name.

namespace tenon {

/// What io opens for `path`. Paths of the machine's files, with or without "file://", are those that file_access::resolve allows.
/// Those of other file systems (has_scheme) are left as they are: who has added one to a process lets ops read there.
std::string input_path(const file_access& files, const std::string& who, const std::string& path);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/files/input_path.ipp>
#endif
