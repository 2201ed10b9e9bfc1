#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/ops/collective/exchange.hpp>
#include <tenon/runtime/plan/rewrite/update_chains.hpp>
#include <tenon/runtime/plan/segments.hpp>
#include <tenon/runtime/plan/wait_sets.hpp>

namespace tenon::runtime {

namespace detail {

class segment_cutter {
public:
    explicit segment_cutter(const program& p) :
        p_(p),
        chains_(find_update_chains(p)),
        made_by_(p.values.size(), -1),
        sets_(p.items.size()),
        set_(p.items.size()) {
        awaited_.resize(p.items.size());
        for (const auto& [value, c] : chains_) chain_of_.emplace(p.item(c.variable).origin, &c);
        for (int n = 0; n < count(); ++n) {
            for (const int o : p.item(n).outputs) made_by_[static_cast<std::size_t>(o)] = n;
            if (!p.item(n).removed)
                for (const int b : p.item(n).predecessors) awaited_[static_cast<std::size_t>(b)] = true;
        }
        std::unordered_map<const node*, int> last; // update of a variable, which may be fed
        for (int n = 0; n < count(); ++n) {
            const program_item& i = p.item(n);
            if (i.removed || !i.op->is(op_flags::updates)) continue;
            const auto [at, first] = last.emplace(i.origin->inputs[0].node, n);
            if (!first) follows_.emplace(n, std::exchange(at->second, n));
        }
    }

    std::vector<step_unit> run() {
        for (int n = 0; n < count(); ++n) set_[static_cast<std::size_t>(n)] = what_comes_before(n);
        gather_updates();
        move_to_readers();
        make_units();
        covered_.resize(units_.size());
        for (int n = 0; n < count(); ++n)
            if (const int u = unit_of_item(n); u >= 0) connect(n, u);
        for (std::size_t u = 0; u < covered_.size(); ++u) follow_waits(static_cast<int>(u));
        for (const int f : p_.fetches) {
            const int u = unit_that_has(f);
            if (u < 0) continue;
            give(u, f);
            keep_from_updates(f, u);
        }
        hold_updates();
        find_late_segments();
        count_edges();
        return std::move(units_);
    }

private:
    int count() const { return static_cast<int>(p_.items.size()); }
    int set_of(int item) const { return set_[static_cast<std::size_t>(item)]; }
    int maker_of(int value) const { return made_by_[static_cast<std::size_t>(value)]; }
    bool waits(int item) const { return p_.item(item).op->is(op_flags::waits); }
    bool is_open(int value) const { return !p_.value(value).type.extents.is_static(); }
    bool is_source(int item) const { return is_read_anywhere(p_.item(item)); }
    // Whether it is run by itself: what is read anywhere is so only where others are made to run after it.
    bool has_a_place(int n) const {
        return !p_.item(n).removed && (!is_source(n) || awaited_[static_cast<std::size_t>(n)]);
    }
    int set_after(int item) { return waits(item) ? sets_.with(set_of(item), item) : set_of(item); }

    // Whether input k is the current value of a variable of this program: one of another task is read as it is sent.
    bool is_current(int n, std::size_t k) const {
        const int from = maker_of(p_.item(n).inputs[k]);
        return from >= 0 && (p_.item(from).op->is(op_flags::variable) || p_.item(from).op->is(op_flags::updates)) &&
               reads_current(p_, p_.item(n), k);
    }

    // The items that an item runs after: all that it reads or asks the sizes of, where they are known late.
    template <class Visit> void each_before(int n, Visit visit) const {
        const program_item& i = p_.item(n);
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            const int from = maker_of(i.inputs[k]);
            if (from >= 0 && !is_source(from) && ((!i.removed && i.read[k]) || is_open(i.inputs[k]))) visit(from);
        }
        for (const int b : i.predecessors) visit(b);
        if (const auto at = follows_.find(n); at != follows_.end()) visit(at->second);
    }

