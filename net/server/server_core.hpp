#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <net/collective/collectives.hpp>
#include <net/http/status/facts.hpp>
#include <net/link/gate.hpp>
#include <net/master/master.hpp>
#include <net/rpc/service.hpp>
#include <net/serve/asked_models.hpp>
#include <net/server/membership.hpp>
#include <net/server/registration.hpp>
#include <net/worker/fair_scheduler.hpp>
#include <net/worker/peers.hpp>
#include <net/worker/worker.hpp>
#include <tenon/cluster/cluster.hpp>
#include <tenon/memory/memory_budget.hpp>

/// One task over any transport: what calls reach, and the services that answer them.

namespace tenon::net {

struct server_settings {
    cluster tasks;
    std::string job;
    int task = 0;
    std::string listen = {};
    std::string token = {};
    std::string run = {}; ///< part of what the cluster is; empty: the addresses are all
    bool insecure = false;
    link_options link = {};
    task_options of_task = {}; ///< its job and index are those above
    /// nullptr: the process's. A pool of one thread runs steps on the transport's.
    thread_pool* pool = nullptr;
    service_options of_service = {}; ///< its limits; the rest is that above
    master_limits of_master = {};
    worker_limits of_worker = {};
    std::function<void(const std::string&line)> log = {}, log_verbose = {}; ///< as server_options has them
    std::function<void(double grace)> asked_to_stop = {};                   ///< by a client; any thread
};

class server_core final : private service_handler {
public:
    /// `t` outlives it. Throws what server's constructor throws.
    server_core(transport& t, server_settings s);
    ~server_core() override;

    const std::string& address() const noexcept { return address_; }
    const std::string& name() const noexcept { return known_as_.name; }
    std::uint64_t incarnation() const noexcept { return self_.incarnation; }
    /// As server::stop.
    bool stop(duration limit);
    task_row status() const;
    /// Has `then` called once, by any thread, with what all tasks say of themselves, this one first, or it alone. Those that have not
    /// answered by the deadline are there with the reason.
    void ask_all(bool others, time_point deadline, std::function<void(std::vector<task_row>)> then);
    /// Empty where it serves, and is a parameter server (job "ps") or has reached all that its cluster has; else why not. Sees to it that
    /// they are dialed.
    std::string why_not_ready();
    bool is_stopping() const noexcept { return stopping_; }
    /// As server::processes.
    std::shared_ptr<collective_group> processes(const std::vector<std::string>& jobs, const std::string& name,
                                                double seconds) {
        return collectives_->make(jobs, name, seconds);
    }
    const tenon::cluster& tasks() const noexcept { return settings_.tasks; }
    /// Those that its clients may ask.
    model_table& models() noexcept { return asked_.models(); }

    /// Has the tasks that hold variables know that this one takes part in the run; as registration::begin. Once.
    void attend(std::vector<std::pair<std::string, int>> holders, duration limit);
    /// And that it ends. Then nothing is told any more.
    void leave(int status, duration limit) noexcept;
    /// Those that take part, as this one is told by them.
    net::membership& attending() noexcept { return roll_; }

    /// What it holds, for tests.
    struct counts {
        std::size_t sessions = 0, steps = 0; ///< of its clients
        worker::counts of_masters;
        service::counts called;
        peer::counts calling; ///< sums over all tasks
    };
    counts count() const;
    task_totals totals() const;

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
    void handle();
    std::vector<heard_row> heard() const;
    void answer_status(const ask_status& c, time_point deadline, replier& answer);
    void answer_stop(const stop_server& c, time_point deadline, replier& answer);

    transport& transport_;
    dispatcher calls_; // not changed once it is made
    const server_settings settings_;
    identity self_;
    task_identity known_as_;
    const time_point began_;
    const std::shared_ptr<gate> to_self_; // timers may outlive this
    const std::shared_ptr<memory_budget> memory_;
    std::shared_ptr<tenon::detail::task_state> task_;
    work_counter busy_;
    std::unique_ptr<fair_scheduler> turns_; // goes after all that it works for
    std::unique_ptr<peers> others_;
    std::shared_ptr<collectives> collectives_;
    std::unique_ptr<worker> worker_;
    std::unique_ptr<master> master_;
    asked_models asked_;
    net::membership roll_;
    std::unique_ptr<registration> attendance_;
    std::atomic<registration*> attends_{nullptr}; // it, as the links' threads see it
    std::unique_ptr<service> service_;
    std::string address_;
    std::atomic<bool> stopped_{false}, stopping_{false};
    mutable std::mutex guard_; // of what follows
    master::linked_client client_of(link_number link) const;
    std::shared_ptr<memory_client> memory_of(link_number link) const;
    void give_memory_back();

    std::map<link_number, master::linked_client> links_;
    bool gives_back_ = false; // soon
};

/// The servers of this process that live.
std::vector<server_core*> living_cores();

} // namespace tenon::net
