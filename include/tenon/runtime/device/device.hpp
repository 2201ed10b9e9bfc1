#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/io/files/file_access.hpp>
#include <tenon/memory/memory_account.hpp>
#include <tenon/memory/memory_allocator.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/op/step.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/resources/resources.hpp>
#include <tenon/runtime/device/device_attributes.hpp>

/// What a session asks of a device: its own memory, its own kernels, and, where it is no CPU, streams whose work goes on
/// while the caller does.

namespace tenon {

class memory_budget;
struct op_definition;

/// A point in a stream's work: reached when all that was given to the stream before it was recorded has ended. One step
/// uses it at a time, and may record it again in its next run.
class device_event {
public:
    virtual ~device_event() = default;
};

/// Follows the commands that one step gives to streams. Called from whichever thread runs them.
class step_monitor {
public:
    virtual ~step_monitor() = default;
    /// Asked before a command begins: false once the step has failed or is late, and then it is skipped.
    virtual bool wanted(int command) noexcept = 0;
    /// A command has ended; times in nanoseconds of the steady clock, where is_timed().
    virtual void ended(int command, std::int64_t begin, std::int64_t end) noexcept = 0;
    /// It has done what it does, and was not given the time that it takes.
    virtual void ended_early(int /*command*/) noexcept {}
    /// Instead of ended().
    virtual void failed(int command, std::exception_ptr why) noexcept = 0;
    virtual bool is_timed() const noexcept { return true; }
    /// What a profiler shows of a command: its node's name.
    virtual const char* name_of(int /*command*/) const noexcept { return ""; }
    /// When the step is late: a stream that only waits for time to pass asks wanted() again then, and ends the command.
    virtual std::chrono::steady_clock::time_point deadline() const noexcept {
        return std::chrono::steady_clock::time_point::max();
    }
};

/// What a step gives to the streams of devices of one kind, taken down once, to be given again as often as one likes. The pointers are those
/// of then. It is given once at a time, and ends before the devices do.
class recorded_work {
public:
    virtual ~recorded_work() = default;
};

class stream_recorder;

/// A kernel as a card runs it: what a node's kernel has launched.
struct launched_kernel {
    std::string name; ///< as its library calls it; "" where it does not say
    std::int64_t blocks = 0;
    int threads = 0;              ///< of a block
    int registers = 0;            ///< of a thread; 0: not known
    std::size_t shared_bytes = 0; ///< of a block
    std::size_t local_bytes = 0;  ///< of a thread, in the card's memory: what its registers do not hold
    double occupancy = 0; ///< of the threads that a multiprocessor has room for, those that can be there at a time
};

/// What a device that works on its own does things in: kernels, copies to it, copies from it, sums with other devices. Each stream does what
/// it is given one after another; different streams at the same time. What is passed must live until it has ended.
class device_streams {
public:
    enum stream { compute, copies_in, copies_out, sums };
    static constexpr int count = 4;

    virtual ~device_streams() = default;
    virtual void launch(stream l, kernel& k, const kernel_run& r, step_monitor& m, int command) = 0;
    virtual void copy(stream l, void* to, const void* from, std::size_t bytes, step_monitor& m, int command) = 0;
    virtual std::unique_ptr<device_event> make_event() = 0;
    /// The event is reached when the stream gets here; it is an event of a device of this kind, as in wait(). `told`, if any, is
    /// called then: once, on any thread, perhaps before this returns. That thread holds nothing of the device, and may give
    /// it more.
    virtual void record(stream l, device_event& e, completion* then = nullptr) = 0;
    /// The stream goes on when the event, recorded before this call, is reached.
    virtual void wait(stream l, device_event& e) = 0;

    /// Returns when done() is true, which is asked again after wake(). Where streams are worked on by this process's threads,
    /// this one does meanwhile. Any device of the kind will do for all of them.
    virtual void work_until(function_ref<bool()> done) = 0;
    virtual void wake() noexcept = 0;
    /// What was given goes on although nobody is in work_until().
    virtual void flush() = 0;
    /// Commands that only wait for time to pass ask wanted() now.
    virtual void ask_again() noexcept = 0;
    /// What run() would launch, nothing of which runs. Nothing where kernels are the host's.
    virtual std::vector<launched_kernel> launches_of(kernel&, const kernel_run&) { return {}; }
    /// Memory of the host which the device reads and writes by itself: what kernels tell it in each step (kernel::tell), and what recorded
    /// copies copy. Throws resource_exhausted_error.
    virtual std::shared_ptr<std::byte> told_memory(std::size_t bytes) {
        return {new std::byte[bytes], [](std::byte* p) { delete[] p; }};
    }

    /// For what this thread takes down of all these, which are of this kind, and of which this is the first; nullptr: they record nothing.
    virtual std::unique_ptr<stream_recorder> begin_recording(std::span<device_streams* const> /*all*/) {
        return nullptr;
    }
    /// Of what was begun with this: gives it to the streams. What `compute` is given later comes after all of it. `in` is the step that it is
    /// part of; the monitor may be asked and told of its commands, or of some. What is thrown says that nothing was given.
    virtual void replay(recorded_work&, const step& /*in*/, step_monitor&) {}
    /// Throws where the device can be used no more: of what was replayed on several the first one's streams may not tell.
    virtual void require_working() {}
};

/// Takes down work, none of which begins: the streams go on with what others give them meanwhile. Used, and ended, by one thread.
class stream_recorder {
public:
    using stream = device_streams::stream;

