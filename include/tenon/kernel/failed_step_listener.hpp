#pragma once

#include <tenon/core/config.hpp>

/// Beside a wait (wait.hpp): who is to know that a step has failed.

namespace tenon {

class failed_step_listener {
public:
    /// Of one that was completed well, in a step that failed after that.
    virtual void step_failed() noexcept = 0;

protected:
    ~failed_step_listener() = default;
};

} // namespace tenon
