#pragma once

#include <tenon/core/config.hpp>
#include <tenon/core/function_ref.hpp>

namespace tenon {

/// While one exists, loops that this thread begins on a pool (thread_pool::parallel_for) ask `stop` before each
/// piece, on every thread that takes part. Once it says true no piece begins any more, and parallel_for throws
/// cancelled_error. What `stop` refers to must live as long.
class stop_scope {
public:
    explicit stop_scope(function_ref<bool()> stop) noexcept;
    ~stop_scope();
    stop_scope(stop_scope&&) = delete;

private:
    function_ref<bool()> stop_;
    const function_ref<bool()>* outer_;
};

} // namespace tenon
