#pragma once

/// How this program uses Tenon.
///
/// TENON_HEADER_ONLY      everything is inline; nothing to link (target tenon::header_only).
/// TENON_KERNELS_OF_f     defined where this translation unit holds the CPU kernels of op family f (ops/f.hpp), which is one
///                        of the library's own. When header-only, every one does.
#ifndef TENON_HEADER_ONLY
#define TENON_HEADER_ONLY 0
#endif

/// TENON_WITH_ONEDNN, TENON_WITH_ZLIB, TENON_WITH_PNG (libpng), TENON_WITH_JPEG (libjpeg-turbo), TENON_WITH_RE2   1: the
/// library is there to be used (and linked).
#ifndef TENON_WITH_ONEDNN
#define TENON_WITH_ONEDNN 0
#endif
#ifndef TENON_WITH_ZLIB
#define TENON_WITH_ZLIB 0
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

/// Marks a function that is defined in an .ipp file or behind TENON_KERNELS_OF_f.
#if TENON_HEADER_ONLY
#define TENON_INLINE inline
#else
#define TENON_INLINE
#endif

#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0
#define TENON_VERSION "0.1.0"
