#include "reference/updates.hpp"

namespace tn = tenon;

namespace reference {

bool updates::reads_current(const tn::node& n, std::size_t i) const {
    const tn::node_output& from = n.inputs[i];
    return is_variable(*from.node) && from.index == 1 && reads_value(n, i) && !order_.is_fed(from);
}

bool updates::is_of_current(const tn::node& n, std::size_t i) const {
    const tn::node_output& from = n.inputs[i];
    return reads_current(n, i) || (computed_.contains(from.node) && reads_value(n, i) && !order_.is_fed(from));
}

updates::updates(const order& o) : order_(o) {
    using tn::op_flags;
    struct application {
        const tn::node* first;
        std::set<const tn::node*> variables;
    };
    std::map<const tn::node*, application> latest; // by what computes for them
    for (const tn::node* n : o.nodes()) {
        if (is_update(*n)) {
            const tn::node* const variable = n->inputs[0].node;
            of_[variable].push_back(n);
            first_[n] = n;
            for (std::size_t i = 0; i < n->inputs.size(); ++i) {
                if (!is_of_current(*n, i)) continue;
                const tn::node* by = reads_current(*n, i) ? n : n->inputs[i].node;
                const auto [at, isnew] = latest.try_emplace(by, application{n, {}});
                if (at->second.variables.contains(variable)) at->second = {n, {}};
                at->second.variables.insert(variable);
                first_[n] = at->second.first;
                computes_for_[by].insert(first_[n]);
                break;
            }
        } else if (!n->op->is(op_flags::stateful) && !n->op->is(op_flags::source))
            for (std::size_t i = 0; i < n->inputs.size(); ++i)
                if (is_of_current(*n, i)) computed_.insert(n);
    }
    for (const auto& [update, first] : first_) {
        computes_for_.erase(update); // which reads the current value itself
        note_what_finds(update);
    }
    // Those that others read, or wait for, are evaluated once for all of these.
    alone_ = computed_;
    for (const tn::node* n : o.nodes())
        for (const tn::node* c : o.at(n).controls) alone_.erase(c);
    for (const tn::node* n : o.asked_for()) alone_.erase(n);
    for (auto n = o.nodes().rbegin(); n != o.nodes().rend(); ++n)
        for (const tn::node* d : o.at(*n).data)
            if (is_update(**n) ? computes_for_another(d, first_of(*n))
                               : !alone_.contains(*n) || computes_for_.contains(d))
                alone_.erase(d);
}

void updates::note_what_finds(const tn::node* update) {
    std::set<const tn::node*> seen;
    std::vector<const tn::node*> next{update};
    while (!next.empty()) {
        const tn::node& n = *next.back();
        next.pop_back();
        for (std::size_t i = 0; i < n.inputs.size(); ++i) {
            const tn::node* const from = n.inputs[i].node;
            if (reads_current(n, i)) {
                if (!latest_before(from, first_of(update))) found_as_before_.insert(from);
            } else if (is_of_current(n, i) && !computes_for_another(from, first_of(update)) && seen.insert(from).second)
                next.push_back(from);
        }
    }
}

bool updates::computes_for_another(const tn::node* n, const tn::node* first) const {
    const auto at = computes_for_.find(n);
    return at != computes_for_.end() && !at->second.contains(first);
}

const std::vector<const tn::node*>& updates::of(const tn::node* variable) const {
    static const std::vector<const tn::node*> none;
    const auto at = of_.find(variable);
    return at == of_.end() ? none : at->second;
}

const tn::node* updates::latest_before(const tn::node* variable, const tn::node* n) const {
    const tn::node* latest = nullptr;
    for (const tn::node* u : of(variable))
        if (u->number < n->number) latest = u;
    return latest;
}

} // namespace reference
