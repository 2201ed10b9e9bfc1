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
    };
};

/// A task that a session's steps run on.
struct peer_row {
    std::string task, address;
    std::uint64_t incarnation = 0;
};

struct begin_session {
    std::uint64_t session = 0;
    std::string client = {};
    std::string container = {};       ///< of what the session alone uses, on every task
    std::vector<peer_row> tasks = {}; ///< edges name them by their place here
    session_settings settings = {};
    using reply = done;
};

/// Where what a part sends by an edge goes, or what it receives comes from.
struct edge_row {
    std::int64_t edge = 0;
    std::int32_t task = 0; ///< its place in begin_session::tasks
    bool sends = false;
};

/// First with the hash alone: a worker that has no such program says so, and is sent it. Steps that are begun meanwhile wait for that.
struct register_part {
    std::uint64_t session = 0;
    std::uint64_t part = 0; ///< the master's number for it, by which it is run
    program_hash hash{};
    std::uint64_t graph_seed = 0;
    std::int64_t edges = 0; ///< of the step, numbered from 0
    std::vector<edge_row> routes;
    bool has_program = false;
    packed program; ///< program_codec.hpp
    struct reply {
        bool known = false; ///< it is registered; else the program is asked for
        step_report report; ///< of the part; devices are the worker's
    };
};

struct forget_part {
    std::uint64_t session = 0, part = 0;
};

/// Answered when the part has ended, in whichever way. The call's deadline is the step's.
struct run_part {
    std::uint64_t session = 0, part = 0, step = 0;
    double limit = 0;         ///< seconds that the step was given, for messages
    std::string limit_source; ///< "run's time limit"
    bool traced = false;
    struct reply {
        std::vector<tenon::detail::trace_record> traces = {}; ///< one, where it was traced and is done
        std::string unsent = {}; ///< the part is done, and what it sent is lost: why; empty: it is not
        bool took = false;       ///< from queues, what can be given back: a settle_step says
        bool changed = false;    ///< variables, or more of queues than what it took
        bool in_part = false;    ///< not all that it was to
        bool failed = false;
        failure why = {};                 ///< if it has failed
        recording_counts recordings = {}; ///< of the part, in all steps so far
    };
};

/// The step has failed elsewhere, or is not wanted any more: what waits in it ends with this error.
struct stop_step {
    std::uint64_t session = 0, step = 0;
    failure why;
};

/// The step has ended on all tasks: where it has failed, what its part took from queues and did not use is given back.
struct settle_step {
    std::uint64_t session = 0, step = 0;
    bool failed = false;
    bool others_changed = false; ///< other parts have, or may have, changed something by what this one sent
};

/// What its part of a step waits for, before the step's deadline is told to have passed.
struct ask_waits {
    std::uint64_t session = 0, step = 0;
    struct reply {
        std::vector<wait_row> waits;
    };
};

/// Random numbers of the session's nodes go on from there.
struct go_on_from_runs {
    std::uint64_t session = 0;
    std::vector<run_count> counts;
};

struct end_session {
    std::uint64_t session = 0;
    using reply = done;
};

struct reset_task {
    std::vector<std::string> containers;
    using reply = done;
};

struct ask_task_status {
    using reply = task_row;
};

// From task to task:

struct edge_value {
    std::int64_t edge = 0;
    any_array value; ///< nothing: a sign that something has run
};

/// Values of a step, as many as were ready together. They may come before the step's run_part.
struct step_values {
    std::uint64_t session = 0, step = 0;
    std::vector<edge_value> values = {};
};

/// Who calls takes part in the run, and is missed from when its link dies: said to the tasks that hold variables.
struct attend_run {
    using reply = done;
};

/// Its process ends, with this status.
struct leave_run {
    std::int32_t status = 0;
    using reply = done;
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
    std::vector<std::int64_t> sizes = {};
    double weight = 1;
    std::int64_t rows = 0; ///< of a gather: its own
    any_array value = {};  ///< where it is small; its elements, as a list
};

/// Elements of a value to who adds them up, or of the result from who has it; sent to who has come.
struct collective_part {
    std::uint64_t group = 0, number = 0;
    std::uint32_t piece = 0; ///< of those elements that the receiver adds up, or that the sender has the result of
    bool result = false;
    any_array value;
};

/// It takes no part any more.
struct collective_end {
    std::uint64_t group = 0;
    std::uint64_t last = 0; ///< where it has left: the last collective that it has come to, and sees through
    bool left = false;      ///< as one that is done; else it has failed, and all do
    failure why = {};
};

} // namespace tenon::net
