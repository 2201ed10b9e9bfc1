#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <tenon/op/kernel.hpp>

/// Bodies of control flow, as kernels run them.

namespace tenon {

class body;

/// A body (graph/body.hpp), planned for fixed sizes. Thread-safe.
class prepared_body {
public:
    virtual ~prepared_body() = default;
    virtual std::size_t scratch_bytes() const = 0; ///< that a run works in, aligned to 64
    virtual double cost() const = 0;               ///< as kernel::cost()

    /// What one kernel run has of it: runs of the body, one after another.
    class in_step {
    public:
        /// Pointers by argument and by result; a result is written nowhere where an argument lies.
        virtual void run(const void* const* arguments, void* const* results) = 0;

    protected:
        ~in_step() = default;
    };
    /// `r`: of the kernel that runs it, which may be over its scratch; both are used until end().
    virtual in_step& begin(std::byte* scratch, const kernel_run& r) const = 0;
    virtual void end(in_step&) const noexcept = 0;
};

/// Plans bodies for a kernel that is prepared. Of who prepares it.
class body_planner {
public:
    virtual std::unique_ptr<prepared_body> plan(const std::shared_ptr<const body>& of, type_list arguments) const = 0;

protected:
    ~body_planner() = default;
};

/// The body's runs in a kernel's.
class body_runs {
public:
    body_runs(const prepared_body& of, std::byte* scratch, const kernel_run& r) :
        of_(of), runs_(of.begin(scratch, r)) {}
    ~body_runs() { of_.end(runs_); }
    body_runs(const body_runs&) = delete;
    body_runs& operator=(const body_runs&) = delete;
    void operator()(const void* const* arguments, void* const* results) { runs_.run(arguments, results); }

private:
    const prepared_body& of_;
    prepared_body::in_step& runs_;
};

} // namespace tenon
