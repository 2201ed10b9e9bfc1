#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shared_function.hpp>
#include <tenon/io/files/file_access.hpp>
#include <tenon/memory/memory_policy.hpp>
#include <tenon/runtime/device/gpu_selection.hpp>

/// What a task has, and how a session runs its graph.

namespace tenon {

class gpu_backend;
class cost_measurements;

/// Of a task that sessions share.
struct task_options {
    /// Threads of its pool; 0: all cores, in a pool that the first session or task of the process made.
    int intra_op_threads = 0;
    /// As in session_options, for all its sessions together.
    std::size_t memory_limit = 0;
    int cpu_devices = 1;
    std::shared_ptr<const gpu_backend> gpus = nullptr;
    memory_policy gpu_memory = {};
    gpu_selection gpu_devices = {};
    /// Is told which GPUs were left out and why; not set: standard error.
    shared_function<void(const std::string& line)> placement_log = {};
    /// What it is in a cluster: its devices are "/job:JOB/replica:0/task:INDEX/device:...".
    std::string job = "localhost";
    int index = 0;
    /// Which files ops may read and write: all.
    file_access files = {};
};

struct session_options {
    /// Threads that one kernel may be split over, the caller's included; 0: all cores (SEMANTICS 14).
    int intra_op_threads = 0;
    /// Nodes of one step that may run at the same time; 0: as many as there are threads, 1: one after another.
    int inter_op_threads = 0;
    /// A pool of its own instead of the one that the first session of the process made.
    bool use_per_session_threads = false;
    /// Seconds a run may take, 0: no limit. Exceeded: deadline_exceeded_error (SEMANTICS 17).
    double operation_timeout = 0;
    /// Stops at what is fed, the constant, or the first node's result that is not finite, and names it; a variable
    /// that would be assigned it keeps its value. Slow: nothing is fused or folded.
    bool check_numerics = false;
    /// Denormal numbers (of float32 those below 1.2e-38) are 0, as operands and as results, in all kernels that steps of this
    /// session run, on every thread that runs them; the thread that runs a step computes afterwards as before. Where data
    /// have many, processors for which each is an exception are many times faster so. GPUs do as they do.
    bool flush_denormals = false;
    /// Operands of products of float matrices may be rounded to TF32 on GPUs, 10 bits of fraction instead of 23, which is some times
    /// faster there: of a result two or three digits are right, not six. Sums are float all the same. No other op and no other type
    /// changes, and the CPU computes as it does.
    bool allow_tf32 = false;
    /// Bytes that variables and steps may take together; 0: no limit. Memory kept for further steps counts, and is
    /// given back, least recently used first, where a step or a variable needs it. A step that needs more than the
    /// variables leave is refused before it runs, and a variable that does not fit before it is made:
    /// resource_exhausted_error, which names what holds most (SEMANTICS 11). Of CPU devices that are several, each has
    /// this limit.
    std::size_t memory_limit = 0;
    /// The machine's CPU may be offered as several devices, /cpu:0, /cpu:1, ...: each has variables and memory of its
    /// own, all share the threads.
    int cpu_devices = 1;
    /// The GPUs: nullptr, those of a linked GPU library; or simulated_gpu(count, bytes).
    std::shared_ptr<const gpu_backend> gpus = nullptr;
    /// How much of a GPU's memory is used (SEMANTICS 11).
    memory_policy gpu_memory = {};
    /// Which of the GPUs, in which order, and as how many devices (SEMANTICS 10, 11). All sessions and tasks of a process that
    /// use the same GPUs at a time choose the same.
    gpu_selection gpu_devices = {};
    /// Nodes that ask for a device that is not there, or has no kernel for them, run on the CPU (SEMANTICS 7).
    bool allow_soft_placement = false;
    /// Tells the devices when the session is made, and each node's when it is first placed (SEMANTICS 8).
    bool log_device_placement = false;
    /// Who is told, also of GPUs that are left out; where it is not set, standard error.
    shared_function<void(const std::string& line)> placement_log = {};
    /// What nodes and transfers took in earlier runs: what the rules leave open is then placed where the step takes least
    /// time and fits (cost_placer.hpp says how). Devices are chosen when a node is first placed, for the step in which it
    /// is then: explain_placement(step) before the initialisers run lets the step decide where its variables lie.
    /// nullptr: the rules decide.
    std::shared_ptr<const tenon::cost_measurements> cost_measurements = nullptr;
    bool fold_constants = true;
    bool fuse = true;
    /// Plans that are kept for further steps, one for each set of feeds, their sizes, and fetches; those not used for
    /// the longest time go first, and earlier where their memory is a quarter of the machine's. A plan takes about a
    /// millisecond to make, and keeps the memory of its step. What a callable ran last it keeps besides.
    int kept_plans = 64;
    /// What float tensors travel as from one task to another: bfloat16 or float16, which halves the bytes; none: as they are. They
    /// are rounded to the nearest (ties to even) where they leave and widened again where they arrive, which is the same number on
    /// all tasks that they reach; on their own task they stay as they were. Numbers without dimensions, and other types, double
    /// among them, are never rounded. float16 makes infinity of what is beyond 65504.
    element_type wire_type = element_type::none;
    /// Of a session on a server: the tasks that it uses, by names such as "/job:ps" or "/job:worker/task:0"; empty: all of the
    /// cluster. The server's own is always one. A session does not need tasks that it does not use.
    std::vector<std::string> device_filters = {};
    /// Of a session on a server: seconds within which all its tasks must answer, or it is not made (SEMANTICS 24); 0: ten.
    double open_timeout = 0;
};

} // namespace tenon
