#include "random_graphs/compare.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <tenon/core/array/print.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>
#include <tenon/runtime/trace/trace.hpp>

#include "random_graphs/callables.hpp"
#include "random_graphs/cut_short.hpp"
#ifdef TENON_TEST_BY_WIRE
#include "random_graphs/wire_session.hpp"
#endif
#include "reference/evaluator.hpp"
#include "reference/pause.hpp"

namespace tn = tenon;
using namespace reference;

namespace random_graphs {

namespace {

constexpr int shaken_runs = 4, most_places = 6;
constexpr double shaken_units = 16;

template <class T> bool same(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, std::string> || std::is_integral_v<T>) return a == b;
    else {
        const auto x = static_cast<double>(a), y = static_cast<double>(b);
        return x == y || (std::isnan(x) && std::isnan(y));
    }
}

template <class T> std::string shown(const T& v) {
    if constexpr (std::is_same_v<T, std::string>) return v;
    else {
        char text[40];
        std::snprintf(text, sizeof text, "%.9g", static_cast<double>(v));
        return text;
    }
}

// Whether x may stand for `expected`, of which `others` are shaken runs.
template <class T> bool may_stand_for(const T& expected, const T& x, const std::vector<const T*>& others, double unit) {
    if constexpr (std::is_same_v<T, std::string> || std::is_integral_v<T>) {
        for (const T* o : others)
            if (*o != expected) return true; // it jumps
        return false;
    } else {
        const auto e = static_cast<double>(expected);
        double reach = 8 * unit * std::fabs(e);
        for (const T* o : others) {
            const auto y = static_cast<double>(*o);
            if (!std::isfinite(y) || !std::isfinite(e)) {
                if (!same(*o, expected)) return true;
                continue;
            }
            reach = std::max(reach, 4 * std::fabs(y - e));
        }
        return std::fabs(static_cast<double>(x) - e) <= reach;
    }
}

std::string shown(const std::set<tn::error_code>& codes) {
    std::string text;
    for (const tn::error_code c : codes) text += std::string(text.empty() ? "" : " or ") + tn::name_of(c);
    return text;
}

} // namespace

std::string difference(const result& expected, const tn::any_array& given, const std::vector<result>& shaken,
                       double floor) {
    const tn::any_array& e = *expected.value;
    for (const result& s : shaken)
        if (s.value->type() != e.type()) return {}; // its sizes jump
    if (e.type() != given.type()) return tn::to_string(given.type()) + ", not " + tn::to_string(e.type());
    std::string text;
    tn::detail::with_element(e.element(), [&]<class T>(const T&) {
        const T *x = e.data<T>(), *y = given.data<T>();
        double unit = 0;
        if constexpr (!std::is_same_v<T, std::string> && !std::is_integral_v<T>)
            unit = sizeof(T) == 8 ? 2.3e-16 : sizeof(T) == 4 ? 1.2e-7 : 8e-3;
        for (std::int64_t i = 0; i < e.elements() && text.empty(); ++i) {
            if (same(x[i], y[i])) continue;
            if constexpr (std::is_floating_point_v<T>)
                if (std::fabs(x[i] - y[i]) < floor) continue;
            if (!expected.exact) {
                std::vector<const T*> others;
                for (const result& s : shaken) others.push_back(s.value->data<T>() + i);
                if (may_stand_for(x[i], y[i], others, unit)) continue;
            }
            text = "element " + std::to_string(i) + " is " + shown(y[i]) + ", not " + shown(x[i]) +
                   (expected.exact ? "" : ", which is further off than rounding explains");
        }
    });
    return text;
}

