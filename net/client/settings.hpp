#pragma once

#include <optional>
#include <string>

#include <tenon/net/cluster_source.hpp>

/// What flags and variables say, with their names, so that a mistake can be told.

namespace tenon::net {

/// A variable or a flag, and its value.
struct named_value {
    std::string name;
    std::string value;

    /// NAME="value"; what is long is cut.
    std::string text() const;
    /// Throws invalid_argument_error: NAME="value": why.
    [[noreturn]] void refuse(const std::string& why) const;
    /// A decimal number, within bounds; `what` says what it is, `advice` what to do.
    int number(int least, int most, const std::string& what, const std::string& advice = "") const;
    /// The same of a part of the value.
    int number_in(const std::string& part, int least, int most, const std::string& what,
                  const std::string& advice = "") const;
};

inline constexpr int most_ranks = 1'000'000;

class settings {
public:
    settings(const cluster_flags& flags, const environment& variables) : flags_(flags), variables_(variables) {}

    std::optional<named_value> variable(const std::string& name) const;
    bool has(const std::string& name) const { return variables_.find(name) != nullptr; }
    /// Whether it is set to 1, true or yes, rather than to 0, false or no, or not at all; else invalid_argument_error.
    bool switched_on(const std::string& name) const;
    /// The first of these that is set.
    std::optional<named_value> first_of(std::initializer_list<const char*> names) const;
    /// Throws invalid_argument_error where it is not set; `because` says who needs it.
    named_value needed(const std::string& name, const std::string& because) const;

    // Settings of our own: a flag, or else its variable.
    std::optional<named_value> cluster() const { return ours(flags_.cluster, "--cluster", "TENON_CLUSTER"); }
    std::optional<named_value> job() const { return ours(flags_.job, "--job", "TENON_JOB"); }
    std::optional<named_value> task() const { return ours(flags_.task, "--task", "TENON_TASK"); }
    std::optional<named_value> rank() const { return ours(flags_.rank, "--rank", "TENON_RANK"); }
    std::optional<named_value> tasks() const { return ours(flags_.tasks, "--tasks", "TENON_TASKS"); }
    std::optional<named_value> ps_tasks() const { return ours(flags_.ps_tasks, "--ps-tasks", "TENON_PS_TASKS"); }
    std::optional<named_value> host() const { return ours(flags_.host, "--host", "TENON_HOST"); }
    std::optional<named_value> service() const { return ours(flags_.service, "--service", "TENON_SERVICE"); }
    std::optional<named_value> rendezvous() const {
        return ours(flags_.rendezvous, "--rendezvous", "TENON_RENDEZVOUS");
    }
    std::optional<named_value> launcher() const { return ours(flags_.launcher, "--launcher", "TENON_LAUNCHER"); }
    std::optional<named_value> run() const { return variable("TENON_RUN"); }
    /// The port of a host's task of this number: --port or TENON_PORT, or `otherwise`, and the next ones; 0 of 0.
    int port(int task_of_host, int otherwise) const;

private:
    std::optional<named_value> given_port() const { return ours(flags_.port, "--port", "TENON_PORT"); }
    std::optional<named_value> ours(const std::string& flag, const char* flag_name, const char* variable_name) const;

    const cluster_flags& flags_;
    const environment& variables_;
};

} // namespace tenon::net
