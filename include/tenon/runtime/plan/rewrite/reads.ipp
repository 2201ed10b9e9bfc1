#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include <tenon/ops/shape/partition.hpp>
#include <tenon/runtime/plan/rewrite/reads.hpp>
#include <tenon/runtime/plan/rewrite/update_chains.hpp>

namespace tenon::runtime {

namespace detail {

// Of each variable, the latest update among some: (the variable's value, the update's place in its chain), sorted.
using latest_updates = std::vector<std::pair<int, int>>;
using shared_updates = std::shared_ptr<const latest_updates>; // null: none; most items share those of one before them

// Finds, for items that read a variable, after which of its updates they were made to run.
class read_resolver {
public:
    read_resolver(program& p, update_chains& chains) : p_(p), chains_(chains) {}

    // True where it has changed something.
    bool resolve() {
        find_wholes();
        if (!any_late_reader()) return false;
        for (const auto& [value, c] : chains_)
            for (std::size_t u = 0; u < c.updates.size(); ++u)
                place_in_chain_.emplace(c.updates[u], std::pair(value, static_cast<int>(u)));
        up_to_.resize(p_.items.size());
        for (std::size_t n = 0; n < p_.items.size(); ++n) {
            program_item& i = p_.items[n];
            if (i.removed) continue;
            for (const int a : i.predecessors) join(up_to_[static_cast<std::size_t>(a)]);
            const shared_updates before = joined();
            if (before) redirect(static_cast<int>(n), *before);
            for (std::size_t k = 0; k < i.inputs.size(); ++k)
                if (const int from = p_.value(i.inputs[k]).producer; from >= 0 && p_.reads(i, static_cast<int>(k)))
                    join(up_to_[static_cast<std::size_t>(from)]);
            join(before);
            if (i.op->is(op_flags::updates)) join(itself(static_cast<int>(n)));
            up_to_[n] = joined();
        }
        if (joined_anew_.empty()) return true;
        remove_unread_wholes();
        (void)insert_items(p_, chains_, std::move(joins_));
        return true;
    }

private:
    // The tensors that variables in parts are joined to: who reads one reads the variable.
    void find_wholes() {
        for (std::size_t n = 0; n < p_.items.size(); ++n) {
            const program_item& i = p_.items[n];
            if (i.removed || !i.op->is(op_flags::joins) || i.op != i.origin->op || !i.predecessors.empty() ||
                std::none_of(i.inputs.begin(), i.inputs.end(), [&](int v) { return chains_.contains(v); }))
                continue;
            const int value = i.outputs[0];
            if (!parts_of(any_tensor(p_.value(value).origin)).empty()) wholes_.emplace(value, static_cast<int>(n));
        }
    }

    bool any_late_reader() const {
        const auto is_variable = [&](int v) { return chains_.contains(v) || wholes_.contains(v); };
        return std::any_of(p_.items.begin(), p_.items.end(), [&](const program_item& i) {
            return !i.removed && !i.predecessors.empty() && std::any_of(i.inputs.begin(), i.inputs.end(), is_variable);
        });
    }

    shared_updates itself(int update) const {
        const auto at = place_in_chain_.find(update);
        return at == place_in_chain_.end() ? nullptr
                                           : std::make_shared<const latest_updates>(latest_updates{at->second});
    }

    // Adds to what joined() answers.
    void join(const shared_updates& more) {
        if (more && (parts_.empty() || parts_.back() != more)) parts_.push_back(more);
    }

    // All at once, since a group may follow thousands of updates.
    shared_updates joined() {
        if (parts_.size() < 2) {
            shared_updates only = parts_.empty() ? nullptr : std::move(parts_[0]);
            parts_.clear();
            return only;
        }
        latest_updates all;
        for (const shared_updates& part : parts_) all.insert(all.end(), part->begin(), part->end());
        parts_.clear();
        std::sort(all.begin(), all.end());
        // Of one variable's the latest stands last.
        latest_updates latest;
        for (const auto& u : all)
            if (!latest.empty() && latest.back().first == u.first) latest.back() = u;
            else latest.push_back(u);
        return std::make_shared<const latest_updates>(std::move(latest));
    }

