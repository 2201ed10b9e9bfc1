#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

/// Which tasks a cluster has, and where.
///
///     const tn::cluster c({{"ps", {"a:2222", "b:2222"}}, {"worker", {{0, "c:2222"}, {3, "d:2222"}}}});
///     const auto same = tn::cluster::from_json(R"({"ps": ["a:2222", "b:2222"],
///                                                  "worker": {"0": "c:2222", "3": "d:2222"}})");

namespace tenon {

/// The addresses of a job's tasks, "host:port": of tasks 0, 1, ... as a list, or by index.
class task_addresses {
public:
    using by_index = std::pair<int, std::string>;

    task_addresses(std::initializer_list<std::string> list);                    // NOLINT: a list is the addresses
    task_addresses(std::initializer_list<by_index> sparse);                     // NOLINT
    task_addresses(const std::vector<std::string>& list);                       // NOLINT
    task_addresses(std::vector<by_index> sparse) : tasks_(std::move(sparse)) {} // NOLINT

    const std::vector<by_index>& tasks() const noexcept { return tasks_; }

private:
    std::vector<by_index> tasks_;
};

/// A cluster: jobs by name, of which each has tasks by index, of which each has an address. Cannot be changed.
class cluster {
public:
    using named_tasks = std::pair<std::string, task_addresses>;

    /// No jobs.
    cluster() = default;
    /// Throws invalid_argument_error where a job has no tasks, occurs twice or is no word of at most 47 characters, a
    /// task's index is negative or occurs twice, or an address is missing, is another task's too, or is no "host:port".
    explicit cluster(std::initializer_list<named_tasks> jobs);
    explicit cluster(const std::vector<named_tasks>& jobs);

    /// Reads {"ps": ["host:2222", ...], "worker": {"0": "host:2222", "3": ...}}, or {"cluster": {...}} around it. Throws
    /// data_loss_error where it is no JSON, and invalid_argument_error as above and where it is anything else.
    static cluster from_json(const std::string& text);
    std::string to_json() const;

    /// The jobs' names, sorted.
    std::vector<std::string> jobs() const;
    /// The indices of a job's tasks, sorted. Throws not_found_error listing the jobs, here and below.
    std::vector<int> tasks(const std::string& job) const;
    /// A task's address; not_found_error lists the job's tasks.
    const std::string& address(const std::string& job, int task) const;
    bool has(const std::string& job) const noexcept { return find(job) != nullptr; }
    bool has(const std::string& job, int task) const noexcept;

    friend bool operator==(const cluster&, const cluster&) = default;

private:
    struct job_tasks {
        std::string name;
        std::vector<task_addresses::by_index> tasks; // sorted
        friend bool operator==(const job_tasks&, const job_tasks&) = default;
    };

    void add(const std::string& name, std::vector<task_addresses::by_index> tasks);
    void finish();
    const job_tasks* find(const std::string& job) const noexcept;
    const job_tasks& known(const std::string& job) const;

    std::vector<job_tasks> jobs_; // sorted
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/cluster/cluster.ipp>
#endif
