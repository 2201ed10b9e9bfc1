#pragma once

#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/plan/grouping.hpp>
#include <tenon/runtime/plan/rewrite/rewrite.hpp>
#include <tenon/runtime/plan/rewrite/update_chains.hpp>
#include <tenon/runtime/plan/transfers.hpp>
#include <tenon/runtime/run/executable.hpp>
#include <tenon/runtime/run/step_errors.hpp>

namespace tenon::runtime {

TENON_INLINE void run_graph::count(std::size_t first, std::size_t last) {
    before.resize(std::max(before.size(), last));
    for (const edges* all : {&ended, &given})
        for (std::size_t s = first; s < std::min(last, all->size()); ++s)
            for (const int next : (*all)[s])
                if (const auto n = static_cast<std::size_t>(next); n < last) ++before[n];
}

TENON_INLINE executable::executable(program&& placed, const plan_options& o) :
    devices(o.devices),
    whole(std::move(placed)),
    check_numerics(o.check_numerics),
    measured(o.measure),
    epoch(o.epoch) {
    part_current_values(whole, find_update_chains(whole));
    bind_variables(whole, o);
    rewrite(whole, o);
    insert_transfers(whole, o);
    group_small_passes(whole, o);
    scheduled = schedule(whole, o);
    make_operations(o);
    if (check_numerics) find_sources();
    if (!scheduled.waits_for.empty()) side_by_side = o.side_by_side;
    std::vector<const variable_resource*> apart;
    if (o.has_streams()) {
        find_lines();
        if (has_streams() && !check_numerics) apart = find_apart();
        if (has_streams()) find_waits(apart);
    }
    if (side_by_side > 1 && !has_streams()) {
        graph.ended = scheduled.waits_for.reversed();
        graph.on_host = static_cast<int>(size());
    }
    std::unique_ptr<streams_work> all;
    if (has_streams() && may_be_at_once()) all = plan_at_once();
    find_variables(apart);
    if (!graph.ended.empty())
        for (const phase& p : phases) graph.count(p.first, p.last);
    if (all) find_recorded_pointers(*all);
    at_once = std::move(all);
    find_loans(o);
    sum_up();
    if (!o.is_body) require_fit(o);
    upload_constants();
}

TENON_INLINE void executable::make_operations(const plan_options& o) {
    feed_types = whole.feed_types;
    for (const int f : whole.fetches) fetch_types.push_back(whole.value(f).type);
    std::size_t in = 0, out = 0;
    const std::size_t n = scheduled.order.size();
    std::vector<std::size_t> fetch_made_by(whole.fetches.size(), n);
    const auto location_of = [&](int v) -> const location& {
        return scheduled.memory.locations[static_cast<std::size_t>(v)];
    };
    std::vector<int> uses(whole.values.size());
    for (const int i : scheduled.order)
        for (std::size_t k = 0; k < whole.item(i).inputs.size(); ++k)
            if (whole.item(i).read[k]) ++uses[static_cast<std::size_t>(whole.root(whole.item(i).inputs[k]))];
    operations.reserve(n);
    for (std::size_t at = 0; at < n; ++at) {
        const program_item& it = item(at);
        operation& s = operations.emplace_back();
        s.origin = it.origin;
        s.kernel = it.kernel;
        s.cost = it.kernel->cost();
        s.device = it.device;
        s.by = worker_of(whole, o, it);
        if (o.measure) s.timed = timed_as(whole, it);
        s.copies = it.op == &transfer_definition;
        if (s.copies) {
            s.bytes = static_cast<std::size_t>(bytes_of(whole.value(it.outputs[0]).type));
            ++summary.transfers;
        }
        in_begin.push_back(in);
        out_begin.push_back(out);
        for (std::size_t k = 0; k < it.inputs.size(); ++k, ++in) {
            if (!it.read[k]) continue;
            const location& p = location_of(it.inputs[k]);
            if (p.where == location::kind::feed) feed_in.push_back({in, p.index});
            if (p.where == location::kind::fetch) fetch_in.push_back({in, p.index});
        }
        for (std::size_t k = 0; k < it.outputs.size(); ++k, ++out) {
            const int v = it.outputs[k];
            const location& p = location_of(v);
            // A kernel of one output is spared the question whether anybody reads it.
            wanted.push_back(it.outputs.size() == 1 || uses[static_cast<std::size_t>(v)] > 0 ||
                             whole.value(v).variable);
            if (p.where != location::kind::fetch) continue;
            fetch_out.push_back({out, p.index});
            fetch_made_by[static_cast<std::size_t>(p.index)] = at; // the last who writes there
        }
    }
    in_begin.push_back(in);
    out_begin.push_back(out);
    for (std::size_t f = 0; f < fetch_made_by.size(); ++f) {
        if (fetch_made_by[f] < n) operations[fetch_made_by[f]].fetches.push_back(static_cast<int>(f));
        lent.push_back(whole.value(whole.fetches[f]).fetch < 0);
    }
}

TENON_INLINE void executable::find_sources() {
    std::set<int> all;
    for (std::size_t s = 0; s < size(); ++s)
        for (std::size_t k = 0; k < item(s).inputs.size(); ++k) {
            const int root = whole.root(item(s).inputs[k]);
            const program_value& v = whole.value(root);
            if (item(s).read[k] && (v.feed >= 0 || v.constant)) all.insert(root);
        }
    sources.assign(all.begin(), all.end());
}

// What the step does with its variables, and when. Kernels on streams run later than they are given to them, in an order that
// is known in part only: such a step locks what it updates for its whole length. `apart`: variables whose updates are void where
// something is refused.
TENON_INLINE void executable::find_variables(const std::vector<const variable_resource*>& apart) {
    std::map<variable_resource*, variable_use> uses;
    const auto use_of = [&](int value) -> variable_use* {
        variable_resource* const v = whole.value(whole.root(value)).variable;
        if (!v) return nullptr;
        variable_use& use = uses[v];
        use.variable = v;
        return &use;
    };
    const auto memory_of_value = [&](const program_value& v) {
        if (v.current) return memory_of::current;
        return whole.item(v.producer).op->is(op_flags::variable) ? memory_of::before : memory_of::after;
    };
    std::size_t begin = size(), end = 0; // between these the variables are locked
    for (std::size_t s = 0; s < size(); ++s)
        if (belongs_to_updates(whole, item(s))) {
            begin = std::min(begin, s);
            end = s + 1;
        }
    updates = end > 0;
    // Where there is next to nothing before them, variables are asked for once.
    constexpr double little = 1000; // ns
    const auto is_little = [&](std::size_t first, std::size_t last) {
        double cost = 0;
        for (std::size_t s = first; s < last; ++s) {
            const op_definition& op = *item(s).op;
            if (op.is(op_flags::stateful) && !op.is(op_flags::variable)) return false;
            cost += operations[s].cost;
        }
        return cost < little;
    };
    // What is lent is sent meanwhile, which is not for others to wait for.
    const bool lends = std::find(lent.begin(), lent.end(), true) != lent.end();
    if (updates && (has_streams() || (!lends && is_little(0, begin)))) begin = 0;
    if (updates && (has_streams() || is_little(end, size()))) end = size();
    std::map<variable_resource*, bool> as_a_whole; // what is read otherwise than by rows
    std::map<variable_resource*, std::size_t> last;
    for (std::size_t s = 0; s < size(); ++s) {
        const program_item& it = item(s);
        const auto reads = [&](int value, bool rows) {
            variable_use* const use = use_of(value);
            if (!use || memory_of_value(whole.value(whole.root(value))) != memory_of::before) return;
            use->read = true;
            use->read_late = use->read_late || (s >= begin && updates);
            as_a_whole[use->variable] = as_a_whole[use->variable] || !rows;
            last[use->variable] = s;
        };
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (it.read[k]) reads(it.inputs[k], k == 0 && it.op->is(op_flags::rows));
        if (it.op->is(op_flags::variable)) reads(it.outputs[0], true);
        if (!it.op->is(op_flags::updates)) continue;
        for (const int out : it.outputs) {
            variable_use& use = *use_of(out);
            if (!use.updated) use.in_part = !it.op->is(op_flags::replaces);
            use.updated = true;
        }
    }
    for (std::size_t f = 0; f < lent.size(); ++f) {
        if (!lent[f]) continue;
        variable_use& use = *use_of(whole.fetches[f]);
        use.read = use.lent = as_a_whole[use.variable] = true;
    }
    std::map<variable_resource*, int> places;
    std::size_t end_rows = 0; // after which no rows of those that are read by rows are
    bool any_read = false, any_rows = false;
    for (auto& [v, use] : uses) {
        // With numbers checked, updates may be void to the last of them.
        use.apart = check_numerics || std::find(apart.begin(), apart.end(), v) != apart.end();
        use.by_rows = use.read && !use.read_late && !as_a_whole[v];
        if (use.by_rows) end_rows = std::max(end_rows, has_streams() ? size() : last[v] + 1);
        any_read = any_read || use.read;
        any_rows = any_rows || use.by_rows;
        places.emplace(v, static_cast<int>(variables.size()));
        variables.push_back(use);
    }
    for (std::size_t f = 0; f < lent.size(); ++f)
        if (lent[f])
            loans.push_back({f, static_cast<std::size_t>(places.at(whole.value(whole.fetches[f]).variable)), {}});
    std::vector<char> updated(variables.size());
    for (std::size_t s = 0; s < size(); ++s) {
        const program_item& it = item(s);
        operation& op = operations[s];
        const auto points = [&](const program_value& v, memory_of which, std::size_t slot, bool is_output) {
            pointers.push_back({static_cast<std::size_t>(places.at(v.variable)), which, slot, is_output});
        };
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (const program_value& v = whole.value(whole.root(it.inputs[k])); it.read[k] && v.variable)
                points(v, memory_of_value(v), in_begin[s] + k, false);
        for (std::size_t k = 0; k < it.outputs.size(); ++k)
            if (const program_value& v = whole.value(it.outputs[k]); v.variable) {
                points(v, memory_of_value(v), out_begin[s] + k, true);
                if (it.op->is(op_flags::variable)) continue;
                op.writes = true;
                op.changes.push_back(places.at(v.variable));
            }
        if (!it.op->is(op_flags::updates)) continue;
        for (std::size_t k = it.outputs.size(); k-- > 0;) { // the first is the last that is named
            const program_value& v = whole.value(it.outputs[k]);
            op.updates = places.at(v.variable);
            char& before_it = updated[static_cast<std::size_t>(op.updates)];
            if (!it.read[k]) points(v, before_it ? memory_of::after : memory_of::current, in_begin[s] + k, false);
            before_it = true;
        }
    }
    find_pointers();
    find_phases(begin, end, end_rows, any_read, any_rows);
}

// By what they point to.
TENON_INLINE void executable::find_pointers() {
    const auto place = [](const variable_pointer& p) { return std::pair(p.which, p.variable); };
    std::stable_sort(pointers.begin(), pointers.end(),
                     [&](const variable_pointer& a, const variable_pointer& b) { return place(a) < place(b); });
    std::size_t at = 0;
    for (const memory_of which : {memory_of::before, memory_of::current, memory_of::after}) {
        std::vector<std::size_t>& first = pointed[static_cast<std::size_t>(which)];
        for (std::size_t v = 0; v < variables.size(); ++v) {
            first.push_back(at);
            while (at < pointers.size() && place(pointers[at]) == std::pair(which, v)) ++at;
        }
        first.push_back(at);
    }
}

// The values that are read are taken hold of at once. Then the step goes on beside others, but for what stands between its first
// update and its last.
TENON_INLINE void executable::find_phases(std::size_t begin, std::size_t end, std::size_t end_rows, bool reads,
                                          bool reads_rows) {
    const std::size_t n = size(), first_write = find_first_write(begin, end);
    const auto add = [&](gate g, std::size_t first, std::size_t last) { phases.push_back({g, first, last}); };
    if (has_streams()) {
        if (updates || reads) add(updates ? gate::read_and_updates : gate::read, 0, 0);
        add(gate::check, 0, n);
        return;
    }
    const bool apart = !updates || begin > 0; // reads from updates
    std::size_t done = 0;
    if (reads && apart) add(gate::read, 0, 0);
    if (reads_rows && end_rows < begin) {
        add(gate::none, 0, end_rows);
        add(gate::rows_end, 0, 0);
        done = end_rows;
    }
    if (!updates) {
        add(gate::none, done, n);
        return;
    }
    if (done < begin) add(gate::none, done, begin);
    add(apart ? gate::updates : gate::read_and_updates, begin, first_write);
    add(gate::commit, first_write, end);
    if (end < n) add(gate::written, end, n);
}

// Where several write, all are asked before the first whether they can, of what is known by then.
TENON_INLINE std::size_t executable::find_first_write(std::size_t begin, std::size_t end) {
    std::size_t first_write = begin;
    while (first_write < end && !operations[first_write].writes) ++first_write;
    if (!updates) return first_write;
    // What has been made when they are asked: of what streams or the host beside them make nobody waits for it.
    const std::size_t there = has_streams() ? 0 : first_write;
    for (std::size_t s = there; s < size(); ++s)
        if (item(s).op->is(op_flags::variable)) needed_values.push_back(s);
    const auto writes = [](const operation& op) { return op.writes; };
    if (std::count_if(operations.begin(), operations.end(), writes) < 2) return first_write;
    std::vector<int> position(whole.items.size(), -1);
    for (std::size_t s = 0; s < size(); ++s)
        position[static_cast<std::size_t>(scheduled.order[s])] = static_cast<int>(s);
    for (std::size_t s = first_write; s < end; ++s) {
        const operation& op = operations[s];
        if (op.updates < 0) continue;
        const program_item& it = item(s);
        bool is_there = op.by.stream < 0 || device_at(op.by.device).attributes().simulated;
        for (std::size_t k = 1; k < it.inputs.size() && is_there; ++k) {
            const int from = it.read[k] ? whole.value(whole.root(it.inputs[k])).producer : -1;
            is_there = from < 0 || position[static_cast<std::size_t>(from)] < static_cast<int>(there);
        }
        (is_there ? checked_first : value_checked).push_back(s);
    }
    return first_write;
}

TENON_INLINE void executable::find_loans(const plan_options& o) {
    std::map<decltype(loan::variable), int> first_of; // by variable, the first fetch
    for (loan& l : loans) {
        if (const auto [first, is_new] = first_of.emplace(l.variable, static_cast<int>(l.fetch)); !is_new)
            l.shares = first->second;
        const auto at = std::find_if(whole.variables.begin(), whole.variables.end(),
                                     [&](const auto& v) { return v.get() == variables[l.variable].variable; });
        using both = std::pair<std::shared_ptr<void>, std::shared_ptr<variable_resource>>;
        l.lender = std::shared_ptr<variable_resource>(std::make_shared<both>(o.lender, *at), at->get());
    }
}

TENON_INLINE void executable::sum_up() {
    for (const operation& s : operations) {
        summary.cost += s.cost;
        const bool elsewhere = s.by.stream >= 0 && !device_at(s.by.device).attributes().simulated;
        if (!elsewhere) own_cost += s.cost;
    }
    summary.operations = static_cast<int>(size());
    summary.folded = whole.folded;
    summary.fused = whole.fused;
    summary.devices = scheduled.memory.devices;
    for (const device_layout& d : summary.devices) {
        summary.arena_bytes += d.arena_bytes;
        summary.lower_bound += d.lower_bound;
        summary.fetched_bytes += d.fetched_bytes;
        summary.constant_bytes += d.constant_bytes;
        summary.prepared_bytes += d.prepared_bytes;
    }
}

TENON_INLINE void executable::require_fit(const plan_options& o) const {
    for (std::size_t d = 0; d < devices.size(); ++d) {
        const std::size_t needed = summary.devices[d].bytes();
        if (o.fits(static_cast<int>(d), needed)) continue;
        if (devices[d]->resources().give_back_spares() && o.fits(static_cast<int>(d), needed)) continue;
        const std::size_t kept = devices[d]->resources().bytes();
        std::string text = "this step needs " + std::to_string(needed) + " bytes on " + devices[d]->name();
        if (kept) text += " beside the " + std::to_string(kept) + " of variables";
        text += ", of which " + std::to_string(devices[d]->memory().limit) + " may be used; the largest tensors:";
        throw resource_exhausted_error(text + largest_holders(d) + "\nfeed smaller batches, fetch less, " +
                                       (devices[d]->streams()
                                            ? "place some of it on another device, or raise the device's limit"
                                            : "or raise session_options::memory_limit"));
    }
}

TENON_INLINE void executable::upload_constants() {
    constants.resize(devices.size());
    for (std::size_t d = 0; d < devices.size(); ++d) {
        const std::size_t bytes = summary.devices[d].constant_bytes;
        if (bytes == 0) continue;
        constants[d] = device_memory(*devices[d], bytes);
        for (std::size_t v = 0; v < whole.values.size(); ++v) {
            const location& p = scheduled.memory.locations[v];
            const program_value& value = whole.values[v];
            if (p.where == location::kind::uploaded && value.view_of < 0 && value.device == static_cast<int>(d))
                devices[d]->copy_from_host(static_cast<std::byte*>(constants[d].data()) + p.offset,
                                           value.constant->data(), value.constant->bytes());
        }
    }
}

TENON_INLINE bool executable::accepts(const any_array* const* feeds) const {
    for (std::size_t f = 0; f < feed_types.size(); ++f) {
        const extents &a = feeds[f]->extents(), &b = feed_types[f].extents;
        if (a.rank() != b.rank()) return false;
        for (int d = 0; d < a.rank(); ++d)
            if (a[d].size != b[d].size) return false;
    }
    return true;
}

TENON_INLINE const void* executable::fixed_address(int value) const {
    const location& l = scheduled.memory.locations[static_cast<std::size_t>(value)];
    if (l.where != location::kind::uploaded) return l.where == location::kind::resident ? l.address : nullptr;
    const int device = whole.value(whole.root(value)).device;
    return static_cast<const std::byte*>(constants[static_cast<std::size_t>(device)].data()) + l.offset;
}

TENON_INLINE std::string executable::largest_holders(std::size_t device) const {
    std::vector<memory_holder> holders = summary.devices[device].largest;
    const auto more = devices[device]->resources().largest();
    holders.insert(holders.end(), more.begin(), more.end());
    return tenon::largest_holders(std::move(holders));
}

// What the planner made of a node is called as that, but for copies of constants.
TENON_INLINE std::string executable::op_of(std::size_t s) const {
    const program_item& i = item(s);
    return i.op == i.origin->op || i.op->is(op_flags::identity) ? shown_op(*i.origin) : i.op->name;
}

// The device's, or, for a transfer, the link's.
TENON_INLINE std::string executable::row_of(std::size_t s, trace& t) const {
    const auto name_of = [&](int device) {
        const device_name& d = device_at(device).full_name();
        return d.type.str() + ":" + std::to_string(d.index);
    };
    const std::string on = name_of(operations[s].device);
    if (operations[s].copies) return name_of(whole.value(whole.root(item(s).inputs[0])).device) + " to " + on;
    if (operations[s].by.stream == device_streams::sums) return on + " sums";
    return operations[s].by.stream >= 0 ? on : on + " thread " + std::to_string(t.number_of_this_thread());
}

// What a step that is late in operation s was waiting for.
TENON_INLINE std::string executable::awaited_in(std::size_t s) const {
    if (!operations[s].copies) return "it was waiting for";
    const program_value& from = whole.value(whole.root(item(s).inputs[0]));
    const auto name_of = [&](int device) { return tenon::detail::short_name(device_at(device).full_name()); };
    return "it was waiting for the transfer of " + any_tensor(from.origin).name() + ", " + to_string(from.type) +
           ", from " + name_of(from.device) + " to " + name_of(operations[s].device);
}

TENON_INLINE void executable::rethrow_with_place(const std::exception_ptr& what, std::size_t s) const {
    rethrow_at(what, described(*operations[s].origin, device_at(operations[s].device).name()));
}

} // namespace tenon::runtime

#include <tenon/runtime/run/executable_streams.inl>
