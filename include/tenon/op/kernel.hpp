#pragma once

#include <cstddef>
#include <memory>

#include <tenon/core/fault.hpp>

/// What a kernel sees. A kernel is prepared once for fixed sizes, when a plan is made, and run in every step.

namespace tenon {

class attributes;
class thread_pool;
class resource_manager;
class file_access;
class gpu_context; // what a GPU library's kernels know of their device: its own business
class step;
class memory_payer;
class body_planner;
struct node;

/// What a kernel is prepared for. All sizes are numbers, but those of ops that wait that only a value will tell.
struct kernel_setup {
    const tenon::node& node;
    const attributes& attrs;
    type_list inputs;
    type_list outputs;
    int threads = 1; ///< the parallelism it may count on when run
    resource_manager* resources = nullptr;
    std::uint64_t graph_seed = 0; ///< 0: none was set
    /// The container of what one session alone uses: queues without a shared name.
    const char* session_container = "";
    const file_access* files = nullptr; ///< which it may read and write; lives as long as the kernel; nullptr: all
    gpu_context* gpu = nullptr;         ///< of the device that it is prepared for; lives as long as the kernel
    bool allow_tf32 = false;            ///< as session_options says
    bool timed = false;                 ///< its runs are: what stands in for it until it is compiled is not wanted
    /// Is asked for what the kernel holds of the host's memory from here on (paid_memory.hpp), before it is made; outlives the kernel.
    /// nullptr: it is not counted.
    memory_payer* memory = nullptr;
    const body_planner* bodies = nullptr; ///< plans bodies of control flow for the same device
};

/// What a kernel is given in a step.
struct kernel_run {
    /// A pointer per input; nullptr where only its sizes matter. An update's input 0: the variable's value before it, nullptr
    /// where it has none.
    const void* const* in;
    /// A pointer per output; of several, nullptr where nobody reads it. A variable's: nullptr where it has no value. An
    /// update's: where the variable's value is to lie, which may be where it lies.
    void* const* out;
    std::byte* scratch;                ///< kernel::scratch_bytes() bytes, aligned to 64
    thread_pool* pool;                 ///< nullptr: serial
    const tenon::step* step = nullptr; ///< nullptr: it runs by itself; while a plan is made, one with a limit
    void* stream = nullptr;            ///< of a GPU's kernel: where it puts its work, which it does not wait for
    std::byte* told = nullptr; ///< what tell() wrote in this step, and where a GPU writes what refuse() is to find

    template <class T> const T* input(int i) const noexcept { return static_cast<const T*>(in[i]); }
    template <class T> T* output(int o) const noexcept { return static_cast<T*>(out[o]); }
};

class kernel {
public:
    kernel() = default;
    kernel(kernel&&) = delete;
    virtual ~kernel() = default;

    /// Computes the outputs. Thread-safe. Ops that wait do otherwise (wait.hpp). Of a GPU: gives its stream what computes them.
    virtual void run(const kernel_run&) = 0;

    /// Working memory that run() needs.
    virtual std::size_t scratch_bytes() const { return 0; }
    /// Time on one thread, in nanoseconds, estimated: decides what is worth a thread.
    virtual double cost() const { return 100; }
    /// True when output `o` may be written where input `i` lies.
    virtual bool may_share(int /*i*/, int /*o*/) const { return false; }

    /// Of an update on the host that may find what it is given wrong, an index out of range, say: throws what run() would, and
    /// changes nothing. Called before the step's first update, where all that it reads is there by then; else only where the variable
    /// has no value (`in[0]` is nullptr), and nothing else may be read.
    virtual void check(const kernel_run&) const {}

    // Of a GPU: what is given to a stream is recorded once and given again in later steps, without run(). So it may depend on
    // the run's pointers alone, and on what tell() writes, which the device reads where `kernel_run::told` points.
    virtual bool may_be_recorded() const { return true; }
    /// What tell() writes.
    virtual std::size_t told_bytes() const { return 0; }
    /// Called on the host in each step, before the device runs it.
    virtual void tell(std::byte* /*to*/) {}
    /// True where the device may find its inputs wrong, an index out of range, say. It cannot throw: it computes something
    /// harmless, reads and writes nothing that is not its own, leaves a variable that it updates as it was, and writes what it
    /// found to `kernel_run::told`, where tell() has said that there is nothing.
    virtual bool may_refuse() const { return false; }
    /// Called on the host in each step when the device has run it, with what is told then: throws what run() would. The host
    /// sees nothing that was computed of its outputs, and no other variable is updated by it, before that.
    virtual void refuse(const std::byte* /*told*/) const {}
};

using kernel_pointer = std::unique_ptr<kernel>;
using kernel_factory = kernel_pointer (*)(const kernel_setup&);

} // namespace tenon
