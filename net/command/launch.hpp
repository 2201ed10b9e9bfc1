#pragma once

#include <string>

#include <net/command/launch_plan.hpp>

/// tenon launch: a whole cluster on this machine, and a program on it.

namespace tenon::command {

/// Starts all tasks, shows what they write, and waits for their end:
/// - each line as it is, behind its task's name: output to output, errors to errors;
/// - when the last worker has ended, parameter servers are asked to stop (SIGTERM), and killed after `grace`;
/// - SIGINT, SIGTERM, SIGHUP and SIGUSR1 are passed on to the workers; a second one, or `grace`, kills all;
/// - a task that fails leaves the others running.
/// Returns the status of the first that failed (128 + its signal's number where it was killed), 128 + a signal's number where one
/// was passed on, else 0. Nothing that was started outlives it, nor its being killed. Throws tenon::error where it cannot start.
/// `self` is this command's path.
int launch(const launch_options& options, const std::string& self);

} // namespace tenon::command