namespace {

// The graph, in which nodes that ask for no device ask for any: of this task, or of one of so many.
tn::graph placed_at_random(program p, int tasks, bool simulated) {
    const std::vector<std::string> here{"/cpu:0", "/cpu:1", "/gpu:0", "/gpu:1"};
    std::vector<std::string> there{"/job:worker/task:0/cpu:0", "/job:worker/task:1", "/job:worker/task:1/cpu:0",
                                   "/job:worker/task:1/gpu:0"};
    for (int t = 2; t < tasks; ++t)
        for (int n = 0; n < 2; ++n) there.push_back("/job:worker/task:" + std::to_string(t));
    const std::vector<std::string>& devices = tasks > 0 ? there : here;
    for (nlohmann::json& n : p.graph.at("nodes")) {
        if (simulated && n.at("op") == reference::pause_op::name)
            n["attributes"]["elsewhere"] = false; // no thread of its own
        const std::size_t by = std::hash<std::string>()(n.at("name").get<std::string>()) ^ p.seed;
        // A task is never dropped; but an update is its variable's, whatever scope it was written in.
        if (tasks > 0 && n.contains("colocated")) continue;
        if (!n.contains("device") && by % 7 < 5) n["device"] = devices[by / 7 % devices.size()];
    }
    return graph_of(p);
}

tn::graph graph_for(const program& p, const session_kind& k, const tn::graph* written) {
    const bool simulated = !k.target.empty();
    if (k.placed) return placed_at_random(p, simulated || k.by_wire ? 2 : k.tasks, simulated);
    return k.written && written ? *written : graph_of(p);
}

std::vector<tn::fed_value> shared(const std::vector<tn::fed_value>& feeds) {
    std::vector<tn::fed_value> result;
    for (const tn::fed_value& f : feeds) result.push_back({f.tensor, f.value.share()});
    return result;
}

// The program's steps in one session.
class comparison {
public:
    comparison(const program& p, const session_kind& k, const tn::graph* written) :
        p_(p), kind_(k), graph_(graph_for(p, k, written)) {
        tn::session_options o = k.options;
        if (k.by_costs) o.cost_measurements = measured();
#ifdef TENON_TEST_BY_WIRE
        if (k.by_wire) by_wire_ = std::make_unique<wire_session>(graph_, o);
#endif
        if (k.tasks > 0) session_.emplace(tasks(), graph_, o);
        else if (!k.target.empty()) session_.emplace(k.target, graph_, o);
        else session_.emplace(graph_, o);
        if (k.trace) session_->set_trace(&trace_);
        if (k.measure) session_->set_measurements(&measurements_);
        for (std::int64_t n = 0; n < graph_.size(); ++n)
            if (graph_.at(n)->op->name == std::string("variable"))
                variables_.emplace_back(tn::node_output{graph_.at(n), 0});
    }

    failure run() {
        for (std::size_t s = 0; s < p_.steps.size() && !ended_; ++s) {
            const reference::request r = request_of(graph_, p_.steps[s]);
            const std::string what = run(r, p_.steps[s]);
            if (!what.empty()) return {kind_.name, "step " + std::to_string(s) + ": " + what};
        }
        return {};
    }

private:
    std::shared_ptr<const tn::cost_measurements> measured() const {
        auto m = std::make_shared<tn::cost_measurements>();
        tn::session s(graph_, kind_.options);
        s.set_measurements(m.get());
        for (const step& asked : p_.steps) try {
                const reference::request r = request_of(graph_, asked);
                s.run_untyped(shared(r.feeds), r.fetches, r.targets);
            } catch (const tn::error&) {
                // What it measured until then is enough.
            }
        s.set_measurements(nullptr);
        return m;
    }

    std::vector<tn::any_array> run_untyped(std::vector<tn::fed_value> feeds, const std::vector<tn::any_tensor>& fetches,
                                           const std::vector<tn::operation>& targets = {}) {
#ifdef TENON_TEST_BY_WIRE
        if (by_wire_) return by_wire_->run_untyped(std::move(feeds), fetches, targets);
#endif
        return session_->run_untyped(std::move(feeds), fetches, targets);
    }
    std::vector<tn::any_array> run_step(const reference::request& r) {
        if (kind_.started && can_call(r)) return start(*session_, r);
        if (kind_.callable && can_call(r)) return call(*session_, r);
        return run_untyped(shared(r.feeds), r.fetches, r.targets);
    }

