#pragma once

#include <atomic>
#include <cstddef>

#include <tenon/memory/memory_pool.hpp>

/// Memory of the host that GPUs copy from and to by themselves (page-locked).

namespace tenon::cuda {

/// Blocks of it, kept and used again. The process has one, which lives for ever. Thread-safe. Giving back calls nothing of CUDA and waits for
/// nobody: host functions of streams may, for which those may be waiting who take.
class staging {
public:
    static staging& shared();
    /// nullptr where there is no more: more than `limit` bytes in use, or the system gives none.
    void* take(std::size_t bytes) noexcept;
    void give(void* block, std::size_t bytes) noexcept;
    static constexpr std::size_t limit = std::size_t{1} << 30;

private:
    // What a block begins with that was given back, and that the pool does not know of yet.
    struct returned {
        returned* next;
        std::size_t bytes;
    };
    staging();
    memory_pool pool_; // whose lock is held while the driver is asked
    std::atomic<returned*> returned_{nullptr};
};

} // namespace tenon::cuda
