#pragma once

#include <algorithm>
#include <numeric>

#include <tenon/core/error.hpp>
#include <tenon/core/hash.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/plan/index_set.hpp>
#include <tenon/runtime/plan/order.hpp>

namespace tenon::runtime {

// Counted into place twice, by what is in the lists and then by the lists, so that each is sorted.
TENON_INLINE edges::edges(std::size_t count, const std::vector<edge>& all) :
    begin_(count + 1), to_(all.size()), why_(all.size()) {
    std::vector<std::size_t> begin(count + 1);
    std::vector<edge> by_second(all.size());
    for (const edge& e : all) {
        ++begin[static_cast<std::size_t>(e.to) + 1];
        ++begin_[static_cast<std::size_t>(e.of) + 1];
    }
    for (std::size_t i = 1; i <= count; ++i) {
        begin[i] += begin[i - 1];
        begin_[i] += begin_[i - 1];
    }
    for (const edge& e : all) by_second[begin[static_cast<std::size_t>(e.to)]++] = e;
    begin = begin_;
    for (const edge& e : by_second) {
        const std::size_t at = begin[static_cast<std::size_t>(e.of)]++;
        to_[at] = e.to;
        why_[at] = static_cast<std::uint8_t>(e.why);
    }
    std::size_t kept = 0; // of a list never overtakes what is still read
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t first = begin_[i], last = begin_[i + 1];
        begin_[i] = kept;
        for (std::size_t at = first; at < last; ++at) {
            if (at > first && to_[at] == to_[kept - 1]) {
                why_[kept - 1] |= why_[at];
                continue;
            }
            to_[kept] = to_[at];
            why_[kept++] = why_[at];
        }
    }
    begin_[count] = kept;
    to_.resize(kept);
    why_.resize(kept);
}

TENON_INLINE edges edges::reversed() const {
    std::vector<edge> all;
    all.reserve(to_.size());
    for (std::size_t i = 0; i < size(); ++i)
        for (std::size_t at = begin_[i]; at < begin_[i + 1]; ++at)
            all.push_back({to_[at], static_cast<int>(i), static_cast<edge_kind>(why_[at])});
    return {size(), all};
}

TENON_INLINE ordering::ordering(program& p, const plan_options& o) : p_(p), o_(o) {
    const std::size_t made = p_.items.size();
    copy_resident_fetches();
    prepare();
    needs_ = find_needs();
    before_ = detail::item_order(p_.items.size(), needs_, made);
    find_updates();
    find_readers();
    order_accesses();
    if (!o_.check_numerics) forward_assignments(); // what is checked is written apart from the variable first
}

// What is fetched must lie in memory of its own: feeds, constants and variables are copied out, and a
// variable before it is updated, unless its memory may be lent.
TENON_INLINE void ordering::copy_resident_fetches() {
    for (std::size_t f = 0; f < p_.fetches.size(); ++f) {
        const int v = p_.fetches[f], root = p_.root(v);
        const program_value& r = p_.value(root);
        if (r.producer >= 0 && !r.variable && r.fetch < 0 && r.feed < 0 && root == v && !r.constant &&
            r.device == o_.home) {
            p_.value(v).fetch = static_cast<int>(f);
            continue;
        }
        const bool is_variable = r.variable && !r.current && item(r.producer).op->is(op_flags::variable);
        if (!p_.lent.empty() && p_.lent[f] && is_variable && root == v && r.device == o_.home &&
            r.type.element != element_type::string)
            continue;
        program_item copy;
        copy.origin = p_.value(v).origin.node;
        copy.op = r.device == o_.home ? &identity_definition : &transfer_definition;
        copy.inputs = {v};
        copy.device = o_.home;
        program_value out;
        out.origin = p_.value(v).origin;
        out.type = p_.value(v).type;
        out.producer = items();
        out.device = o_.home;
        out.fetch = static_cast<int>(f);
        p_.fetches[f] = p_.add(std::move(out));
        copy.outputs = {p_.fetches[f]};
        p_.add(std::move(copy));
    }
}

