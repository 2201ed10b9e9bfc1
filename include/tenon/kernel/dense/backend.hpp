#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::dense {

/// Whose code runs a dense kernel. `best` chooses by shape, from measurements; the others are for tests and
/// benchmarks. `onednn` needs a build with oneDNN 2 and takes float32 only; `builtin` is always there.
enum class backend : std::uint8_t { best, builtin, onednn };

constexpr const char* name_of(backend which) noexcept {
    switch (which) {
    case backend::best: return "best";
    case backend::builtin: return "builtin";
    case backend::onednn: return "onednn";
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

} // namespace tenon::dense

#if TENON_HEADER_ONLY
#include <tenon/kernel/dense/backend.ipp>
#endif
