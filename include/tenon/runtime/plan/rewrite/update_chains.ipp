#pragma once

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <tenon/runtime/plan/rewrite/update_chains.hpp>

namespace tenon::runtime {

TENON_INLINE update_chains find_update_chains(const program& p) {
    update_chains chains;
    std::unordered_map<const node*, int> variables;
    for (int n = 0; n < static_cast<int>(p.items.size()); ++n) {
        const program_item& i = p.item(n);
        if (i.op->is(op_flags::variable)) variables.emplace(i.origin, n);
        if (i.removed || !i.op->is(op_flags::updates)) continue;
        const auto variable = variables.find(i.origin->inputs[0].node);
        if (variable == variables.end()) continue; // it is fed, or none
        const int value = p.item(variable->second).outputs[0];
        chains.try_emplace(value, update_chain{variable->second, {}}).first->second.updates.push_back(n);
    }
    return chains;
}

TENON_INLINE std::vector<int> insert_items(program& p, update_chains& chains, std::vector<inserted_item>&& items) {
    std::vector<program_item> all;
    all.reserve(p.items.capacity() + items.size());
    std::vector<int> now(p.items.size());
    auto next = items.begin();
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        for (; next != items.end() && next->before == static_cast<int>(n); ++next) {
            for (const int o : next->item.outputs) p.value(o).producer = static_cast<int>(all.size());
            all.push_back(std::move(next->item));
        }
        now[n] = static_cast<int>(all.size());
        for (const int o : p.items[n].outputs)
            if (p.value(o).producer >= 0) p.value(o).producer = now[n];
        all.push_back(std::move(p.items[n]));
    }
    p.items = std::move(all);
    // Those that are new run after items that were there.
    const auto is_now = [&](int& item) { item = now[static_cast<std::size_t>(item)]; };
    for (program_item& i : p.items) std::for_each(i.predecessors.begin(), i.predecessors.end(), is_now);
    for (auto& [value, c] : chains) {
        is_now(c.variable);
        std::for_each(c.updates.begin(), c.updates.end(), is_now);
    }
    return now;
}

namespace detail {

class current_values {
public:
    current_values(program& p, update_chains& chains) : p_(p), chains_(chains) {}

    // True where it has changed something.
    bool compute() {
        if (chains_.size() == 1 && chains_.begin()->second.updates.size() < 2) return false;
        for (const auto& [value, c] : chains_) values_.emplace(p_.item(c.variable).origin, value);
        find_computed();
        find_applications();
        count_reads();
        bool changed = false;
        for (const application& a : applications_) changed = evaluate_anew(a) || changed;
        if (copies_.empty()) return changed;
        insert_copies();
        remove_unread();
        return true;
    }

private:
    // Updates that take what they assign from one item, each of another variable.
    struct application {
        int by;
        number_list updates;
        short_list<const node*, 2> variables;
    };

    bool of_current(const program_item& i, std::size_t k) const {
        if (reads_current(p_, i, k)) return true;
        const int from = p_.value(i.inputs[k]).producer;
        return from >= 0 && p_.reads(i, static_cast<int>(k)) && computed_[static_cast<std::size_t>(from)];
    }

    void find_computed() {
        computed_.resize(p_.items.size());
        for (std::size_t n = 0; n < p_.items.size(); ++n) {
            const program_item& i = p_.items[n];
            if (i.removed || !has_no_effects(*i.op)) continue;
            for (std::size_t k = 0; k < i.inputs.size() && !computed_[n]; ++k) computed_[n] = of_current(i, k);
        }
    }

