#pragma once

#include <cstddef>

#include <tenon/core/config.hpp>

namespace tenon {

/// What a kernel is besides, or a body that one runs, where a device goes on with it for as long as it finds.
class device_loop {
public:
    /// Called on the host, by any thread, when the step is stopped, and may be running: what goes on finds in `kernel_run::told` that it is
    /// to end. kernel::tell() takes it back.
    virtual void tell_to_end(std::byte* told) const noexcept = 0;

protected:
    ~device_loop() = default;
};

} // namespace tenon
