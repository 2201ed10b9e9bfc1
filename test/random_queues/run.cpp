#include "random_queues/run.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "random_queues/steps.hpp"

namespace tn = tenon;
using namespace reference;

namespace random_queues {

namespace {

constexpr double long_time = 60;
constexpr std::size_t most_states_before = 10000, most_states_after = 200000;

// A step's end, or what is wrong with it.
struct seen_end {
    std::optional<tn::error_code> error;
    runner::results fetched;
    std::string message;
    bool strange = false;
};

template <class F> seen_end end_of(const F& f) {
    seen_end e;
    try {
        e.fetched = f();
    } catch (const tn::error& x) {
        e.error = x.code();
        e.message = x.what();
    } catch (const std::exception& x) {
        e.strange = true;
        e.message = x.what();
    }
    return e;
}

void stop_after(const runner::pending& p, std::chrono::microseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end && !p.has_ended()) std::this_thread::yield();
    p.stop();
}

// All who come wait for the last.
class gate {
public:
    explicit gate(std::size_t waits_for) : missing_(waits_for) {}
    void pass() {
        std::unique_lock lock(guard_);
        if (--missing_ == 0) opened_.notify_all();
        opened_.wait(lock, [&] { return missing_ == 0; });
    }

private:
    std::mutex guard_;
    std::condition_variable opened_;
    std::size_t missing_;
};

class running {
public:
    running(const program& p, double limit, bool waits_freely) :
        p_(p), limit_(limit), waits_freely_(waits_freely), task_(p.task) {
        for (std::size_t q = 0; q < p.queues.size(); ++q) {
            first_.push_back(rules_.size());
            const std::size_t times = p.queues[q].shared_name.empty() ? p.sessions.size() : 1;
            for (std::size_t s = 0; s < times; ++s) rules_.push_back(&p.queues[q]);
        }
        world begins;
        for (const declared_queue* q : rules_) begins.queues.emplace_back(q->rules);
        begins.variables.assign(p.graphs[0].variables.size(), -1);
        worlds_.push_back(std::move(begins));
        for (std::size_t s = 0; s < p.sessions.size(); ++s) {
            const session_kind& k = p.sessions[s];
            const drawn_graph& g = p.graphs[static_cast<std::size_t>(k.graph)];
            runners_.push_back(std::make_unique<runner>(task_, g.graph, k.options));
            bindings_.push_back({[this, s, &g](const tn::node& n) { return queue_of(n, s, g); },
                                 [&g](const tn::node& n) { return variable_of(n, g); }});
        }
    }

    verdict run() {
        for (const phase& f : p_.phases) {
            ++phase_;
            if (!f.reset.empty()) reset(f.reset);
            if (!run(f)) return verdict_;
        }
        look_at_the_rest();
        return verdict_;
    }

private:
    int queue_of(const tn::node& n, std::size_t session, const drawn_graph& g) const {
        for (std::size_t q = 0; q < g.queues.size(); ++q)
            if (g.queues[q].handle().node() == &n)
                return static_cast<int>(first_[q] + (p_.queues[q].shared_name.empty() ? session : 0));
        throw tn::internal_error("a queue that is not declared");
    }
    static int variable_of(const tn::node& n, const drawn_graph& g) {
        for (std::size_t v = 0; v < g.variables.size(); ++v)
            if (g.variables[v].node() == &n) return static_cast<int>(v);
        throw tn::internal_error("a variable that is not declared");
    }

    void reset(const std::vector<std::string>& containers) {
        task_.reset(containers);
        for (std::vector<world>* all : {&worlds_, &slow_worlds_})
            for (world& w : *all)
                for (const std::string& c : containers) {
                    for (std::size_t q = 0; q < rules_.size(); ++q)
                        if (!rules_[q]->shared_name.empty() && rules_[q]->container == c)
                            w.queues[q] = reference::queue_model(rules_[q]->rules);
                    if (c.empty()) w.variables.assign(w.variables.size(), -1);
                }
    }

