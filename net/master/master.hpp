#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <net/master/remote_worker.hpp>
#include <net/rpc/dispatcher.hpp>
#include <net/rpc/service.hpp>
#include <net/worker/fair_scheduler.hpp>
#include <net/worker/peers.hpp>
#include <net/worker/step_counts.hpp>
#include <net/worker/worker.hpp>
#include <tenon/cluster/cluster.hpp>
#include <tenon/runtime/session/task_state.hpp>

/// What a task does for clients: it holds their sessions and graphs, places them over the tasks of the cluster, and runs their
/// steps.

namespace tenon::net {

struct master_limits {
    std::size_t sessions = 1024;                ///< of all clients
    std::size_t sessions_of_client = 256;       ///< of one link
    std::size_t callables = 65536;              ///< of a session
    std::size_t data_sets = 1024;               ///< of a session: gone through at a time
    std::size_t steps = 65536;                  ///< of a session: under way, those that wait included
    std::int64_t nodes = std::int64_t{1} << 20; ///< of a session's graph
    std::size_t graph_bytes = std::size_t{16} << 30;
    double open_seconds = 10; ///< that may go by until all tasks are there, where the client says nothing
};

/// Thread-safe. Calls return before what they begin has ended. What plans and runs, and what is large, waits for its session's turn.
class master {
public:
    /// What runs for it is counted by `busy`.
    master(transport& t, std::shared_ptr<tenon::detail::task_state> task, task_identity self, cluster c, peers& others,
           worker& own, fair_scheduler& on, work_counter& busy, master_limits limits);
    ~master();
    master(master&&) = delete;

    /// Who is at the other end of a link, and what it has taken here.
    struct linked_client {
        link_peer who;
        std::shared_ptr<memory_client> memory;
    };
    /// Enters what clients ask of it.
    void handle(dispatcher& calls, std::function<linked_client(link_number)> client_of);
    void cancelled(link_number client, std::uint64_t request);
    /// Its sessions end.
    void peer_lost(link_number client);
    std::vector<session_row> sessions() const;
    std::size_t steps_in_flight() const;
    /// Steps of its sessions, and what they wait for as far as it is known here.
    std::vector<step_row> running() const;
    /// How steps of its sessions have ended.
    const step_counts& ended() const noexcept { return *ended_; }
    const staleness_counts& stale() const noexcept { return stale_; }
    /// Clients are asked nothing of their data sets any more, so that what waits for it ends.
    void end_data();
    /// Ends all sessions.
    void stop();

    struct session;

private:
    struct opening;
    struct step_asked;
    void open(link_number client, const link_peer& who, const std::shared_ptr<memory_client>& memory, open_session&& c,
              time_point deadline, replier&& answer);
    void ask_tasks(const std::shared_ptr<opening>& o);
    void begin_on_tasks(const std::shared_ptr<opening>& o, std::vector<std::string> missing);
    void finish(const std::shared_ptr<opening>& o, const std::vector<std::string>& missing);
    void in_order(const std::shared_ptr<session>& s, bool is_long, work_item task);
    template <Call C, class F> void on_change(dispatcher& calls, F f);
    template <Call C, class F> void on_plan(dispatcher& calls, F f);
    extend_graph::reply extend(session& s, extend_graph&& c);
    make_callable::reply make(session& s, const make_callable& c);
    void run(const std::shared_ptr<session>& s, run_step&& c, time_point deadline, replier&& answer);
    void start(const std::shared_ptr<session>& s, const std::shared_ptr<step_asked>& a);
    void stop_steps_of(const std::shared_ptr<session>& s);
    void stop_one(session& s, std::uint64_t request);
    bool shut(session& s);
    void close(const std::shared_ptr<session>& s);
    void end_steps(session& s);
    void close_later(const std::shared_ptr<session>& s, replier&& answer = {});
    void end_on_tasks(const session& s);
    void set_runs(const session& s, std::vector<run_count>&& counts);
    void answer_memory(const session& s, const device_name& asked, time_point deadline, replier&& answer);
    void reset(reset_containers&& c, time_point deadline, replier&& answer);
    std::shared_ptr<session> find(link_number client, std::uint64_t number) const;
    std::vector<std::shared_ptr<session>> all_sessions(std::optional<link_number> of = {}) const;

    transport& transport_;
    const std::shared_ptr<tenon::detail::task_state> task_;
    const task_identity self_;
    const cluster cluster_;
    peers& others_;
    worker& worker_;
    fair_scheduler& turns_;
    work_counter& busy_;
    const master_limits limits_;
    const std::shared_ptr<step_counts> ended_ = std::make_shared<step_counts>(); // timers may outlive this
    staleness_counts stale_;
    mutable std::mutex guard_; // of what follows
    std::map<std::uint64_t, std::shared_ptr<session>> sessions_;
    std::uint64_t opened_ = 0;
    bool stopping_ = false;
};

} // namespace tenon::net
