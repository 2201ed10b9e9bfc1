#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cusolverDn.h>

/// The stand-in of cuSOLVER: the functions that cuda/solver calls, by Eigen, of matrices that lie columns first. It refuses streams that are
/// being captured, writes over its working memory, and over triangles that it was not asked for it reads nothing.

namespace tenon::emulator::cusolver {

/// No faults, nothing counted.
void reset();
/// `function` ("cusolverDnDpotrf") answers `status`, and does nothing, from its call number `after` + 1 on, for `times` calls.
void fail(const std::string& function, cusolverStatus_t status, std::uint64_t after = 0,
          std::uint64_t times = ~std::uint64_t{0});
/// Of "cusolverDnDsyevd" or "cusolverDnDgesvd": its matrices do not converge, and *info becomes `info`.
void diverge(const std::string& function, int info);
/// Since reset(): calls that gave a stream something to decompose or to solve.
std::uint64_t calls();
/// Handles that live.
std::size_t handles();

} // namespace tenon::emulator::cusolver