    void find_applications() {
        latest_.assign(p_.items.size(), -1);
        for (int n = 0; n < static_cast<int>(p_.items.size()); ++n) {
            const program_item& u = p_.item(n);
            if (u.removed || !u.op->is(op_flags::updates)) continue;
            std::size_t k = 0;
            while (k < u.inputs.size() && !of_current(u, k)) ++k;
            if (k == u.inputs.size()) continue;
            const node* const variable = u.origin->inputs[0].node;
            const int by = reads_current(p_, u, k) ? n : p_.value(u.inputs[k]).producer;
            int& at = latest_[static_cast<std::size_t>(by)];
            const auto has = [&](const application& a) {
                return std::find(a.variables.begin(), a.variables.end(), variable) != a.variables.end();
            };
            if (at < 0 || has(applications_[static_cast<std::size_t>(at)])) {
                at = static_cast<int>(applications_.size());
                applications_.emplace_back().by = by;
            }
            applications_[static_cast<std::size_t>(at)].updates.push_back(n);
            applications_[static_cast<std::size_t>(at)].variables.push_back(variable);
        }
    }

    // What the updates in front of an item left of a variable; -1: nothing, there are none.
    int left_before(const node* variable, int item) const {
        const auto value = values_.find(variable);
        if (value == values_.end()) return -1;
        const std::vector<int>& updates = chains_.at(value->second).updates;
        const auto after = std::lower_bound(updates.begin(), updates.end(), item);
        return after == updates.begin() ? -1 : p_.item(*(after - 1)).outputs[0];
    }

    // The items that the updates are computed by, of current values; inputs first. What computes for another application is of
    // that one's moment.
    std::vector<int> items_of(const application& a) {
        std::vector<int> found;
        seen_.resize(p_.items.size());
        const int mark = a.updates.front() + 1; // an update is of one application
        const auto look_at = [&](const program_item& i) {
            for (std::size_t k = 0; k < i.inputs.size(); ++k)
                if (!reads_current(p_, i, k) && of_current(i, k))
                    if (const int from = p_.value(i.inputs[k]).producer;
                        (from == a.by || latest_[static_cast<std::size_t>(from)] < 0) &&
                        std::exchange(seen_[static_cast<std::size_t>(from)], mark) != mark)
                        found.push_back(from);
        };
        for (const int u : a.updates) look_at(p_.item(u));
        for (std::size_t n = 0; n < found.size(); ++n) look_at(p_.item(found[n]));
        std::sort(found.begin(), found.end());
        return found;
    }

    void count_reads() {
        reads_.resize(p_.values.size());
        awaited_.resize(p_.items.size());
        for (const program_item& i : p_.items) {
            if (i.removed) continue;
            count(i, 1);
            for (const int a : i.predecessors) awaited_[static_cast<std::size_t>(a)] = true;
        }
        for (const int f : p_.fetches) ++reads_[static_cast<std::size_t>(f)];
    }
    void count(const program_item& i, int by) {
        for (std::size_t k = 0; k < i.inputs.size(); ++k)
            if (p_.reads(i, static_cast<int>(k))) reads_[static_cast<std::size_t>(i.inputs[k])] += by;
    }
    bool is_needed(int item) const {
        const program_item& i = p_.item(item);
        return i.target || awaited_[static_cast<std::size_t>(item)] ||
               std::any_of(i.outputs.begin(), i.outputs.end(),
                           [&](int o) { return reads_[static_cast<std::size_t>(o)] > 0; });
    }

