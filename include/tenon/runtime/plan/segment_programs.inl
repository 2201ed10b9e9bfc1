#pragma once

// A part of runtime/plan/segments.ipp: each segment as a program of its own.

namespace tenon::runtime {

TENON_INLINE segment_programs::segment_programs(const program& p) :
    made_by_(p.values.size(), -1), first_after_(p.items.size() + 1) {
    for (std::size_t n = 0; n < p.items.size(); ++n) {
        const program_item& i = p.items[n];
        for (const int o : i.outputs) made_by_[static_cast<std::size_t>(o)] = static_cast<int>(n);
        if (i.op->is(op_flags::variable)) variables_.emplace(i.origin, static_cast<int>(n));
        if (!i.removed)
            for (const int b : i.predecessors) ++first_after_[static_cast<std::size_t>(b) + 1];
    }
    for (std::size_t n = 1; n < first_after_.size(); ++n) first_after_[n] += first_after_[n - 1];
    after_.resize(static_cast<std::size_t>(first_after_.back()));
    std::vector<int> next(first_after_.begin(), first_after_.end() - 1);
    for (std::size_t n = 0; n < p.items.size(); ++n)
        if (!p.items[n].removed)
            for (const int b : p.items[n].predecessors)
                after_[static_cast<std::size_t>(next[static_cast<std::size_t>(b)]++)] = static_cast<int>(n);
    for (std::size_t v = 0; v < p.variables.size(); ++v) owner_of_.emplace(p.variables[v].get(), v);
}

TENON_INLINE program segment_programs::of(const program& p, const step_unit& segment, const late_types& late) const {
    program s{.sizes = late.sizes};
    std::unordered_map<int, int> here, item_here; // values and items of p: those of the segment
    std::unordered_set<const variable_resource*> owned;
    const std::unordered_set<int> taken_current(segment.taken_current.begin(), segment.taken_current.end());
    const auto enter = [&](int value) -> program_value& {
        here[value] = s.add(program_value{.origin = p.value(value).origin, .type = late.type_of(p, value)});
        return s.values.back();
    };
    for (const int v : segment.takes) {
        enter(v).feed = static_cast<int>(s.feed_types.size());
        s.feed_types.push_back(s.values.back().type);
    }
    // A variable's current value is what is there when the segment updates it, unless the segment itself has changed it before: never
    // what was handed on of it.
    const auto read_current = [&](int n, std::size_t k) {
        const int v = p.item(n).inputs[k], from = made_by_[static_cast<std::size_t>(v)];
        return from >= 0 && reads_current(p, p.item(n), k) && !taken_current.contains(v) &&
               (p.item(from).op->is(op_flags::variable) ||
                (p.item(from).op->is(op_flags::updates) && !item_here.contains(from)));
    };
    const auto variable_of_current = [&](int n, std::size_t k) {
        return variables_.at(p.item(n).origin->inputs[k].node);
    };
    const auto enter_item = [&](int n) {
        program_item i = p.item(n);
        if (const auto at = late.attributes.find(n); at != late.attributes.end()) i.attributes = at->second;
        const int number = static_cast<int>(s.items.size());
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            int& v = i.inputs[k];
            const int from = read_current(n, k) ? item_here.at(variable_of_current(n, k)) : -1;
            if (from < 0 && !here.contains(v)) enter(v); // only its sizes matter
            v = from >= 0 ? s.item(from).outputs[0] : here.at(v);
        }
        for (int& o : i.outputs) {
            program_value& v = enter(o);
            v.producer = i.removed ? -1 : number;
            v.variable = p.value(o).variable;
            if (v.variable && owned.insert(v.variable).second)
                s.variables.push_back(p.variables[owner_of_.at(v.variable)]);
            v.device = i.device;
            o = here.at(o);
        }
        number_list predecessors;
        for (const int b : i.predecessors)
            if (const auto at = item_here.find(b); at != item_here.end()) predecessors.push_back(at->second);
        i.predecessors = predecessors;
        item_here.emplace(n, number);
        s.items.push_back(std::move(i));
    };
    // What is read anywhere is read here, unless it was handed on.
    const auto bring = [&](int value) {
        const int from = made_by_[static_cast<std::size_t>(value)];
        if (here.contains(value) || from < 0 || !is_read_anywhere(p.item(from))) return;
        enter_item(from);
    };
    for (const int n : segment.items) {
        for (std::size_t k = 0; k < p.item(n).inputs.size(); ++k)
            if (!read_current(n, k)) bring(p.item(n).inputs[k]);
            else {
                const int from = variable_of_current(n, k);
                if (!item_here.contains(from)) {
                    // Beside what was handed on of it, if anything was.
                    const int value = p.item(from).outputs[0];
                    const auto handed_on = here.find(value);
                    const int before = handed_on == here.end() ? -1 : handed_on->second;
                    enter_item(from);
                    if (before >= 0) here[value] = before;
                }
                // Others may have asked only for its sizes.
                program_item& variable = s.item(item_here.at(from));
                variable.removed = false;
                s.value(variable.outputs[0]).producer = item_here.at(from);
            }
        enter_item(n);
    }
    // What items elsewhere are made to run after runs although nobody here may read it.
    for (const auto& [n, here_as] : item_here)
        for (int a = first_after_[static_cast<std::size_t>(n)]; a < first_after_[static_cast<std::size_t>(n) + 1]; ++a)
            if (!item_here.contains(after_[static_cast<std::size_t>(a)])) s.item(here_as).target = true;
    for (const int v : segment.gives) {
        bring(v);
        if (!here.contains(v)) enter(v);
        s.fetches.push_back(here.at(v));
        s.fetched.push_back(p.value(v).origin);
    }
    return s;
}

} // namespace tenon::runtime
