#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <tenon/graph/graph.hpp>
#include <tenon/memory/memory_account.hpp>
#include <tenon/op/run_count.hpp>
#include <tenon/runtime/device/device_attributes.hpp>
#include <tenon/runtime/place/explanation.hpp>
#include <tenon/runtime/session/feed.hpp>
#include <tenon/runtime/session/options.hpp>
#include <tenon/runtime/session/report.hpp>

/// What stands behind a session and what it gives out: this process (local_session.hpp), or a server.

namespace tenon {

class trace;
class timed_kernel;
class cost_measurements;

namespace detail {

/// A step that was started. Thread-safe.
class pending_state {
public:
    virtual ~pending_state() = default;
    virtual void get(any_array* fetched) = 0;
    virtual bool wait_for(double seconds) = 0;
    virtual void stop() noexcept = 0;
    /// Its time is over: it fails, saying what it waits for, unless it has ended.
    virtual void expire() noexcept = 0;
};

/// A step that runs many times. Thread-safe.
class callable_state {
public:
    callable_state(const std::vector<any_tensor>& feeds, const fetch_request& r) : feeds_(feeds), request_(r) {}
    virtual ~callable_state() = default;
    /// fed[i] is a value for fed_tensor(i), any value; fetched[i] is made here. `timeout` is in seconds, 0: the session's.
    virtual void run(const any_array* const* fed, any_array* fetched, double timeout) = 0;
    virtual std::shared_ptr<pending_state> start(std::vector<any_array> fed, double timeout) = 0;

    const std::vector<any_tensor>& feeds() const noexcept { return feeds_; }
    const fetch_request& request() const noexcept { return request_; }

private:
    const std::vector<any_tensor> feeds_;
    const fetch_request request_;
};

/// What a session is. What every one checks, wherever its steps run, is checked here. Thread-safe.
class session_state {
public:
    /// Throws invalid_argument_error where an option makes no sense, naming it.
    session_state(const tenon::graph& g, const session_options& o);
    virtual ~session_state();
    session_state(session_state&&) = delete;

    const tenon::graph graph;
    const session_options options;

    virtual std::vector<any_array> run(run_request&& r) = 0;
    virtual std::shared_ptr<callable_state> make_callable(const std::vector<any_tensor>& feeds,
                                                          const fetch_request& r) = 0;
    virtual step_report report(run_request&& r) = 0;
    virtual placement_explanation explain(run_request&& r) = 0;
    /// unimplemented_error, unless its kernels are in this process.
    virtual std::string emit(run_request&& r);
    virtual std::shared_ptr<timed_kernel> kernel_of(run_request&& r);
    virtual session_statistics statistics() const = 0;
    virtual std::vector<device_attributes> list_devices() const = 0;
    virtual tenon::memory_info memory_info(const device_name& device) const = 0;
    virtual std::vector<run_count> random_runs() const = 0;
    virtual void set_random_runs(const std::vector<run_count>& counts) = 0;
    virtual void set_trace(trace* t) = 0;
    virtual void set_measurements(cost_measurements* m) = 0;
    /// Nothing runs any more (session::close).
    virtual void close() = 0;
    /// The session has ended, callables may go on.
    virtual void end() noexcept = 0;

    virtual void note_started_runner(const any_tensor& queue);
    bool has_started_runner(const node* queue) const;

protected:
    /// A request's feeds, which live as long as it, after all of it was checked.
    struct fed_tensors {
        std::vector<any_tensor> tensors;
        std::vector<const any_array*> values;
    };
    fed_tensors checked(const run_request& r) const;
    void require_request(const std::vector<any_tensor>& feeds, const fetch_request& r) const;
    static void require_fit(const any_tensor& t, const any_array& value);
    static void require_limit(double seconds);
    void require_open() const {
        if (closed_.load(std::memory_order_acquire)) say_closed();
    }
    void set_closed() noexcept { closed_.store(true, std::memory_order_release); }
    /// Lines about placement go there (SEMANTICS 8); nothing where they are not asked for.
    shared_function<void(const std::string&)> placement_log() const;

private:
    [[noreturn]] static void say_closed();
    void require_member(const node* n, const char* kind, std::size_t i, std::size_t count, const char* role) const;

    std::atomic<bool> closed_{false};
    struct started_runners; // kept apart: a model that is compiled pays for no lock
    const std::unique_ptr<started_runners> started_;
};

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/session/backend.ipp>
#endif
