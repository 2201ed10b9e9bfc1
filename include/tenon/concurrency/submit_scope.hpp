#pragma once

#include <tenon/core/config.hpp>
#include <tenon/core/function_ref.hpp>

namespace tenon {

class work_item;
class thread_pool;

/// While one exists, what this thread submits to `pool` is offered to `take` first: it moves the task away, to have it run
/// elsewhere, and says true, or leaves it to the pool. What `take` refers to must live as long. Of several for one pool, the last.
class submit_scope {
public:
    submit_scope(thread_pool& pool, function_ref<bool(work_item&)> take) noexcept;
    ~submit_scope();
    submit_scope(submit_scope&&) = delete;

private:
    friend class thread_pool;
    thread_pool& pool_;
    const function_ref<bool(work_item&)> take_;
    submit_scope* const outer_;
};

} // namespace tenon
