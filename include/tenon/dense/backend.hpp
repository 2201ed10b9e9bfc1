#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::dense {

/// Whose code runs a dense kernel. `best` is, where this build has it, libxsmm of small products and oneDNN of what else it
/// has (float32); otherwise Eigen.
enum class backend : std::uint8_t { best, eigen, onednn, libxsmm };

constexpr const char* name_of(backend which) noexcept {
    switch (which) {
    case backend::best: return "best";
    case backend::eigen: return "eigen";
    case backend::onednn: return "onednn";
    case backend::libxsmm: return "libxsmm";
    }
    return "best";
}

/// True when this program was built with that backend.
TENON_INLINE bool has_backend(backend which) noexcept;

/// What is done to each element of a product before it is stored: nothing, + bias of its column (channel),
/// max(., 0), or both, bias first.
enum class epilogue : std::uint8_t { none, bias, relu, bias_relu };

constexpr bool adds_bias(epilogue e) noexcept { return e == epilogue::bias || e == epilogue::bias_relu; }
constexpr bool clips(epilogue e) noexcept { return e == epilogue::relu || e == epilogue::bias_relu; }

namespace detail {
/// Whether code that was written into memory may run here, as oneDNN and libxsmm need. Systems that are made safe refuse it (SELinux's
/// execmem, prctl's PR_SET_MDWE): then Eigen computes.
bool may_run_written_code() noexcept;
/// Whether what lies there may be run: where memory ends libxsmm gives code that may not.
bool is_executable(const void* at) noexcept;
} // namespace detail

} // namespace tenon::dense

#if TENON_HEADER_ONLY
#include <tenon/dense/backend.ipp>
#endif
