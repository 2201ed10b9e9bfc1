#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <net/master/data_sets.hpp>
#include <net/master/master.hpp>
#include <tenon/runtime/session/local_session.hpp>

/// What a master holds of a client's session.

namespace tenon::net {

struct master::session {
    std::uint64_t number = 0;
    link_number client = 0;
    std::string name, address; // of the client
    std::shared_ptr<memory_client> memory;
    session_settings settings;
    std::shared_ptr<master_tasks> tasks;
    tenon::graph graph;
    std::shared_ptr<tenon::detail::local_session> steps;
    std::shared_ptr<client_data> data; // that its iterators go through
    time_point opened{};
    const std::shared_ptr<strand> changes =
        std::make_shared<strand>();        // of the graph and the callables, and what needs them
    std::atomic<std::size_t> under_way{0}; // steps

    struct callable {
        std::shared_ptr<tenon::detail::local_callable> steps;
        // That what is called takes longer than a moment: guessed from the graph until it was seen.
        std::atomic<bool> is_long{false};
        std::vector<std::size_t> stale; // which of its fetches are tn::staleness
    };
    // One that was asked for and has not been answered.
    struct running {
        bool cancelled = false, late = false; // its time is over
        bool begun = false;                   // its plan is there
        bool over = false;                    // answered
        std::uint64_t number = 0;             // of the session's steps
        time_point since{};                   // it was asked for
        double limit = 0;                     // seconds that it may take, 0: any
        std::weak_ptr<tenon::detail::pending_state> step;
        std::uint64_t timer = 0;
        std::shared_ptr<replier> to;
        std::shared_ptr<callable> called; // once it has begun
        memory_charge own{};
    };
    std::mutex guard; // of what follows
    bool closed = false;
    std::size_t graph_bytes = 0;
    memory_charge nodes; // of the graph
    std::map<std::uint64_t, std::shared_ptr<callable>> callables;
    std::uint64_t last_callable = 0, begun = 0;
    std::map<std::uint64_t, std::shared_ptr<running>> runs; // by the request
    std::vector<std::string> placed;                        // lines that the client has not been told
    time_point used{};

    /// Of what it alone uses.
    std::string container() const { return "session\x1f" + std::to_string(number); }
    bool is_closed() {
        const std::lock_guard lock(guard);
        return closed;
    }
    std::vector<std::string> take_placed() {
        const std::lock_guard lock(guard);
        return std::exchange(placed, {});
    }
    any_tensor tensor(const graph_output& o) const {
        const node* n = at(o.node);
        if (o.index < 0 || o.index >= static_cast<std::int32_t>(n->outputs.size()))
            throw invalid_argument_error("session: " + n->name + " has no output " + std::to_string(o.index));
        return any_tensor({const_cast<node*>(n), o.index});
    }
    const node* at(std::int64_t n) const {
        if (n < 0 || n >= graph.size())
            throw invalid_argument_error("session: its graph has no node " + std::to_string(n) + "; it has " +
                                         std::to_string(graph.size()));
        return graph.at(n);
    }
    std::shared_ptr<callable> find_callable(std::uint64_t n) {
        const std::lock_guard lock(guard);
        const auto at = callables.find(n);
        if (at == callables.end())
            throw not_found_error("session: it has no callable " + std::to_string(n) + "; it was dropped");
        return at->second;
    }
};

} // namespace tenon::net
