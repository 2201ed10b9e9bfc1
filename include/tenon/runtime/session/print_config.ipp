#pragma once

#include <tenon/runtime/session/print_config.hpp>

#include <cstdio>
#include <thread>

#include <tenon/io/files/image_library.hpp>
#include <tenon/io/files/zstd.hpp>
#include <tenon/io/text/regex_replacer.hpp>
#include <tenon/simd/isa.hpp>

#if TENON_HEADER_ONLY // nothing is linked, and they are there
#include <tenon/io/image/image.hpp>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#if TENON_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif
#if TENON_WITH_ZLIB
#include <zlib.h>
#endif

namespace tenon {
namespace detail {

TENON_INLINE std::string compiler_text() {
#if defined(__clang__)
    return "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
           std::to_string(__clang_patchlevel__);
#elif defined(__GNUC__)
    return "g++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
           std::to_string(__GNUC_PATCHLEVEL__);
#else
    return "unknown";
#endif
}

TENON_INLINE std::string onednn_text() {
#if TENON_WITH_ONEDNN
    const dnnl_version_t& version = *dnnl_version();
    std::string text =
        std::to_string(version.major) + '.' + std::to_string(version.minor) + '.' + std::to_string(version.patch);
    switch (version.cpu_runtime) {
    case DNNL_RUNTIME_OMP: return text + ", threads by OpenMP";
    case DNNL_RUNTIME_TBB: return text + ", threads by TBB";
    case DNNL_RUNTIME_THREADPOOL: return text + ", threads by Tenon's pool";
    default: return text + ", one thread";
    }
#else
    return "not found: matrix products and convolutions use Eigen";
#endif
}

TENON_INLINE std::string zlib_text() {
#if TENON_WITH_ZLIB
    return zlibVersion();
#else
    return "not found: gzipped files cannot be read";
#endif
}

// The processors this process may run on, which a container or taskset can make fewer than the machine has.
TENON_INLINE unsigned usable_processors() {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
#endif
    return std::thread::hardware_concurrency();
}

} // namespace detail

TENON_INLINE std::string config_text() {
    std::string text = "Tenon " TENON_VERSION "\n";
    const auto line = [&](const char* name, const std::string& value) {
        text += "  ";
        text += name;
        text.append(17 - std::char_traits<char>::length(name), ' ');
        text += value + '\n';
    };
    line("compiler", detail::compiler_text());
    line("library", TENON_HEADER_ONLY ? "header-only" : "compiled");
    line("oneDNN", detail::onednn_text());
    line("libxsmm", TENON_WITH_LIBXSMM ? "found" : "not found: small products take longer");
    line("zlib", detail::zlib_text());
    const detail::image_library* const images = detail::find_image_library();
    line("zstd", detail::zstd_library());
    line("libpng", images ? images->png() : "not linked: images are tenon::image");
    line("libjpeg", images ? images->jpeg() : "not linked: images are tenon::image");
    line("RE2", detail::re2_library());
    line("instruction set", name_of(simd::best_isa()));
    line("processors", std::to_string(detail::usable_processors()));
    return text;
}

TENON_INLINE void print_config() { std::fputs(config_text().c_str(), stdout); }

} // namespace tenon