TENON_INLINE std::size_t ordering::content_of(const program_item& i) const {
    using tenon::detail::hash_extents, tenon::detail::mix;
    std::size_t h = mix(reinterpret_cast<std::size_t>(i.op), i.attributes.hash());
    for (const number_list* values : {&i.inputs, &i.outputs})
        for (const int v : *values) h = mix(h, hash_extents(p_.value(v).type.extents));
    return h;
}

TENON_INLINE bool ordering::alike(const program_item& a, const program_item& b) const {
    const auto same = [&](int x, int y) { return p_.value(x).type == p_.value(y).type; };
    return a.op == b.op && a.device == b.device &&
           std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), same) &&
           std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), same) &&
           a.attributes == b.attributes;
}

TENON_INLINE void ordering::prepare() {
    std::unordered_multimap<std::size_t, int> prepared; // by content, of those that may share their kernel
    for (int n = 0; n < items(); ++n) {
        program_item& it = item(n);
        if (it.removed) continue;
        if (it.op->is(op_flags::alike)) {
            const std::size_t content = content_of(it);
            const auto [first, last] = prepared.equal_range(content);
            const auto at = std::find_if(first, last, [&](const auto& p) { return alike(item(p.second), it); });
            if (at != last) {
                it.kernel = item(at->second).kernel;
                continue;
            }
            prepared.emplace(content, n);
        }
        it.kernel = p_.kernels.emplace_back(prepare_kernel(p_, it, o_)).get();
    }
}

namespace detail {
// A removed item that others run after stands for what it ran after itself.
template <class F> void each_predecessor(const program& p, const program_item& it, F f) {
    std::vector<int> stack(it.predecessors.begin(), it.predecessors.end());
    while (!stack.empty()) {
        const int a = stack.back();
        stack.pop_back();
        const program_item& before = p.item(a);
        if (!before.removed) f(a);
        else stack.insert(stack.end(), before.predecessors.begin(), before.predecessors.end());
    }
}
} // namespace detail

// Pairs of items of which the first must run before the second, by data and by control.
TENON_INLINE std::vector<std::pair<int, int>> ordering::find_needs() {
    std::vector<std::pair<int, int>> pairs;
    pairs.reserve(2 * p_.items.size());
    why_.clear();
    const auto add = [&](int before, int after, edge_kind why) {
        pairs.emplace_back(before, after);
        why_.push_back(why);
    };
    for (int i = 0; i < items(); ++i) {
        const program_item& it = item(i);
        if (it.removed) continue;
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (it.read[k]) {
                const int from = p_.value(p_.root(it.inputs[k])).producer;
                if (from >= 0) add(from, i, edge_kind::data);
            }
        detail::each_predecessor(p_, it, [&](int a) { add(a, i, edge_kind::control); });
    }
    return pairs;
}

TENON_INLINE int ordering::version_of(int value) const {
    const int made_by = p_.value(p_.root(value)).producer;
    return made_by >= 0 ? version_[static_cast<std::size_t>(made_by)] : 0;
}

TENON_INLINE void ordering::find_updates() {
    version_.resize(p_.items.size());
    std::unordered_map<const variable_resource*, std::size_t> places;
    for (int i = 0; i < items(); ++i) {
        if (item(i).removed || !item(i).op->is(op_flags::updates)) continue;
        for (const int out : item(i).outputs) { // of several, each is the only one of its variable
            variable_resource* v = p_.value(out).variable;
            const auto [at, first] = places.emplace(v, updated_.size());
            if (first) updated_.push_back({v, {}, {}});
            std::vector<int>& updates = updated_[at->second].updates;
            updates.push_back(i);
            version_[static_cast<std::size_t>(i)] = static_cast<int>(updates.size());
        }
    }
}

