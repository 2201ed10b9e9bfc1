#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cufft.h>

/// The stand-in of cuFFT: transforms of one dimension in batches, whose plans have their working memory from the caller, by plain sums in
/// double. It writes over its working memory, and over what it transforms to real numbers, as the library may.

namespace tenon::emulator::cufft {

/// No faults, nothing counted.
void reset();
/// `function` ("cufftMakePlanMany64") answers `status`, and does nothing, from its call number `after` + 1 on, for `times` calls.
void fail(const std::string& function, cufftResult status, std::uint64_t after = 0,
          std::uint64_t times = ~std::uint64_t{0});
/// Since reset(): calls that gave a stream transforms.
std::uint64_t transforms();
/// Plans that live.
std::size_t plans();

} // namespace tenon::emulator::cufft
