#pragma once

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <net/worker/worker.hpp>
#include <tenon/runtime/session/options.hpp>
#include <tenon/runtime/trace/trace.hpp>

/// What a worker keeps of its masters' sessions.

namespace tenon::net {

/// Of a program with so many bytes the plan takes longer than a moment.
inline constexpr std::size_t long_program = std::size_t{64} << 10;

// Of a master. What does not say otherwise is never changed after it began.
struct worker::session {
    std::uint64_t number = 0;
    link_number master = 0;
    std::string client, container;
    std::shared_ptr<memory_client> memory; ///< in whose name its steps take some
    session_options options;
    std::shared_ptr<session_tasks> tasks;
    runtime::steps_in_flight in_flight;

    std::mutex guard; // of what follows
    bool ended = false;
    std::size_t program_bytes = 0;
    std::map<std::uint64_t, std::shared_ptr<part>> parts;
    std::map<std::uint64_t, std::shared_ptr<running_part>> steps;
    std::map<std::uint64_t, std::shared_ptr<running_part>> unsettled; ///< have ended, and took what may be given back
    // What was sent to a task may be lost with a link: by task, the last time, and why.
    struct loss {
        std::uint64_t number = 0;
        std::string why;
    };
    std::map<int, loss> lost;
    std::uint64_t losses = 0;
};

// One that was registered. Its plan is made on the pool when its program is there; what is to run meanwhile waits for that.
struct worker::part {
    std::uint64_t number = 0, graph_seed = 0;
    program_hash hash{};
    std::shared_ptr<step_edges> edges;
    std::vector<int> partners;             // tasks that it sends to or receives from
    std::vector<int> receivers;            // other tasks that it sends to
    std::shared_ptr<memory_client> memory; // the session's
    memory_charge nodes;                   // of what is made of its program

    std::mutex guard;                     // of what follows
    std::shared_ptr<const packed> source; // nullptr: it is asked for. Read again where containers were reset
    bool planned = false;
    std::exception_ptr failed;
    bool was_short = false; // of memory: when it is run again there may be some
    std::uint64_t epoch = 0;
    std::shared_ptr<program_part> program; // the plan's nodes
    std::shared_ptr<runtime::task_subgraph> plan;
    std::vector<std::unique_ptr<runtime::task_run>> spare; // of the plan
    std::vector<std::shared_ptr<running_part>> waiting;    // for the plan
    std::vector<replier> asked;                            // how it was registered

    // Steps end before their plan, and both after the locks.
    struct kept_memory {
        std::shared_ptr<runtime::task_subgraph> plan;
        std::vector<std::unique_ptr<runtime::task_run>> spare;
    };
    // It is planned again when it is run again.
    void give_up_plan(kept_memory& to) noexcept {
        program = nullptr;
        plan.swap(to.plan);
        spare.swap(to.spare);
    }
};

struct worker::running_part {
    std::shared_ptr<memory_client> memory;
    memory_charge own;
    std::shared_ptr<void> busy;
    std::shared_ptr<worker::session> session;
    std::shared_ptr<worker::part> part;
    std::uint64_t number = 0; // of the step
    std::shared_ptr<program_part> program;
    std::shared_ptr<runtime::task_subgraph> plan;
    std::unique_ptr<runtime::task_run> step; // of the plan
    std::shared_ptr<task_rendezvous> rendezvous;
    tenon::step in;
    std::string limit_source;
    std::optional<trace> traced;
    step::clock::time_point since{};
    replier answer;
    link_number master = 0;
    std::uint64_t losses_before = 0;
    bool was_short = false; // it failed for want of memory
    std::optional<settle_step>
        settled; // before it has ended, since the master waits no more; under the session's guard

    std::mutex guard; // of what follows
    std::exception_ptr stopped;
    bool begun = false;
    int users = 0; // that stop it or ask it: it is no other step's meanwhile

    // Calls f(*step) where it has begun and has not ended; a failure that is given is kept for where it has not begun.
    template <class F> void use(const std::exception_ptr& why, F&& f) {
        {
            const std::lock_guard lock(guard);
            if (why && !stopped) stopped = why;
            if (!begun) return;
            ++users;
        }
        f(*step);
        const std::lock_guard lock(guard);
        --users;
    }
};

} // namespace tenon::net
