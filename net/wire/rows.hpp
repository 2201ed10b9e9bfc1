#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <net/wire/fields.hpp>
#include <tenon/memory/memory_account.hpp>
#include <tenon/op/run_count.hpp>
#include <tenon/runtime/device/device_attributes.hpp>
#include <tenon/runtime/place/explanation.hpp>
#include <tenon/runtime/session/options.hpp>
#include <tenon/runtime/session/report.hpp>
#include <tenon/runtime/trace/trace_record.hpp>

/// What calls are made of.

namespace tenon::net {

/// A call without an answer but that it is done.
struct done {
    static constexpr void fields(auto&&) {}
};

/// What of session_options a master needs.
struct session_settings {
    double operation_timeout = 0; ///< seconds, 0: none
    std::int32_t inter_op_threads = 0;
    std::int32_t kept_plans = 64;
    bool check_numerics = false;
    bool flush_denormals = false;
    bool allow_tf32 = false;
    bool allow_soft_placement = false;
    bool log_device_placement = false; ///< placement_lines are sent
    bool fold_constants = true;
    bool fuse = true;
    std::string cost_measurements; ///< as cost_measurements::to_json() says them; empty: the rules place
    element_type wire_type = element_type::none;
    std::vector<device_name> device_filters;
    /// Whether a session uses this task, another one than its server's.
    bool uses(const device_name& task) const {
        return device_filters.empty() || std::any_of(device_filters.begin(), device_filters.end(),
                                                     [&](const device_name& f) { return f.allows(task); });
    }
    static constexpr void fields(auto&& field) {
        using s = session_settings;
        field("operation_timeout", &s::operation_timeout);
        field("inter_op_threads", &s::inter_op_threads);
        field("kept_plans", &s::kept_plans);
        field("check_numerics", &s::check_numerics);
        field("flush_denormals", &s::flush_denormals);
        field("allow_tf32", &s::allow_tf32);
        field("allow_soft_placement", &s::allow_soft_placement);
        field("log_device_placement", &s::log_device_placement);
        field("fold_constants", &s::fold_constants);
        field("fuse", &s::fuse);
        field("cost_measurements", &s::cost_measurements);
        field("wire_type", &s::wire_type);
        field("device_filters", &s::device_filters);
    }
};
/// What of these options travels. invalid_argument_error where one is set that a server's task has itself: threads, memory,
/// devices.
session_settings settings_of(const session_options& o);
/// The options that say so. Throws what cost_measurements::from_json throws.
session_options options_of(const session_settings& s);

/// An output of a node of the session's graph; of an operation the index is 0.
struct graph_output {
    std::int64_t node = 0;
    std::int32_t index = 0;
    static constexpr void fields(auto&& field) {
        field("node", &graph_output::node);
        field("index", &graph_output::index);
    }
    friend bool operator==(const graph_output&, const graph_output&) = default;
};

/// What an op of a step waits for.
struct wait_row {
    std::string node, op, device; ///< who waits, and where
    std::string what;             ///< "tensor w from /job:ps/task:0/device:CPU:0"
    double seconds = 0;           ///< since when
    std::int64_t edge = -1;       ///< that it is to come by; -1: it waits for something else
    std::int64_t number = -1;     ///< of the node in the session's graph
    static constexpr void fields(auto&& field) {
        field("node", &wait_row::node);
        field("op", &wait_row::op);
        field("device", &wait_row::device);
        field("what", &wait_row::what);
        field("seconds", &wait_row::seconds);
        field("edge", &wait_row::edge);
        field("number", &wait_row::number);
    }
};

struct step_row {
    std::uint64_t session = 0, step = 0;
    double seconds = 0; ///< since it began
    double limit = 0;   ///< seconds that it may take, 0: any
    std::vector<wait_row> waits;
    static constexpr void fields(auto&& field) {
        field("session", &step_row::session);
        field("step", &step_row::step);
        field("seconds", &step_row::seconds);
        field("limit", &step_row::limit);
        field("waits", &step_row::waits);
    }
};

struct session_row {
    std::uint64_t session = 0;
    std::string client; ///< what it calls itself
    std::string peer;   ///< its address
    double seconds = 0; ///< since it was opened
    double idle = 0;    ///< seconds since its last call
    std::int64_t nodes = 0, callables = 0;
    std::uint64_t steps = 0; ///< that it has begun
    static constexpr void fields(auto&& field) {
        field("session", &session_row::session);
        field("client", &session_row::client);
        field("peer", &session_row::peer);
        field("seconds", &session_row::seconds);
        field("idle", &session_row::idle);
        field("nodes", &session_row::nodes);
        field("callables", &session_row::callables);
        field("steps", &session_row::steps);
    }
};

/// A variable, a queue, a reader: what lives in a container.
struct resource_row {
    std::string container, name, kind; ///< kind: "variable", "queue", ...
    std::string device;
    std::string description; ///< of a variable "float[784, 300]"
    std::uint64_t bytes = 0;
    std::uint64_t updates = 0; ///< of a variable: how often it was assigned or updated
    static constexpr void fields(auto&& field) {
        field("container", &resource_row::container);
        field("name", &resource_row::name);
        field("kind", &resource_row::kind);
        field("device", &resource_row::device);
        field("description", &resource_row::description);
        field("bytes", &resource_row::bytes);
        field("updates", &resource_row::updates);
    }
};

struct device_row {
    device_attributes device;
    tenon::memory_info memory;
    static constexpr void fields(auto&& field) {
        field("device", &device_row::device);
        field("memory", &device_row::memory);
    }
};

/// Of the host's memory that a task has taken: a client's.
struct holder_row {
    std::string client;
    std::uint64_t bytes = 0;
    static constexpr void fields(auto&& field) {
        field("client", &holder_row::client);
        field("bytes", &holder_row::bytes);
    }
};

/// What a task has to do with another one, or with all clients together.
struct heard_row {
    std::string task;                     ///< empty: clients
    std::uint64_t links = 0;              ///< at present, in both directions
    double silence = -1;                  ///< seconds since it was last heard of; -1: never, or clients
    std::uint64_t sent = 0, received = 0; ///< bytes of messages, in all
    static constexpr void fields(auto&& field) {
        field("task", &heard_row::task);
        field("links", &heard_row::links);
        field("silence", &heard_row::silence);
        field("sent", &heard_row::sent);
        field("received", &heard_row::received);
    }
};

/// What a task says of itself.
struct task_row {
    std::string task;    ///< "/job:ps/task:0"
    std::string address; ///< where it is reached
    bool reached = false;
    std::string trouble; ///< why it was not reached; then nothing of what follows is set
    std::uint64_t incarnation = 0;
    std::string version; ///< of the library
    double seconds = 0;  ///< since it began
    bool stopping = false;
    std::vector<device_row> devices;
    std::vector<holder_row> holders;   ///< the largest first; also of clients that have gone
    std::vector<session_row> sessions; ///< of which it is the master
    std::vector<step_row> steps;       ///< of these sessions, and those of others of which it runs a part
    std::vector<resource_row> resources;
    std::vector<heard_row> heard; ///< all other tasks, and clients
    std::uint64_t steps_ended = 0,
                  steps_failed = 0; ///< of its sessions, also those that are closed; the latter are among the former
    std::uint64_t parts_ended = 0;  ///< of others' steps
    static constexpr void fields(auto&& field) {
        field("task", &task_row::task);
        field("address", &task_row::address);
        field("reached", &task_row::reached);
        field("trouble", &task_row::trouble);
        field("incarnation", &task_row::incarnation);
        field("version", &task_row::version);
        field("seconds", &task_row::seconds);
        field("stopping", &task_row::stopping);
        field("devices", &task_row::devices);
        field("holders", &task_row::holders);
        field("sessions", &task_row::sessions);
        field("steps", &task_row::steps);
        field("resources", &task_row::resources);
        field("heard", &task_row::heard);
        field("steps_ended", &task_row::steps_ended);
        field("steps_failed", &task_row::steps_failed);
        field("parts_ended", &task_row::parts_ended);
    }
};

/// SHA-256 of a part of a program.
using content_hash = std::array<std::byte, 32>;

// What is the library's:

template <> inline constexpr std::size_t enum_count<element_type> = 15;
template <> inline constexpr std::size_t enum_count<placement_rule> = 7;
template <> inline constexpr std::size_t enum_count<bytes_known> = 4;
template <> inline constexpr std::size_t enum_count<trace_event::way> = 3;

template <> struct fields_of<device_attributes> {
    static constexpr void fields(auto&& field) {
        field("name", &device_attributes::name);
        field("memory", &device_attributes::memory);
        field("description", &device_attributes::description);
        field("simulated", &device_attributes::simulated);
        field("capability", &device_attributes::capability);
    }
};
template <> struct fields_of<tenon::detail::trace_record::event> {
    static constexpr void fields(auto&& field) {
        using e = tenon::detail::trace_record::event;
        field("name", &e::name);
        field("op", &e::op);
        field("row", &e::row);
        field("task", &e::task);
        field("clock", &e::clock);
        field("begin", &e::begin);
        field("end", &e::end);
        field("goes", &e::goes);
        field("edge", &e::edge);
        field("bytes", &e::bytes);
    }
};
template <> struct fields_of<tenon::detail::trace_record::order> {
    static constexpr void fields(auto&& field) {
        using o = tenon::detail::trace_record::order;
        field("earlier_clock", &o::earlier_clock);
        field("later_clock", &o::later_clock);
        field("earlier", &o::earlier);
        field("later", &o::later);
    }
};
template <> struct fields_of<tenon::detail::trace_record> {
    static constexpr void fields(auto&& field) {
        using r = tenon::detail::trace_record;
        field("texts", &r::texts);
        field("events", &r::events);
        field("orders", &r::orders);
        field("began", &r::began);
        field("ended", &r::ended);
        field("dropped", &r::dropped);
    }
};
template <> struct fields_of<run_count> {
    static constexpr void fields(auto&& field) {
        field("node", &run_count::node);
        field("runs", &run_count::runs);
    }
};
template <> struct fields_of<tenon::memory_info> {
    static constexpr void fields(auto&& field) {
        field("in_use", &tenon::memory_info::in_use);
        field("peak", &tenon::memory_info::peak);
        field("limit", &tenon::memory_info::limit);
    }
};
template <> struct fields_of<session_statistics> {
    static constexpr void fields(auto&& field) {
        field("threads", &session_statistics::threads);
        field("plans", &session_statistics::plans);
        field("plan_bytes", &session_statistics::plan_bytes);
        field("variable_bytes", &session_statistics::variable_bytes);
    }
};
template <> struct fields_of<device_report> {
    static constexpr void fields(auto&& field) {
        field("device", &device_report::device);
        field("peak_bytes", &device_report::peak_bytes);
        field("arena_bytes", &device_report::arena_bytes);
        field("lower_bound", &device_report::lower_bound);
        field("variable_bytes", &device_report::variable_bytes);
    }
};
template <> struct fields_of<step_report> {
    static constexpr void fields(auto&& field) {
        field("nodes", &step_report::nodes);
        field("folded", &step_report::folded);
        field("fused", &step_report::fused);
        field("transfers", &step_report::transfers);
        field("peak_bytes", &step_report::peak_bytes);
        field("arena_bytes", &step_report::arena_bytes);
        field("lower_bound", &step_report::lower_bound);
        field("variable_bytes", &step_report::variable_bytes);
        field("devices", &step_report::devices);
        field("order", &step_report::order);
    }
};
template <> struct fields_of<placement_explanation::node> {
    static constexpr void fields(auto&& field) {
        using n = placement_explanation::node;
        field("name", &n::name);
        field("op", &n::op);
        field("requested", &n::requested);
        field("device", &n::device);
        field("rule", &n::rule);
        field("group", &n::group);
    }
};
template <> struct fields_of<placement_explanation::edge> {
    static constexpr void fields(auto&& field) {
        using e = placement_explanation::edge;
        field("tensor", &e::tensor);
        field("type", &e::type);
        field("from", &e::from);
        field("to", &e::to);
        field("bytes", &e::bytes);
        field("known", &e::known);
        field("once", &e::once);
        field("shared", &e::shared);
    }
};
template <> struct fields_of<crossing> {
    static constexpr void fields(auto&& field) {
        field("tensor", &crossing::tensor);
        field("from", &crossing::from);
        field("to", &crossing::to);
        field("bytes", &crossing::bytes);
        field("known", &crossing::known);
        field("steps", &crossing::steps);
    }
};
template <> struct fields_of<placement_explanation> {
    static constexpr void fields(auto&& field) {
        using p = placement_explanation;
        field("nodes", &p::nodes);
        field("edges", &p::edges);
        field("crossings", &p::crossings);
        field("cost", &p::cost);
        field("predicted_seconds", &p::predicted_seconds);
        field("predicted_by_rules", &p::predicted_by_rules);
    }
};

} // namespace tenon::net
