#pragma once

// A part of run/plan.ipp: when a step uses its variables, and what each of its operations waits for.

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace tenon::runtime {

// What the step does with its variables, and when. Kernels on streams run later than they are given to them, in an order that
// is known in part only: such a step locks what it updates for its whole length.
TENON_INLINE void plan::find_variables() {
    std::map<variable_resource*, variable_use> uses;
    const auto use_of = [&](int value) -> variable_use* {
        variable_resource* const v = program_.value(program_.root(value)).variable;
        if (!v) return nullptr;
        variable_use& use = uses[v];
        use.variable = v;
        return &use;
    };
    const auto is_before = [&](int value) {
        const program_value& v = program_.value(program_.root(value));
        return v.variable && !v.current && program_.item(v.producer).op->is(op_flags::variable);
    };
    begin_updates_ = operations_.size();
    for (std::size_t s = 0; s < operations_.size(); ++s)
        if (belongs_to_updates(program_, program_.item(schedule_.order[s]))) {
            begin_updates_ = std::min(begin_updates_, s);
            end_updates_ = s + 1;
        }
    // Where there is next to nothing before them, variables are asked for once.
    constexpr double little = 1000; // ns
    const auto is_little = [&](std::size_t first, std::size_t last) {
        double cost = 0;
        for (std::size_t s = first; s < last; ++s) {
            const op_definition& op = *program_.item(schedule_.order[s]).op;
            if (op.is(op_flags::stateful) && !op.is(op_flags::variable)) return false;
            cost += operations_[s].cost;
        }
        return cost < little;
    };
    // What is lent is sent meanwhile, which is not for others to wait for.
    const bool lends = std::find(lent_.begin(), lent_.end(), true) != lent_.end();
    if (end_updates_ > 0 && (!streams_.empty() || (!lends && is_little(0, begin_updates_)))) begin_updates_ = 0;
    if (end_updates_ > 0 && (!streams_.empty() || is_little(end_updates_, operations_.size())))
        end_updates_ = operations_.size();
    std::map<variable_resource*, bool> whole; // what is read otherwise than by rows
    std::map<variable_resource*, std::size_t> last;
    for (std::size_t s = 0; s < operations_.size(); ++s) {
        const program_item& it = program_.item(schedule_.order[s]);
        const auto reads = [&](int value, bool rows) {
            variable_use* const use = use_of(value);
            if (!use || !is_before(value)) return;
            use->read = true;
            use->read_late = use->read_late || (s >= begin_updates_ && end_updates_ > 0);
            whole[use->variable] = whole[use->variable] || !rows;
            last[use->variable] = s;
        };
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (it.read[k]) reads(it.inputs[k], k == 0 && it.op->is(op_flags::rows));
        if (it.op->is(op_flags::variable)) reads(it.outputs[0], true);
        if (!it.op->is(op_flags::updates)) continue;
        variable_use& use = *use_of(it.outputs[0]);
        if (!use.updated) use.in_part = !it.op->is(op_flags::replaces);
        use.updated = true;
    }
    for (std::size_t f = 0; f < lent_.size(); ++f) {
        if (!lent_[f]) continue;
        variable_use& use = *use_of(program_.fetches[f]);
        use.read = use.lent = whole[use.variable] = true;
    }
    std::map<variable_resource*, int> places;
    for (auto& [v, use] : uses) {
        // With numbers checked, updates may be void to the last of them.
        use.apart = check_numerics_ || std::find(apart_.begin(), apart_.end(), v) != apart_.end();
        use.by_rows = use.read && !use.read_late && !whole[v];
        if (use.by_rows) end_rows_ = std::max(end_rows_, streams_.empty() ? last[v] + 1 : operations_.size());
        reads_variables_ = reads_variables_ || use.read;
        reads_rows_ = reads_rows_ || use.by_rows;
        places.emplace(v, static_cast<int>(variables_.size()));
        variables_.push_back(use);
    }
    for (std::size_t f = 0; f < lent_.size(); ++f)
        if (lent_[f])
            loans_.push_back(
                {f, static_cast<std::size_t>(places.at(program_.value(program_.fetches[f]).variable)), {}});
    std::vector<char> updated(variables_.size());
    const auto memory_of_value = [&](const program_value& v) {
        if (v.current) return memory_of::current;
        return program_.item(v.producer).op->is(op_flags::variable) ? memory_of::before : memory_of::after;
    };
    for (std::size_t s = 0; s < operations_.size(); ++s) {
        const program_item& it = program_.item(schedule_.order[s]);
        operation& op = operations_[s];
        const auto points = [&](const program_value& v, memory_of which, std::size_t slot, bool is_output) {
            pointers_.push_back({static_cast<std::size_t>(places.at(v.variable)), which, slot, is_output});
        };
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (const program_value& v = program_.value(program_.root(it.inputs[k])); it.read[k] && v.variable)
                points(v, memory_of_value(v), in_begin_[s] + k, false);
        for (std::size_t k = 0; k < it.outputs.size(); ++k)
            if (const program_value& v = program_.value(it.outputs[k]); v.variable) {
                points(v, memory_of_value(v), out_begin_[s] + k, true);
                op.writes = op.writes || !it.op->is(op_flags::variable);
            }
        if (!it.op->is(op_flags::updates)) continue;
        const program_value& v = program_.value(it.outputs[0]);
        op.updates = places.at(v.variable);
        char& before_it = updated[static_cast<std::size_t>(op.updates)];
        if (!it.read[0]) points(v, before_it ? memory_of::after : memory_of::current, in_begin_[s], false);
        before_it = true;
    }
    find_pointers();
    find_first_write();
}

// Where several write, all are asked before the first whether they can, of what is known by then.
TENON_INLINE void plan::find_first_write() {
    first_write_ = begin_updates_;
    while (first_write_ < end_updates_ && !operations_[first_write_].writes) ++first_write_;
    // What has been made when they are asked: of what streams or the host beside them make nobody waits for it.
    const std::size_t there = streams_.empty() ? first_write_ : 0;
    const auto writes = [](const operation& op) { return op.writes; };
    for (std::size_t s = there; s < operations_.size() && end_updates_ > 0; ++s)
        if (program_.item(schedule_.order[s]).op->is(op_flags::variable)) needed_values_.push_back(s);
    if (std::count_if(operations_.begin(), operations_.end(), writes) < 2) return;
    std::vector<int> position(program_.items.size(), -1);
    for (std::size_t s = 0; s < operations_.size(); ++s)
        position[static_cast<std::size_t>(schedule_.order[s])] = static_cast<int>(s);
    for (std::size_t s = first_write_; s < end_updates_; ++s) {
        const operation& op = operations_[s];
        if (op.updates < 0 ||
            (op.by.stream >= 0 && !devices_[static_cast<std::size_t>(op.by.device)]->attributes().simulated))
            continue;
        const program_item& it = program_.item(schedule_.order[s]);
        bool is_there = true;
        for (std::size_t k = 1; k < it.inputs.size() && is_there; ++k) {
            const int from = it.read[k] ? program_.value(program_.root(it.inputs[k])).producer : -1;
            is_there = from < 0 || position[static_cast<std::size_t>(from)] < static_cast<int>(there);
        }
        if (is_there) checked_first_.push_back(s);
    }
}

TENON_INLINE void plan::find_pointers() {
    const auto place = [](const variable_pointer& p) { return std::pair(p.which, p.variable); };
    std::stable_sort(pointers_.begin(), pointers_.end(),
                     [&](const variable_pointer& a, const variable_pointer& b) { return place(a) < place(b); });
    std::size_t at = 0;
    for (const memory_of which : {memory_of::before, memory_of::current, memory_of::after}) {
        std::vector<std::size_t>& first = pointed_[static_cast<std::size_t>(which)];
        for (std::size_t v = 0; v < variables_.size(); ++v) {
            first.push_back(at);
            while (at < pointers_.size() && place(pointers_[at]) == std::pair(which, v)) ++at;
        }
        first.push_back(at);
    }
}

// Variables that are updated as a whole after what may be refused: where they are small, they get a second memory, to which the
// values are written, so that neither the host nor a stream waits in the middle of the step.
TENON_INLINE void plan::find_apart() {
    constexpr std::int64_t most_bytes = std::int64_t{64} << 20; // of all of them
    if (may_refuse_.empty()) return;
    std::map<const variable_resource*, bool> whole;
    std::int64_t bytes = 0;
    for (std::size_t s = 0; s < operations_.size(); ++s) {
        const program_item& it = program_.item(schedule_.order[s]);
        if (!it.op->is(op_flags::updates) || operations_[s].line < 0) continue;
        const variable_resource* const v = program_.value(it.outputs[0]).variable;
        if (!v) continue;
        const auto [at, first] = whole.emplace(v, true);
        at->second = first && it.op->is(op_flags::replaces); // several are rare, and read each other
        if (first) bytes += bytes_of(v->type());
    }
    if (bytes > most_bytes) return;
    for (const auto& [v, is_whole] : whole)
        if (is_whole) apart_.push_back(v);
}

// What each operation waits for. Streams do things in order; a stream waits for another by events, and so does the host; the
// rest is waited for on the host. What is known to have ended by what is waited for is not waited for again.
TENON_INLINE void plan::plan_waits() {
    for (std::size_t s = 0; s < operations_.size(); ++s) {
        operation& op = operations_[s];
        if (op.by.stream < 0) {
            ++on_host_;
            continue;
        }
        const auto at = std::find_if(streams_.begin(), streams_.end(), [&](const line& l) { return l.by == op.by; });
        op.line = static_cast<int>(at - streams_.begin());
        if (at == streams_.end()) streams_.push_back({op.by});
        std::vector<int>& all = streams_[static_cast<std::size_t>(op.line)].operations;
        op.place = all.size();
        all.push_back(static_cast<int>(s));
        on_streams_.push_back(static_cast<int>(s));
        if (op.kernel->may_refuse()) may_refuse_.push_back(static_cast<int>(s));
    }
    if (streams_.empty()) return;
    if (check_numerics_) { // one after another: it is told which is the first
        for (const int s : may_refuse_) operations_[static_cast<std::size_t>(s)].checked.push_back(s);
        for (std::size_t s = 0; s < operations_.size(); ++s) {
            operations_[s].awaited = operations_[s].told = operations_[s].line >= 0;
            if (s == 0) continue;
            operations_[s - 1].then.push_back(static_cast<int>(s));
            operations_[s].before = 1;
        }
        return;
    }
    // By operation and stream: the last of the stream's that has ended when the operation has.
    std::vector<std::vector<int>> known(operations_.size());
    std::vector<int> last(streams_.size(), -1); // that was given
    // And the last that the host knows to have ended before it begins the operation, or gives it to its stream; and the last
    // that may refuse among those that come before the operation.
    std::vector<std::vector<int>> seen(operations_.size()), refusing(operations_.size());
    const auto learn_all = [](std::vector<int>& own, const std::vector<int>& from) {
        for (std::size_t l = 0; l < own.size(); ++l) own[l] = std::max(own[l], from[l]);
    };
    find_apart();
    const auto changes_variable = [&](std::size_t s) {
        const program_item& it = program_.item(schedule_.order[s]);
        return !it.op->is(op_flags::variable) && std::any_of(it.outputs.begin(), it.outputs.end(), [&](int v) {
            const variable_resource* const of = program_.value(v).variable;
            return of && std::find(apart_.begin(), apart_.end(), of) == apart_.end();
        });
    };
    for (std::size_t s = 0; s < operations_.size(); ++s) {
        operation& op = operations_[s];
        const int number = static_cast<int>(s);
        std::vector<int>& own = known[s];
        const auto learn = [&](int from) { learn_all(own, known[static_cast<std::size_t>(from)]); };
        own.assign(streams_.size(), -1);
        seen[s] = refusing[s] = own;
        if (op.line >= 0)
            if (const int before = std::exchange(last[static_cast<std::size_t>(op.line)], number); before >= 0) {
                learn(before);
                learn_all(seen[s], seen[static_cast<std::size_t>(before)]);
            }
        const std::span<const int> all = schedule_.waits_for[s];
        for (const int b : all) {
            operation& from = operations_[static_cast<std::size_t>(b)];
            learn_all(refusing[s], refusing[static_cast<std::size_t>(b)]);
            if (from.line >= 0) {
                int& at = refusing[s][static_cast<std::size_t>(from.line)];
                if (from.kernel->may_refuse()) at = std::max(at, b);
                continue;
            }
            from.then.push_back(number);
            ++op.before;
            learn(b);
            learn_all(seen[s], known[static_cast<std::size_t>(b)]);
        }
        for (std::size_t k = all.size(); k-- > 0;) { // the later ones often cover the earlier
            const int b = all[k];
            operation& from = operations_[static_cast<std::size_t>(b)];
            if (from.line < 0 || own[static_cast<std::size_t>(from.line)] >= b) continue;
            from.awaited = true;
            ++op.before;
            if (op.line < 0) {
                from.told = true;
                from.then.push_back(number);
            } else {
                from.given_first.push_back(number);
                op.waits.push_back(b);
            }
            learn(b);
            if (op.line >= 0) learn_all(seen[s], seen[static_cast<std::size_t>(b)]);
        }
        // An update in place cannot be taken back: the host gives it when nothing that it is computed of was refused.
        for (std::size_t l = 0; op.line >= 0 && changes_variable(s) && l < streams_.size(); ++l) {
            const int b = refusing[s][l];
            if (b <= seen[s][l]) continue;
            operation& from = operations_[static_cast<std::size_t>(b)];
            from.awaited = from.told = true;
            from.then.push_back(number);
            ++op.before;
            learn_all(seen[s], known[static_cast<std::size_t>(b)]);
        }
        if (op.line >= 0) own[static_cast<std::size_t>(op.line)] = number;
        else seen[s] = own;
    }
    for (std::size_t s = 0; s < operations_.size(); ++s)
        for (const int r : may_refuse_)
            if (const auto l = static_cast<std::size_t>(operations_[static_cast<std::size_t>(r)].line);
                operations_[s].told && operations_[s].line >= 0 && r > seen[s][l] && r <= known[s][l])
                operations_[s].checked.push_back(r);
    for (std::size_t s = 0; s < operations_.size(); ++s)
        for (std::size_t l = 0; l < streams_.size(); ++l)
            if (static_cast<int>(l) != operations_[s].line && known[s][l] == last[l]) streams_[l].told = false;
}

} // namespace tenon::runtime
