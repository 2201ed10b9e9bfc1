#pragma once

#include <chrono>
#include <memory>

#include <tenon/core/config.hpp>

/// Who is late.

namespace tenon {

/// What is to end at some time, however it is waited for. One thread waits for the earliest; it is made with the first. Thread-safe.
class deadlines {
public:
    using clock = std::chrono::steady_clock;

    /// Whoever adds it keeps it where it is until it is removed.
    class entry {
    public:
        /// Its time has come: once, on the thread of the deadlines, which holds no lock.
        virtual void due() noexcept = 0;

    protected:
        entry() = default;
        ~entry() = default;
        entry(entry&&) = delete;

    private:
        friend class deadlines;
        clock::time_point at_{};
        bool listed_ = false;
    };

    deadlines();
    ~deadlines();
    deadlines(deadlines&&) = delete;

    /// Throws resource_exhausted_error, naming what there is none of; then it is not there.
    void add(entry& e, clock::time_point at);
    /// From here on it is not told, and is not being told, but where this is done from within.
    void remove(entry& e) noexcept;

private:
    struct state;
    const std::shared_ptr<state> state_; // its thread's, too
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/concurrency/deadlines.ipp>
#endif
