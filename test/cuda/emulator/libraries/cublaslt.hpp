#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cublasLt.h>

/// The stand-in of cuBLASLt, as tests want it to be. It computes by plain loops in double what its documentation says of descriptors,
/// and refuses what the library refuses.

namespace tenon::emulator::cublaslt {

/// As new: no faults, all algorithms, nothing counted.
void reset();
/// `function` ("cublasLtMatmul") answers `status`, and does nothing, from its call number `after` + 1 on, for `times` calls.
void fail(const std::string& function, cublasStatus_t status, std::uint64_t after = 0,
          std::uint64_t times = ~std::uint64_t{0});
/// Whether the heuristic finds algorithms at all, and for products with an epilogue (true at the start).
void has_algorithms(bool any, bool with_epilogue = true);
/// The workspace that each algorithm needs; 0: what the heuristic draws, within the limit that it is given.
void needs_workspace(std::size_t bytes);

struct counts {
    std::size_t handles, operations, layouts, preferences;                 ///< that live
    std::uint64_t heuristics, products;                                    ///< since reset()
    std::uint64_t of_float8, with_gelu, with_gelu_gradient, with_row_sums; ///< of the products
    std::uint64_t largest_limit; ///< of a workspace, that a heuristic was given since then
};
counts count();

} // namespace tenon::emulator::cublaslt