    int what_comes_before(int n) {
        int set = 0;
        each_before(n, [&](int b) { set = sets_.united(set, set_after(b)); });
        return set;
    }

    // One for all handles of a queue.
    static std::string resource_name(const node& n) {
        const auto* const shared = n.attributes.find("shared_name");
        const std::string name = shared ? n.attributes.get<std::string>("shared_name") : std::string();
        return name.empty() ? "#" + std::to_string(n.number) : n.container + "/" + name;
    }

    // Updates come after all that may wait, however long, and does not itself come after an update: so a step is late, or stopped,
    // before its first update, and they are one segment. What uses the same queue as something that comes after them may wait for that.
    void gather_updates() {
        std::vector<bool>& after = after_update_;
        after.resize(p_.items.size());
        bool any = false;
        for (int n = 0; n < count(); ++n) {
            const program_item& i = p_.item(n);
            bool is_after = i.op == &receive_definition && decode<receive_op::attributes>(i.attributes).follows_update;
            each_before(n, [&](int b) {
                is_after = is_after || after[static_cast<std::size_t>(b)] || p_.item(b).op->is(op_flags::updates);
            });
            after[static_cast<std::size_t>(n)] = is_after;
            any = any || (!i.removed && i.op->is(op_flags::updates));
        }
        if (!any) return;
        std::set<std::string> used; // by what comes after
        const auto each_used = [&](int n, auto visit) {
            if (!p_.item(n).op->is(op_flags::uses)) return;
            for (const node_output& of : p_.item(n).origin->inputs)
                if (of.node->op->is(op_flags::resource)) visit(resource_name(*of.node));
        };
        for (int n = 0; n < count(); ++n)
            if (waits(n) && after[static_cast<std::size_t>(n)])
                each_used(n, [&](std::string name) { used.insert(std::move(name)); });
        int first = 0;
        for (int n = 0; n < count(); ++n) {
            if (!waits(n) || p_.item(n).removed || after[static_cast<std::size_t>(n)] ||
                p_.item(n).op == &send_definition)
                continue;
            bool meets = false;
            each_used(n, [&](const std::string& name) { meets = meets || used.contains(name); });
            if (!meets) first = sets_.united(first, set_after(n));
        }
        for (int n = 0; n < count(); ++n) {
            int& set = set_[static_cast<std::size_t>(n)];
            set = what_comes_before(n);
            if (p_.item(n).op->is(op_flags::updates)) set = sets_.united(set, first);
        }
    }

    // Segments that do not come after an update, and wait for no more than updates do, come before those: what fails or is stopped there
    // leaves all as it was.
    void hold_updates() {
        std::vector<bool> is_free(units_.size(), true);
        std::set<int> updating;
        for (int n = 0; n < count(); ++n) {
            const int u = unit_of_item(n);
            if (u < 0) continue;
            const bool updates = p_.item(n).op->is(op_flags::updates),
                       after = after_update_[static_cast<std::size_t>(n)];
            if (updates || after || waits(n)) is_free[static_cast<std::size_t>(u)] = false;
            if (updates && !after) updating.insert(u);
        }
        for (const int u : updating) {
            const int set = unit_sets_[static_cast<std::size_t>(u)];
            for (std::size_t s = 0; s < is_free.size(); ++s)
                if (is_free[s] && unit_sets_[s] != set && sets_.within(unit_sets_[s], set))
                    before(static_cast<int>(s), u);
        }
    }

