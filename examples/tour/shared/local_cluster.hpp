#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tenon/net/net.hpp>

// A cluster whose tasks are servers in this program, on free ports of this machine. What the programs do with it they would do
// with one of several machines.
class local_cluster {
public:
    explicit local_cluster(const std::vector<std::pair<std::string, int>>& jobs, tenon::server_options o = {}) :
        cluster_(on_free_ports(jobs)), options_(std::move(o)) {
        for (const auto& [job, count] : jobs)
            for (int task = 0; task < count; ++task) start(job, task);
    }

    const tenon::cluster& tasks() const { return cluster_; }
    /// What opens sessions on a task.
    std::string target(const std::string& job, int task) const { return servers_.at({job, task}).target(); }

    void start(const std::string& job, int task) {
        servers_.emplace(std::pair(job, task), tenon::server(cluster_, job, task, options_));
    }
    /// With all that it holds.
    void stop(const std::string& job, int task) { servers_.erase({job, task}); }

private:
    // Servers that had ports for themselves, all at once, give them back.
    static tenon::cluster on_free_ports(const std::vector<std::pair<std::string, int>>& jobs) {
        std::vector<tenon::server> once;
        std::map<std::string, std::vector<std::string>> addresses;
        for (const auto& [job, count] : jobs)
            for (int task = 0; task < count; ++task) {
                once.push_back(tenon::server::create_local_server());
                addresses[job].push_back(once.back().address());
            }
        return tenon::cluster({addresses.begin(), addresses.end()});
    }

    const tenon::cluster cluster_;
    const tenon::server_options options_;
    std::map<std::pair<std::string, int>, tenon::server> servers_;
};