    // False where the program ends here.
    bool run(const phase& f) {
        std::vector<reference::request> requests;
        std::size_t steps = 0;
        for (const std::vector<step>& list : f.threads) steps += list.size();
        requests.reserve(steps);
        std::vector<reference::lane> lanes;
        std::vector<std::vector<const step*>> of_lanes;
        const auto add = [&](const step& s, std::size_t l) {
            reference::request& r = requests.emplace_back();
            for (const tn::fed_value& x : s.feeds) r.feeds.push_back({x.tensor, x.value.share()});
            r.fetches = s.fetches;
            r.targets = s.targets;
            std::optional<tn::error_code> cut;
            if (s.cut_after >= 0)
                cut = s.how == step::way::started ? tn::error_code::cancelled : tn::error_code::deadline_exceeded;
            lanes[l].steps.push_back({&r, &bindings_[static_cast<std::size_t>(s.session)], cut});
            of_lanes[l].push_back(&s);
        };
        for (const std::vector<step>& list : f.threads) {
            const std::size_t own = lanes.size();
            lanes.emplace_back();
            of_lanes.emplace_back();
            for (const step& s : list) {
                runner_of(s).prepare(s);
                if (s.how != step::way::started) {
                    add(s, own);
                    continue;
                }
                reference::lane beside{.of = static_cast<int>(own), .after = static_cast<int>(lanes[own].steps.size())};
                lanes.push_back(beside);
                of_lanes.emplace_back();
                add(s, lanes.size() - 1);
            }
        }
        const auto may_happen = [&](const std::vector<world>& begins) {
            return explore(begins, lanes, values_, {.most_states = most_states_before / fewer()});
        };
        const reference::exploration before = may_happen(worlds_);
        // What waits until its limit takes long, so few such are run.
        const bool rare =
            before.may_wait_for_ever && !waits_freely_ && (p_.seed + phase_ * 7) % (f.threads.size() > 1 ? 8 : 2) != 0;
        if (before.too_many || rare) {
            ++verdict_.passed_over;
            return true;
        }
        bool may_wait = before.may_wait_for_ever || slow_unknown_;
        if (!may_wait && !slow_worlds_.empty()) {
            const reference::exploration if_it_was = may_happen(slow_worlds_);
            may_wait = if_it_was.may_wait_for_ever || if_it_was.too_many;
        }
        ++verdict_.run;
        verdict_.together += f.threads.size() > 1;
        const auto seen = run_threads(f, may_wait ? limit_ : long_time);
        std::vector<std::vector<ending>> endings;
        bool limited = false;
        for (const std::vector<seen_end>& list : seen) {
            endings.emplace_back();
            for (const seen_end& e : list) {
                if (e.strange) return wrong(f, seen, "an exception that is none of tenon's");
                ending& to = endings.back().emplace_back();
                to.error = e.error;
                limited = limited || e.error == tn::error_code::deadline_exceeded; // by its own limit or by all steps'
                for (const tn::any_array& a : e.fetched)
                    to.fetched.push_back(values_.number_of(std::make_shared<const tn::any_array>(a.share())));
            }
        }
        const auto look = [&](const std::vector<world>& begins, bool slow) {
            const std::size_t most = most_states_after / fewer();
            return explore(begins, lanes, values_, {.seen = &endings, .slow = slow, .most_states = most});
        };
        const bool limits_met = limited && may_wait;
        reference::exploration after = look(worlds_, false), slow;
        if (after.too_many) { // nothing is known of what follows
            ++verdict_.passed_over;
            return false;
        }
        if ((limits_met || !slow_worlds_.empty()) && !slow_unknown_) slow = look(if_slow(), limits_met);
        slow_unknown_ = slow_unknown_ || slow.too_many;
        if (after.ends.empty() && (slow_unknown_ || !slow.ends.empty())) {
            verdict_.slow = true;
            if (slow_unknown_) return false;
            after.ends = std::exchange(slow.ends, {});
        }
        if (after.ends.empty()) return wrong(f, seen, "nothing that may happen ends so");
        worlds_ = std::move(after.ends);
        slow_worlds_ = slow_unknown_ ? std::vector<world>() : std::move(slow.ends);
        return true;
    }

