#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <net/collective/collectives.hpp>
#include <net/link/gate.hpp>
#include <net/link/service.hpp>
#include <net/master/master.hpp>
#include <net/worker/peers.hpp>
#include <net/worker/turns.hpp>
#include <net/worker/worker.hpp>
#include <tenon/graph/cluster.hpp>
#include <tenon/kernel/memory_budget.hpp>

/// One task over any transport: what calls reach, and the services that answer them.

namespace tenon::net {

struct server_settings {
    cluster tasks;
    std::string job;
    int task = 0;
    std::string listen;
    std::string token;
    bool insecure = false;
    link_options link;
    task_options of_task; ///< its job and index are those above
    /// nullptr: the process's. A pool of one thread runs steps on the transport's.
    thread_pool* pool = nullptr;
    service_options of_service; ///< its limits; the rest is that above
    master_limits of_master;
    worker_limits of_worker;
    std::function<void(const std::string& line)> log;
    std::function<void(double grace)> asked_to_stop; ///< by a client; any thread
};

class server_core final : private service_handler {
public:
    /// `t` outlives it. Throws what server's constructor throws.
    server_core(transport& t, server_settings s);
    ~server_core() override;

    const std::string& address() const noexcept { return address_; }
    std::uint64_t incarnation() const noexcept { return self_.incarnation; }
    /// As server::stop.
    bool stop(duration limit);
    task_row status() const;
    /// As server::processes.
    std::shared_ptr<collective_group> processes(const std::vector<std::string>& jobs, const std::string& name,
                                                double seconds) {
        return collectives_->make(jobs, name, seconds);
    }
    const tenon::cluster& tasks() const noexcept { return settings_.tasks; }

    /// What it holds, for tests.
    struct counts {
        std::size_t sessions = 0, steps = 0; ///< of its clients
        worker::counts of_masters;
        service::counts called;
        peer::counts calling; ///< sums over all tasks
    };
    counts count() const;

private:
    void linked(link_number link, const link_peer& who) override;
    void called(link_number link, std::uint8_t v, bytes body, std::vector<any_array> arrays, time_point deadline,
                replier&& answer) override;
    void noted(link_number link, std::uint8_t v, bytes body, std::vector<any_array> arrays) override;
    void cancelled(link_number link, std::uint64_t request) override;
    void refused(link_number link, std::uint8_t v, bytes body, const std::string& why) override;
    any_array place_for(link_number link, std::uint8_t v, const bytes& body, std::size_t, const tensor_type& type,
                        std::size_t size) override;
    void peer_lost(link_number link, const std::string& why) override;
    bool is_of_task(link_number link) const;
    void answer(link_number link, verb which, message&& m, time_point deadline, replier&& to);
    void answer_status(ask_status&& c, time_point deadline, replier&& answer);
    void answer_stop(const stop_server& c, time_point deadline, replier&& answer);

    transport& transport_;
    const server_settings settings_;
    identity self_;
    task_identity known_as_;
    const time_point began_;
    const std::shared_ptr<gate> to_self_; // timers may outlive this
    const std::shared_ptr<memory_budget> memory_;
    std::shared_ptr<tenon::detail::task_state> task_;
    users busy_;
    std::unique_ptr<turns> turns_; // goes after all that it works for
    std::unique_ptr<peers> others_;
    std::shared_ptr<collectives> collectives_;
    std::unique_ptr<worker> worker_;
    std::unique_ptr<master> master_;
    std::unique_ptr<service> service_;
    std::string address_;
    std::atomic<bool> stopped_{false}, stopping_{false};
    mutable std::mutex guard_; // of what follows
    struct linked_client {
        link_peer who;
        std::shared_ptr<memory_client> memory;
    };
    linked_client client_of(link_number link) const;
    std::shared_ptr<memory_client> memory_of(link_number link) const;
    void give_memory_back();

    std::map<link_number, linked_client> links_;
    bool gives_back_ = false; // soon
};

} // namespace tenon::net
