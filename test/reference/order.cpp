#include "reference/order.hpp"

#include <algorithm>
#include <string_view>

#include <tenon/ops/shape/partition.hpp>

namespace tn = tenon;

namespace reference {

std::string identity_of(const tn::node& n) { return n.container + "/" + n.name; }

bool reads_value(const tn::node& n, std::size_t i) { return n.op->reads(n.attributes, static_cast<int>(i)); }
bool is_variable(const tn::node& n) { return std::string_view(n.op->name) == "variable"; }
bool is_whole(const tn::node& n) {
    return std::string_view(n.op->name) == "concat" && n.controls.empty() &&
           !tn::parts_of(tn::any_tensor({const_cast<tn::node*>(&n), 0})).empty();
}
bool is_update(const tn::node& n) { return n.op->is(tn::op_flags::updates); }

const std::vector<tn::node*>& controls_of(const tn::node& n) {
    static const std::vector<tn::node*> none;
    return is_variable(n) ? none : n.controls;
}

namespace {

// It runs even for those who ask for its sizes alone: these are known when it has run.
bool tells_sizes(const tn::node& n) {
    return n.op->is(tn::op_flags::waits) &&
           std::any_of(n.outputs.begin(), n.outputs.end(),
                       [](const tn::tensor_type& t) { return !t.extents.is_static(); });
}

} // namespace

bool order::is_fed(const tn::node& n) const {
    for (int o = 0; o < static_cast<int>(n.outputs.size()); ++o)
        if (fed_.contains({&n, o})) return true;
    return false;
}

order::order(const request& r) {
    for (const tn::fed_value& f : r.feeds) fed_.insert(place_of(f.tensor.output()));
    std::set<const tn::node*> sized;
    std::vector<std::pair<const tn::node*, bool>> wanted; // and whether it runs
    for (const tn::any_tensor& f : r.fetches)
        if (!is_fed(f.output())) wanted.emplace_back(f.node(), true);
    for (const tn::operation& t : r.targets)
        if (!is_fed(*t.node())) wanted.emplace_back(t.node(), true);
    for (const auto& [n, runs] : wanted) asked_for_.insert(n);
    while (!wanted.empty()) {
        const tn::node* const n = wanted.back().first;
        const bool runs = wanted.back().second || tells_sizes(*n);
        wanted.pop_back();
        if (runs ? running_.contains(n) : sized.contains(n)) continue;
        sized.insert(n);
        if (runs) running_[n].node = n;
        for (std::size_t i = 0; i < n->inputs.size(); ++i) {
            if (is_fed(n->inputs[i])) continue;
            const bool needed = runs && reads_value(*n, i);
            wanted.emplace_back(n->inputs[i].node, needed);
            if (needed) running_[n].data.insert(n->inputs[i].node);
        }
        if (!runs) continue;
        for (const tn::node* c : controls_of(*n))
            if (!is_fed(*c)) {
                wanted.emplace_back(c, true);
                running_[n].controls.insert(c);
            }
    }
    const auto earlier = [](const tn::node* a, const tn::node* b) { return a->number < b->number; };
    sized_.assign(sized.begin(), sized.end());
    std::sort(sized_.begin(), sized_.end(), earlier);
    for (const tn::node* n : sized_)
        if (running_.contains(n)) nodes_.push_back(n);
    for (const tn::node* n : nodes_) {
        running& x = running_.at(n);
        for (const tn::node* c : x.controls) {
            x.begins_after.insert(c);
            x.begins_after.insert(running_.at(c).after.begin(), running_.at(c).after.end());
        }
        x.after = x.begins_after;
        for (const tn::node* d : x.data) {
            x.after.insert(d);
            x.after.insert(running_.at(d).after.begin(), running_.at(d).after.end());
        }
    }
}

} // namespace reference
