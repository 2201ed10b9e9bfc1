#pragma once

#include <cstdint>
#include <string>

#include <nccl.h>

/// The stand-in of NCCL, as tests want it to be: sums over emulated cards, on their streams. What would keep the real library waiting
/// for ever (ranks that are not all in a group of one thread, sums in another order or of other sizes on another card) is a violation.

namespace tenon::emulator::nccl {

/// As new: no faults, nothing counted.
void reset();
/// `function` ("ncclGroupEnd") answers `result`, and does nothing, from its call number `after` + 1 on, for `times` calls.
void fail(const std::string& function, ncclResult_t result, std::uint64_t after = 0,
          std::uint64_t times = ~std::uint64_t{0});

struct counts {
    std::uint64_t cliques, groups, sums; ///< made, given by ncclGroupEnd, and done by all ranks together, since reset()
};
counts count();

} // namespace tenon::emulator::nccl
