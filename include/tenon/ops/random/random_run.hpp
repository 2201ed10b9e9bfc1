#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon {

/// While it lives, random ops that this thread runs draw the numbers of this run, instead of counting their runs: for what is computed of
/// elements that are numbered, in any order and on any thread.
class random_run_scope {
public:
    explicit random_run_scope(std::uint64_t run) noexcept : outer_(now_) {
        run_ = run;
        now_ = &run_;
    }
    random_run_scope(random_run_scope&&) = delete;
    ~random_run_scope() { now_ = outer_; }

    /// nullptr where there is none.
    static const std::uint64_t* current() noexcept { return now_; }

private:
    std::uint64_t run_;
    const std::uint64_t* outer_;
    static inline thread_local const std::uint64_t* now_ = nullptr;
};

} // namespace tenon