TENON_INLINE void ordering::find_readers() {
    std::unordered_map<const variable_resource*, accesses*> places;
    for (accesses& a : updated_) {
        a.readers.assign(a.updates.size() + 1, {});
        places.emplace(a.variable, &a);
    }
    if (places.empty()) return;
    std::vector<std::pair<accesses*, int>> variables; // and their items
    for (int i = 0; i < items(); ++i) {
        const program_item& it = item(i);
        if (it.removed) continue;
        if (it.op->is(op_flags::variable))
            if (const auto at = places.find(p_.value(it.outputs[0]).variable); at != places.end())
                variables.emplace_back(at->second, i);
        for (std::size_t k = 0; k < it.inputs.size(); ++k) {
            const variable_resource* v = it.read[k] ? variable_of(it.inputs[k]) : nullptr;
            if (!v) continue;
            const auto at = places.find(v);
            if (at == places.end()) continue;
            number_list& readers = at->second->readers[static_cast<std::size_t>(version_of(it.inputs[k]))];
            if (readers.empty() || readers.back() != i) readers.push_back(i);
        }
    }
    // One that others wait for, or that was asked for, and nobody reads: it must have a value before the step.
    for (const auto& [of, variable] : variables)
        if (of->readers[0].empty()) of->readers[0].push_back(variable);
}

// Updates of a variable run in their order, which agrees with data and control, and who reads a version of it runs before
// the update that ends that. Where this would be a cycle, as where updates read each other's variables, the reader gets a
// copy of the version.
TENON_INLINE void ordering::order_accesses() {
    for (const accesses& v : updated_)
        for (std::size_t u = 1; u < v.updates.size(); ++u) before_.add(v.updates[u - 1], v.updates[u]);
    for (const accesses& v : updated_)
        for (std::size_t u = 0; u < v.updates.size(); ++u)
            if (!v.readers[u].empty()) read_before(v.readers[u], v.variable, v.updates[u]);
    if (copies_.empty()) return;
    needs_ = find_needs();
    find_readers();
}

TENON_INLINE void ordering::read_before(const number_list& readers, const variable_resource* variable, int update) {
    const int version = version_[static_cast<std::size_t>(update)] - 1;
    number_list earlier, later;
    before_.search(update, readers);
    for (const int r : readers) {
        if (r != update) (before_.found(r) ? later : earlier).push_back(r);
        // An update may read what it writes only as its new value, whole: others read again after they began to write.
        else if (!item(r).op->is(op_flags::replaces)) later.push_back(r);
    }
    before_.add(earlier, update);
    for (const int r : later) {
        for (std::size_t k = 0; k < item(r).inputs.size(); ++k) {
            const int value = item(r).inputs[k];
            if (!item(r).read[k] || variable_of(value) != variable) continue;
            if (version_of(value) != version) continue;
            int& copy = copies_.try_emplace(value, -1).first->second;
            if (copy < 0) {
                copy = add_copy(value);
                before_.add(copy, update);
            }
            item(r).inputs[k] = p_.item(copy).outputs[0];
            if (r != update) before_.add(copy, r);
        }
    }
}

TENON_INLINE int ordering::add_copy(int value) {
    program_item copy;
    copy.origin = p_.value(value).origin.node;
    copy.op = &identity_definition;
    copy.inputs = {value};
    copy.device = p_.value(p_.root(value)).device;
    copy.outputs = {p_.add(program_value{
        .origin = p_.value(value).origin, .type = p_.value(value).type, .producer = items(), .device = copy.device})};
    copy.kernel = p_.kernels.emplace_back(prepare_kernel(p_, copy, o_)).get();
    p_.add(std::move(copy));
    version_.push_back(0);
    before_.add_item();
    if (const int from = p_.value(p_.root(value)).producer; from >= 0) before_.add(from, items() - 1);
    return items() - 1;
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
    for (accesses& v : updated_) {
        const program_item& assign = item(v.updates[0]);
        if (v.updates.size() != 1 || !assign.op->is(op_flags::replaces)) continue; // others write a part
        const int value = assign.inputs[1];
        const program_value& from = p_.value(value);
        if (from.producer < 0 || from.variable || from.fetch >= 0 || from.type != p_.value(assign.outputs[0]).type ||
            uses[static_cast<std::size_t>(value)] != 1)
            continue;
        const program_item& producer = item(from.producer);
        // Elementwise kernels only: others read their inputs again after they began to write.
        int o = 0;
        while (producer.outputs[static_cast<std::size_t>(o)] != value) ++o;
        bool safe = true;
        for (std::size_t k = 0; k < producer.inputs.size(); ++k)
            if (producer.read[k] && variable_of(producer.inputs[k]) == v.variable)
                safe = safe && producer.kernel->may_share(static_cast<int>(k), o);
        if (!safe) continue;
        // Who reads the old value must run before what now overwrites it, and so must what the update waits for: where
        // that fails, nothing is written.
        number_list others;
        for (const int r : v.readers[0])
            if (r != from.producer) others.push_back(r);
        const std::size_t readers = others.size();
        detail::each_predecessor(p_, assign, [&](int a) {
            if (a != from.producer) others.push_back(a);
        });
        before_.search(from.producer, others);
        for (const int r : others) safe = safe && !before_.found(r);
        if (!safe) continue;
        before_.add(others, from.producer);
        for (std::size_t a = readers; a < others.size(); ++a) {
            needs_.emplace_back(others[a], from.producer);
            why_.push_back(edge_kind::control);
        }
        v.forwarded = from.producer;
        p_.value(value).variable = v.variable;
    }
}