    // Items without effects that begin with variables, constants and feeds, and whose readers are all in one segment, run
    // there: what they read need not be handed on, and is of that segment's moment. What an update is computed of its
    // variable's current value must, also where it is made to run after something, or updates of other steps would be lost. So do those of
    // op_flags::by_reader.
    void move_to_readers() {
        const auto is_pure = [&](int n) {
            const program_item& i = p_.item(n);
            return !i.removed && !i.target && !i.op->is(op_flags::stateful) && !i.op->is(op_flags::source) &&
                   !i.op->is(op_flags::updates) && !i.op->is(op_flags::waits);
        };
        std::vector<bool> rooted(p_.items.size()), of_current(p_.items.size());
        for (int n = 0; n < count(); ++n) {
            if (!is_pure(n)) continue;
            const program_item& i = p_.item(n);
            const bool by_reader = i.op->is(op_flags::by_reader);
            bool all = i.predecessors.empty(), any = false;
            for (std::size_t k = 0; k < i.inputs.size() && !by_reader; ++k) {
                const int from = maker_of(i.inputs[k]);
                const bool computed = from >= 0 && !is_source(from) && i.read[k];
                all = all && (!computed || rooted[static_cast<std::size_t>(from)]);
                any = any || is_current(n, k) || (computed && of_current[static_cast<std::size_t>(from)]);
            }
            rooted[static_cast<std::size_t>(n)] = all;
            of_current[static_cast<std::size_t>(n)] = any;
        }
        constexpr int none = -1, several = -2;
        std::vector<int> readers(p_.items.size(), none); // by item: the set of its readers
        const auto read_in = [&](int item, int set) {
            int& known = readers[static_cast<std::size_t>(item)];
            known = known == none || known == set ? set : several;
        };
        for (int n = count(); n-- > 0;) {
            const int known = readers[static_cast<std::size_t>(n)];
            if (known >= 0 && (rooted[static_cast<std::size_t>(n)] || of_current[static_cast<std::size_t>(n)]))
                set_[static_cast<std::size_t>(n)] = known;
            // What does not run asks for sizes on behalf of those who ask for its own.
            const bool removed = p_.item(n).removed;
            if (removed && known == none) continue;
            const int by = removed ? known : waits(n) ? several : set_of(n);
            each_before(n, [&](int b) { read_in(b, by); });
        }
        for (int n = 0; n < count(); ++n)
            if (p_.item(n).removed) set_[static_cast<std::size_t>(n)] = what_comes_before(n);
    }

    // By the number of ops that are waited for, and segments before the ops that wait.
    void make_units() {
        using key = std::tuple<int, int, int>; // size of the set, the item that waits or -1, the set
        std::map<key, int> order;
        const auto key_of = [&](int n) { return key(sets_.size(set_of(n)), waits(n) ? n : -1, set_of(n)); };
        for (int n = 0; n < count(); ++n)
            if (has_a_place(n)) order.emplace(key_of(n), 0);
        for (auto& [k, number] : order) {
            number = static_cast<int>(units_.size());
            units_.emplace_back().waits = std::get<1>(k);
            unit_sets_.push_back(std::get<2>(k));
            if (std::get<1>(k) < 0) segment_of_[std::get<2>(k)] = number;
        }
        unit_of_.assign(p_.items.size(), -1);
        for (int n = 0; n < count(); ++n) {
            if (!has_a_place(n)) continue;
            const int unit = unit_of_[static_cast<std::size_t>(n)] = order.at(key_of(n));
            if (waits(n))
                for (const int o : p_.item(n).outputs) give(unit, o);
            else units_[static_cast<std::size_t>(unit)].items.push_back(n);
        }
    }
    int unit_of_item(int n) const { return unit_of_[static_cast<std::size_t>(n)]; }
    // The segment that waits for nothing; a new one is the last, which comes before others all the same.
    int first_segment() {
        const auto [at, isnew] = segment_of_.try_emplace(0, static_cast<int>(units_.size()));
        if (isnew) {
            units_.emplace_back();
            unit_sets_.push_back(0);
        }
        return at->second;
    }

