#pragma once

#include <string>

#include <tenon/core/config.hpp>

namespace tenon {

/// What this build of Tenon is and found, a line each: version, compiler, header-only or compiled, oneDNN,
/// zlib, zstd, libpng, libjpeg and RE2, the instruction set that kernels run with on this machine, and the processors it may use.
std::string config_text();

/// Prints config_text() to standard output.
void print_config();

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/session/print_config.ipp>
#endif
