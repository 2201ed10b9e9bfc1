#pragma once

#include <string>
#include <utility>
#include <vector>

#include <net/launch/launchers.hpp>

/// How ranks are dealt out to jobs: by TENON_TASKS and TENON_PS_TASKS.

namespace tenon::net {

/// Reads "8", "ps=2,worker=6", "ps=1,worker=2x3". A number alone is of no job yet. Throws invalid_argument_error.
std::vector<job_count> read_task_counts(const named_value& text);

/// The jobs in the order of their ranks. A launcher that tells no size leaves it to TENON_TASKS: `size` is 0, and `who` says who
/// needs it. Throws invalid_argument_error where both are there and differ, or neither is.
std::vector<job_count> deal_ranks(const settings& s, int size, const std::string& who);

int ranks_of(const std::vector<job_count>& jobs) noexcept;
/// The job and index of a rank.
std::pair<std::string, int> task_of_rank(const std::vector<job_count>& jobs, int rank);
/// "ps 0-1, worker 0-5".
std::string words(const std::vector<job_count>& jobs);

} // namespace tenon::net
