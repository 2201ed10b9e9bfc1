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
struct done {};

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
    friend bool operator==(const graph_output&, const graph_output&) = default;
};

/// What an op of a step waits for.
struct wait_row {
    std::string node, op, device = {}; ///< who waits, and where
    std::string what;                  ///< "tensor w from /job:ps/task:0/device:CPU:0"
    double seconds = 0;                ///< since when
    std::int64_t edge = -1;            ///< that it is to come by; -1: it waits for something else
    std::int64_t number = -1;          ///< of the node in the session's graph
};

struct step_row {
    std::uint64_t session = 0, step = 0;
    double seconds = 0; ///< since it began
    double limit = 0;   ///< seconds that it may take, 0: any
    std::vector<wait_row> waits;
};

struct session_row {
    std::uint64_t session = 0;
    std::string client; ///< what it calls itself
    std::string peer;   ///< its address
    double seconds = 0; ///< since it was opened
    double idle = 0;    ///< seconds since its last call
    std::int64_t nodes = 0, callables = 0;
    std::uint64_t steps = 0; ///< that it has begun
};

/// A variable, a queue, a reader: what lives in a container.
struct resource_row {
    std::string container, name, kind; ///< kind: "variable", "queue", ...
    std::string device;
    std::string description; ///< of a variable "float[784, 300]"
    std::uint64_t bytes = 0;
    std::uint64_t updates = 0; ///< of a variable: how often it was assigned or updated
};

struct device_row {
    device_attributes device;
    tenon::memory_info memory;
};

/// Of the host's memory that a task has taken: a client's.
struct holder_row {
    std::string client;
    std::uint64_t bytes = 0;
};

/// What a task has to do with another one, or with all clients together.
struct heard_row {
    std::string task;                     ///< empty: clients
    std::uint64_t links = 0;              ///< at present, in both directions
    double silence = -1;                  ///< seconds since it was last heard of; -1: never, or clients
    std::uint64_t sent = 0, received = 0; ///< bytes of messages, in all
};

/// What a task says of itself.
struct task_row {
    std::string task;    ///< "/job:ps/task:0"
    std::string address; ///< where it is reached
    bool reached = false;
    std::string trouble = {}; ///< why it was not reached; then nothing of what follows is set
    std::uint64_t incarnation = 0;
    std::string version = {}; ///< of the library
    double seconds = 0;       ///< since it began
    bool stopping = false;
    std::vector<device_row> devices = {};
    std::vector<holder_row> holders = {};   ///< the largest first; also of clients that have gone
    std::vector<session_row> sessions = {}; ///< of which it is the master
    std::vector<step_row> steps = {};       ///< of these sessions, and those of others of which it runs a part
    std::vector<resource_row> resources = {};
    std::vector<heard_row> heard = {}; ///< all other tasks, and clients
    std::uint64_t steps_ended = 0,
                  steps_failed = 0; ///< of its sessions, also those that are closed; the latter are among the former
    std::uint64_t parts_ended = 0;  ///< of others' steps
};

/// SHA-256 of a part of a program.
using program_hash = std::array<std::byte, 32>;

// What is the library's:

template <> inline constexpr std::size_t enum_count<element_type> = 15;
template <> inline constexpr std::size_t enum_count<placement_rule> = 7;
template <> inline constexpr std::size_t enum_count<bytes_known> = 4;
template <> inline constexpr std::size_t enum_count<trace_event::way> = 3;

} // namespace tenon::net
