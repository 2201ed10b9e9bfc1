#pragma once

#include <cstddef>

namespace tenon {

/// What a kernel, or a body that one runs, is besides, where a device may go on with it for as long as it finds.
class ends_when_told {
public:
    /// Called on the host, by any thread, when the step is stopped, and may be running: what goes on finds in `kernel_run::told` that it is
    /// to end. kernel::tell() takes it back.
    virtual void tell_to_end(std::byte* told) const noexcept = 0;

protected:
    ~ends_when_told() = default;
};

} // namespace tenon