    bool on_several_tasks() const { return kind_.tasks > 1 || kind_.by_wire || !kind_.target.empty(); }
    bool is_in_this_process() const { return !kind_.by_wire && kind_.target.empty(); }
    std::vector<tn::task> tasks() const {
        constexpr std::size_t plenty = std::size_t{64} << 20;
        std::vector<tn::task> all;
        for (int t = 0; t < kind_.tasks; ++t) {
            tn::task_options o{.intra_op_threads = 2, .job = "worker", .index = t};
            if (t == 1) o.gpus = tn::simulated_gpu(1, plenty);
            all.emplace_back(o);
        }
        return all;
    }

    // In words what is wrong with the step; ended_ where nothing can be said of those after it.
    std::string run(const reference::request& r, const step& asked) {
        if (asked.cut == step::cut_short::no || !is_in_this_process())
            return run(r, asked, [&] { return run_step(r); });
        cutter c(*session_, r, asked.cut);
        bool reached = true;
        for (int place = 0; place < most_places && reached && !ended_; ++place)
            if (std::string what = run(
                    r, asked, [&] { return c.in_place(place, reached); }, c.told());
                !what.empty())
                return what;
        for (int n = 0; n < asked.cuts && !ended_; ++n) {
            const double limit = std::max(1e-6, took_ * std::uniform_real_distribution<double>(0, 1.3)(random_));
            const auto begin = std::chrono::steady_clock::now();
            if (std::string what = run(
                    r, asked,
                    [&] {
                        took_ *= 1.2; // unless it ends
                        auto got = c.after(limit);
                        took_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
                        return got;
                    },
                    c.told());
                !what.empty())
                return what;
        }
        return {};
    }

    // `told`: the error of one that was cut short.
    template <class Run>
    std::string run(const reference::request& r, const step& asked, const Run& run_it,
                    std::optional<tn::error_code> told = {}) {
        const outcome expected = reference::evaluate(r, state_, graph_.seed(), {0, 1, kind_.on_gpu});
        shaken_.clear();
        if (kind_.options.flush_denormals && expected.denormal) {
            ended_ = true;
            return {};
        }
        const bool may_refuse = kind_.options.check_numerics && !expected.finite;
        std::vector<tn::any_array> got;
        try {
            got = run_it();
        } catch (const tn::error& e) {
            if (e.code() == told) return after_failure(r, expected, e);
            if (may_refuse && e.code() == tn::error_code::invalid_argument) {
                ended_ = true;
                return {};
            }
            if (expected.errors.empty())
                return errors_jump(r, expected) ? "" : std::string("an error where there is none: ") + e.what();
            if (!expected.errors.contains(e.code()))
                return errors_jump(r, expected) ? ""
                                                : std::string("an error of another kind (") + tn::name_of(e.code()) +
                                                      ", not " + shown(expected.errors) + "): " + e.what();
            return after_failure(r, expected, e);
        } catch (const std::exception& e) {
            return std::string("an exception that is none of tenon's: ") + e.what();
        }
        if (!expected.errors.empty() && expected.late_names_disagree && on_several_tasks()) { // each task's own
            ended_ = true;
            return {};
        }
        if (!expected.errors.empty())
            return errors_jump(r, expected) ? "" : "no error where there is one: " + shown(expected.errors);
        if (may_refuse && !expected.read_finite) return "check_numerics lets a number pass that is not finite";

        for (std::size_t f = 0; f < got.size(); ++f) {
            const std::string what = compare(r, expected.fetches[f], got[f], [f](const outcome& o) {
                return f < o.fetches.size() ? &o.fetches[f] : nullptr;
            });
            if (!what.empty()) return "fetch of " + asked.fetches[f] + ": " + what;
        }
        return after_success(r, expected);
    }

    // Whether the errors depend on how sums are rounded: on what is chosen by them.
    bool errors_jump(const reference::request& r, const outcome& expected) {
        for (const outcome& o : shaken(r)) ended_ = ended_ || o.errors != expected.errors;
        return ended_;
    }

