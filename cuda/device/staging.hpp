#pragma once

#include <cstddef>
#include <memory>

#include <tenon/kernel/memory_pool.hpp>

/// Memory of the host that GPUs copy from and to by themselves (page-locked).

namespace tenon::cuda {

/// Blocks of it, kept and used again. The process has one, which lives for ever. Thread-safe; giving back calls nothing of CUDA.
class staging {
public:
    static staging& shared();
    /// nullptr where there is no more: more than `limit` bytes in use, or the system gives none.
    void* take(std::size_t bytes) noexcept { return pool_.allocate(bytes); }
    void give(void* block, std::size_t bytes) noexcept { pool_.deallocate(block, bytes); }
    static constexpr std::size_t limit = std::size_t{1} << 30;

private:
    staging();
    memory_pool pool_;
};

} // namespace tenon::cuda
