#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <net/wire/rows.hpp>

/// What clients and masters say to each other.

namespace tenon::net {

struct open_session {
    std::string client; ///< what it calls itself, for people: "train.py on host7, process 12"
    session_settings settings;
    double limit = 0; ///< seconds that may go by until all tasks are there, 0: the server's
    struct reply {
        std::uint64_t session = 0;
        std::uint64_t most_nodes = 0;           ///< that its graph may have
        std::uint64_t most_bytes = 0;           ///< that what it is sent of graph and constants may take
        std::vector<device_attributes> devices; ///< of all tasks, those of the master's first
        std::vector<std::string> placed;        ///< lines for session_options::placement_log
        static constexpr void fields(auto&& field) {
            field("session", &reply::session);
            field("most_nodes", &reply::most_nodes);
            field("most_bytes", &reply::most_bytes);
            field("devices", &reply::devices);
            field("placed", &reply::placed);
        }
    };
    static constexpr void fields(auto&& field) {
        field("client", &open_session::client);
        field("settings", &open_session::settings);
        field("limit", &open_session::limit);
    }
};

/// Further nodes of its graph (graph_codec.hpp). aborted_error where the graph has not `from` nodes.
struct extend_graph {
    std::uint64_t session = 0;
    std::int64_t from = 0;
    packed nodes;
    struct reply {
        std::int64_t size = 0; ///< nodes that the graph has now
        static constexpr void fields(auto&& field) { field("size", &reply::size); }
    };
    static constexpr void fields(auto&& field) {
        field("session", &extend_graph::session);
        field("from", &extend_graph::from);
        field("nodes", &extend_graph::nodes);
    }
};

struct make_callable {
    std::uint64_t session = 0;
    std::vector<graph_output> feeds, fetches;
    std::vector<std::int64_t> targets; ///< numbers of nodes
    struct reply {
        std::uint64_t callable = 0;
        static constexpr void fields(auto&& field) { field("callable", &reply::callable); }
    };
    static constexpr void fields(auto&& field) {
        field("session", &make_callable::session);
        field("feeds", &make_callable::feeds);
        field("fetches", &make_callable::fetches);
        field("targets", &make_callable::targets);
    }
};

struct run_step {
    std::uint64_t session = 0, callable = 0;
    double timeout = 0; ///< seconds, 0: the session's
    bool traced = false;
    std::vector<any_array> feeds;
    struct reply {
        std::vector<any_array> fetched;
        std::vector<tenon::detail::trace_record> traces; ///< one, where it was traced
        std::vector<std::string> placed;                 ///< lines for session_options::placement_log
        static constexpr void fields(auto&& field) {
            field("fetched", &reply::fetched);
            field("traces", &reply::traces);
            field("placed", &reply::placed);
        }
    };
    static constexpr void fields(auto&& field) {
        field("session", &run_step::session);
        field("callable", &run_step::callable);
        field("timeout", &run_step::timeout);
        field("traced", &run_step::traced);
        field("feeds", &run_step::feeds);
    }
};

struct drop_callable {
    std::uint64_t session = 0, callable = 0;
    static constexpr void fields(auto&& field) {
        field("session", &drop_callable::session);
        field("callable", &drop_callable::callable);
    }
};

/// session::note_started_runner
struct runner_started {
    std::uint64_t session = 0;
    std::int64_t queue = 0; ///< its node's number
    static constexpr void fields(auto&& field) {
        field("session", &runner_started::session);
        field("queue", &runner_started::queue);
    }
};

/// The session's owner has gone, and what was made of it may go on: its steps in flight are stopped.
struct stop_steps {
    std::uint64_t session = 0;
    static constexpr void fields(auto&& field) { field("session", &stop_steps::session); }
};

/// session::report
struct report_step {
    std::uint64_t session = 0, callable = 0;
    std::vector<tensor_type> fed; ///< types of what would be fed
    size_names names;             ///< of these types; no bytes of its own
    using reply = step_report;
    static constexpr void fields(auto&& field) {
        field("session", &report_step::session);
        field("callable", &report_step::callable);
        field("fed", &report_step::fed);
        field("names", &report_step::names);
    }
};

/// session::explain_placement
struct explain_step {
    std::uint64_t session = 0, callable = 0;
    std::vector<tensor_type> fed;
    size_names names; ///< of these types; no bytes of its own
    struct reply {
        placement_explanation explanation;
        size_names names;                ///< of the types in it; no bytes of its own
        std::vector<std::string> placed; ///< lines for session_options::placement_log
        static constexpr void fields(auto&& field) {
            field("explanation", &reply::explanation);
            field("placed", &reply::placed);
            field("names", &reply::names);
        }
    };
    static constexpr void fields(auto&& field) {
        field("session", &explain_step::session);
        field("callable", &explain_step::callable);
        field("fed", &explain_step::fed);
        field("names", &explain_step::names);
    }
};

/// session::list_logical_devices
struct list_devices {
    std::uint64_t session = 0;
    struct reply {
        std::vector<device_attributes> devices;
        static constexpr void fields(auto&& field) { field("devices", &reply::devices); }
    };
    static constexpr void fields(auto&& field) { field("session", &list_devices::session); }
};

/// session::memory_info; not_found_error.
struct ask_memory {
    std::uint64_t session = 0;
    device_name device;
    using reply = tenon::memory_info;
    static constexpr void fields(auto&& field) {
        field("session", &ask_memory::session);
        field("device", &ask_memory::device);
    }
};

/// session::statistics
struct ask_statistics {
    std::uint64_t session = 0;
    using reply = session_statistics;
    static constexpr void fields(auto&& field) { field("session", &ask_statistics::session); }
};

/// session::set_random_runs
struct set_random_runs {
    std::uint64_t session = 0;
    std::vector<run_count> counts;
    using reply = done;
    static constexpr void fields(auto&& field) {
        field("session", &set_random_runs::session);
        field("counts", &set_random_runs::counts);
    }
};

struct close_session {
    std::uint64_t session = 0;
    using reply = done;
    static constexpr void fields(auto&& field) { field("session", &close_session::session); }
};

/// On every task of the cluster; "" is the default container, and so is an empty list.
struct reset_containers {
    std::vector<std::string> containers;
    double limit = 0; ///< seconds that may go by until all tasks have done so, 0: the server's
    using reply = done;
    static constexpr void fields(auto&& field) {
        field("containers", &reset_containers::containers);
        field("limit", &reset_containers::limit);
    }
};

struct ask_status {
    bool all_tasks = true; ///< else only who is asked
    double limit = 0;      ///< seconds that may go by for those that do not answer, 0: the server's
    struct reply {
        std::vector<task_row> tasks;
        static constexpr void fields(auto&& field) { field("tasks", &reply::tasks); }
    };
    static constexpr void fields(auto&& field) {
        field("all_tasks", &ask_status::all_tasks);
        field("limit", &ask_status::limit);
    }
};

/// It takes no further sessions, lets steps end for `grace` seconds, and stops. Answered before that.
struct stop_server {
    double grace = 0;
    bool all_tasks = false;
    using reply = done;
    static constexpr void fields(auto&& field) {
        field("grace", &stop_server::grace);
        field("all_tasks", &stop_server::all_tasks);
    }
};

/// What a client is asked for one of its data sets.
enum class data_action : std::uint8_t { open, next, save, restore, report, close };
template <> inline constexpr std::size_t enum_count<data_action> = 6;
struct data_wanted {
    std::uint64_t stream = 0;  ///< that the client has open, or opens: the server's number
    std::uint64_t request = 0; ///< is answered by a give_data; 0 of close, which is not
    data_action action = data_action::close;
    std::uint64_t source = 0; ///< of open: the data set's number
    any_array state;          ///< of restore: a text, where the stream goes on
    std::string name;         ///< of restore: what that is called
    static constexpr void fields(auto&& field) {
        field("stream", &data_wanted::stream);
        field("request", &data_wanted::request);
        field("action", &data_wanted::action);
        field("source", &data_wanted::source);
        field("state", &data_wanted::state);
        field("name", &data_wanted::name);
    }
};

/// A client whose graph has iterators waits to be asked for what its data sets give: they live in its program.
struct serve_data {
    std::uint64_t session = 0;
    struct reply {
        std::vector<data_wanted> wanted;
        static constexpr void fields(auto&& field) { field("wanted", &reply::wanted); }
    };
    static constexpr void fields(auto&& field) { field("session", &serve_data::session); }
};

/// What it was asked.
struct give_data {
    std::uint64_t session = 0, request = 0;
    bool end = false;               ///< there is no further element
    std::vector<any_array> element; ///< of next; of save and report a text
    bool failed = false;
    failure why; ///< where it failed
    using reply = done;
    static constexpr void fields(auto&& field) {
        field("session", &give_data::session);
        field("request", &give_data::request);
        field("end", &give_data::end);
        field("element", &give_data::element);
        field("failed", &give_data::failed);
        field("why", &give_data::why);
    }
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
        static constexpr void fields(auto&& field) {
            field("input_names", &reply::input_names);
            field("output_names", &reply::output_names);
            field("inputs", &reply::inputs);
            field("outputs", &reply::outputs);
            field("largest_batch", &reply::largest_batch);
            field("version", &reply::version);
            field("why_not_ready", &reply::why_not_ready);
            field("names", &reply::names);
        }
    };
    static constexpr void fields(auto&& field) { field("model", &describe_model::model); }
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
        static constexpr void fields(auto&& field) {
            field("version", &reply::version);
            field("outputs", &reply::outputs);
        }
    };
    static constexpr void fields(auto&& field) {
        field("client", &ask_model::client);
        field("model", &ask_model::model);
        field("timeout", &ask_model::timeout);
        field("inputs", &ask_model::inputs);
    }
};

} // namespace tenon::net
