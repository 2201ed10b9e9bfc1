#include "random_graphs/compare.hpp"

#include <cmath>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/core/print.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/runtime/plan/cost_measurements.hpp>
#include <tenon/runtime/run/trace.hpp>

#include "random_graphs/callables.hpp"
#include "reference/evaluator.hpp"

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

std::vector<reference::result> nth_of(const std::vector<outcome>& all, std::size_t f) {
    std::vector<result> list;
    for (const outcome& o : all)
        if (f < o.fetches.size()) list.push_back(o.fetches[f]);
    return list;
}

std::string shown(const std::set<tn::error_code>& codes) {
    std::string text;
    for (const tn::error_code c : codes) text += std::string(text.empty() ? "" : " or ") + tn::name_of(c);
    return text;
}

} // namespace

std::string difference(const result& expected, const tn::any_array& given, const std::vector<result>& shaken) {
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

failure run(const program& p, const session_kind& k, const tn::graph* written) {
    // As reference::evaluate, or a failure of the harness itself, a graph that cannot be read included.
    const tn::graph g = k.written && written ? *written : graph_of(p);
    tn::trace trace;
    tn::cost_measurements measurements;
    tn::session session(g, k.options);
    if (k.trace) session.set_trace(&trace);
    if (k.measure) session.set_measurements(&measurements);
    reference::state state;
    for (std::size_t s = 0; s < p.steps.size(); ++s) {
        const auto fail = [&](const std::string& what) {
            return failure{k.name, "step " + std::to_string(s) + ": " + what};
        };
        const reference::request r = request_of(g, p.steps[s]);
        const outcome expected = reference::evaluate(r, state, g.seed());
        const bool may_refuse = k.options.check_numerics && !expected.finite;
        std::vector<tn::any_array> got;
        try {
            if (k.callable && can_call(r)) got = call(session, r);
            else {
                std::vector<tn::fed_value> feeds;
                for (const tn::fed_value& f : r.feeds) feeds.push_back({f.tensor, f.value.share()});
                got = session.run_untyped(std::move(feeds), r.fetches, r.targets);
            }
        } catch (const tn::error& e) {
            if (may_refuse && e.code() == tn::error_code::invalid_argument) return {};
            if (expected.errors.empty()) return fail(std::string("an error where there is none: ") + e.what());
            if (!expected.errors.contains(e.code()))
                return fail(std::string("an error of another kind (") + tn::name_of(e.code()) + ", not " +
                            shown(expected.errors) + "): " + e.what());
            return {}; // what a step that failed leaves is not said
        } catch (const std::exception& e) {
            return fail(std::string("an exception that is none of tenon's: ") + e.what());
        }
        if (!expected.errors.empty()) return fail("no error where there is one: " + shown(expected.errors));
        if (may_refuse && !expected.read_finite) return fail("check_numerics lets a number pass that is not finite");

        std::vector<outcome> shaken;
        const auto shake = [&] {
            for (std::uint64_t n = 1; shaken.size() < shaken_runs; ++n)
                shaken.push_back(reference::evaluate(r, state, g.seed(), {shaken_units, n}));
        };
        for (std::size_t f = 0; f < got.size(); ++f) {
            std::string what = difference(expected.fetches[f], got[f], {});
            if (!what.empty() && !expected.fetches[f].exact) {
                shake();
                what = difference(expected.fetches[f], got[f], nth_of(shaken, f));
            }
            if (!what.empty()) return fail("fetch of " + p.steps[s].fetches[f] + ": " + what);
        }
        // What the variables have become, which is where the next step begins.
        reference::request all;
        std::vector<std::string> names;
        for (std::int64_t n = 0; n < g.size(); ++n) {
            tn::node* v = g.at(n);
            if (v->op->name != std::string("variable") || !expected.variables.contains(reference::identity_of(*v)))
                continue;
            all.fetches.push_back(tn::any_tensor(tn::node_output{v, 0}));
            names.push_back(reference::identity_of(*v));
        }
        reference::state next = reference::after(expected);
        if (!all.fetches.empty()) {
            std::vector<tn::any_array> left;
            try {
                left = session.run_untyped({}, all.fetches);
            } catch (const std::exception& e) {
                return fail(std::string("the variables cannot be read after it: ") + e.what());
            }
            for (std::size_t v = 0; v < left.size(); ++v) {
                const result& e = expected.variables.at(names[v]);
                std::string what = difference(e, left[v], {});
                if (!what.empty() && !e.exact) {
                    shake();
                    std::vector<result> others;
                    for (const outcome& o : shaken)
                        if (o.variables.contains(names[v])) others.push_back(o.variables.at(names[v]));
                    what = difference(e, left[v], others);
                }
                if (!what.empty()) return fail("variable " + names[v] + " after it: " + what);
                next.variables[names[v]] = std::make_shared<const tn::any_array>(std::move(left[v]));
            }
        }
        state = std::move(next);
    }
    return {};
}

failure run(const program& p, const tn::graph* written) {
    for (const session_kind& k : every_session()) {
        if (!p.session.empty() && p.session != k.name) continue;
        if (failure f = run(p, k, written)) return f;
    }
    return {};
}

} // namespace random_graphs
