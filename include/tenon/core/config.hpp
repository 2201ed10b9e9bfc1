#pragma once

/// How this program uses Tenon.
///
/// TENON_HEADER_ONLY      everything is inline; nothing to link (target tenon::header_only).
/// TENON_KERNELS_OF(f)    whether this translation unit holds the CPU kernels of op family f (ops/f.hpp): always so
///                        when header-only; otherwise just one of the library's own does, which defines
///                        TENON_KERNELS_OF_f as 1.
#ifndef TENON_HEADER_ONLY
#define TENON_HEADER_ONLY 0
#endif

#define TENON_KERNELS_OF(family) (TENON_HEADER_ONLY || TENON_KERNELS_OF_##family)

/// Marks a function that is defined in an .ipp file or behind TENON_KERNELS_OF.
#if TENON_HEADER_ONLY
#define TENON_INLINE inline
#else
#define TENON_INLINE
#endif

#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0
#define TENON_VERSION "0.1.0"
