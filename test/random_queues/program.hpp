#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

#include "reference/queue_model.hpp"

/// Graphs with queues, sessions of one task, and steps that threads run in them.

namespace random_queues {

struct declared_queue {
    reference::queue_rules rules;
    std::string container, shared_name; ///< no shared name: each session has its own
};

/// All declare the same queues and variables.
struct drawn_graph {
    tenon::graph graph;
    std::vector<tenon::untyped::queue> queues;
    std::vector<tenon::any_tensor> variables;
    tenon::operation initialisers;
    std::vector<tenon::any_tensor> tensors; ///< to be fetched
    std::vector<tenon::operation> operations;
    // To see what is left, by queue.
    std::vector<tenon::any_tensor> sizes, closed;
    std::vector<tenon::operation> close;
    std::vector<std::vector<tenon::any_tensor>> next;
};

struct step {
    int session = 0;
    std::vector<tenon::fed_value> feeds;
    std::vector<tenon::any_tensor> fetches;
    std::vector<tenon::operation> targets;
    enum class way { run, callable, kept_callable, started } how = way::run;
    int cut_after = -1; ///< microseconds: started, it is stopped then, else that is its limit; -1: neither

    step() = default;
    step(const step& o) :
        session(o.session), fetches(o.fetches), targets(o.targets), how(o.how), cut_after(o.cut_after) {
        for (const tenon::fed_value& f : o.feeds) feeds.push_back({f.tensor, f.value.share()});
    }
    step(step&&) = default;
    step& operator=(const step& o) { return *this = step(o); }
    step& operator=(step&&) = default;
};

/// What threads do at the same time, each one step after another, but for those that are started: these go on beside the rest
/// of the list. Before it, containers are reset.
struct phase {
    std::vector<std::string> reset;
    std::vector<std::vector<step>> threads;
};

struct session_kind {
    int graph = 0;
    tenon::session_options options = {};
};

struct program {
    std::uint64_t seed = 0;
    tenon::task_options task;
    std::vector<declared_queue> queues;
    std::vector<drawn_graph> graphs;
    std::vector<session_kind> sessions;
    std::vector<phase> phases;
};

/// The same seed gives the same program. `overlap`: of several threads; `brief`: with few steps.
program generate(std::uint64_t seed, bool overlap, bool brief = false);

std::string to_string(const step& s);
std::string to_string(const program& p);

} // namespace random_queues
