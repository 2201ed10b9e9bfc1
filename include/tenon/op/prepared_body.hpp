#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/op/kernel.hpp>
#include <tenon/tape/tape.hpp>

/// Bodies of control flow, as kernels run them.

namespace tenon {

class body;
struct op_definition;

/// All that a body computes, where that is elementwise: the tape's output o is result o, and each input is an argument or a constant.
struct body_tape {
    struct operand {
        int argument = -1;              ///< or none:
        const void* constant = nullptr; ///< lives as long as what planned it
        tensor_type type;               ///< as the tape reads it: of as many elements, and dimensions of 1 before them
    };
    tape code;
    std::vector<std::int64_t> constants; ///< bits of each scalar
    std::vector<operand> operands;       ///< by input
};

/// A body (graph/body.hpp), planned for fixed sizes, on the device of the kernel that runs it. Thread-safe.
class prepared_body {
public:
    virtual ~prepared_body() = default;
    virtual std::size_t scratch_bytes() const = 0; ///< that a run works in, aligned to 64
    virtual double cost() const = 0;               ///< as kernel::cost()
    virtual std::size_t kernels() const = 0;       ///< that a run gives its device
    /// nullptr: it does more than that, or on a device that is given work.
    virtual const body_tape* as_tape() const { return nullptr; }

    // As a kernel has them: of all its kernels, and of all runs in a step together.
    virtual bool may_be_recorded() const = 0;
    virtual std::size_t told_bytes() const = 0; ///< a multiple of 64
    virtual void tell(std::byte* to) const = 0;
    virtual bool may_refuse() const = 0;
    virtual void refuse(const std::byte* told) const = 0;

    /// What one kernel run has of it: runs of the body, one after another.
    class in_step {
    public:
        /// The body, with pointers by argument and by result, which stay from run to run. They lie in the device's memory; a result is
        /// written nowhere where an argument lies.
        virtual void run() = 0;

        const void** arguments = nullptr;
        void** results = nullptr;

    protected:
        ~in_step() = default;
    };
    /// `r`: of the kernel that runs it; its scratch, `told` and stream may be others than that kernel's. All is used until end(), and what
    /// was given to a stream longer.
    virtual in_step& begin(const kernel_run& r) const = 0;
    virtual void end(in_step&) const noexcept = 0;
};

/// Plans bodies for a kernel that is prepared. Of who prepares it.
class body_planner {
public:
    virtual std::unique_ptr<prepared_body> plan(const std::shared_ptr<const body>& of, type_list arguments) const = 0;
    /// What makes a kernel of another op for the same device; nullptr where it has none.
    virtual kernel_factory kernel_of(const op_definition& op, element_type e) const = 0;

protected:
    ~body_planner() = default;
};

/// The body's runs in a kernel's.
class body_runs {
public:
    body_runs(const prepared_body& of, const kernel_run& r) : of_(of), runs_(of.begin(r)) {}
    ~body_runs() { of_.end(runs_); }
    body_runs(body_runs&&) = delete;

    const void*& argument(std::size_t k) { return runs_.arguments[k]; }
    void*& result(std::size_t k) { return runs_.results[k]; }
    void run() { runs_.run(); }

private:
    const prepared_body& of_;
    prepared_body::in_step& runs_;
};

} // namespace tenon
