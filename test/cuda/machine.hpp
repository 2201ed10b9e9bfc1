#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The machine that tests of GPUs run on: the emulated one (emulated/machine.cpp), or the computer with its real GPUs
/// (gpu/machine.cpp). What asks for no more than this is compiled once, and linked with each.

namespace tenon::test {

/// A fresh machine of so many cards, and another one in the end, with libraries that are as new: it checks that the first one is clean. A real one
/// has what it has.
class machine {
public:
    explicit machine(int cards = 1);
    machine(machine&&) = delete;
    ~machine();

    static bool is_emulated();
    /// The order of streams, blocks and threads, where it can be chosen.
    static void draw_from(std::uint64_t seed);
    /// What kernels did that they may not, as far as it can be known, when all have ended, and what the calling thread is told by
    /// cudaPeekAtLastError.
    static std::vector<std::string> violations();

    /// Recordings of steps that were given to a stream.
    static std::uint64_t replays();
    /// Kernels that were launched, products that cuBLASLt made, and sums of NCCL's, of all ranks together: on this machine. Nothing where
    /// nobody counts.
    static std::optional<std::uint64_t> launches();
    static std::optional<std::uint64_t> products_by_cublaslt();
    static std::optional<std::uint64_t> sums_by_nccl();
};

} // namespace tenon::test
