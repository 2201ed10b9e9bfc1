#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "reference/order.hpp"
#include "reference/queue_model.hpp"
#include "reference/values.hpp"

/// Steps of several threads on one task, with its queues and variables: all that may happen (SEMANTICS 13 to 17, 20, 25, 30
/// to 34), one thing after another in any order that the statements allow.
///
///     queue ops    begin when all that runs before them has ended, in any order; what waits is served as queue_model says
///     segments     are what depends on the same ops that wait. What a segment reads of variables it reads at one moment; what
///                  it updates it updates at one later moment, of what is there then, where that is asked for
///     failures     what waits is taken back; of what does not depend on it any part may run or not, but of its updates all or
///                  none, unless something waits after one of them. What it dequeued is in the queue again where nothing that ran
///                  after it had an effect, and is not where an effect was computed of it
///     time limits  are met by what waits when nothing else can happen, or at any time; then, and where a step is stopped, none of
///                  its updates is made
///
/// Steps have no random ops, and their kernels do not fail.

namespace reference {

/// What a task has: its queues and variables, by number.
struct world {
    std::vector<queue_model> queues;
    std::vector<int> variables; ///< numbers of values; -1: none
};

/// Which of them the nodes of a graph stand for, in a session.
struct bindings {
    std::function<int(const tenon::node&)> queue_of, variable_of;
};

/// How a step ended.
struct ending {
    std::optional<tenon::error_code> error;
    std::vector<int> fetched; ///< numbers of values
    friend bool operator==(const ending&, const ending&) = default;
};

struct overlapping_step {
    const request* asked = nullptr;
    const bindings* in = nullptr;
    /// It may end with this error at any time: its limit is short, or somebody stops it.
    std::optional<tenon::error_code> cut = {};
};

/// One after another.
struct lane {
    std::vector<overlapping_step> steps = {};
    int of = -1, after = 0; ///< begins when so many steps of that lane have ended
};

struct exploration {
    std::vector<world> ends; ///< different ones
    bool may_wait_for_ever = false;
    bool too_many = false; ///< given up
};

struct exploration_options {
    /// By lane and step: only what ends so.
    const std::vector<std::vector<ending>>* seen = nullptr;
    /// Time limits may be met at any time.
    bool slow = false;
    std::size_t most_states = 200000;
};

exploration explore(const std::vector<world>& begins, const std::vector<lane>& lanes, values& v,
                    const exploration_options& o = {});

} // namespace reference
