#pragma once

#include <string>
#include <vector>

/// The hosts that `tenon launch` starts tasks on.

namespace tenon::command {

struct host {
    std::string login;   ///< what ssh is given: "gpu1", "ada@gpu1"
    std::string address; ///< by which the other hosts reach it: a name or an IP address, without brackets
};

/// "a,ada@b,c=10.0.0.3" => its parts: "c=10.0.0.3" is a host that ssh knows as c and others reach at 10.0.0.3; else both are one.
/// Throws invalid_argument_error that names the flag, its value and the part that is wrong.
std::vector<host> read_hosts(const std::string& flag, const std::string& list);

/// As it stands before ":port".
std::string before_port(const std::string& address);

/// The variables of this process that tasks on other hosts are to have, by name. Throws invalid_argument_error for what is no name, or not
/// set.
std::vector<std::pair<std::string, std::string>> variables_of_shell(const std::vector<std::string>& names);

} // namespace tenon::command