TENON_INLINE bool ordering::leads_to_others(int i, const std::vector<char>& of_updates) const {
    std::vector<int> open{i};
    bool any = false;
    while (!open.empty() && !any) {
        const int at = open.back();
        open.pop_back();
        before_.after().each(at, [&](int n) {
            if (item(n).removed) open.push_back(n);
            else any = any || !of_updates[static_cast<std::size_t>(n)];
        });
    }
    return any;
}

// By item, which of the sums that streams do needs it first, in the order of items that is given; empty where there are none.
TENON_INLINE std::vector<int> ordering::sums_that_need(const std::vector<int>& as_made) const {
    std::vector<int> needed, open;
    std::vector<std::vector<int>> before;
    int number = 0;
    for (const int s : as_made) {
        if (!is_sum(s)) continue;
        if (needed.empty()) {
            needed.assign(p_.items.size(), items());
            before.resize(p_.items.size());
            for (int i = 0; i < items(); ++i)
                before_.after().each(i, [&](int n) { before[static_cast<std::size_t>(n)].push_back(i); });
        }
        open.push_back(s);
        for (; !open.empty();) {
            const auto at = static_cast<std::size_t>(open.back());
            open.pop_back();
            if (needed[at] < items()) continue;
            needed[at] = number;
            open.insert(open.end(), before[at].begin(), before[at].end());
        }
        ++number;
    }
    return needed;
}

TENON_INLINE bool ordering::is_sum(int i) const {
    return !item(i).removed && item(i).op->is(op_flags::sums) && worker_of(p_, o_, item(i)).stream >= 0;
}