    void before(int unit, int then) {
        if (unit != then) edges_.emplace_back(unit, then);
    }
    using entered = std::unordered_set<std::uint64_t>; // units and values
    static void enter(std::vector<int>& list, entered& once, int unit, int value) {
        if (once.insert(static_cast<std::uint64_t>(unit) << 32 | static_cast<std::uint32_t>(value)).second)
            list.push_back(value);
    }
    void give(int unit, int value) { enter(units_[static_cast<std::size_t>(unit)].gives, given_, unit, value); }
    void take(int unit, int value) { enter(units_[static_cast<std::size_t>(unit)].takes, taken_, unit, value); }
    // Who has a value to hand on; -1: it is fed.
    int unit_that_has(int value) {
        const int from = maker_of(value);
        if (from < 0) return p_.value(value).feed >= 0 ? -1 : first_segment();
        return is_source(from) ? first_segment() : unit_of_item(from);
    }

    // What a unit depends on may be by way of items that do not run, whose sizes alone matter.
    void follow_waits(int unit) {
        int& covered = covered_[static_cast<std::size_t>(unit)];
        for (int w = 0; (w = sets_.last_beside(unit_sets_[static_cast<std::size_t>(unit)], covered)) >= 0;) {
            covered = sets_.united(covered, set_after(w));
            before(unit_of_item(w), unit);
        }
    }

    void connect(int n, int u) {
        each_before(n, [&](int b) {
            const int from = unit_of_item(b);
            if (from < 0 || from == u) return;
            before(from, u);
            covered_[static_cast<std::size_t>(u)] = sets_.united(covered_[static_cast<std::size_t>(u)], set_after(b));
        });
        const program_item& i = p_.item(n);
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            const int v = i.inputs[k];
            const bool op = waits(n);
            if (op) units_[static_cast<std::size_t>(u)].takes.push_back(i.read[k] ? v : -1);
            if (!i.read[k]) continue;
            const int from = maker_of(v);
            if (!op && is_current(n, k)) { // what is there when the segment updates it
                if (!is_updated_too_early(i.origin->inputs[k].node, from, u)) continue;
                units_[static_cast<std::size_t>(u)].taken_current.push_back(v);
            } else if (from >= 0 && is_source(from) && !op && !is_updated_elsewhere(v, u)) continue;
            const int has = unit_that_has(v);
            if (has == u) continue;
            if (!op) take(u, v);
            if (has < 0) continue;
            give(has, v);
            before(has, u);
            keep_from_updates(v, has);
        }
    }

    // Whether a segment that reads a variable as it was before the step might find an update. Where it can come first, it does.
    bool is_updated_elsewhere(int value, int unit) {
        const auto chain = chains_.find(value);
        return chain != chains_.end() && !comes_before(unit, chain->second.updates.front());
    }
    // The same of who reads what an update left, or the variable where it is none: of the updates after that.
    bool is_updated_too_early(const node* variable, int left_by, int unit) {
        const auto at = chain_of_.find(variable);
        if (at == chain_of_.end()) return false;
        const std::vector<int>& updates = at->second->updates;
        const auto next = std::upper_bound(updates.begin(), updates.end(), left_by);
        return next != updates.end() && !comes_before(unit, *next);
    }
    // Whether a segment can be made to come before an update of another segment, and so before those that follow it, as it then is.
    bool comes_before(int unit, int update) {
        const int set = unit_sets_[static_cast<std::size_t>(unit)];
        if (unit_of_item(update) == unit) return true;
        if (set == set_of(update) || !sets_.within(set, set_of(update))) return false;
        before(unit, unit_of_item(update));
        return true;
    }
    void keep_from_updates(int value, int reader) {
        const auto chain = chains_.find(value);
        if (chain != chains_.end()) before(reader, unit_of_item(chain->second.updates.front()));
    }

