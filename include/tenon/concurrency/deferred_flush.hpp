#pragma once

#include <tenon/core/config.hpp>
#include <tenon/core/function_ref.hpp>

namespace tenon {

/// While one exists, this thread may keep back what it has for others, to give it to them in one: `give` is called before it runs
/// kernels, which may take long, and at the end. What `give` refers to must live as long; it does not throw.
class deferred_flush {
public:
    explicit deferred_flush(function_ref<void()> give) noexcept;
    ~deferred_flush();
    deferred_flush(deferred_flush&&) = delete;

    /// False while this thread runs kernels.
    bool may_defer() const noexcept { return running_ == 0; }
    /// Whether this thread has one, and runs kernels.
    static bool runs_kernels() noexcept;

    /// While one exists, this thread runs kernels, and keeps nothing back.
    class running {
    public:
        running() noexcept;
        ~running();
        running(running&&) = delete;

    private:
        deferred_flush* const of_;
    };

private:
    const function_ref<void()> give_;
    int running_ = 0;
    deferred_flush* const outer_;
};

} // namespace tenon