    // What the item reads of variables becomes what their updates left.
    void redirect(int item, const latest_updates& before) {
        program_item& i = p_.item(item);
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            if (!p_.reads(i, static_cast<int>(k))) continue;
            if (chains_.contains(i.inputs[k])) i.inputs[k] = left_by(i.inputs[k], before);
            else if (const auto whole = wholes_.find(i.inputs[k]); whole != wholes_.end())
                i.inputs[k] = joined_after(whole->second, item, before);
        }
    }
    int left_by(int variable, const latest_updates& before) const {
        const auto at = std::lower_bound(before.begin(), before.end(), std::pair(variable, 0));
        if (at == before.end() || at->first != variable) return variable;
        return p_.item(chains_.at(variable).updates[static_cast<std::size_t>(at->second)]).outputs[0];
    }
    // The parts of a variable are joined anew of what their updates left, in front of the first who reads that.
    int joined_after(int whole, int reader, const latest_updates& before) {
        program_item again = p_.item(whole);
        for (int& part : again.inputs)
            if (chains_.contains(part)) part = left_by(part, before);
        std::vector<int> parts(again.inputs.begin(), again.inputs.end());
        if (std::equal(parts.begin(), parts.end(), p_.item(whole).inputs.begin())) return again.outputs[0];
        const auto [at, first] = joined_anew_.try_emplace({whole, std::move(parts)}, 0);
        if (first) {
            program_value made = p_.value(again.outputs[0]);
            made.producer = -1; // until it is there
            at->second = again.outputs[0] = p_.add(std::move(made));
            again.target = false;
            joins_.push_back({reader, std::move(again)});
        }
        return at->second;
    }

    void remove_unread_wholes() {
        std::vector<bool> used(p_.values.size()), awaited(p_.items.size());
        for (const program_item& i : p_.items) {
            if (i.removed) continue;
            for (std::size_t k = 0; k < i.inputs.size(); ++k)
                if (p_.reads(i, static_cast<int>(k))) used[static_cast<std::size_t>(i.inputs[k])] = true;
            for (const int b : i.predecessors) awaited[static_cast<std::size_t>(b)] = true;
        }
        for (const int f : p_.fetches) used[static_cast<std::size_t>(f)] = true;
        for (const auto& [value, n] : wholes_)
            if (!used[static_cast<std::size_t>(value)] && !awaited[static_cast<std::size_t>(n)] && !p_.item(n).target)
                p_.item(n).removed = true;
    }

    program& p_;
    update_chains& chains_;
    std::unordered_map<int, int> wholes_;                         // by value: the item that joins it
    std::map<std::pair<int, std::vector<int>>, int> joined_anew_; // by item and what it joins: the value
    std::vector<inserted_item> joins_;                            // in the order of their readers
    std::unordered_map<int, std::pair<int, int>> place_in_chain_;
    std::vector<shared_updates> parts_; // that are being joined
    std::vector<shared_updates> up_to_; // by item: of itself and of all before it
};

// A variable that is read only after its updates need not have a value before.
inline void drop_unread_variables(program& p, const update_chains& chains) {
    std::vector<bool> used(p.values.size()), awaited(p.items.size());
    for (const program_item& i : p.items) {
        if (i.removed) continue;
        for (std::size_t k = 0; k < i.inputs.size(); ++k)
            if (p.reads(i, static_cast<int>(k))) used[static_cast<std::size_t>(i.inputs[k])] = true;
        for (const int a : i.predecessors) awaited[static_cast<std::size_t>(a)] = true;
    }
    for (const int f : p.fetches) used[static_cast<std::size_t>(f)] = true;
    for (const auto& [value, c] : chains)
        if (!used[static_cast<std::size_t>(value)] && !awaited[static_cast<std::size_t>(c.variable)] &&
            !p.item(c.variable).target)
            p.item(c.variable).removed = true;
}

} // namespace detail

TENON_INLINE void resolve_reads(program& p) {
    update_chains chains = find_update_chains(p);
    if (chains.empty()) return;
    const bool late = detail::read_resolver(p, chains).resolve();
    const bool anew = compute_updates_of_current(p, chains);
    if (late || anew) detail::drop_unread_variables(p, chains);
}

} // namespace tenon::runtime