    // What the variables have become, which is where the next step begins.
    std::string after_success(const reference::request& r, const outcome& expected) {
        std::vector<tn::any_tensor> all;
        std::vector<std::string> names;
        for (const tn::any_tensor& v : variables_)
            if (const std::string name = reference::identity_of(*v.node()); expected.variables.contains(name)) {
                all.push_back(v);
                names.push_back(name);
            }
        reference::state next = reference::after(expected);
        if (!all.empty()) {
            std::vector<tn::any_array> left;
            try {
                left = run_untyped({}, all);
            } catch (const std::exception& e) {
                return std::string("the variables cannot be read after it: ") + e.what();
            }
            for (std::size_t v = 0; v < left.size(); ++v) {
                const std::string& name = names[v];
                const std::string what = compare(r, expected.variables.at(name), left[v], [&](const outcome& o) {
                    const auto at = o.variables.find(name);
                    return at == o.variables.end() ? nullptr : &at->second;
                });
                if (!what.empty()) return "variable " + name + " after it: " + what;
                next.variables[name] = std::make_shared<const tn::any_array>(std::move(left[v]));
            }
        }
        state_ = std::move(next);
        return {};
    }

    // What a variable holds; nothing where it has no value.
    std::optional<tn::any_array> read(const tn::any_tensor& v) {
        try {
            return std::move(run_untyped({}, {v})[0]);
        } catch (const tn::failed_precondition_error&) {
            return {};
        }
    }

    // What an error says of a step that was applied in part: names of variables, no more than three.
    static std::optional<std::set<std::string>> said_to_be_updated(const std::string& text) {
        if (text.find(" been updated all the same") == std::string::npos) return {};
        std::set<std::string> names;
        for (std::size_t at = text.rfind("; variable"); (at = text.find('"', at)) != std::string::npos;) {
            const std::size_t end = text.find('"', at + 1);
            if (end == std::string::npos) break;
            names.insert(text.substr(at + 1, end - at - 1));
            at = end + 1;
        }
        return names;
    }

    // The same of a step over several tasks: names of tasks.
    static bool said_to_be_applied_on(std::string task, const std::string& text) {
        const std::size_t at = text.rfind("; the step was applied ");
        if (const std::size_t replica = task.find("/replica:0"); replica != std::string::npos) task.erase(replica, 10);
        // Elsewhere it is not known on which task a variable is.
        return at != std::string::npos && (task.rfind('/', 0) != 0 || text.find(task, at) != std::string::npos);
    }

    // Of a task: whether all its variables are as they were, or as the whole step makes them; in words where not.
    struct found {
        std::string not_before, not_after;
        bool unsaid = false;
    };

