#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <net/client/client.hpp>
#include <net/rpc/asking.hpp>
#include <net/server/free_ports.hpp>
#include <net/server/proxy.hpp>
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

/// Servers of one process, that are stopped and started again.

namespace net_test {

/// What servers tell, to wait for.
class told_lines {
public:
    void add(const std::string& line) {
        const std::lock_guard lock(guard_);
        all_.push_back(line);
        changed_.notify_all();
    }
    /// A line that has all of these; "" where none comes.
    std::string wait_for(const std::vector<std::string>& parts) {
        std::unique_lock lock(guard_);
        std::string found;
        changed_.wait_for(lock, std::chrono::seconds(60), [&] {
            for (const std::string& line : all_) {
                bool has_all = true;
                for (const std::string& p : parts) has_all = has_all && line.find(p) != std::string::npos;
                if (has_all) found = line;
            }
            return !found.empty();
        });
        return found;
    }
    std::string text() {
        const std::lock_guard lock(guard_);
        std::string all;
        for (const std::string& line : all_) all += line + "\n";
        return all;
    }

private:
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::vector<std::string> all_;
};

/// Heartbeats and leases that tests wait for.
inline tenon::server_options quick() { return {.heartbeat = 0.2, .lease = 1}; }
/// The same, and what else is given, of this process's sessions while it lives.
struct clients_that {
    explicit clients_that(tenon::client_options o = {}, double lease = 1) {
        o.heartbeat = 0.2;
        o.lease = lease;
        tenon::set_client_options(std::move(o));
    }
    clients_that(const clients_that&) = delete;
    ~clients_that() { tenon::set_client_options({}); }
};

struct servers {
    explicit servers(int ps, int workers, tenon::server_options o = quick(), bool proxied = false) :
        options(std::move(o)) {
        options.log = options.log_verbose = [to = log](const std::string& line) { to->add(line); };
        std::vector<std::string> at = free_addresses(ps + workers);
        const auto task_of = [&](int i) {
            return i < ps ? std::pair(std::string("ps"), i) : std::pair(std::string("worker"), i - ps);
        };
        for (int i = 0; proxied && i < ps + workers; ++i) {
            between[task_of(i)] = std::make_unique<tcp_proxy>();
            at[static_cast<std::size_t>(i)] = between[task_of(i)]->address();
        }
        cluster = tenon::cluster({{"ps", std::vector<std::string>(at.begin(), at.begin() + ps)},
                                  {"worker", std::vector<std::string>(at.begin() + ps, at.end())}});
        for (int i = 0; i < ps + workers; ++i) start(task_of(i).first, task_of(i).second);
    }
    void start(const std::string& job, int task) {
        tenon::server_options o = options;
        const auto proxy = between.find({job, task});
        if (proxy != between.end()) o.listen = "127.0.0.1:0";
        up[{job, task}].emplace(cluster, job, task, std::move(o));
        if (proxy != between.end()) proxy->second->forward_to(at(job, task).address());
    }
    void stop(const std::string& job, int task) {
        (void)at(job, task).stop(0);
        up[{job, task}].reset();
    }
    tenon::server& at(const std::string& job, int task) { return *up[{job, task}]; }
    tcp_proxy& proxy(const std::string& job, int task) { return *between.at({job, task}); }
    /// Through the task's proxy, where it has one.
    std::string target(const std::string& job, int task) { return "tenon://" + cluster.address(job, task); }

    tenon::cluster cluster;
    tenon::server_options options;
    std::shared_ptr<told_lines> log = std::make_shared<told_lines>();
    std::map<std::pair<std::string, int>, std::unique_ptr<tcp_proxy>> between;
    std::map<std::pair<std::string, int>, std::optional<tenon::server>> up;
};

/// What a server says of itself, past all proxies.
inline tenon::net::task_row status_of(const tenon::server& s) {
    tenon::net::dialed_server d = tenon::net::dial_as_client(s.address());
    const auto to = tenon::net::peer::make(*d.over, std::move(d.to));
    auto found = tenon::net::ask(*to, tenon::net::ask_status{false, 5}, d.over->now() + std::chrono::seconds(30));
    to->close();
    return std::move(found.tasks.at(0));
}
/// Asks until f(row), which must come to be.
template <class F> tenon::net::task_row status_when(const tenon::server& s, F f) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
        tenon::net::task_row row = status_of(s);
        if (f(row)) return row;
        REQUIRE(std::chrono::steady_clock::now() < until);
    }
}

} // namespace net_test
