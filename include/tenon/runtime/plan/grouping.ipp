#pragma once

#include <map>
#include <utility>

#include <tenon/expr/fused.hpp>
#include <tenon/ops/elementwise/fused_group.hpp>
#include <tenon/runtime/plan/grouping.hpp>

namespace tenon::runtime {

namespace detail {

class pass_groups {
public:
    pass_groups(program& p, const plan_options& o) : p_(p), o_(o) {}

    void group() {
        for (int n = 0; n < static_cast<int>(p_.items.size()); ++n)
            if (is_small_pass(n)) small_.push_back(n);
        if (small_.size() < 2) return;
        find_readers();
        std::erase_if(small_, [&](int n) { return awaited_[static_cast<std::size_t>(n)] || is_fetched(n); });
        const auto updates =
            std::stable_partition(small_.begin(), small_.end(), [&](int n) { return is_of_variables(n); });
        std::vector<int> for_updates(updates, small_.end());
        small_.erase(updates, small_.end());
        join_alike(small_, true);
        std::erase_if(for_updates, [&](int n) { return !is_for_updates(n); });
        drop_those_after_others(for_updates);
        join_alike(for_updates, false);
    }

private:
    const tape* tape_of(int n) const { return p_.item(n).attributes.get<std::shared_ptr<const tape>>("tape").get(); }

    // Of whose time giving it is a good part: a card moves so much in 10 us.
    bool is_small_pass(int n) const {
        constexpr std::int64_t most_bytes = std::int64_t{32} << 20;
        const program_item& i = p_.item(n);
        if (i.removed || i.op != &fused_definition || i.target || !i.predecessors.empty() ||
            !o_.device(i.device).streams())
            return false;
        const tape& t = *tape_of(n);
        for (int o = 0; o < t.output_count; ++o)
            if (t.outputs[o].like >= 0) return false;
        std::int64_t bytes = 0;
        for (const number_list* values : {&i.inputs, &i.outputs})
            for (const int v : *values) bytes += bytes_of(p_.value(v).type);
        return bytes <= most_bytes;
    }

    // Of each item: who reads it, who waits for it, and of updates the next one of the variable.
    void find_readers() {
        after_.resize(p_.items.size());
        awaited_.resize(p_.items.size());
        std::map<const variable_resource*, int> latest; // updates
        for (int n = 0; n < static_cast<int>(p_.items.size()); ++n) {
            const program_item& i = p_.item(n);
            if (i.removed && i.predecessors.empty()) continue;
            if (!i.removed && i.op->is(op_flags::updates)) {
                const auto [at, is_first] = latest.try_emplace(p_.value(i.outputs[0]).variable, n);
                if (!is_first) after_[static_cast<std::size_t>(std::exchange(at->second, n))].push_back(n);
            }
            for (const int a : i.predecessors) {
                after_[static_cast<std::size_t>(a)].push_back(n);
                awaited_[static_cast<std::size_t>(a)] = true;
            }
            for (std::size_t k = 0; k < i.inputs.size(); ++k)
                if (const int from = p_.value(p_.root(i.inputs[k])).producer; !i.removed && i.read[k] && from >= 0)
                    after_[static_cast<std::size_t>(from)].push_back(n);
        }
        fetched_.resize(p_.values.size());
        for (const int f : p_.fetches) fetched_[static_cast<std::size_t>(p_.root(f))] = true;
    }

    bool is_fetched(int n) const {
        const program_item& i = p_.item(n);
        return std::any_of(i.outputs.begin(), i.outputs.end(),
                           [&](int o) { return p_.value(o).fetch >= 0 || fetched_[static_cast<std::size_t>(o)]; });
    }
    // All that it reads is there when the step begins: values of variables, and constants. So none of them comes after another.
    bool is_of_variables(int n) const {
        const program_item& i = p_.item(n);
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            const program_value& v = p_.value(p_.root(i.inputs[k]));
            if (i.read[k] && v.producer >= 0 && (v.current || !p_.item(v.producer).op->is(op_flags::variable)))
                return false;
        }
        return true;
    }
    bool is_for_updates(int n) const {
        const number_list& readers = after_[static_cast<std::size_t>(n)];
        return !readers.empty() && std::all_of(readers.begin(), readers.end(),
                                               [&](int r) { return p_.item(r).op->is(op_flags::replaces); });
    }

    void drop_those_after_others(std::vector<int>& all) const {
        std::vector<bool> seen(p_.items.size());
        std::vector<int> open = all;
        while (!open.empty()) {
            const int n = open.back();
            open.pop_back();
            for (const int a : after_[static_cast<std::size_t>(n)])
                if (!seen[static_cast<std::size_t>(a)]) {
                    seen[static_cast<std::size_t>(a)] = true;
                    open.push_back(a);
                }
        }
        std::erase_if(all, [&](int n) { return seen[static_cast<std::size_t>(n)]; });
    }

    // `first`: the first of each group becomes it; else the last.
    void join_alike(const std::vector<int>& all, bool first) {
        std::map<std::pair<int, const tape*>, number_list> groups; // by device and tape, which are shared
        for (const int n : all) groups[{p_.item(n).device, tape_of(n)}].push_back(n);
        for (const auto& [key, members] : groups)
            if (members.size() > 1) join(members, first ? members[0] : members.back());
    }
    void join(const number_list& members, int group) {
        fused_group_op::attributes a{.tape = nullptr, .constants = {}, .members = static_cast<int>(members.size())};
        number_list inputs, outputs;
        for (const int m : members) {
            program_item& i = p_.item(m);
            const auto of = decode<fused_attributes>(i.attributes);
            a.tape = of.tape;
            a.constants.insert(a.constants.end(), of.constants.begin(), of.constants.end());
            inputs.append(i.inputs.begin(), i.inputs.end());
            outputs.append(i.outputs.begin(), i.outputs.end());
            for (const int o : i.outputs) p_.value(o).producer = group;
            i.removed = true;
        }
        program_item& i = p_.item(group);
        i.op = &fused_group_definition;
        i.attributes = encode(a);
        i.inputs = std::move(inputs);
        i.outputs = std::move(outputs);
        i.removed = false;
        i.find_reads();
    }

    program& p_;
    const plan_options& o_;
    std::vector<int> small_;         // items, that may be in a group
    std::vector<number_list> after_; // by item
    std::vector<bool> awaited_;      // by item
    std::vector<bool> fetched_;      // by value
};

} // namespace detail

// What is checked, or timed, is so node by node.
TENON_INLINE void group_small_passes(program& p, const plan_options& o) {
    if (o.fuse && o.has_streams() && !o.check_numerics && !o.measure) detail::pass_groups(p, o).group();
}

} // namespace tenon::runtime
