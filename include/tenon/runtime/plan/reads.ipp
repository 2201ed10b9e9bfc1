#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include <tenon/runtime/plan/reads.hpp>

namespace tenon::runtime {

namespace detail {

// Of each variable, the latest update among some: (the variable's value, the update's place in its chain), sorted.
using latest_updates = std::vector<std::pair<int, int>>;
using shared_updates = std::shared_ptr<const latest_updates>; // null: none; most items share those of one before them

// Finds, for items that read a variable, after which of its updates they were made to run.
class read_resolver {
public:
    explicit read_resolver(program& p) : p_(p) {}

    void resolve() {
        find_chains();
        if (chains_.empty() || !any_late_reader()) return;
        up_to_.resize(p_.items.size());
        for (std::size_t n = 0; n < p_.items.size(); ++n) {
            program_item& i = p_.items[n];
            if (i.removed) continue;
            for (const int a : i.predecessors) join(up_to_[static_cast<std::size_t>(a)]);
            const shared_updates before = joined();
            if (before) redirect(i, *before);
            for (std::size_t k = 0; k < i.inputs.size(); ++k)
                if (const int from = p_.value(i.inputs[k]).producer; from >= 0 && p_.reads(i, static_cast<int>(k)))
                    join(up_to_[static_cast<std::size_t>(from)]);
            join(before);
            if (i.op->is(op_flags::updates)) join(itself(static_cast<int>(n)));
            up_to_[n] = joined();
        }
        drop_unread_variables();
    }

private:
    struct chain {
        int variable;             // its item
        std::vector<int> updates; // items, in the order in which they are applied
    };

    // Updates of one variable are applied in the order in which they were made: it agrees with data and control.
    void find_chains() {
        std::unordered_map<const node*, int> variables;
        for (int n = 0; n < static_cast<int>(p_.items.size()); ++n) {
            const program_item& i = p_.item(n);
            if (i.op->is(op_flags::variable)) variables.emplace(i.origin, n);
            if (i.removed || !i.op->is(op_flags::updates)) continue;
            const auto variable = variables.find(i.origin->inputs[0].node);
            if (variable == variables.end()) continue; // it is fed, or none
            const int value = p_.item(variable->second).outputs[0];
            chain& c = chains_.try_emplace(value, chain{variable->second, {}}).first->second;
            place_in_chain_.emplace(n, std::pair(value, static_cast<int>(c.updates.size())));
            c.updates.push_back(n);
        }
    }

    bool any_late_reader() const {
        return std::any_of(p_.items.begin(), p_.items.end(), [&](const program_item& i) {
            return !i.removed && !i.predecessors.empty() &&
                   std::any_of(i.inputs.begin(), i.inputs.end(), [&](int v) { return chains_.contains(v); });
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
    void redirect(program_item& i, const latest_updates& before) {
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            if (!chains_.contains(i.inputs[k]) || !p_.reads(i, static_cast<int>(k))) continue;
            const auto at = std::lower_bound(before.begin(), before.end(), std::pair(i.inputs[k], 0));
            if (at == before.end() || at->first != i.inputs[k]) continue;
            const int update = chains_.at(at->first).updates[static_cast<std::size_t>(at->second)];
            i.inputs[k] = p_.item(update).outputs[0];
        }
    }

    // A variable that is read only after its updates need not have a value before.
    void drop_unread_variables() {
        std::vector<bool> used(p_.values.size()), awaited(p_.items.size());
        for (const program_item& i : p_.items) {
            if (i.removed) continue;
            for (std::size_t k = 0; k < i.inputs.size(); ++k)
                if (p_.reads(i, static_cast<int>(k))) used[static_cast<std::size_t>(i.inputs[k])] = true;
            for (const int a : i.predecessors) awaited[static_cast<std::size_t>(a)] = true;
        }
        for (const int f : p_.fetches) used[static_cast<std::size_t>(f)] = true;
        for (const auto& [value, c] : chains_)
            if (!used[static_cast<std::size_t>(value)] && !awaited[static_cast<std::size_t>(c.variable)] &&
                !p_.item(c.variable).target)
                p_.item(c.variable).removed = true;
    }

    program& p_;
    std::map<int, chain> chains_; // by the variable's value
    std::unordered_map<int, std::pair<int, int>> place_in_chain_;
    std::vector<shared_updates> parts_; // that are being joined
    std::vector<shared_updates> up_to_; // by item: of itself and of all before it
};

} // namespace detail

TENON_INLINE void resolve_reads(program& p) { detail::read_resolver(p).resolve(); }

} // namespace tenon::runtime
