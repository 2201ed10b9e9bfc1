#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/shared_function.hpp>
#include <tenon/runtime/device/device.hpp>

/// The kernel of one node, run by itself: what a benchmark times (debug/benchmark.hpp).

namespace tenon {

class cost_measurements;

/// What a device was measured to do; 0: it was not.
struct device_peak {
    double bytes_per_second = 0;      ///< read and written by x + x of more than the caches hold
    double operations_per_second = 0; ///< of a large product of matrices of the element type asked for
};

/// A node's kernel on the device where a session places it, with memory of its own, its operands in it: session::kernel_of() makes it.
/// One thread's at a time; it must end before its session's devices do, which it keeps.
class timed_kernel {
public:
    /// Bytes that one run reads and writes, each once: of all operands whose values it needs, and all results.
    double bytes() const noexcept { return bytes_; }
    /// Arithmetic operations of one run (op_definition::operations); 0: nobody has counted.
    double operations() const noexcept { return operations_; }
    const std::string& node() const noexcept { return node_; } ///< "add (fused)"
    const device_attributes& on() const;
    element_type element() const noexcept { return outputs_.front().element; } ///< of its first result
    /// Of its device, in its element type, with its session's threads and products: measured when it is first asked for in the process.
    device_peak peak() const { return peak_ ? peak_() : device_peak(); }
    /// What it launches on a card; nothing where it is the host's, or a simulated card's.
    std::vector<launched_kernel> launches();

    /// Runs it so often, one run after the other, and returns the seconds of all together: of a GPU those between two events around each
    /// run, of the host's kernels by its clock. `cold`: what each run finds in the caches is none of its operands.
    double run(int times, bool cold = false);
    /// What its last run has made, by output.
    any_array result(int output) const;
    /// What one run took is added there, by the name that a cost-based placement asks for.
    void tell(cost_measurements& m, double seconds) const;

    timed_kernel(timed_kernel&&) = delete;
    ~timed_kernel();

    /// For sessions. The kernel is of these types, on `d`, with the threads of `pool`; `owner` keeps both.
    struct parts {
        std::shared_ptr<void> owner{};
        device* on = nullptr;
        thread_pool* pool = nullptr;
        kernel_pointer kernel{};
        std::string node{}, timed{};
        std::vector<any_array> operands{};
        std::vector<bool> read{}; ///< by operand
        std::vector<tensor_type> outputs{};
        double operations = 0;
        unsigned denormals = 0; ///< the mode in which it runs
        shared_function<device_peak()> peak{};
    };
    explicit timed_kernel(parts p);

private:
    class monitor;
    double run_on_host(int times, bool cold);
    double run_on_stream(int times, bool cold);

    std::shared_ptr<void> owner_;
    device& on_;
    thread_pool* pool_;
    kernel_pointer kernel_;
    std::string node_, timed_;
    std::vector<device_memory> memory_; // operands, results, scratch
    std::vector<any_array> operands_;   // where kernels are the host's
    std::vector<any_array> host_results_;
    std::vector<tensor_type> outputs_;
    std::vector<const void*> in_;
    std::vector<void*> out_;
    std::shared_ptr<std::byte> told_;
    kernel_run how_{};
    double bytes_ = 0, operations_ = 0;
    shared_function<device_peak()> peak_;
    unsigned denormals_ = 0;
    device_memory filler_;
};

namespace detail {
/// What the caches of the host held is in them no more: of the cores, too, on which the threads of `pool` are (nullptr: of the caller's).
void flush_host_caches(thread_pool* pool);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/trace/timed_kernel.ipp>
#endif
