#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <tenon/core/config.hpp>
#include <tenon/kernel/function_ref.hpp>

namespace tenon {

/// What ran when, in the steps that were run while it was set (session::set_trace). Thread-safe.
class trace {
public:
    trace();
    ~trace();
    trace(const trace&) = delete;
    trace& operator=(const trace&) = delete;

    /// Threads are numbered as they come.
    int number_of_this_thread();
    /// One node's run, in nanoseconds of the steady clock. A row is a device ("GPU:0"), one of its threads ("CPU:0
    /// thread 1") or a link between two ("CPU:0 to GPU:0"): what is in one ran one after another.
    void add(const std::string& name, const std::string& op, const std::string& row, std::int64_t begin,
             std::int64_t end);
    std::size_t size() const;
    /// Calls f for each run, as add() was.
    void each(function_ref<void(const std::string& name, const std::string& op, const std::string& row,
                                std::int64_t begin, std::int64_t end)>
                  f) const;
    /// For people: a line for each node's run, in the order in which they began. Times in microseconds, from the first.
    ///
    ///      begins       takes  row             node (op)
    ///        0.00        0.11  CPU:0 thread 0  constant (constant)
    ///        2.58        0.52  CPU:0 thread 0  add (add)
    std::string to_text() const;
    /// Chrome's trace-event format, which Perfetto reads too: {"traceEvents": [{"name", "cat", "ph": "X", "ts", "dur",
    /// "pid", "tid"}, ...]}, times in microseconds from the first event.
    std::string to_json() const;
    /// Writes to_json() to a file; throws unavailable_error when that fails.
    void save(const std::string& path) const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/run/trace.ipp>
#endif
