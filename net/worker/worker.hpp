#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <net/rpc/dispatcher.hpp>
#include <net/rpc/service.hpp>
#include <net/wire/program_codec.hpp>
#include <net/worker/exchange.hpp>
#include <net/worker/fair_scheduler.hpp>
#include <net/worker/peers.hpp>
#include <net/worker/programs.hpp>
#include <net/worker/step_counts.hpp>
#include <net/worker/work_counter.hpp>
#include <tenon/cluster/cluster.hpp>
#include <tenon/runtime/distributed/task_subgraph.hpp>
#include <tenon/runtime/run/subgraph_run.hpp>
#include <tenon/runtime/session/task_state.hpp>

/// What a task does for masters: it keeps the parts of programs that are to run here, and runs them.

namespace tenon::net {

struct worker_limits {
    std::size_t sessions = 4096;
    std::size_t parts = 65536;                              ///< of one session
    std::size_t steps = 65536;                              ///< of one session: under way, those that wait included
    std::size_t early_bytes = std::size_t{4} << 30;         ///< of values that came before their step, of one session
    std::size_t program_bytes = std::size_t{16} << 30;      ///< of the parts of one session, constants included
    std::size_t kept_program_bytes = std::size_t{64} << 20; ///< of programs that sessions to come may have again
};

/// About what a step takes while it waits, on its master and where its parts run, beside its values and its plan's memory.
inline constexpr std::size_t bytes_of_step = std::size_t{8} << 10;

/// Who a task is, for those that ask.
struct task_identity {
    std::string name; ///< "/job:ps/task:0"
    std::uint64_t incarnation = 0;
    std::string cluster; ///< as JSON
};

/// Thread-safe. Its steps run on the task's pool; calls return before what they begin has ended.
class worker final : private tenon::detail::task_member {
public:
    /// What runs for it is counted by `busy`.
    worker(std::shared_ptr<tenon::detail::task_state> task, std::shared_ptr<memory_budget> memory, task_identity self,
           peers& others, fair_scheduler& on, work_counter& busy, worker_limits limits);
    ~worker();
    worker(worker&&) = delete;

    /// Enters what masters and other workers ask of it.
    void handle(dispatcher& calls);
    /// A note whose arrays were not taken.
    void refused(verb v, message&& m, const std::string& why);
    /// As of a service_handler.
    any_array place_for(verb v, const bytes& body, const tensor_type& type) {
        return v == verb::step_values ? exchange_.place_for(body, type) : any_array();
    }
    /// Its calls' steps are stopped.
    void cancelled(link_number master, std::uint64_t request);
    /// The sessions of this master end.
    void peer_lost(link_number master, const std::string& why);
    /// What is sent to this life of a task, or comes from it, is lost: steps that have to do with it fail.
    void task_lost(const std::string& task, std::uint64_t incarnation, error_code code, const std::string& why);

    /// The meetings of this task, for a master that is of the same process.
    exchange& all_rendezvous() noexcept { return exchange_; }
    std::vector<step_row> running() const;
    /// What it holds, for tests.
    struct counts {
        std::size_t sessions = 0, parts = 0, steps = 0, requests = 0;
        exchange::counts exchanged;
    };
    counts count() const;
    /// How its parts of steps have ended.
    const step_counts& ended() const noexcept { return ended_; }
    /// Stops all steps.
    void stop(const std::string& why);

    struct session;
    struct part;
    struct running_part;

private:
    bool give_back_memory() override;
    void forget_plans() override {}
    describe_task::reply describe() const;
    void begin(link_number master, begin_session&& m, time_point deadline, replier&& answer);
    std::shared_ptr<session> take_out(std::uint64_t number);
    void end(const std::shared_ptr<session>& s, const std::exception_ptr& why);
    void end_later(std::uint64_t session, const std::exception_ptr& why, replier&& answer = {});
    void end(std::uint64_t session, const std::exception_ptr& why);
    std::shared_ptr<part> make_part(const session& s, const register_part& m) const;
    void enter(register_part&& m, replier&& answer);
    void forget_one(const forget_part& m);
    void drop(part& p, const std::exception_ptr& why);
    void make_plan(const std::shared_ptr<session>& s, const std::shared_ptr<part>& p, bool is_sent);
    void run(link_number master, run_part&& m, time_point deadline, replier&& answer);
    std::shared_ptr<running_part> enter(link_number master, run_part&& m, time_point deadline, replier& answer);
    void plan_later(const std::shared_ptr<running_part>& r);
    void start(const std::shared_ptr<running_part>& r);
    void ended(const std::shared_ptr<running_part>& r);
    void answer_when_sent(const std::shared_ptr<running_part>& r, run_part::reply&& told);
    void answer_unsent(const std::pair<link_number, std::uint64_t>& which, std::string&& why);
    static std::string loss_since(const running_part& r);
    void forget(const running_part& r);
    void count(const running_part& r, const std::exception_ptr& failed);
    void stop_one(const stop_step& m);
    void end_unplanned(const std::shared_ptr<running_part>& r, const std::exception_ptr& why);
    void settle_one(const settle_step& m);
    void settle(running_part& r, const settle_step& m);
    ask_waits::reply waits_of(const ask_waits& m) const;
    std::shared_ptr<session> find(std::uint64_t number) const;
    std::shared_ptr<running_part> find(std::uint64_t session, std::uint64_t step) const;

    const std::shared_ptr<tenon::detail::task_state> task_;
    const std::shared_ptr<memory_budget> memory_;
    const task_identity self_;
    peers& others_;
    fair_scheduler& turns_;
    work_counter& busy_;
    const worker_limits limits_;
    exchange exchange_;
    programs programs_;
    step_counts ended_;
    mutable std::mutex guard_; // of what follows
    std::map<std::uint64_t, std::shared_ptr<session>> sessions_;
    std::map<std::pair<link_number, std::uint64_t>, std::weak_ptr<running_part>> by_request_;
    struct unsent_answer {
        std::shared_ptr<running_part> part;
        run_part::reply told;
    };
    std::map<std::pair<link_number, std::uint64_t>, unsent_answer> unsent_; // by request
};

} // namespace tenon::net
