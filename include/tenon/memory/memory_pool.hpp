#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <tenon/core/config.hpp>
#include <tenon/memory/memory_account.hpp>

/// The memory of one device, in blocks cut from a few large regions: taking and giving back a block asks nothing of the
/// device's driver.

namespace tenon {

/// Where a pool's regions come from: the driver of a device, or the host's memory.
class memory_source {
public:
    virtual ~memory_source() = default;
    /// A region, aligned to memory_pool::alignment; nullptr where there is none so large.
    virtual void* take(std::size_t bytes) noexcept = 0;
    /// Takes back what take gave for so many bytes.
    virtual void give(void* region, std::size_t bytes) noexcept = 0;
};

/// The memory of this process, for devices that are simulated. Any thread.
memory_source& host_memory() noexcept;

/// Of a pool. Its in_use and peak count blocks, whose sizes are multiples of memory_pool::alignment.
struct memory_statistics : memory_info {
    std::size_t reserved = 0;     ///< bytes of the regions taken from the source
    std::int64_t allocations = 0; ///< blocks that were ever given
};

/// Blocks by best fit; neighbours that are free become one. Regions double in size as the pool grows, up to what the
/// limit leaves; a larger request has a region of its own. Where nothing else serves a request, regions in which
/// nothing is used go back to the source, so that memory free in several of them is not refused for being in pieces.
/// Thread-safe: one mutex guards it all, and is held while the source is asked.
class memory_pool {
public:
    static constexpr std::size_t alignment = 256; ///< bytes; of every block

    /// At most `limit` bytes of `source`, which outlives the pool; growth false: all of them now.
    /// Throws resource_exhausted_error where the source has not so many.
    memory_pool(memory_source& source, std::size_t limit, bool growth);
    /// Gives every region back: no block is used any more.
    ~memory_pool();
    memory_pool(memory_pool&&) = delete;

    /// nullptr where the limit, or the memory there is, does not allow it. No bytes are always allowed, and are not
    /// counted.
    void* allocate(std::size_t bytes) noexcept;
    /// Takes back what allocate gave for so many bytes.
    void deallocate(void* block, std::size_t bytes) noexcept;

    memory_statistics statistics() const noexcept;
    /// The peak begins again, at what is in use.
    void reset_peak() noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/memory/memory_pool.ipp>
#endif
