#pragma once

#include <sys/types.h>

/// A small process that kills groups of processes when this one ends before they do, however it ends.

namespace tenon::command {

class guard {
public:
    /// Begins with none. Throws resource_exhausted_error where no process can be had.
    guard();
    guard(guard&&) = delete;
    /// Waits for it; what it still watches over is killed.
    ~guard();

    /// From now on, or from now on no more, the group of this leader.
    void watch(pid_t group) noexcept { tell(group); }
    void forget(pid_t group) noexcept { tell(-group); }

private:
    void tell(pid_t what) noexcept;

    int line_ = -1;
    pid_t pid_ = -1;
};

} // namespace tenon::command