    const std::vector<world>& if_slow() const { return slow_worlds_.empty() ? worlds_ : slow_worlds_; }

    std::size_t fewer() const { return waits_freely_ ? 5 : 1; } // for more orders in its time
    runner& runner_of(const step& s) { return *runners_[static_cast<std::size_t>(s.session)]; }

    // By lane.
    std::vector<std::vector<seen_end>> run_threads(const phase& f, double limit) {
        std::vector<std::vector<seen_end>> seen;
        std::vector<std::size_t> lane_of; // by thread: its own, before those of steps that it starts
        for (const std::vector<step>& list : f.threads) {
            lane_of.push_back(seen.size());
            seen.emplace_back();
            for (const step& s : list)
                if (s.how == step::way::started) seen.emplace_back();
        }
        gate together(f.threads.size());
        const auto work = [&](std::size_t t) {
            std::vector<runner::pending> pending;
            std::vector<seen_end> refused; // to be started
            together.pass();
            for (const step& s : f.threads[t]) {
                if (s.how != step::way::started) {
                    const double own = s.cut_after < 0 ? limit : std::max(s.cut_after, 1) * 1e-6;
                    seen[lane_of[t]].push_back(end_of([&] { return runner_of(s).run(s, own); }));
                    continue;
                }
                seen_end e = end_of([&] {
                    pending.push_back(runner_of(s).start(s, limit));
                    return runner::results();
                });
                if (e.error || e.strange) pending.emplace_back();
                else if (s.cut_after >= 0) stop_after(pending.back(), std::chrono::microseconds(s.cut_after));
                refused.push_back(std::move(e));
            }
            for (std::size_t n = 0; n < pending.size(); ++n)
                seen[lane_of[t] + 1 + n].push_back(pending[n].get ? end_of(pending[n].get) : std::move(refused[n]));
        };
        std::vector<std::thread> others;
        for (std::size_t t = 1; t < f.threads.size(); ++t) others.emplace_back(work, t);
        work(0);
        for (std::thread& t : others) t.join();
        return seen;
    }

    // The elements that are left, and the variables, by steps that take them.
    void look_at_the_rest() {
        const auto alone = [&](std::size_t session) {
            phase f;
            f.threads.resize(1);
            f.threads[0].resize(1);
            f.threads[0][0].session = static_cast<int>(session);
            return f;
        };
        const auto graph_of = [&](std::size_t session) -> const drawn_graph& {
            return p_.graphs[static_cast<std::size_t>(p_.sessions[session].graph)];
        };
        phase f = alone(0);
        f.threads[0][0].fetches = graph_of(0).variables;
        if (!run(f)) return;
        for (std::size_t q = 0; q < p_.queues.size(); ++q) {
            const std::size_t times = p_.queues[q].shared_name.empty() ? p_.sessions.size() : 1;
            for (std::size_t s = 0; s < times; ++s) {
                const drawn_graph& g = graph_of(s);
                f = alone(s);
                f.threads[0][0].fetches = {g.sizes[q], g.closed[q]};
                if (!run(f)) return;
                std::size_t left = worlds_[0].queues[first_[q] + (times > 1 ? s : 0)].size();
                if (!worlds_[0].queues[first_[q] + (times > 1 ? s : 0)].is_closed()) {
                    f = alone(s);
                    f.threads[0][0].targets = {g.close[q]};
                    if (!run(f)) return;
                }
                for (++left; left > 0; --left) { // once more than there are
                    f = alone(s);
                    f.threads[0][0].fetches = g.next[q];
                    if (!run(f)) return;
                }
            }
        }
    }

