#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <net/transport/transport.hpp>

/// What a cluster's variables may show, given what clients were told.
///
/// A variable is a vector of counts. Who initialises it writes its own number to element 0, and 0 to all others; each update
/// adds 1 to an element that is its alone. So whoever reads it sees which initialisation it stands on, and which updates were
/// applied to that, and how often:
///   - told done, or that it was applied on a task: once, on one initialisation; a failure whose outcome is not known: at most once;
///     one of its inputs: never;
///   - what was there and has been replaced, was reset, or was lost with its task, is not there again;
///   - no step of a session that is older than a task's life has an effect on it;
///   - a variable that was initialised is, until its task dies or its container is reset.

namespace random_cluster {

using tenon::net::time_point;

class ledger {
public:
    static constexpr std::int64_t elements = 256;
    enum class outcome { pending, done, unknown, refused };

    explicit ledger(std::function<void(const std::string&)> wrong) : wrong_(std::move(wrong)) {}

    int add_task();
    void task_begins(int task, time_point now);
    void task_ends(int task, time_point now);
    int add_variable(int task, const std::string& container);
    int variables() const { return static_cast<int>(variables_.size()); }
    int task_of(int variable) const { return at(variable).task; }
    const std::string& container_of(int variable) const { return at(variable).container; }

    /// A step of a session that was opened in this time; what it does is said next.
    int begin(time_point session_asked, time_point session_there, time_point now);
    void reads(int step, int variable);
    void assigns(int step, int variable);
    /// The element that the step adds 1 to; 0: none is left.
    std::int64_t updates(int step, int variable);
    /// How it ended; what it gave is said next.
    void end(int step, outcome how, time_point now);
    /// The same of what it did on one task, where that is known by itself.
    void end_on(int step, int task, outcome how) { of(step).how_on[task] = how; }
    void saw(int step, int variable, std::span<const std::int64_t> value);
    /// It was told that one of its variables is not initialised.
    void found_uninitialised(int step);

    /// A reset of this container, which may not have an effect after `until`; max: nobody knows yet.
    int reset_begins(const std::string& container, time_point now);
    void reset_ends(int reset, time_point until, bool done);

    bool was_lost_since(int task, time_point t) const;

private:
    struct life {
        time_point begin{}, end = time_point::max();
    };
    struct run {
        time_point asked{}, there{}, begun{}, ended = time_point::max();
        outcome how = outcome::pending;
        std::map<int, outcome> how_on = {}; // by task, where it is another
        std::set<int> variables = {};
        std::map<int, int> stood_on = {}; // by variable: which initialisation its update was seen on
    };
    struct content {
        std::set<int> lives; // of its task, that it may be of
        time_point seen = time_point::max(), gone = time_point::max();
    };
    struct held {
        int task = 0;
        std::string container;
        std::vector<int> owners{0};      // of elements: steps
        std::map<int, content> contents; // by the step that assigned it
        std::set<int> assigners;
        std::vector<std::pair<time_point, time_point>> sure; // when it was initialised: from, to
    };
    struct clearing {
        std::string container;
        time_point begin{}, end = time_point::max();
        bool done = false;
    };
    held& at(int v) { return variables_.at(static_cast<std::size_t>(v)); }
    const held& at(int v) const { return variables_.at(static_cast<std::size_t>(v)); }
    run& of(int s) { return steps_.at(static_cast<std::size_t>(s)); }
    outcome how(int s, int task) {
        const auto on = of(s).how_on.find(task);
        return on == of(s).how_on.end() ? of(s).how : on->second;
    }
    std::set<int> lives_for(const run& s, int task) const;
    content* stands_on(int variable, int assigner, const run& reader);

    std::function<void(const std::string&)> wrong_;
    std::vector<std::vector<life>> tasks_;
    std::vector<held> variables_;
    std::vector<run> steps_{{}}; // none has number 0
    std::vector<clearing> resets_;
};

} // namespace random_cluster
