#pragma once

#include <cstdio>
#include <mutex>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/runtime/plan/sizes.hpp>
#include <tenon/runtime/session/backend.hpp>

namespace tenon::detail {

inline void require_options(const session_options& o) {
    const auto require = [](bool good, const char* name, const std::string& value, const char* wanted) {
        if (!good)
            throw invalid_argument_error(std::string("session_options::") + name + " is " + value + "; " + wanted);
    };
    constexpr const char* threads = "give a positive number, or 0 for as many as there are cores";
    require(o.intra_op_threads >= 0, "intra_op_threads", std::to_string(o.intra_op_threads), threads);
    require(o.inter_op_threads >= 0, "inter_op_threads", std::to_string(o.inter_op_threads), threads);
    require(o.operation_timeout >= 0, "operation_timeout", detail::text_of_number(o.operation_timeout),
            "give seconds, or 0 for no limit");
    require(o.open_timeout >= 0, "open_timeout", detail::text_of_number(o.open_timeout), "give seconds, or 0 for ten");
    require(o.kept_plans >= 1, "kept_plans", std::to_string(o.kept_plans), "give a positive number");
    require(o.wire_type == element_type::none || o.wire_type == element_type::bfloat16 ||
                o.wire_type == element_type::float16,
            "wire_type", name_of(o.wire_type), "float tensors travel as bfloat16 or float16, or with none as they are");
}

struct session_state::started_runners {
    std::mutex guard; // of what follows
    std::set<const node*> queues;
};

TENON_INLINE session_state::session_state(const tenon::graph& g, const session_options& o) :
    graph(g), options(o), started_(std::make_unique<started_runners>()) {
    if (!g.state()) moved_from("graph");
    require_options(o);
}
TENON_INLINE session_state::~session_state() = default;

TENON_INLINE std::string session_state::emit(run_request&&) {
    throw unimplemented_error(
        "session::emit: a session on a server has its kernels there; ask a session of a program that runs there");
}
TENON_INLINE std::shared_ptr<timed_kernel> session_state::kernel_of(run_request&&) {
    throw unimplemented_error(
        "session::kernel_of: a session on a server has its kernels there; time them by a program that runs there, "
        "with a session of its own, or take the times of steps by session::set_measurements");
}

TENON_INLINE void session_state::say_closed() { throw failed_precondition_error("Session is closed."); }

TENON_INLINE void session_state::require_member(const node* n, const char* kind, std::size_t i, std::size_t count,
                                                const char* role) const {
    if (!n)
        throw invalid_argument_error("session: " + std::string(kind) + " " + std::to_string(i + 1) + " of " +
                                     std::to_string(count) + " to be " + role +
                                     " is an empty handle; give one that a function of the library returned");
    if (n->graph != graph.state())
        throw invalid_argument_error("session: " + n->name + " cannot be " + role +
                                     ": it belongs to another graph than this session's" + runtime::where_made(*n));
}

TENON_INLINE void session_state::require_request(const std::vector<any_tensor>& feeds, const fetch_request& r) const {
    for (std::size_t i = 0; i < feeds.size(); ++i) {
        require_member(feeds[i].node(), "tensor", i, feeds.size(), "fed");
        for (std::size_t j = 0; j < i; ++j)
            if (feeds[i].output() == feeds[j].output())
                throw invalid_argument_error("session: " + feeds[i].name() + " is fed twice" +
                                             runtime::where_made(*feeds[i].node()));
    }
    for (std::size_t i = 0; i < r.fetches.size(); ++i)
        require_member(r.fetches[i].node(), "tensor", i, r.fetches.size(), "fetched");
    for (std::size_t i = 0; i < r.targets.size(); ++i)
        require_member(r.targets[i].node(), "operation", i, r.targets.size(), "run");
}

TENON_INLINE void session_state::require_fit(const any_tensor& t, const any_array& value) {
    if (const std::string why = misfit(value.type(), t.type()); !why.empty())
        throw invalid_argument_error("feed of " + t.name() + ": it is " + to_string(t.type()) + ", the value is " +
                                     to_string(value.type()) + ": " + why + runtime::where_made(*t.node()));
}

TENON_INLINE session_state::fed_tensors session_state::checked(const run_request& r) const {
    require_open();
    require_limit(r.timeout);
    fed_tensors fed;
    for (const fed_value& f : r.feeds) {
        fed.tensors.push_back(f.tensor);
        fed.values.push_back(&f.value);
    }
    require_request(fed.tensors, r);
    for (const fed_value& f : r.feeds) require_fit(f.tensor, f.value);
    return fed;
}

TENON_INLINE void session_state::require_limit(double seconds) {
    if (!(seconds >= 0))
        throw invalid_argument_error("run_for: the time limit is " + detail::text_of_number(seconds) +
                                     " s; give a positive number of seconds, or 0 for the session's limit");
}

TENON_INLINE shared_function<void(const std::string&)> session_state::placement_log() const {
    if (!options.log_device_placement) return {};
    if (options.placement_log) return options.placement_log;
    return [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
}

TENON_INLINE void session_state::note_started_runner(const any_tensor& queue) {
    const std::lock_guard lock(started_->guard);
    started_->queues.insert(queue.node());
}
TENON_INLINE bool session_state::has_started_runner(const node* queue) const {
    const std::lock_guard lock(started_->guard);
    return started_->queues.contains(queue);
}

} // namespace tenon::detail
