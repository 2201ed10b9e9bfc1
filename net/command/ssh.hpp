#pragma once

#include <optional>
#include <string>

#include <net/command/launch_plan.hpp>
#include <net/transport/certify.hpp>

/// A task on another host, by ssh and what every host has: a shell.
///
/// The remote command says nothing: it reads as many bytes of its standard input as it is told, and does what they say. They hold the
/// variables, the program and its arguments, so that no other user of either host sees a secret. What they say (ssh.cpp) is to run the
/// program in a process group of its own, and to be its guard: further lines "signal TERM" are passed on to the group, and when the input
/// ends, because this command or the connection is gone, the group gets TERM, and KILL after the grace. The status is the program's.

namespace tenon::command {

struct ssh_options {
    std::string command;      ///< what it is started with, as a shell reads it: "ssh -F 'my config'"
    std::string folder;       ///< where the program runs
    bool home_will_do = true; ///< where there is no such folder it runs in the user's own, and says so; else it fails
    int grace = 30;           ///< seconds
    /// Written there into a folder that nobody else can read and that ends with the task; TENON_CERTIFICATE, TENON_KEY and TENON_AUTHORITIES
    /// name them.
    std::optional<net::cluster_certificates> certificates = {};
};

/// Has the process that is planned run on its host: in its place comes one of this host, which is to get an input.
void send_by_ssh(task_plan& plan, const ssh_options& options);

/// A text that a POSIX shell reads as one word.
std::string quoted(const std::string& text);

} // namespace tenon::command