TENON_INLINE std::vector<int> ordering::order(bool together) const {
    std::vector<int> waiting(p_.items.size()), result;
    for (int i = 0; i < items(); ++i) before_.after().each(i, [&](int n) { ++waiting[static_cast<std::size_t>(n)]; });
    // In the order in which the graph was made; transfers and copies are the last items.
    std::vector<int> as_made(p_.items.size()), place(p_.items.size());
    std::iota(as_made.begin(), as_made.end(), 0);
    const auto before = [&](int a, int b) { return item(a).origin->number < item(b).origin->number; };
    if (!std::is_sorted(as_made.begin(), as_made.end(), before))
        std::stable_sort(as_made.begin(), as_made.end(), before);
    // But what sums over devices need comes first, and so they go on beside the rest.
    if (const std::vector<int> by = sums_that_need(as_made); !by.empty())
        std::stable_sort(as_made.begin(), as_made.end(), [&](int a, int b) {
            return by[static_cast<std::size_t>(a)] < by[static_cast<std::size_t>(b)];
        });
    for (std::size_t at = 0; at < as_made.size(); ++at)
        place[static_cast<std::size_t>(as_made[at])] = static_cast<int>(at);
    // What streams do goes on while the host does what is its own, and what waits for a sum holds up no stream that has other work.
    constexpr int kinds = 6;
    std::vector<char> late(p_.items.size());
    std::vector<char> of_updates(p_.items.size());
    if (together)
        for (int i = 0; i < items(); ++i)
            of_updates[static_cast<std::size_t>(i)] = !item(i).removed && belongs_to_updates(p_, item(i));
    // A variable that an update begins with, and that others are made to run after, who come before the updates.
    for (int i = 0; i < items(); ++i)
        if (of_updates[static_cast<std::size_t>(i)] && item(i).op->is(op_flags::variable) &&
            leads_to_others(i, of_updates))
            of_updates[static_cast<std::size_t>(i)] = 0;
    std::vector<detail::index_set> ready(together ? 2 * kinds : kinds, detail::index_set(p_.items.size())); // places
    std::vector<int> free; // what stands between others and does not run passes on at once
    const auto release = [&](int i) {
        if (item(i).removed) {
            free.push_back(i);
            return;
        }
        // What may find a variable without a value comes before the first update.
        const bool looks = together && item(i).op->is(op_flags::variable);
        const bool on_host = worker_of(p_, o_, item(i)).stream < 0, is_no_update = !item(i).op->is(op_flags::updates);
        const int kind = looks || is_sum(i)                  ? 0
                         : on_host                           ? 4 + is_no_update
                         : late[static_cast<std::size_t>(i)] ? 3
                                                             : 1 + is_no_update;
        ready[static_cast<std::size_t>(kind + kinds * of_updates[static_cast<std::size_t>(i)])].insert(
            place[static_cast<std::size_t>(i)]);
    };
    std::size_t left = 0;
    for (int i = 0; i < items(); ++i) {
        left += !item(i).removed;
        if (waiting[static_cast<std::size_t>(i)] == 0) release(i);
    }
    result.reserve(left);
    const auto any = [](const auto& r) { return !r.empty(); };
    bool updating = false; // once begun, they go first
    for (;;) {
        int i;
        if (!free.empty()) {
            i = free.back();
            free.pop_back();
        } else {
            auto first = std::find_if(updating ? ready.begin() + kinds : ready.begin(), ready.end(), any);
            if (first == ready.end()) first = std::find_if(ready.begin(), ready.end(), any);
            if (first == ready.end()) break;
            i = as_made[static_cast<std::size_t>(first->take_smallest())];
            updating = updating || of_updates[static_cast<std::size_t>(i)];
            result.push_back(i);
        }
        const bool makes_late = is_sum(i) || (item(i).removed && late[static_cast<std::size_t>(i)]);
        before_.after().each(i, [&](int n) {
            if (makes_late) late[static_cast<std::size_t>(n)] = 1;
            if (--waiting[static_cast<std::size_t>(n)] == 0) release(n);
        });
    }
    if (result.size() < left) throw internal_error("the nodes of this step wait for each other in a cycle");
    return result;
}

TENON_INLINE std::vector<edges::edge> ordering::dependencies(const std::vector<int>& order) const {
    std::vector<edges::edge> waits; // a position, and one that it waits for
    waits.reserve(needs_.size() + needs_.size() / 4);
    std::vector<int> position(p_.items.size(), -1);
    for (std::size_t at = 0; at < order.size(); ++at)
        position[static_cast<std::size_t>(order[at])] = static_cast<int>(at);
    for (std::size_t n = 0; n < needs_.size(); ++n)
        waits.push_back({position[static_cast<std::size_t>(needs_[n].second)],
                         position[static_cast<std::size_t>(needs_[n].first)], why_[n]});
    std::vector<std::pair<int, bool>> touches; // position, whether it only reads
    std::vector<int> readers;
    for (const accesses& v : updated_) {
        touches.clear();
        const auto touch = [&](int i, bool write) {
            touches.push_back({position[static_cast<std::size_t>(i)], !write});
        };
        for (const number_list& of_version : v.readers)
            for (const int r : of_version) touch(r, false);
        for (const int u : v.updates) touch(u, true);
        if (v.forwarded >= 0) touch(v.forwarded, true);
        std::sort(touches.begin(), touches.end());
        int writer = -1;
        readers.clear();
        for (const auto& [at, read] : touches) {
            if (at == writer) continue; // it reads what it writes
            if (writer >= 0) waits.push_back({at, writer, edge_kind::variable});
            if (read) {
                readers.push_back(at);
            } else {
                for (const int r : readers) waits.push_back({at, r, edge_kind::variable});
                readers.clear();
                writer = at;
            }
        }
    }
    return waits;
}

} // namespace tenon::runtime
