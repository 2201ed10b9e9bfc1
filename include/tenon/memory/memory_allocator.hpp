#pragma once

#include <cstddef>
#include <string>

#include <tenon/core/config.hpp>

/// Who gives memory of one device, as a kernel's resources see it.

namespace tenon {

class memory_allocator {
public:
    virtual ~memory_allocator() = default;
    /// Whose memory it is: "/device:CPU:0". Errors name it.
    virtual const std::string& name() const = 0;
    /// Memory aligned to 64 bytes, at least; resource_exhausted_error, "NAME: why", when there is not enough or a limit
    /// is met.
    virtual void* allocate(std::size_t bytes) = 0;
    /// Takes back what allocate gave for so many bytes.
    virtual void deallocate(void* memory, std::size_t bytes) noexcept = 0;
};

} // namespace tenon
