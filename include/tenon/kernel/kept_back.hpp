#pragma once

#include <tenon/core/config.hpp>
#include <tenon/kernel/function_ref.hpp>

namespace tenon {

/// While one exists, this thread may keep back what it has for others, to give it to them in one: `give` is called before it runs
/// kernels, which may take long, and at the end. What `give` refers to must live as long; it does not throw.
class kept_back {
public:
    explicit kept_back(function_ref<void()> give) noexcept;
    ~kept_back();
    kept_back(const kept_back&) = delete;
    kept_back& operator=(const kept_back&) = delete;

    /// False while this thread runs kernels.
    bool may_keep() const noexcept { return running_ == 0; }
    /// Whether this thread has one, and runs kernels.
    static bool runs_kernels() noexcept;

    /// While one exists, this thread runs kernels, and keeps nothing back.
    class running {
    public:
        running() noexcept;
        ~running();
        running(const running&) = delete;
        running& operator=(const running&) = delete;

    private:
        kept_back* const of_;
    };

private:
    const function_ref<void()> give_;
    int running_ = 0;
    kept_back* const outer_;
};

} // namespace tenon
