#pragma once

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/ops/control.hpp>
#include <tenon/ops/state.hpp>
#include <tenon/runtime/order.hpp>

namespace tenon::runtime {

TENON_INLINE edges reversed(const edges& e) {
    edges after(e.size());
    for (std::size_t i = 0; i < e.size(); ++i)
        for (const int b : e[i]) after[static_cast<std::size_t>(b)].push_back(static_cast<int>(i));
    return after;
}

TENON_INLINE void keep_each_once(edges& e) {
    for (std::vector<int>& list : e) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
}

namespace detail {

// Everything after an index.
inline std::vector<bool> downstream(const edges& after, int from) {
    std::vector<bool> reached(after.size());
    std::vector<int> stack{from};
    while (!stack.empty()) {
        const int i = stack.back();
        stack.pop_back();
        for (const int n : after[static_cast<std::size_t>(i)])
            if (!reached[static_cast<std::size_t>(n)]) {
                reached[static_cast<std::size_t>(n)] = true;
                stack.push_back(n);
            }
    }
    return reached;
}

} // namespace detail

TENON_INLINE ordering::ordering(program& p, const plan_options& o) : p_(p), o_(o) {
    copy_resident_fetches();
    prepare();
    keep_old_values();
    if (!o_.check_numerics) forward_assignments(); // what is checked is written apart from the variable first
    for (const int u : updates_) writes_.push_back({u, updated_by(u)});
}

TENON_INLINE bool ordering::reads(const program_item& i, const variable_resource* v) const {
    for (std::size_t k = 0; k < i.inputs.size(); ++k)
        if (i.read[k] && variable_of(i.inputs[k]) == v) return true;
    return false;
}

TENON_INLINE bool ordering::writes(int i, const variable_resource* v) const {
    return std::any_of(writes_.begin(), writes_.end(), [&](const auto& w) { return w.first == i && w.second == v; });
}

// What is fetched must lie in memory of its own: feeds, constants and variables are copied out, and a
// variable before it is updated.
TENON_INLINE void ordering::copy_resident_fetches() {
    for (std::size_t f = 0; f < p_.fetches.size(); ++f) {
        const int v = p_.fetches[f], root = p_.root(v);
        const program_value& r = p_.value(root);
        if (r.producer >= 0 && !r.variable && r.fetch < 0 && r.feed < 0 && root == v && !r.constant) {
            p_.value(v).fetch = static_cast<int>(f);
            continue;
        }
        program_item copy;
        copy.origin = p_.value(v).origin.node;
        copy.op = &identity_definition;
        copy.inputs = {v};
        program_value out;
        out.origin = p_.value(v).origin;
        out.type = p_.value(v).type;
        out.producer = items();
        out.fetch = static_cast<int>(f);
        copy.outputs = {static_cast<int>(p_.values.size())};
        p_.fetches[f] = copy.outputs[0];
        p_.values.push_back(std::move(out));
        p_.items.push_back(std::move(copy));
    }
}

TENON_INLINE void ordering::prepare() {
    for (int i = 0; i < items(); ++i) {
        program_item& it = item(i);
        if (it.removed) continue;
        it.kernel = prepare_kernel(p_, it, o_);
        it.read.resize(it.inputs.size());
        for (std::size_t k = 0; k < it.inputs.size(); ++k) it.read[k] = p_.reads(it, static_cast<int>(k));
    }
}

// Items that must run before each item, by data and by control.
TENON_INLINE edges ordering::needs() const {
    edges before(p_.items.size());
    for (int i = 0; i < items(); ++i) {
        const program_item& it = p_.item(i);
        if (it.removed) continue;
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (it.read[k]) {
                const int from = p_.value(p_.root(it.inputs[k])).producer;
                if (from >= 0) before[static_cast<std::size_t>(i)].push_back(from);
            }
        // A removed item that others run after stands for what it ran after itself.
        std::vector<int> stack(it.after);
        std::set<int> seen;
        while (!stack.empty()) {
            const int a = stack.back();
            stack.pop_back();
            if (!seen.insert(a).second) continue;
            if (!p_.item(a).removed) before[static_cast<std::size_t>(i)].push_back(a);
            else stack.insert(stack.end(), p_.item(a).after.begin(), p_.item(a).after.end());
        }
    }
    return before;
}

// Readers of a variable run before its updates, unless they are made to run after them. Where updates read each
// other's variables that would be a cycle: the reader on it gets a copy of the old value.
TENON_INLINE void ordering::keep_old_values() {
    for (int i = 0; i < items(); ++i)
        if (!item(i).removed && item(i).op->is(op_flags::updates)) updates_.push_back(i);
    if (updates_.empty()) return;
    needed_by_ = reversed(needs());
    before_ = needed_by_;
    std::map<std::pair<int, std::vector<int>>, int> copies; // value read and writers before it; the copy
    const int n = items();
    for (const int u : updates_) {
        const variable_resource* v = updated_by(u);
        const std::vector<bool> after_update = detail::downstream(needed_by_, u),
                                reached = detail::downstream(before_, u);
        for (int r = 0; r < n; ++r) {
            if (r == u || item(r).removed || after_update[static_cast<std::size_t>(r)] || !reads(item(r), v)) continue;
            if (!reached[static_cast<std::size_t>(r)]) {
                before_[static_cast<std::size_t>(r)].push_back(u);
                continue;
            }
            std::vector<int> writers;
            for (const int w : updates_)
                if (updated_by(w) == v && detail::downstream(needed_by_, w)[static_cast<std::size_t>(r)])
                    writers.push_back(w);
            for (std::size_t k = 0; k < item(r).inputs.size(); ++k) {
                const int value = item(r).inputs[k];
                if (!item(r).read[k] || variable_of(value) != v) continue;
                int& copy = copies.try_emplace({value, writers}, -1).first->second;
                if (copy < 0) copy = add_copy(value, writers);
                item(r).inputs[k] = p_.item(copy).outputs[0];
                before_[static_cast<std::size_t>(copy)].push_back(r);
                needed_by_[static_cast<std::size_t>(copy)].push_back(r);
                for (const int w : updates_)
                    if (updated_by(w) == v && std::find(writers.begin(), writers.end(), w) == writers.end())
                        before_[static_cast<std::size_t>(copy)].push_back(w);
            }
        }
    }
}

TENON_INLINE int ordering::add_copy(int value, const std::vector<int>& after) {
    const int made = items();
    program_item copy;
    copy.origin = p_.value(value).origin.node;
    copy.op = &identity_definition;
    copy.inputs = {value};
    copy.outputs = {static_cast<int>(p_.values.size())};
    copy.after = after;
    copy.read = {true};
    program_value out;
    out.origin = p_.value(value).origin;
    out.type = p_.value(value).type;
    out.producer = made;
    p_.values.push_back(std::move(out));
    copy.kernel = prepare_kernel(p_, copy, o_);
    p_.items.push_back(std::move(copy));
    needed_by_.emplace_back();
    before_.emplace_back();
    for (const int w : after) {
        needed_by_[static_cast<std::size_t>(w)].push_back(made);
        before_[static_cast<std::size_t>(w)].push_back(made);
    }
    return made;
}

// An update whose new value is computed for it alone is written straight into the variable, where every
// reader of the old value can run before.
TENON_INLINE void ordering::forward_assignments() {
    std::vector<int> uses(p_.values.size());
    for (const program_item& it : p_.items) {
        if (it.removed) continue;
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (it.read[k]) ++uses[static_cast<std::size_t>(p_.root(it.inputs[k]))];
    }
    for (const int u : updates_) {
        program_item& assign = item(u);
        if (assign.op != &assign_definition) continue; // it writes a part
        variable_resource* v = updated_by(u);
        const int value = assign.inputs[1];
        const program_value& from = p_.value(value);
        if (from.producer < 0 || from.variable || from.fetch >= 0 || from.type != p_.value(assign.outputs[0]).type ||
            uses[static_cast<std::size_t>(value)] != 1)
            continue;
        if (std::count_if(updates_.begin(), updates_.end(), [&](int w) { return updated_by(w) == v; }) != 1) continue;
        program_item& producer = item(from.producer);
        // Elementwise kernels only: others read their inputs again after they began to write.
        int o = 0;
        while (producer.outputs[static_cast<std::size_t>(o)] != value) ++o;
        if (producer.kernel->resident(o)) continue;
        bool safe = true;
        for (std::size_t k = 0; k < producer.inputs.size(); ++k)
            if (producer.read[k] && variable_of(producer.inputs[k]) == v)
                safe = safe && producer.kernel->may_share(static_cast<int>(k), o);
        const std::vector<bool> after_assign = detail::downstream(needed_by_, u);
        const std::vector<bool> after_producer = detail::downstream(before_, from.producer);
        std::vector<int> readers;
        for (int r = 0; r < items(); ++r)
            if (r != from.producer && !item(r).removed && reads(item(r), v) &&
                !after_assign[static_cast<std::size_t>(r)]) {
                readers.push_back(r);
                safe = safe && !after_producer[static_cast<std::size_t>(r)];
            }
        if (!safe) continue;
        for (const int r : readers) before_[static_cast<std::size_t>(r)].push_back(from.producer);
        p_.value(value).variable = v;
        writes_.push_back({from.producer, v});
    }
}

TENON_INLINE std::vector<int> ordering::order() const {
    std::vector<int> result;
    const edges before = needs();
    edges after = reversed(before);
    std::vector<int> waiting(p_.items.size()), soft(p_.items.size());
    edges soft_after(p_.items.size());
    for (int i = 0; i < items(); ++i)
        waiting[static_cast<std::size_t>(i)] = static_cast<int>(before[static_cast<std::size_t>(i)].size());
    for (const auto& [w, v] : writes_) {
        const std::vector<bool> later = detail::downstream(after, w);
        for (int r = 0; r < items(); ++r)
            if (r != w && !item(r).removed && !later[static_cast<std::size_t>(r)] && reads(item(r), v) &&
                !writes(r, v)) {
                soft_after[static_cast<std::size_t>(r)].push_back(w);
                ++soft[static_cast<std::size_t>(w)];
            }
    }
    const auto key = [&](int i) {
        return std::pair(item(i).op->is(op_flags::updates) ? 0 : 1, item(i).origin->number);
    };
    const auto later = [&](int a, int b) { return std::pair(key(a), a) > std::pair(key(b), b); };
    std::priority_queue<int, std::vector<int>, decltype(later)> ready(later), held(later);
    std::vector<bool> done(p_.items.size());
    int left = 0;
    for (int i = 0; i < items(); ++i) {
        if (item(i).removed) continue;
        ++left;
        if (waiting[static_cast<std::size_t>(i)] == 0) (soft[static_cast<std::size_t>(i)] == 0 ? ready : held).push(i);
    }
    while (left > 0) {
        if (ready.empty()) {
            // Updates that read each other's variables: one of them must go first.
            while (!held.empty() && done[static_cast<std::size_t>(held.top())]) held.pop();
            if (held.empty()) throw internal_error("the nodes of this step wait for each other in a cycle");
            ready.push(held.top());
            held.pop();
        }
        const int i = ready.top();
        ready.pop();
        if (done[static_cast<std::size_t>(i)]) continue;
        done[static_cast<std::size_t>(i)] = true;
        --left;
        result.push_back(i);
        for (const int n : after[static_cast<std::size_t>(i)])
            if (--waiting[static_cast<std::size_t>(n)] == 0)
                (soft[static_cast<std::size_t>(n)] == 0 ? ready : held).push(n);
        for (const int n : soft_after[static_cast<std::size_t>(i)])
            if (--soft[static_cast<std::size_t>(n)] == 0 && waiting[static_cast<std::size_t>(n)] == 0) ready.push(n);
    }
    return result;
}

TENON_INLINE edges ordering::dependencies(const std::vector<int>& order) const {
    const int n = static_cast<int>(order.size());
    edges result(order.size());
    std::vector<int> position(p_.items.size(), -1);
    for (int at = 0; at < n; ++at) position[static_cast<std::size_t>(order[static_cast<std::size_t>(at)])] = at;
    const edges before = needs();
    for (int at = 0; at < n; ++at)
        for (const int b : before[static_cast<std::size_t>(order[static_cast<std::size_t>(at)])])
            result[static_cast<std::size_t>(at)].push_back(position[static_cast<std::size_t>(b)]);
    std::set<variable_resource*> changed;
    for (const auto& [i, v] : writes_) changed.insert(v);
    for (variable_resource* v : changed) {
        int writer = -1;
        std::vector<int> readers;
        for (int at = 0; at < n; ++at) {
            const int i = order[static_cast<std::size_t>(at)];
            std::vector<int>& waits = result[static_cast<std::size_t>(at)];
            if (writes(i, v)) {
                if (writer >= 0) waits.push_back(writer);
                waits.insert(waits.end(), readers.begin(), readers.end());
                readers.clear();
                writer = at;
            } else if (reads(item(i), v)) {
                if (writer >= 0) waits.push_back(writer);
                readers.push_back(at);
            }
        }
    }
    keep_each_once(result);
    return result;
}

} // namespace tenon::runtime