    bool wrong(const phase& f, const std::vector<std::vector<seen_end>>& seen, const char* what) {
        verdict_.wrong = std::string(what) + ":\n";
        std::vector<std::vector<const step*>> lanes;
        for (const std::vector<step>& list : f.threads) {
            const std::size_t own = lanes.size();
            lanes.emplace_back();
            for (const step& s : list)
                if (s.how == step::way::started) lanes.push_back({&s});
                else lanes[own].push_back(&s);
        }
        for (std::size_t l = 0; l < seen.size(); ++l)
            for (std::size_t s = 0; s < seen[l].size(); ++s) {
                verdict_.wrong += "  " + std::to_string(l) + ", " + to_string(*lanes[l][s]) + " =>";
                if (seen[l][s].error || seen[l][s].strange) verdict_.wrong += " " + seen[l][s].message;
                for (const tn::any_array& a : seen[l][s].fetched) verdict_.wrong += " " + tn::to_string(a);
                verdict_.wrong += "\n";
            }
        return false;
    }

    const program& p_;
    const double limit_;
    const bool waits_freely_;
    tn::task task_;
    std::vector<std::unique_ptr<runner>> runners_;
    std::vector<reference::bindings> bindings_;
    std::vector<std::size_t> first_; // by declared queue: the first of it, of a session or of all
    std::vector<const declared_queue*> rules_;
    reference::values values_;
    std::vector<world> worlds_;
    // The same and what may be if the machine was slow; empty: no more than that. Which it was may only later steps tell: the end of a
    // step that met its limit is the same before it has enqueued something as after that.
    std::vector<world> slow_worlds_;
    bool slow_unknown_ = false; // there were too many of them
    std::uint64_t phase_ = 0;
    verdict verdict_;
};

} // namespace

verdict run(const program& p, double limit, bool waits_freely) { return running(p, limit, waits_freely).run(); }

program shrink(program p, const std::function<bool(const program&)>& fails) {
    for (bool again = true; again;) {
        again = false;
        const auto attempt = [&](const auto& change) {
            program q = p;
            change(q);
            for (const phase& f : q.phases)
                for (const std::vector<step>& list : f.threads)
                    for (const step& s : list)
                        if (s.fetches.empty() && s.targets.empty()) return false;
            if (!fails(q)) return false;
            p = std::move(q);
            return again = true;
        };
        for (std::size_t f = p.phases.size(); f-- > 1;) {
            if (attempt([&](program& q) { q.phases.erase(q.phases.begin() + static_cast<std::ptrdiff_t>(f)); }))
                continue;
            for (std::size_t t = p.phases[f].threads.size(); t-- > 0;) {
                const auto of = [&](program& q) -> std::vector<step>& { return q.phases[f].threads[t]; };
                for (std::size_t s = of(p).size(); s-- > 0;) {
                    const auto at = static_cast<std::ptrdiff_t>(s);
                    if (of(p).size() > 1 && attempt([&](program& q) { of(q).erase(of(q).begin() + at); })) continue;
                    if (of(p)[s].cut_after >= 0) attempt([&](program& q) { of(q)[s].cut_after = -1; });
                    for (std::size_t n = of(p)[s].fetches.size(); n-- > 0;)
                        attempt([&](program& q) {
                            of(q)[s].fetches.erase(of(q)[s].fetches.begin() + static_cast<std::ptrdiff_t>(n));
                        });
                    for (std::size_t n = of(p)[s].targets.size(); n-- > 0;)
                        attempt([&](program& q) {
                            of(q)[s].targets.erase(of(q)[s].targets.begin() + static_cast<std::ptrdiff_t>(n));
                        });
                }
                if (p.phases[f].threads.size() > 1)
                    attempt([&](program& q) {
                        q.phases[f].threads.erase(q.phases[f].threads.begin() + static_cast<std::ptrdiff_t>(t));
                    });
            }
        }
    }
    return p;
}

} // namespace random_queues