    std::string after_failure(const reference::request& r, const outcome& expected, const tn::error& told) {
        const bool cut = told.code() == tn::error_code::deadline_exceeded || told.code() == tn::error_code::cancelled;
        reference::state next = state_;
        std::map<std::string, found> tasks;
        std::set<std::string> changed;
        for (const tn::any_tensor& v : variables_) {
            const std::string name = reference::identity_of(*v.node());
            found& f = tasks[task_of(v)];
            std::optional<tn::any_array> now;
            try {
                now = read(v);
            } catch (const std::exception& e) {
                return "variable " + name + " cannot be read after the step failed: " + e.what();
            }
            const auto differs = [&](const std::map<std::string, result>& from, auto same_of) -> std::string {
                const auto at = from.find(name);
                if (at == from.end()) return now ? name + " has a value" : "";
                if (!now) return name + " has no value";
                const std::string what = compare(r, at->second, *now, same_of);
                return what.empty() ? "" : name + ": " + what;
            };
            std::map<std::string, result> before;
            if (const auto at = state_.variables.find(name); at != state_.variables.end())
                before[name] = {at->second, true};
            f.unsaid = f.unsaid || expected.unsaid.contains(name);
            const std::string is_not_before = differs(before, [](const outcome&) { return nullptr; });
            if (f.not_before.empty()) f.not_before = is_not_before;
            if (!is_not_before.empty()) changed.insert(v.node()->name);
            if (!expected.begins || expected.not_made.contains(name)) f.not_after = name + " cannot be made";
            if (f.not_after.empty())
                f.not_after = differs(expected.variables, [&](const outcome& o) {
                    const auto at = o.variables.find(name);
                    return at == o.variables.end() ? nullptr : &at->second;
                });
            if (now) next.variables[name] = std::make_shared<const tn::any_array>(std::move(*now));
        }
        // Streams have run on when one of them finds what it was given wrong; that there is a value is asked before.
        const bool runs_on = !cut && told.code() != tn::error_code::failed_precondition &&
                             (kind_.options.gpus || kind_.on_gpu || on_several_tasks());
        // What fails, and comes after no update, comes before all of them.
        const bool promised = tasks.size() == 1 && (cut || !(expected.may_be_in_part || runs_on));
        if (const auto said = said_to_be_updated(told.what());
            said && (expected.may_be_in_part || runs_on) && tasks.size() == 1) {
            for (const std::string& name : changed)
                if (said->size() < 3 && !said->contains(name))
                    return "applied in part, and it does not say that of " + name + ": " + told.what();
            ended_ = true;
            return {};
        }
        for (const auto& [task, f] : tasks) {
            if (f.unsaid) ended_ = true;
            if (f.unsaid || f.not_before.empty() || (f.not_after.empty() && !promised)) continue;
            // What comes from another task may be waited for after an update.
            if (said_to_be_applied_on(task, told.what()) || (tasks.size() > 1 && said_to_be_updated(told.what()))) {
                ended_ = true;
                continue;
            }
            return (f.not_after.empty() ? "applied although it says that it was not"
                                        : "applied in part, neither as it was nor as the whole step makes it") +
                   (" (" + task + "): before, ") + f.not_before +
                   (f.not_after.empty() ? "" : "; after, " + f.not_after) + "; the step failed: " + told.what();
        }
        // Whether random numbers were drawn is not said.
        ended_ = ended_ || expected.runs != state_.runs;
        state_ = std::move(next);
        return {};
    }

    // Where a variable lies, as far as it is known here: else each is looked at by itself.
    std::string task_of(const tn::any_tensor& v) {
        if (!is_in_this_process()) return v.name();
        if (kind_.tasks == 0) return {};
        std::string& known = tasks_[v.name()];
        if (known.empty())
            for (const auto& n : session_->explain_placement_untyped({v}).nodes)
                if (n.name == v.node()->name) known = to_string(n.device);
        return known.substr(0, known.find("/device"));
    }

    template <class Same>
    std::string compare(const reference::request& r, const result& expected, const tn::any_array& given,
                        const Same& same_of) {
        const double floor = kind_.options.flush_denormals ? 1e-37 : 0; // what is flushed within a node
        std::string what = difference(expected, given, {}, floor);
        if (what.empty() || expected.exact) return what;
        std::vector<result> others;
        for (const outcome& o : shaken(r))
            if (const result* s = same_of(o); s && s->value) others.push_back(*s);
        return difference(expected, given, others, floor);
    }
    const std::vector<outcome>& shaken(const reference::request& r) {
        for (std::uint64_t n = 1; shaken_.size() < shaken_runs; ++n)
            shaken_.push_back(reference::evaluate(r, state_, graph_.seed(), {shaken_units, n, kind_.on_gpu}));
        return shaken_;
    }

    const program& p_;
    const session_kind& kind_;
    tn::graph graph_;
    tn::trace trace_;
    tn::cost_measurements measurements_;
    std::optional<tn::session> session_;
#ifdef TENON_TEST_BY_WIRE
    std::unique_ptr<wire_session> by_wire_; // in place of the session
#endif
    std::vector<tn::any_tensor> variables_;
    reference::state state_;
    std::map<std::string, std::string> tasks_; // by variable
    std::vector<outcome> shaken_;              // of this step
    std::mt19937_64 random_{p_.seed};
    double took_ = 3e-4; // about; a step that is cut short, in seconds
    bool ended_ = false;
};

} // namespace

failure run(const program& p, const session_kind& k, const tn::graph* written) {
    return comparison(p, k, written).run();
}

failure run(const program& p, const tn::graph* written) {
    for (const session_kind& k : every_session()) {
        if (!p.session.empty() && p.session != k.name) continue;
        if (failure f = run(p, k, written)) return f;
    }
    return {};
}

} // namespace random_graphs