    // An item that nobody else needs is changed itself, where it stands after what it reads then; of others there are
    // copies.
    bool evaluate_anew(const application& a) {
        const int first = a.updates.front();
        std::unordered_map<int, int> anew; // values
        const auto read_instead = [&](const program_item& i, std::size_t k) {
            const int value = i.inputs[k];
            if (reads_current(p_, i, k)) {
                const int left = left_before(i.origin->inputs[k].node, first);
                return left >= 0 ? left : value;
            }
            const auto at = anew.find(value);
            return at != anew.end() && p_.reads(i, static_cast<int>(k)) ? at->second : value;
        };
        const auto redirect = [&](program_item& i) {
            for (std::size_t k = 0; k < i.inputs.size(); ++k) i.inputs[k] = read_instead(i, k);
            count(i, 1);
        };
        const std::vector<int> items = items_of(a);
        for (const int u : a.updates) count(p_.item(u), -1);
        std::vector<bool> own(items.size());
        for (std::size_t n = items.size(); n-- > 0;) {
            own[n] = !is_needed(items[n]);
            if (own[n]) count(p_.item(items[n]), -1);
        }
        bool changed = false;
        for (std::size_t n = 0; n < items.size(); ++n) {
            program_item& i = p_.item(items[n]);
            bool changes = false, in_place = own[n];
            for (std::size_t k = 0; k < i.inputs.size(); ++k) {
                const int value = read_instead(i, k);
                if (value == i.inputs[k]) continue;
                changes = true;
                in_place = in_place && !anew.contains(i.inputs[k]) && p_.value(value).producer < items[n];
            }
            changed = changed || changes;
            if (in_place || !changes) {
                if (own[n]) redirect(i);
                continue;
            }
            program_item again = i;
            if (own[n]) count(i, 1);
            redirect(again);
            again.target = false;
            for (int& o : again.outputs) {
                const int made = p_.add(program_value(p_.value(o)));
                reads_.push_back(0);
                anew.emplace(o, made);
                o = made;
            }
            copies_.push_back({first, std::move(again)});
        }
        for (const int u : a.updates) {
            program_item& i = p_.item(u);
            for (std::size_t k = 0; k < i.inputs.size(); ++k) changed = changed || read_instead(i, k) != i.inputs[k];
            redirect(i);
        }
        return changed;
    }

    // Applications were found in the order of their first updates.
    void insert_copies() {
        const std::vector<int> now = insert_items(p_, chains_, std::move(copies_));
        std::vector<bool> computed(p_.items.size()), awaited(p_.items.size());
        for (std::size_t n = 0; n < now.size(); ++n) {
            computed[static_cast<std::size_t>(now[n])] = computed_[n];
            awaited[static_cast<std::size_t>(now[n])] = awaited_[n];
        }
        computed_ = std::move(computed);
        awaited_ = std::move(awaited);
    }

    // What was copied for all that read it.
    void remove_unread() {
        for (int n = static_cast<int>(p_.items.size()); n-- > 0;) {
            program_item& i = p_.item(n);
            if (i.removed || !computed_[static_cast<std::size_t>(n)] || is_needed(n)) continue;
            i.removed = true;
            count(i, -1);
        }
    }

    program& p_;
    update_chains& chains_;
    std::unordered_map<const node*, int> values_; // of the variables that have chains
    std::vector<bool> computed_;                  // by item: of current values, without effects
    std::vector<bool> awaited_;                   // by item: others run after it
    std::vector<int> latest_;                     // by item: the application that it computes for, or -1
    std::vector<int> seen_;                       // by item: the application that found it at last
    std::vector<int> reads_;                      // by value, fetches included
    std::vector<application> applications_;
    std::vector<inserted_item> copies_;
};

} // namespace detail

TENON_INLINE bool compute_updates_of_current(program& p, update_chains& chains) {
    return detail::current_values(p, chains).compute();
}

TENON_INLINE void part_current_values(program& p, const update_chains& chains) {
    if (chains.empty()) return;
    std::vector<char> plain(p.values.size());            // values that are read as they were before the step
    std::vector<std::pair<int, std::size_t>> of_current; // items and their inputs
    for (int n = 0; n < static_cast<int>(p.items.size()); ++n) {
        const program_item& i = p.item(n);
        if (i.removed) continue;
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            if (!p.reads(i, static_cast<int>(k))) continue;
            if (reads_current(p, i, k) && chains.contains(i.inputs[k])) of_current.emplace_back(n, k);
            else plain[static_cast<std::size_t>(i.inputs[k])] = true;
        }
    }
    for (const int f : p.fetches) plain[static_cast<std::size_t>(f)] = true;
    std::unordered_map<int, int> current; // by the variable's value
    for (const auto& [n, k] : of_current) {
        const int value = p.item(n).inputs[k];
        const auto [at, first] = current.emplace(value, value);
        if (first && plain[static_cast<std::size_t>(value)]) {
            program_value v = p.value(value);
            v.origin.index = 1;
            at->second = p.add(std::move(v));
            p.item(chains.at(value).variable).outputs.push_back(at->second);
        }
        p.value(at->second).current = true;
        p.item(n).inputs[k] = at->second;
    }
}

} // namespace tenon::runtime
