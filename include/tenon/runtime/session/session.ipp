#pragma once

#include <utility>

#include <tenon/core/array/out_of_memory.hpp>
#include <tenon/core/error.hpp>
#include <tenon/runtime/session/local_session.hpp>
#include <tenon/runtime/session/scheme.hpp>
#include <tenon/runtime/session/session.hpp>

namespace tenon {

TENON_INLINE detail::callable_state& untyped_callable::fed_with(const std::vector<any_array>& values) const {
    if (!state_) detail::moved_from("callable");
    if (values.size() != state_->feeds().size())
        throw invalid_argument_error("callable: it is fed " + std::to_string(state_->feeds().size()) +
                                     " tensors, and was given " + std::to_string(values.size()) +
                                     " values; give one for each, in the order of the feeds");
    return *state_;
}

TENON_INLINE std::vector<any_array> untyped_callable::run_for(double seconds,
                                                              const std::vector<any_array>& values) const {
    detail::callable_state& of = fed_with(values);
    std::vector<const any_array*> fed;
    for (const any_array& v : values) fed.push_back(&v);
    std::vector<any_array> fetched(of.request().fetches.size());
    of.run(fed.data(), fetched.data(), seconds);
    return fetched;
}

TENON_INLINE untyped_pending_step untyped_callable::start_for(double seconds,
                                                              const std::vector<any_array>& values) const {
    detail::callable_state& of = fed_with(values);
    std::vector<any_array> fed;
    for (const any_array& v : values) fed.push_back(v.share());
    return {of.start(std::move(fed), seconds), of.request().fetches.size()};
}

namespace detail {
inline std::shared_ptr<session_state> new_session(const graph& g, const session_options& o,
                                                  std::vector<std::shared_ptr<task_state>> tasks) {
    return naming_out_of_memory([] { return std::string("session"); },
                                [&] { return std::make_shared<local_session>(g, o, std::move(tasks)); });
}
} // namespace detail

TENON_INLINE void session::open(const graph& g, const session_options& o) { state_ = detail::new_session(g, o, {}); }
TENON_INLINE void session::open(const task& t, const graph& g, const session_options& o) {
    open(std::vector<task>{t}, g, o);
}
TENON_INLINE void session::open(const std::vector<task>& tasks, const graph& g, const session_options& o) {
    if (tasks.empty()) throw invalid_argument_error("session: it is given no task; give at least one");
    std::vector<std::shared_ptr<detail::task_state>> all;
    for (const task& t : tasks) {
        if (!t.state_) detail::moved_from("task");
        all.push_back(t.state_);
    }
    state_ = detail::new_session(g, o, std::move(all));
}
TENON_INLINE void session::open(const std::string& target, const graph& g, const session_options& o) {
    if (target.empty()) return open(g, o);
    const auto [scheme, address] = detail::scheme_of(target);
    state_ = scheme.make(address, g, o);
}
TENON_INLINE session::~session() {
    if (state_) state_->end();
}
TENON_INLINE session& session::operator=(session&& other) noexcept {
    if (state_ && state_ != other.state_) state_->end();
    state_ = std::move(other.state_);
    return *this;
}

namespace detail {
inline run_request request_of(std::vector<fed_value>&& feeds, const std::vector<any_tensor>& fetches,
                              const std::vector<operation>& targets) {
    run_request r;
    r.feeds = std::move(feeds);
    naming_out_of_memory([] { return std::string("session: what a step is asked for"); },
                         [&] {
                             r.fetches = fetches;
                             r.targets = targets;
                         });
    return r;
}
} // namespace detail

TENON_INLINE std::vector<any_array> session::run_untyped(std::vector<fed_value> feeds,
                                                         const std::vector<any_tensor>& fetches,
                                                         const std::vector<operation>& targets) {
    return live().run(detail::request_of(std::move(feeds), fetches, targets));
}

TENON_INLINE untyped_callable session::callable_untyped(const std::vector<any_tensor>& feeds,
                                                        const std::vector<any_tensor>& fetches,
                                                        const std::vector<operation>& targets) {
    detail::fetch_request r;
    r.fetches = fetches;
    r.targets = targets;
    return untyped_callable(live().make_callable(feeds, r));
}

TENON_INLINE step_report session::report_untyped(std::vector<fed_value> feeds, const std::vector<any_tensor>& fetches,
                                                 const std::vector<operation>& targets) {
    return live().report(detail::request_of(std::move(feeds), fetches, targets));
}

TENON_INLINE placement_explanation session::explain_placement_untyped(const std::vector<any_tensor>& fetches,
                                                                      const std::vector<operation>& targets) {
    return live().explain(detail::request_of({}, fetches, targets));
}
TENON_INLINE placement_explanation session::explain_placement_untyped(std::vector<fed_value> feeds,
                                                                      const std::vector<any_tensor>& fetches,
                                                                      const std::vector<operation>& targets) {
    return live().explain(detail::request_of(std::move(feeds), fetches, targets));
}

TENON_INLINE std::vector<device_attributes> session::list_logical_devices() const { return live().list_devices(); }
TENON_INLINE tenon::memory_info session::memory_info(const device_name& device) const {
    return live().memory_info(device);
}
TENON_INLINE std::vector<run_count> session::random_runs() const { return live().random_runs(); }
TENON_INLINE void session::set_random_runs(const std::vector<run_count>& counts) {
    for (const run_count& c : counts)
        if (c.runs > std::uint64_t{1} << 62)
            throw invalid_argument_error("session::set_random_runs: " + c.node + " has not run " +
                                         std::to_string(c.runs) + " times; give what random_runs() said");
    live().set_random_runs(counts);
}
TENON_INLINE void session::set_trace(trace* t) { live().set_trace(t); }
TENON_INLINE void session::set_measurements(cost_measurements* m) { live().set_measurements(m); }
TENON_INLINE session_statistics session::statistics() const { return live().statistics(); }
TENON_INLINE void session::close() { live().close(); }
TENON_INLINE void session::note_started_runner(const any_tensor& queue) { live().note_started_runner(queue); }
TENON_INLINE void session::reset(const std::string& target, const std::vector<std::string>& containers) {
    const auto [scheme, address] = detail::scheme_of(target);
    scheme.reset(address, containers);
}
TENON_INLINE const graph& session::bound_graph() const { return live().graph; }

} // namespace tenon
