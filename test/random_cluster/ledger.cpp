#include "random_cluster/ledger.hpp"

#include <algorithm>

namespace random_cluster {

namespace {
std::string named(int step) { return "step " + std::to_string(step); }
std::string of_variable(int v) { return " of variable " + std::to_string(v); }

std::set<int> in_both(const std::set<int>& a, const std::set<int>& b) {
    std::set<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
    return both;
}
} // namespace

int ledger::add_task() {
    tasks_.emplace_back();
    return static_cast<int>(tasks_.size()) - 1;
}
void ledger::task_begins(int task, time_point now) {
    tasks_.at(static_cast<std::size_t>(task)).push_back({now, time_point::max()});
}
void ledger::task_ends(int task, time_point now) { tasks_.at(static_cast<std::size_t>(task)).back().end = now; }

int ledger::add_variable(int task, const std::string& container) {
    variables_.emplace_back();
    variables_.back().task = task;
    variables_.back().container = container;
    return variables() - 1;
}

int ledger::begin(time_point session_asked, time_point session_there, time_point now) {
    steps_.push_back({.asked = session_asked, .there = session_there, .begun = now});
    return static_cast<int>(steps_.size()) - 1;
}
void ledger::reads(int s, int v) { of(s).variables.insert(v); }
void ledger::assigns(int s, int v) {
    of(s).variables.insert(v);
    at(v).assigners.insert(s);
}
std::int64_t ledger::updates(int s, int v) {
    held& x = at(v);
    if (static_cast<std::int64_t>(x.owners.size()) >= elements) return 0;
    of(s).variables.insert(v);
    x.owners.push_back(s);
    return static_cast<std::int64_t>(x.owners.size()) - 1;
}
void ledger::end(int s, outcome how, time_point now) {
    of(s).how = how;
    of(s).ended = now;
}

// A session is of the lives that were there when it was opened; a step has no effect on one that was over.
std::set<int> ledger::lives_for(const run& s, int task) const {
    const auto& lives = tasks_.at(static_cast<std::size_t>(task));
    std::set<int> may_be;
    for (std::size_t l = 0; l < lives.size(); ++l)
        if (lives[l].begin <= s.there && lives[l].end >= s.asked && lives[l].end >= s.begun)
            may_be.insert(static_cast<int>(l));
    return may_be;
}

ledger::content* ledger::stands_on(int v, int assigner, const run& reader) {
    held& x = at(v);
    if (!x.assigners.contains(assigner)) {
        wrong_("element 0" + of_variable(v) + " is " + std::to_string(assigner) + ", which no step assigned");
        return nullptr;
    }
    const run& by = of(assigner);
    if (how(assigner, x.task) == outcome::refused)
        wrong_(named(assigner) + ", which was refused, has assigned" + of_variable(v));
    auto [place, is_new] = x.contents.try_emplace(assigner);
    content& c = place->second;
    if (is_new) c.lives = lives_for(by, x.task);
    c.lives = in_both(c.lives, lives_for(reader, x.task));
    if (c.lives.empty())
        wrong_("what " + named(assigner) + " assigned" + of_variable(v) +
               " is seen in a life of its task in which it cannot have been assigned");
    if (c.gone < reader.begun)
        wrong_("what " + named(assigner) + " assigned" + of_variable(v) + " is back after it had been replaced");
    for (const clearing& r : resets_)
        if (r.done && r.container == x.container && c.seen < r.begin && r.end < reader.begun)
            wrong_("what " + named(assigner) + " assigned" + of_variable(v) +
                   " is there after its container was reset");
    return &c;
}

void ledger::saw(int s, int v, std::span<const std::int64_t> value) {
    run& by = of(s);
    held& x = at(v);
    const int assigner = static_cast<int>(value[0]);
    content* const c = stands_on(v, assigner, by);
    if (!c) return;
    for (std::size_t e = 1; e < value.size(); ++e) {
        const std::int64_t times = value[e];
        const int owner = e < x.owners.size() ? x.owners[e] : 0;
        const auto what = [&] { return "element " + std::to_string(e) + of_variable(v); };
        if (times == 0) {
            if (owner == 0 || how(owner, x.task) != outcome::done || of(owner).ended >= by.begun) continue;
            const run& u = of(owner);
            const auto stood = u.stood_on.find(v);
            const bool was_here = stood != u.stood_on.end() ? stood->second == assigner
                                                            : c->seen != time_point::max() && c->seen < u.begun;
            if (was_here)
                wrong_("LOST: " + what() + " is 0 to " + named(s) + ", and " + named(owner) +
                       ", which adds to it, was told that it was done");
            continue;
        }
        if (owner == 0) {
            wrong_(what() + " is " + std::to_string(times) + ", and no step adds to it");
            continue;
        }
        run& u = of(owner);
        if (times != 1)
            wrong_("TWICE: " + named(owner) + " was applied to " + what() + " " + std::to_string(times) + " times");
        if (how(owner, x.task) == outcome::refused)
            wrong_(named(owner) + ", which was refused, was applied to " + what());
        const auto [stood, first] = u.stood_on.try_emplace(v, assigner);
        if (!first && stood->second != assigner)
            wrong_("TWICE: " + named(owner) + " was applied to " + what() + " on what " + named(stood->second) +
                   " and " + named(assigner) + " assigned");
        if (in_both(c->lives, lives_for(u, x.task)).empty())
            wrong_(named(owner) + " of an older session was applied to " + what() + " in a later life of its task");
    }
    c->seen = std::min(c->seen, by.ended);
    for (auto& [other, o] : x.contents)
        if (other != assigner && o.seen < by.begun) o.gone = std::min(o.gone, by.ended);
    x.sure.emplace_back(by.begun, by.ended);
}

void ledger::found_uninitialised(int s) {
    const run& by = of(s);
    for (const int v : by.variables) {
        const held& x = at(v);
        time_point last = time_point::min();
        for (const auto& [from, to] : x.sure)
            if (to < by.begun) last = std::max(last, from);
        if (last == time_point::min() || was_lost_since(x.task, last)) return;
        for (const clearing& r : resets_)
            if (r.container == x.container && r.end >= last && r.begin <= by.ended) return;
    }
    wrong_(named(s) + " is told that a variable is not initialised, and all of its variables are");
}

int ledger::reset_begins(const std::string& container, time_point now) {
    resets_.push_back({container, now, time_point::max(), false});
    return static_cast<int>(resets_.size()) - 1;
}
void ledger::reset_ends(int r, time_point until, bool done) {
    resets_.at(static_cast<std::size_t>(r)).end = until;
    resets_.at(static_cast<std::size_t>(r)).done = done;
}

bool ledger::was_lost_since(int task, time_point t) const {
    for (const life& l : tasks_.at(static_cast<std::size_t>(task)))
        if (l.end != time_point::max() && l.end >= t) return true;
    return false;
}

} // namespace random_cluster
