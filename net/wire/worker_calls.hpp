#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <net/wire/rows.hpp>
#include <tenon/resources/collective/collective_group.hpp>

/// What masters say to workers, and tasks to each other.

namespace tenon::net {

struct describe_task {
    struct reply {
        std::string task; ///< "/job:ps/task:0"
        std::uint64_t incarnation = 0;
        std::string version;
        std::int32_t threads = 1; ///< of its pool
        std::string cluster;      ///< what it knows of the cluster, as JSON: masters refuse tasks of another one
        std::vector<device_attributes> devices;
        static constexpr void fields(auto&& field) {
            field("task", &reply::task);
            field("incarnation", &reply::incarnation);
            field("version", &reply::version);
            field("threads", &reply::threads);
            field("cluster", &reply::cluster);
            field("devices", &reply::devices);
        }
    };
    static constexpr void fields(auto&&) {}
};

/// A task that a session's steps run on.
struct peer_row {
    std::string task, address;
    std::uint64_t incarnation = 0;
    static constexpr void fields(auto&& field) {
        field("task", &peer_row::task);
        field("address", &peer_row::address);
        field("incarnation", &peer_row::incarnation);
    }
};

struct begin_session {
    std::uint64_t session = 0;
    std::string client;
    std::string container;       ///< of what the session alone uses, on every task
    std::vector<peer_row> tasks; ///< edges name them by their place here
    session_settings settings;
    using reply = done;
    static constexpr void fields(auto&& field) {
        field("session", &begin_session::session);
        field("client", &begin_session::client);
        field("container", &begin_session::container);
        field("tasks", &begin_session::tasks);
        field("settings", &begin_session::settings);
    }
};

/// Where what a part sends by an edge goes, or what it receives comes from.
struct edge_row {
    std::int64_t edge = 0;
    std::int32_t task = 0; ///< its place in begin_session::tasks
    bool sends = false;
    static constexpr void fields(auto&& field) {
        field("edge", &edge_row::edge);
        field("task", &edge_row::task);
        field("sends", &edge_row::sends);
    }
};

/// First with the hash alone: a worker that has no such program says so, and is sent it. Steps that are begun meanwhile wait for that.
struct register_part {
    std::uint64_t session = 0;
    std::uint64_t part = 0; ///< the master's number for it, by which it is run
    content_hash hash{};
    std::uint64_t graph_seed = 0;
    std::int64_t edges = 0; ///< of the step, numbered from 0
    std::vector<edge_row> routes;
    bool has_program = false;
    packed program; ///< program_codec.hpp
    struct reply {
        bool known = false; ///< it is registered; else the program is asked for
        step_report report; ///< of the part; devices are the worker's
        static constexpr void fields(auto&& field) {
            field("known", &reply::known);
            field("report", &reply::report);
        }
    };
    static constexpr void fields(auto&& field) {
        field("session", &register_part::session);
        field("part", &register_part::part);
        field("hash", &register_part::hash);
        field("graph_seed", &register_part::graph_seed);
        field("edges", &register_part::edges);
        field("routes", &register_part::routes);
        field("has_program", &register_part::has_program);
        field("program", &register_part::program);
    }
};

struct forget_part {
    std::uint64_t session = 0, part = 0;
    static constexpr void fields(auto&& field) {
        field("session", &forget_part::session);
        field("part", &forget_part::part);
    }
};

/// Answered when the part has ended, in whichever way. The call's deadline is the step's.
struct run_part {
    std::uint64_t session = 0, part = 0, step = 0;
    double limit = 0;         ///< seconds that the step was given, for messages
    std::string limit_source; ///< "run's time limit"
    bool traced = false;
    struct reply {
        std::vector<tenon::detail::trace_record> traces; ///< one, where it was traced and is done
        std::string unsent;   ///< the part is done, and what it sent is lost: why; empty: it is not
        bool took = false;    ///< from queues, what can be given back: a settle_step says
        bool changed = false; ///< variables, or more of queues than what it took
        bool in_part = false; ///< not all that it was to
        bool failed = false;
        failure why; ///< if it has failed
        static constexpr void fields(auto&& field) {
            field("traces", &reply::traces);
            field("unsent", &reply::unsent);
            field("took", &reply::took);
            field("changed", &reply::changed);
            field("in_part", &reply::in_part);
            field("failed", &reply::failed);
            field("why", &reply::why);
        }
    };
    static constexpr void fields(auto&& field) {
        field("session", &run_part::session);
        field("part", &run_part::part);
        field("step", &run_part::step);
        field("limit", &run_part::limit);
        field("limit_source", &run_part::limit_source);
        field("traced", &run_part::traced);
    }
};

/// The step has failed elsewhere, or is not wanted any more: what waits in it ends with this error.
struct stop_step {
    std::uint64_t session = 0, step = 0;
    failure why;
    static constexpr void fields(auto&& field) {
        field("session", &stop_step::session);
        field("step", &stop_step::step);
        field("why", &stop_step::why);
    }
};

/// The step has ended on all tasks: where it has failed, what its part took from queues and did not use is given back.
struct settle_step {
    std::uint64_t session = 0, step = 0;
    bool failed = false;
    bool others_changed = false; ///< other parts have, or may have, changed something by what this one sent
    static constexpr void fields(auto&& field) {
        field("session", &settle_step::session);
        field("step", &settle_step::step);
        field("failed", &settle_step::failed);
        field("others_changed", &settle_step::others_changed);
    }
};

/// What its part of a step waits for, before the step's deadline is told to have passed.
struct ask_waits {
    std::uint64_t session = 0, step = 0;
    struct reply {
        std::vector<wait_row> waits;
        static constexpr void fields(auto&& field) { field("waits", &reply::waits); }
    };
    static constexpr void fields(auto&& field) {
        field("session", &ask_waits::session);
        field("step", &ask_waits::step);
    }
};

/// Random numbers of the session's nodes go on from there.
struct go_on_from_runs {
    std::uint64_t session = 0;
    std::vector<run_count> counts;
    static constexpr void fields(auto&& field) {
        field("session", &go_on_from_runs::session);
        field("counts", &go_on_from_runs::counts);
    }
};

struct end_session {
    std::uint64_t session = 0;
    using reply = done;
    static constexpr void fields(auto&& field) { field("session", &end_session::session); }
};

struct reset_task {
    std::vector<std::string> containers;
    using reply = done;
    static constexpr void fields(auto&& field) { field("containers", &reset_task::containers); }
};

struct ask_task_status {
    using reply = task_row;
    static constexpr void fields(auto&&) {}
};

// From task to task:

struct edge_value {
    std::int64_t edge = 0;
    any_array value; ///< nothing: a sign that something has run
    static constexpr void fields(auto&& field) {
        field("edge", &edge_value::edge);
        field("value", &edge_value::value);
    }
};

/// Values of a step, as many as were ready together. They may come before the step's run_part.
struct step_values {
    std::uint64_t session = 0, step = 0;
    std::vector<edge_value> values;
    static constexpr void fields(auto&& field) {
        field("session", &step_values::session);
        field("step", &step_values::step);
        field("values", &step_values::values);
    }
};

/// Who calls takes part in the run, and is missed from when its link dies: said to the tasks that hold variables.
struct attend_run {
    using reply = done;
    static constexpr void fields(auto&&) {}
};

/// Its process ends, with this status.
struct leave_run {
    std::int32_t status = 0;
    using reply = done;
    static constexpr void fields(auto&& field) { field("status", &leave_run::status); }
};

// From a process of a collective_group to another one:

template <> inline constexpr std::size_t enum_count<collective_kind> = collective_kinds;

/// It has come to a collective.
struct collective_here {
    std::uint64_t group = 0;  ///< a number that stands for its name and members
    std::uint64_t number = 0; ///< of the collective, from 1
    // What it means by it: a collective_signature, whose sizes are numbers.
    collective_kind kind{};
    std::string name;
    element_type element{};
    std::vector<std::int64_t> sizes;
    double weight = 1;
    std::int64_t rows = 0; ///< of a gather: its own
    any_array value;       ///< where it is small; its elements, as a list
    static constexpr void fields(auto&& field) {
        field("group", &collective_here::group);
        field("number", &collective_here::number);
        field("kind", &collective_here::kind);
        field("name", &collective_here::name);
        field("element", &collective_here::element);
        field("sizes", &collective_here::sizes);
        field("weight", &collective_here::weight);
        field("rows", &collective_here::rows);
        field("value", &collective_here::value);
    }
};

/// Elements of a value to who adds them up, or of the result from who has it; sent to who has come.
struct collective_part {
    std::uint64_t group = 0, number = 0;
    std::uint32_t piece = 0; ///< of those elements that the receiver adds up, or that the sender has the result of
    bool result = false;
    any_array value;
    static constexpr void fields(auto&& field) {
        field("group", &collective_part::group);
        field("number", &collective_part::number);
        field("piece", &collective_part::piece);
        field("result", &collective_part::result);
        field("value", &collective_part::value);
    }
};

/// It takes no part any more.
struct collective_end {
    std::uint64_t group = 0;
    std::uint64_t last = 0; ///< where it has left: the last collective that it has come to, and sees through
    bool left = false;      ///< as one that is done; else it has failed, and all do
    failure why;
    static constexpr void fields(auto&& field) {
        field("group", &collective_end::group);
        field("last", &collective_end::last);
        field("left", &collective_end::left);
        field("why", &collective_end::why);
    }
};

} // namespace tenon::net
