#pragma once

// Every header of Tenon comes here first. The include ends the compiler, which would go on with hundreds of errors.
#if __cplusplus < 202002L
#error "Tenon needs C++20: compile with -std=c++20"
#include <C++20 is needed>
#endif

/// How this program uses Tenon.
///
/// TENON_HEADER_ONLY      everything is inline; nothing to link (target tenon::header_only).
/// TENON_KERNELS_OF_f     defined where this translation unit holds the CPU kernels of op family f (ops/f.hpp), which is one
///                        of the library's own. When header-only, every one does.
#ifndef TENON_HEADER_ONLY
#define TENON_HEADER_ONLY 0
#endif

/// TENON_WITH_ONEDNN, TENON_WITH_LIBXSMM, TENON_WITH_ZLIB, TENON_WITH_ZSTD, TENON_WITH_PNG (libpng), TENON_WITH_JPEG (libjpeg-turbo),
/// TENON_WITH_RE2, TENON_WITH_ARROW (Apache Arrow and Parquet, by tenon/arrow.hpp alone)   1: the library is there to be used (and linked).
#ifndef TENON_WITH_ONEDNN
#define TENON_WITH_ONEDNN 0
#endif
#ifndef TENON_WITH_LIBXSMM
#define TENON_WITH_LIBXSMM 0
#endif
#ifndef TENON_WITH_ZLIB
#define TENON_WITH_ZLIB 0
#endif
#ifndef TENON_WITH_ZSTD
#define TENON_WITH_ZSTD 0
#endif
#ifndef TENON_WITH_PNG
#define TENON_WITH_PNG 0
#endif
#ifndef TENON_WITH_JPEG
#define TENON_WITH_JPEG 0
#endif
#ifndef TENON_WITH_RE2
#define TENON_WITH_RE2 0
#endif
#ifndef TENON_WITH_ARROW
#define TENON_WITH_ARROW 0
#endif

/// Marks a function that is defined in an .ipp file or behind TENON_KERNELS_OF_f.
#if TENON_HEADER_ONLY
#define TENON_INLINE inline
#else
#define TENON_INLINE
#endif

/// The version, as numbers, as one number that grows with it, and as text. CMake reads it here.
///
///     #if TENON_VERSION_NUMBER >= TENON_MAKE_VERSION(0, 2, 0)
#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0
#define TENON_MAKE_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define TENON_VERSION_NUMBER TENON_MAKE_VERSION(TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH)
#define TENON_TEXT_OF_VERSION(major, minor, patch) #major "." #minor "." #patch
#define TENON_MAKE_VERSION_TEXT(major, minor, patch) TENON_TEXT_OF_VERSION(major, minor, patch)
#define TENON_VERSION TENON_MAKE_VERSION_TEXT(TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH)

/// Marks what a later version will not have; who uses it is told what to use instead: TENON_DEPRECATED("use dense()").
#define TENON_DEPRECATED(instead) [[deprecated(instead)]]
