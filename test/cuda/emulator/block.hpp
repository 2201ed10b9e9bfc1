#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <cuda_runtime_api.h>

/// Runs a kernel's blocks on the calling thread: blocks one after another, the threads of a block as fibers that change at barriers
/// and warp operations. Which thread goes first, and in which order blocks come, is drawn from a seed.

extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

// clang takes no numbers there that depend on types.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define TENON_EMULATOR_SEES_LAUNCH_BOUNDS 1
#else
#define TENON_EMULATOR_SEES_LAUNCH_BOUNDS 0
#endif

namespace tenon::emulator {

/// The block's dynamic shared memory: filled anew for each block, followed by a page that nobody may touch.
extern unsigned char* dynamic_shared_memory;

enum class warp_op { sync, shuffle, ballot };

/// __syncthreads: returns for how many threads of the block `predicate` holds.
int block_barrier(bool predicate, const char* file, int line);
/// A warp's threads named in `mask` meet. shuffle: the value of lane `source` (all bits set where that lane takes no part);
/// ballot: the lanes whose value is not 0.
std::uint64_t warp_meet(unsigned mask, warp_op op, std::uint64_t value, int source, const char* file, int line);
/// The caller's number in its warp.
int lane();

/// Runs all blocks. Returns what went wrong (a barrier that not all threads reach, an address that nobody may touch), or "".
std::string run_grid(const std::function<void()>& thread_body, dim3 grid, dim3 block, std::size_t shared_bytes,
                     std::uint64_t seed);
/// True while the calling thread is inside run_grid().
bool in_kernel();
/// Leaves a kernel that has touched what it may not: run_grid() returns `why`. Called by the handler of the signal.
[[noreturn]] void leave_kernel(const char* why);

inline constexpr std::size_t most_shared_bytes = 256 * 1024;

} // namespace tenon::emulator
