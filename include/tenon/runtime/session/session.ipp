#pragma once

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/runtime/session/local_session.hpp>
#include <tenon/runtime/session/scheme.hpp>
#include <tenon/runtime/session/session.hpp>

namespace tenon {

TENON_INLINE std::vector<any_array> untyped_callable::run_for(double seconds,
                                                              const std::vector<any_array>& values) const {
    if (!state_) detail::moved_from("callable");
    if (values.size() != state_->feeds().size())
        throw invalid_argument_error("callable: it is fed " + std::to_string(state_->feeds().size()) +
                                     " tensors, and was given " + std::to_string(values.size()) +
                                     " values; give one for each, in the order of the feeds");
    std::vector<const any_array*> fed;
    for (const any_array& v : values) fed.push_back(&v);
    std::vector<any_array> fetched(state_->request().fetches.size());
    state_->run(fed.data(), fetched.data(), seconds);
    return fetched;
}

TENON_INLINE session::session() : session(session_options{}) {}
TENON_INLINE session::session(const session_options& o) : session(graph::current(), o) {}
TENON_INLINE session::session(const graph& g) : session(g, session_options{}) {}
TENON_INLINE session::session(const graph& g, const session_options& o) :
    state_(std::make_shared<detail::local_session>(g, o, std::vector<std::shared_ptr<detail::task_state>>())) {}
TENON_INLINE session::session(const task& t, const session_options& o) : session(t, graph::current(), o) {}
TENON_INLINE session::session(const task& t, const graph& g, const session_options& o) {
    *this = session(std::vector<task>{t}, g, o);
}
TENON_INLINE session::session(const std::vector<task>& tasks, const graph& g, const session_options& o) {
    if (tasks.empty()) throw invalid_argument_error("session: it is given no task; give at least one");
    std::vector<std::shared_ptr<detail::task_state>> all;
    for (const task& t : tasks) {
        if (!t.state_) detail::moved_from("task");
        all.push_back(t.state_);
    }
    state_ = std::make_shared<detail::local_session>(g, o, std::move(all));
}
TENON_INLINE session::session(const std::string& target, const graph& g, const session_options& o) {
    if (target.empty()) {
        *this = session(g, o);
        return;
    }
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

TENON_INLINE std::vector<any_array> session::run_untyped(std::vector<fed_value> feeds,
                                                         const std::vector<any_tensor>& fetches,
                                                         const std::vector<operation>& targets) {
    detail::run_request r;
    r.feeds = std::move(feeds);
    r.fetches = fetches;
    r.targets = targets;
    return live().run(std::move(r));
}

TENON_INLINE untyped_callable session::callable_untyped(const std::vector<any_tensor>& feeds,
                                                        const std::vector<any_tensor>& fetches,
                                                        const std::vector<operation>& targets) {
    detail::fetch_request r;
    r.fetches = fetches;
    r.targets = targets;
    return untyped_callable(live().make_callable(feeds, r));
}

TENON_INLINE placement_explanation session::explain_placement_untyped(const std::vector<any_tensor>& fetches,
                                                                      const std::vector<operation>& targets) {
    detail::run_request r;
    r.fetches = fetches;
    r.targets = targets;
    return live().explain(std::move(r));
}

TENON_INLINE std::vector<device_attributes> session::list_logical_devices() const { return live().list_devices(); }
TENON_INLINE tenon::memory_info session::memory_info(const device_name& device) const {
    return live().memory_info(device);
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