    virtual ~stream_recorder() = default;
    /// What follows is for the streams of this one of the devices that the recording was begun for. At first of number 0.
    virtual void at(std::size_t device) = 0;
    /// What the next command comes after, of those that were recorded: whatever else was given to its stream before may be done beside it.
    virtual void after(std::span<const int> /*commands*/) {}
    /// A kernel with so many inputs and outputs. What `r` points to besides, and the kernel, live as long as the recording.
    virtual void launch(stream l, kernel& k, const kernel_run& r, std::size_t inputs, std::size_t outputs,
                        int command) = 0;
    /// Of the host's memory only what told_memory() gave is copied.
    virtual void copy(stream l, void* to, const void* from, std::size_t bytes, int command) = 0;
    /// Others will wait for this command, the last one of its stream.
    virtual void mark(stream l, int command) = 0;
    virtual void wait(stream l, int command) = 0;
    /// `other`, which is given no more, holds what was recorded of the same commands with other pointers: it may be made over.
    virtual std::unique_ptr<recorded_work> end(std::unique_ptr<recorded_work> other) = 0;
};

/// Whether a device of this kind has a kernel for an op whose first output (its first input, where it has none) has elements of
/// type e.
bool has_kernel(const device_attributes& of, const op_definition& op, element_type e);

class device : public memory_allocator {
public:
    virtual const device_attributes& attributes() const = 0;
    const device_name& full_name() const { return attributes().name; }
    /// It is a device of this task (job and number), not of the one that programs without a cluster have. Before it is used.
    virtual void belong_to(const device_name& task) = 0;

    /// Ended when they return.
    virtual void copy_from_host(void* to, const void* from, std::size_t bytes) = 0;
    virtual void copy_to_host(void* to, const void* from, std::size_t bytes) = 0;

    /// This device's kernel for an op and elements as in has_kernel(); nullptr where it has none.
    virtual kernel_factory kernel_of(const op_definition& op, element_type e) const = 0;
    /// nullptr: kernels have ended when they return, and read and write the host's memory.
    virtual device_streams* streams() noexcept { return nullptr; }

    /// What kernels of a GPU library are prepared with; nullptr: it has none of its own.
    virtual gpu_context* gpu() noexcept { return nullptr; }

    /// Their memory is this device's.
    virtual resource_manager& resources() = 0;
    /// Counts what is allocated, and what else is taken up to the same limit.
    virtual tenon::memory_info memory() const = 0;
    /// What of that was allocated here.
    virtual tenon::memory_info allocated() const { return memory(); }
    /// Of a CPU: counts bytes of its memory that somebody else is about to take, until they are released. Throws what allocate() throws,
    /// and where the machine has not so many.
    virtual void reserve(std::size_t /*bytes*/) {}
    virtual void release(std::size_t /*bytes*/) noexcept {}
    /// Who is asked, where memory is short, to give back what is kept only for further use: false when there is nothing
    /// left of it. Set before others use the device.
    virtual void when_short(bool (*give_back)(void* context), void* context) noexcept = 0;

    /// Which files its kernels may read and write: all, unless it was said otherwise before others used it.
    const file_access& files() const noexcept { return files_; }
    void limit_files(const file_access& to) { files_ = to; }

private:
    file_access files_;
};

/// What the planner knows of a device until a program is cut by task: all there is to know of another process's.
struct device_description {
    device_attributes attributes;
    bool has_streams = false;
    std::size_t memory_limit = 0;   ///< bytes; 0: none
    std::size_t variable_bytes = 0; ///< of its resources, when it was described
};
device_description describe(device& d);

/// Memory of a device, which must outlive it.
class device_memory {
public:
    device_memory() = default;
    /// Throws what device::allocate throws.
    device_memory(device& d, std::size_t bytes) : device_(&d), data_(d.allocate(bytes)), bytes_(bytes) {}
    ~device_memory() {
        if (device_) device_->deallocate(data_, bytes_);
    }
    device_memory(device_memory&& from) noexcept :
        device_(std::exchange(from.device_, nullptr)), data_(from.data_), bytes_(from.bytes_) {}
    device_memory& operator=(device_memory&& from) noexcept {
        std::swap(device_, from.device_);
        std::swap(data_, from.data_);
        std::swap(bytes_, from.bytes_);
        return *this;
    }
    void* data() const noexcept { return data_; }

private:
    device* device_ = nullptr;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Device CPU:`index` of the local task: kernels that end when they return, on as many threads as the session has. Of
/// the machine's memory it may take so many bytes (0: all there are).
std::unique_ptr<device> make_cpu_device(std::size_t memory_limit = 0, int index = 0);
/// The same for a server: its memory is taken from the budget, in the name of the client whom the thread works for.
std::unique_ptr<device> make_cpu_device(std::shared_ptr<memory_budget> budget, int index = 0);

namespace detail {
/// Bytes of memory of this machine.
std::int64_t host_memory_bytes() noexcept;
/// "/device:GPU:0"
std::string short_name(const device_name& d);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/device/device.ipp>
#endif
