#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <net/wire/rows.hpp>

/// What clients and masters say to each other.

namespace tenon::net {

struct open_session {
    std::string client = {}; ///< what it calls itself, for people: "train.py on host7, process 12"
    session_settings settings = {};
    double limit = 0; ///< seconds that may go by until all tasks are there, 0: the server's
    struct reply {
        std::uint64_t session = 0;
        std::uint64_t most_nodes = 0;           ///< that its graph may have
        std::uint64_t most_bytes = 0;           ///< that what it is sent of graph and constants may take
        std::vector<device_attributes> devices; ///< of all tasks, those of the master's first
        std::vector<std::string> placed;        ///< lines for session_options::placement_log
    };
};

/// Further nodes of its graph (graph_codec.hpp). aborted_error where the graph has not `from` nodes.
struct extend_graph {
    std::uint64_t session = 0;
    std::int64_t from = 0;
    packed nodes = {};
    struct reply {
        std::int64_t size = 0; ///< nodes that the graph has now
    };
};

struct make_callable {
    std::uint64_t session = 0;
    std::vector<graph_output> feeds = {}, fetches = {};
    std::vector<std::int64_t> targets = {}; ///< numbers of nodes
    struct reply {
        std::uint64_t callable = 0;
    };
};

struct run_step {
    std::uint64_t session = 0, callable = 0;
    double timeout = 0; ///< seconds, 0: the session's
    bool traced = false;
    std::vector<any_array> feeds = {};
    struct reply {
        std::vector<any_array> fetched;
        std::vector<tenon::detail::trace_record> traces = {}; ///< one, where it was traced
        std::vector<std::string> placed = {};                 ///< lines for session_options::placement_log
    };
};

struct drop_callable {
    std::uint64_t session = 0, callable = 0;
};

/// session::note_started_runner
struct runner_started {
    std::uint64_t session = 0;
    std::int64_t queue = 0; ///< its node's number
};

/// The session's owner has gone, and what was made of it may go on: its steps in flight are stopped.
struct stop_steps {
    std::uint64_t session = 0;
};

/// session::report
struct report_step {
    std::uint64_t session = 0, callable = 0;
    std::vector<tensor_type> fed = {}; ///< types of what would be fed
    size_names names = {};             ///< of these types; no bytes of its own
    using reply = step_report;
};

/// session::explain_placement
struct explain_step {
    std::uint64_t session = 0, callable = 0;
    std::vector<tensor_type> fed = {};
    size_names names = {}; ///< of these types; no bytes of its own
    struct reply {
        placement_explanation explanation;
        std::vector<std::string> placed = {}; ///< lines for session_options::placement_log
        size_names names = {};                ///< of the types in it; no bytes of its own
    };
};

/// session::list_logical_devices
struct list_devices {
    std::uint64_t session = 0;
    struct reply {
        std::vector<device_attributes> devices;
    };
};

/// session::memory_info; not_found_error.
struct ask_memory {
    std::uint64_t session = 0;
    device_name device;
    using reply = tenon::memory_info;
};

/// session::statistics
struct ask_statistics {
    std::uint64_t session = 0;
    using reply = session_statistics;
};

/// session::set_random_runs
struct set_random_runs {
    std::uint64_t session = 0;
    std::vector<run_count> counts;
    using reply = done;
};

struct close_session {
    std::uint64_t session = 0;
    using reply = done;
};

/// On every task of the cluster; "" is the default container, and so is an empty list.
struct reset_containers {
    std::vector<std::string> containers;
    double limit = 0; ///< seconds that may go by until all tasks have done so, 0: the server's
    using reply = done;
};

struct ask_status {
    bool all_tasks = true; ///< else only who is asked
    double limit = 0;      ///< seconds that may go by for those that do not answer, 0: the server's
    struct reply {
        std::vector<task_row> tasks;
    };
};

/// It takes no further sessions, lets steps end for `grace` seconds, and stops. Answered before that.
struct stop_server {
    double grace = 0;
    bool all_tasks = false;
    using reply = done;
};

/// What a client is asked for one of its data sets.
enum class data_action : std::uint8_t { open, next, save, restore, report, close };
template <> inline constexpr std::size_t enum_count<data_action> = 6;
struct data_wanted {
    std::uint64_t stream = 0;  ///< that the client has open, or opens: the server's number
    std::uint64_t request = 0; ///< is answered by a give_data; 0 of close, which is not
    data_action action = data_action::close;
    std::uint64_t source = 0; ///< of open: the data set's number
    any_array state = {};     ///< of restore: a text, where the stream goes on
    std::string name = {};    ///< of restore: what that is called
};

/// A client whose graph has iterators waits to be asked for what its data sets give: they live in its program.
struct serve_data {
    std::uint64_t session = 0;
    struct reply {
        std::vector<data_wanted> wanted;
    };
};

/// What it was asked.
struct give_data {
    std::uint64_t session = 0, request = 0;
    bool end = false;                    ///< there is no further element
    std::vector<any_array> element = {}; ///< of next; of save and report a text
    bool failed = false;
    failure why = {}; ///< where it failed
    using reply = done;
};

/// A model that is served here, by name; not_found_error, naming those that there are.
struct describe_model {
    std::string model;
    struct reply {
        std::vector<std::string> input_names, output_names;
        std::vector<tensor_type> inputs, outputs;
        std::int64_t largest_batch = 0, version = 0;
        std::string why_not_ready; ///< empty: it answers
        size_names names;          ///< of these types; no bytes of its own
    };
};

/// A request to it.
struct ask_model {
    std::uint64_t client = 0; ///< of this link: its answers come in the order of what it asks
    std::string model;
    double timeout = 0; ///< seconds, 0: none
    std::vector<any_array> inputs;
    struct reply {
        std::int64_t version = 0;
        std::vector<any_array> outputs;
    };
};

} // namespace tenon::net
