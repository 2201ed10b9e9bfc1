#include "random_graphs/compare.hpp"

#include <cmath>
#include <functional>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/core/print.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>
#include <tenon/runtime/plan/cost_measurements.hpp>
#include <tenon/runtime/run/trace.hpp>

#include "random_graphs/callables.hpp"
#ifdef TENON_TEST_BY_WIRE
#include "random_graphs/wire_session.hpp"
#endif
#include "reference/evaluator.hpp"
#include "reference/pause.hpp"

namespace tn = tenon;
using reference::outcome;
using reference::result;

namespace random_graphs {

namespace {

constexpr int shaken_runs = 4;
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
    if (e.type() != given.type()) return tn::to_string(given.type()) + ", not " + tn::to_string(e.type());
    for (const result& s : shaken)
        if (s.value->type() != e.type()) return {}; // its sizes jump
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

// The graph, in which nodes that ask for no device ask for any.
tn::graph placed_at_random(program p, bool on_tasks, bool simulated) {
    const char* here[] = {"/cpu:0", "/cpu:1", "/gpu:0", "/gpu:1"};
    const char* there[] = {"/job:worker/task:0/cpu:0", "/job:worker/task:1", "/job:worker/task:1/cpu:0",
                           "/job:worker/task:1/gpu:0"};
    const auto& devices = on_tasks ? there : here;
    for (nlohmann::json& n : p.graph.at("nodes")) {
        if (simulated && n.at("op") == reference::pause_op::name)
            n["attributes"]["elsewhere"] = false; // no thread of its own
        const std::size_t by = std::hash<std::string>()(n.at("name").get<std::string>()) ^ p.seed;
        if (on_tasks && (n.contains("colocated") || n.contains("follows"))) continue; // a task is never dropped
        if (!n.contains("device") && by % 7 < 5) n["device"] = devices[by / 7 % 4];
    }
    return graph_of(p);
}

tn::graph graph_for(const program& p, const session_kind& k, const tn::graph* written) {
    const bool simulated = !k.target.empty();
    if (k.placed) return placed_at_random(p, k.tasks || k.by_wire || simulated, simulated);
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
        if (k.tasks) session_.emplace(two_tasks(), graph_, o);
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
        if ((kind_.callable || kind_.started) && can_call(r)) return call(*session_, r, kind_.started);
        return run_untyped(shared(r.feeds), r.fetches, r.targets);
    }

    static std::vector<tn::task> two_tasks() {
        constexpr std::size_t plenty = std::size_t{64} << 20;
        return {tn::task({.intra_op_threads = 2, .job = "worker", .index = 0}),
                tn::task({.intra_op_threads = 2, .gpus = tn::simulated_gpu(1, plenty), .job = "worker", .index = 1})};
    }

    // In words what is wrong with the step; ended_ where nothing can be said of those after it.
    std::string run(const reference::request& r, const step& asked) {
        const outcome expected = reference::evaluate(r, state_, graph_.seed(), {0, 1, kind_.on_gpu});
        shaken_.clear();
        if (kind_.options.flush_denormals && expected.denormal) {
            ended_ = true;
            return {};
        }
        const bool may_refuse = kind_.options.check_numerics && !expected.finite;
        std::vector<tn::any_array> got;
        try {
            got = run_step(r);
        } catch (const tn::error& e) {
            if (may_refuse && e.code() == tn::error_code::invalid_argument) {
                ended_ = true;
                return {};
            }
            if (expected.errors.empty()) return std::string("an error where there is none: ") + e.what();
            if (tells_sizes_late()) { // so that something may have run, and failed, before they are seen to be wrong
                ended_ = true;
                return {};
            }
            if (!expected.errors.contains(e.code()))
                return std::string("an error of another kind (") + tn::name_of(e.code()) + ", not " +
                       shown(expected.errors) + "): " + e.what();
            return after_failure(r, expected);
        } catch (const std::exception& e) {
            return std::string("an exception that is none of tenon's: ") + e.what();
        }
        if (!expected.errors.empty()) return "no error where there is one: " + shown(expected.errors);
        if (may_refuse && !expected.read_finite) return "check_numerics lets a number pass that is not finite";

        for (std::size_t f = 0; f < got.size(); ++f) {
            const std::string what = compare(r, expected.fetches[f], got[f], [f](const outcome& o) {
                return f < o.fetches.size() ? &o.fetches[f] : nullptr;
            });
            if (!what.empty()) return "fetch of " + asked.fetches[f] + ": " + what;
        }
        return after_success(r, expected);
    }

    bool tells_sizes_late() const {
        for (std::int64_t n = 0; n < graph_.size(); ++n)
            if (graph_.at(n)->op == &reference::pause_definition &&
                tn::decode<reference::pause_op::attributes>(graph_.at(n)->attributes).hides)
                return true;
        return false;
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

    std::string after_failure(const reference::request& r, const outcome& expected) {
        reference::state next = state_;
        for (const tn::any_tensor& v : variables_) {
            const std::string name = reference::identity_of(*v.node());
            const auto may_be = expected.left.find(name);
            const std::vector<result> none(1);
            const std::vector<result>& list = may_be == expected.left.end() ? none : may_be->second;
            std::vector<tn::any_array> now;
            try {
                now = run_untyped({}, {v});
            } catch (const tn::error& e) {
                if (e.code() != tn::error_code::failed_precondition || (!list.empty() && list[0].value))
                    return "variable " + name + " cannot be read after the step failed: " + e.what();
                continue;
            }
            std::string what = list.empty() ? "" : "it has a value where it had none";
            for (std::size_t i = 0; i < list.size() && !what.empty(); ++i)
                if (list[i].value)
                    what = compare(r, list[i], now[0], [&](const outcome& o) {
                        const auto at = o.left.find(name);
                        return at == o.left.end() || i >= at->second.size() ? nullptr : &at->second[i];
                    });
            if (!what.empty())
                return "variable " + name +
                       " after the step failed is neither what it was nor what an update makes it: " + what;
            next.variables[name] = std::make_shared<const tn::any_array>(std::move(now[0]));
        }
        // Whether random numbers were drawn is not said.
        ended_ = expected.runs != state_.runs;
        state_ = std::move(next);
        return {};
    }

    template <class Same>
    std::string compare(const reference::request& r, const result& expected, const tn::any_array& given,
                        const Same& same_of) {
        const double floor = kind_.options.flush_denormals ? 1e-37 : 0; // what is flushed within a node
        std::string what = difference(expected, given, {}, floor);
        if (what.empty() || expected.exact) return what;
        for (std::uint64_t n = 1; shaken_.size() < shaken_runs; ++n)
            shaken_.push_back(reference::evaluate(r, state_, graph_.seed(), {shaken_units, n, kind_.on_gpu}));
        std::vector<result> others;
        for (const outcome& o : shaken_)
            if (const result* s = same_of(o); s && s->value) others.push_back(*s);
        return difference(expected, given, others, floor);
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
    std::vector<outcome> shaken_; // of this step
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