    // A segment with open sizes: what these follow from, item by item, back to the ops that will tell them.
    void find_late_segments() {
        const auto is = [&](int v) { return is_open(v); };
        const auto is_named = [](const extents& e) {
            return std::any_of(e.begin(), e.end(), [](const extent& size) { return size.is_named(); });
        };
        std::vector<int> tellers; // items that wait and will tell named sizes
        for (int n = 0; n < count(); ++n)
            if (const program_item& i = p_.item(n);
                !i.removed && waits(n) && std::any_of(i.outputs.begin(), i.outputs.end(), [&](int o) {
                    return is_open(o) && is_named(declared(o));
                }))
                tellers.push_back(n);
        std::vector<int> seen(p_.items.size(), -1); // by item: the unit that found it at last
        std::vector<int> found;
        for (int u = 0; u < static_cast<int>(units_.size()); ++u) {
            step_unit& unit = units_[static_cast<std::size_t>(u)];
            if (unit.waits >= 0) continue;
            const auto find = [&](int n) {
                if (std::exchange(seen[static_cast<std::size_t>(n)], u) != u) found.push_back(n);
            };
            for (const int n : unit.items)
                if (const program_item& i = p_.item(n); std::any_of(i.inputs.begin(), i.inputs.end(), is) ||
                                                        std::any_of(i.outputs.begin(), i.outputs.end(), is))
                    find(n);
            bool by_name = false;
            while (!found.empty()) {
                const int n = found.back();
                found.pop_back();
                const program_item& i = p_.item(n);
                if (waits(n)) {
                    std::copy_if(i.outputs.begin(), i.outputs.end(), std::back_inserter(unit.late_from), is);
                    continue;
                }
                unit.inferred.push_back(n);
                for (const int v : i.inputs)
                    if (is_open(v) && maker_of(v) >= 0) find(maker_of(v));
                for (const auto& [name, a] : i.attributes)
                    if (const auto* e = std::get_if<extents>(&a); e && !by_name && is_named(*e)) {
                        by_name = true; // whoever will tell
                        for (const int w : tellers)
                            if (sets_.contains(unit_sets_[static_cast<std::size_t>(u)], w)) find(w);
                    }
            }
            std::sort(unit.late_from.begin(), unit.late_from.end());
            std::sort(unit.inferred.begin(), unit.inferred.end());
        }
    }
    const extents& declared(int value) const {
        const node_output& o = p_.value(value).origin;
        return o.node->outputs[static_cast<std::size_t>(o.index)].extents;
    }

    void count_edges() {
        std::sort(edges_.begin(), edges_.end());
        edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
        for (const auto& [from, to] : edges_) {
            units_[static_cast<std::size_t>(from)].then.push_back(to);
            ++units_[static_cast<std::size_t>(to)].before;
        }
    }

    const program& p_;
    const update_chains chains_;
    std::unordered_map<const node*, const update_chain*> chain_of_; // by variable
    std::vector<int> made_by_;                                      // by value, items that do not run included
    std::vector<bool> awaited_;                                     // by item: others are made to run after it
    std::vector<bool> after_update_;                                // by item: it comes after an update
    std::unordered_map<int, int> follows_; // the update of the same variable that comes before one
    wait_sets sets_;
    std::vector<int> set_; // by item: what has completed before it runs
    std::vector<step_unit> units_;
    std::vector<int> unit_sets_; // by unit
    std::vector<int> covered_;   // by unit: what the units that come before it are known to have waited for, or are
    std::vector<int> unit_of_;   // by item, or -1
    std::unordered_map<int, int> segment_of_; // by set
    entered given_, taken_;
    std::vector<std::pair<int, int>> edges_;
};

} // namespace detail

TENON_INLINE bool has_waits(const program& p) {
    return std::any_of(p.items.begin(), p.items.end(),
                       [](const program_item& i) { return !i.removed && i.op->is(op_flags::waits); });
}

TENON_INLINE std::vector<step_unit> cut_into_segments(const program& p) { return detail::segment_cutter(p).run(); }

} // namespace tenon::runtime

#include <tenon/runtime/plan/segment_programs.inl>
