#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <tenon/core/config.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/runtime/trace/trace_event.hpp>

namespace tenon {

struct device_name;
namespace detail {
struct trace_record;
}

struct trace_options {
    std::size_t most_events = 1'000'000;                  ///< what comes then is counted (trace::dropped), and not kept
    std::size_t most_text_bytes = std::size_t{256} << 20; ///< of different names: the same
    bool threads_of_process =
        false; ///< threads have one number in all such traces; else they are numbered as they come to this one
};

/// What ran when, in the steps that were run while it was set (session::set_trace). Thread-safe.
///
/// Events of other processes are by their clocks. Each answer with such brings bounds for what that clock shows more than this one:
/// nothing arrives before it was sent, neither the question, nor the answer, nor a value from task to task. From the bounds of all
/// clocks of a step the narrowest for each are computed, and the middle of those is taken: so no arrow goes back in time, and how far
/// an event may be off is known (at most half of the fastest round trip). Bounds of other steps count too, wider by 100 microseconds for
/// each second that has passed, since no two clocks run alike.
class trace {
public:
    trace();
    explicit trace(const trace_options& o);
    ~trace();
    trace(trace&&) = delete;

    int number_of_this_thread();
    void add(const trace_event& e);
    /// One of this program itself.
    void add(const std::string& name, const std::string& op, const std::string& row, std::int64_t begin,
             std::int64_t end) {
        add({.name = name, .op = op, .row = row, .task = {}, .begin = begin, .end = end});
    }
    std::size_t size() const;
    /// Events that came when there was no room for more.
    std::uint64_t dropped() const;
    /// Calls f for each event, in the order in which they were added; all by this process's clock.
    void each(function_ref<void(const trace_event&)> f) const;
    /// For people: a line for each event, in the order in which they began. Times in microseconds, from the first. Of several
    /// tasks the row has the task before it.
    ///
    ///      begins       takes  row             node (op)
    ///        0.00        0.11  CPU:0 thread 0  constant (constant)
    ///        2.58        0.52  CPU:0 thread 0  add (add)
    std::string to_text() const;
    /// Chrome's trace-event format, which Perfetto reads too: {"traceEvents": [{"name", "cat", "ph": "X", "ts", "dur",
    /// "pid", "tid", "args"}, ...]}, times in microseconds from the first event. A task is a process, a row a thread with its name;
    /// one whose events overlap is as many threads as it takes. Each value that goes from task to task is an arrow from what sends to
    /// what receives it ("ph": "s" and "f"), whose args say bytes and both tasks; what receives is shown from when the value is on
    /// its way, and its args say since when it was waited for ("waited_us").
    std::string to_json() const;
    /// Writes to_json() to a file, which appears whole or not at all; throws what the file system says.
    void save(const std::string& path) const;

    /// For those that carry it between processes: what there is, all of it of one step, as an answer to what was asked at `began` and
    /// is answered at `ended`.
    detail::trace_record record(std::int64_t began, std::int64_t ended) const;
    /// And the other way: of that step, asked for at `asked`, and here since `came`. `clock` is what its maker's is called here: of each
    /// life of a process another one. Throws data_loss_error for what is no record.
    void add(const detail::trace_record& r, const std::string& clock, std::uint64_t step, std::int64_t asked,
             std::int64_t came);

private:
    struct state;
    std::unique_ptr<state> state_;
};

namespace detail {
/// As trace_event::task has it, of a device: "/job:ps/task:0"; empty where a session was given no task.
std::string traced_task(const device_name& full);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/trace/trace.ipp>
#endif
