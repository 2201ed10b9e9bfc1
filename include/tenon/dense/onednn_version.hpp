#pragma once

#include <tenon/core/config.hpp>

// TENON_ONEDNN: oneDNN is there, in the version whose interface the backends are written for.

#if defined(TENON_WITH_ONEDNN) && TENON_WITH_ONEDNN
#include <oneapi/dnnl/dnnl_version.h>
#if DNNL_VERSION_MAJOR == 2
#define TENON_ONEDNN 1
#endif
#endif

#ifndef TENON_ONEDNN
#define TENON_ONEDNN 0
#endif
