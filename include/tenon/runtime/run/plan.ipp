#pragma once

#include <algorithm>
#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/ops/control.hpp>
#include <tenon/runtime/plan/rewrite.hpp>
#include <tenon/runtime/plan/transfers.hpp>
#include <tenon/runtime/plan/update_chains.hpp>
#include <tenon/runtime/run/plan.hpp>
#include <tenon/runtime/run/plan_frame.inl>

namespace tenon::runtime {

TENON_INLINE plan::plan(program&& placed, const plan_options& o) : devices_(o.devices), program_(std::move(placed)) {
    part_current_values(program_, find_update_chains(program_));
    bind_variables(program_, o);
    rewrite(program_, o);
    insert_transfers(program_, o);
    schedule_ = schedule(program_, o);
    feed_types_ = program_.feed_types;
    for (const int f : program_.fetches) fetch_types_.push_back(program_.value(f).type);

    std::size_t in = 0, out = 0;
    std::vector<std::size_t> fetch_made_by(program_.fetches.size(), schedule_.order.size());
    operations_.reserve(schedule_.order.size());
    for (std::size_t at = 0; at < schedule_.order.size(); ++at) {
        const program_item& it = program_.item(schedule_.order[at]);
        operation s;
        s.origin = it.origin;
        s.kernel = it.kernel;
        s.cost = it.kernel->cost();
        s.device = it.device;
        s.by = worker_of(program_, o, it);
        if (o.measure) s.timed = timed_as(program_, it);
        if (it.op == &transfer_definition) {
            s.bytes = static_cast<std::size_t>(bytes_of(program_.value(it.outputs[0]).type));
            ++summary_.transfers;
        }
        in_begin_.push_back(in);
        out_begin_.push_back(out);
        for (std::size_t k = 0; k < it.inputs.size(); ++k, ++in) {
            if (!it.read[k]) continue;
            const location& p = schedule_.memory.locations[static_cast<std::size_t>(it.inputs[k])];
            if (p.where == location::kind::feed) feed_in_.push_back({in, p.index});
            if (p.where == location::kind::fetch) fetch_in_.push_back({in, p.index});
        }
        for (std::size_t k = 0; k < it.outputs.size(); ++k, ++out) {
            const location& p = schedule_.memory.locations[static_cast<std::size_t>(it.outputs[k])];
            if (p.where != location::kind::fetch) continue;
            fetch_out_.push_back({out, p.index});
            fetch_made_by[static_cast<std::size_t>(p.index)] = at; // the last who writes there
        }
        operations_.push_back(std::move(s));
    }
    in_begin_.push_back(in);
    out_begin_.push_back(out);
    for (std::size_t f = 0; f < fetch_made_by.size(); ++f)
        if (fetch_made_by[f] < operations_.size()) operations_[fetch_made_by[f]].fetches.push_back(static_cast<int>(f));

    epoch_ = o.epoch;
    measured_ = o.measure;
    check_numerics_ = o.check_numerics;
    if (check_numerics_) {
        std::set<int> sources;
        for (const int i : schedule_.order) {
            const program_item& it = program_.item(i);
            for (std::size_t k = 0; k < it.inputs.size(); ++k) {
                const int root = program_.root(it.inputs[k]);
                const program_value& v = program_.value(root);
                if (it.read[k] && (v.feed >= 0 || v.constant)) sources.insert(root);
            }
        }
        sources_.assign(sources.begin(), sources.end());
    }

    lent_.resize(program_.fetches.size());
    for (std::size_t f = 0; f < lent_.size(); ++f) lent_[f] = program_.value(program_.fetches[f]).fetch < 0;
    if (o.has_streams()) {
        plan_waits();
        plan_work_at_once();
    }
    if (!schedule_.waits_for.empty()) side_by_side_ = o.side_by_side;
    if (side_by_side_ > 1 && streams_.empty()) successors_ = schedule_.waits_for.reversed();
    find_variables();
    find_recorded_pointers();
    for (loan& l : loans_) {
        const auto at = std::find_if(program_.variables.begin(), program_.variables.end(),
                                     [&](const auto& v) { return v.get() == variables_[l.variable].variable; });
        using both = std::pair<std::shared_ptr<void>, std::shared_ptr<variable_resource>>;
        l.lender = std::shared_ptr<variable_resource>(std::make_shared<both>(o.lender, *at), at->get());
    }
    for (const operation& s : operations_) summary_.cost += s.cost;
    summary_.operations = static_cast<int>(operations_.size());
    summary_.folded = program_.folded;
    summary_.fused = program_.fused;
    summary_.devices = schedule_.memory.devices;
    for (const device_layout& d : summary_.devices) {
        summary_.arena_bytes += d.arena_bytes;
        summary_.lower_bound += d.lower_bound;
        summary_.fetched_bytes += d.fetched_bytes;
        summary_.constant_bytes += d.constant_bytes;
    }
    require_fit(o);
    upload_constants();
}

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
        use.apart = std::find(apart_.begin(), apart_.end(), v) != apart_.end();
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

TENON_INLINE std::vector<std::string> plan::order() const {
    std::vector<std::string> lines;
    lines.reserve(operations_.size());
    for (std::size_t s = 0; s < operations_.size(); ++s) {
        const std::string &name = operations_[s].origin->name, op = op_of(s);
        std::string& text = lines.emplace_back();
        text.reserve(name.size() + op.size() + 3);
        text.append(name).append(" (").append(op).append(")");
    }
    return lines;
}

TENON_INLINE void plan::require_fit(const plan_options& o) const {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        const std::size_t needed = summary_.devices[d].bytes();
        if (o.fits(static_cast<int>(d), needed)) continue;
        if (devices_[d]->resources().give_back_spares() && o.fits(static_cast<int>(d), needed)) continue;
        const std::size_t variables = devices_[d]->resources().bytes();
        std::string text = "this step needs " + std::to_string(needed) + " bytes on " + devices_[d]->name();
        if (variables) text += " beside the " + std::to_string(variables) + " of variables";
        text += ", of which " + std::to_string(devices_[d]->memory().limit) + " may be used; the largest tensors:";
        throw resource_exhausted_error(text + largest_holders(d) + "\nfeed smaller batches, fetch less, " +
                                       (devices_[d]->streams()
                                            ? "place some of it on another device, or raise the device's limit"
                                            : "or raise session_options::memory_limit"));
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

TENON_INLINE void plan::upload_constants() {
    constants_.resize(devices_.size());
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        const std::size_t bytes = summary_.devices[d].constant_bytes;
        if (bytes == 0) continue;
        constants_[d] = device_memory(*devices_[d], bytes);
        for (std::size_t v = 0; v < program_.values.size(); ++v) {
            const location& p = schedule_.memory.locations[v];
            const program_value& value = program_.values[v];
            if (p.where == location::kind::uploaded && value.view_of < 0 && value.device == static_cast<int>(d))
                devices_[d]->copy_from_host(static_cast<std::byte*>(constants_[d].data()) + p.offset,
                                            value.constant->data(), value.constant->bytes());
        }
    }
}

TENON_INLINE std::string plan::largest_holders(std::size_t device) const {
    std::vector<memory_holder> holders = summary_.devices[device].largest;
    const auto variables = devices_[device]->resources().largest();
    holders.insert(holders.end(), variables.begin(), variables.end());
    return tenon::largest_holders(std::move(holders));
}

TENON_INLINE plan::~plan() {
    delete spare_.load();
    while (frames_) {
        frame* next = frames_->next;
        delete frames_;
        frames_ = next;
    }
}

TENON_INLINE std::unique_ptr<plan::frame> plan::make_frame() {
    auto f = std::make_unique<frame>(variables_);
    f->arenas.resize(devices_.size());
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        const std::size_t bytes = schedule_.memory.devices[d].arena_bytes;
        if (bytes == 0) continue;
        try {
            f->arenas[d] = device_memory(*devices_[d], bytes);
        } catch (const resource_exhausted_error& e) {
            throw resource_exhausted_error("no memory for this step: " + std::string(e.what()) +
                                           "; the largest tensors:" + largest_holders(d) +
                                           "\nfeed smaller batches, or use a device with more memory");
        }
    }
    const auto arena = [&](int d) { return static_cast<std::byte*>(f->arenas[static_cast<std::size_t>(d)].data()); };
    const auto address = [&](int v) -> const void* {
        const location& p = schedule_.memory.locations[static_cast<std::size_t>(v)];
        const int root = program_.root(v), device = program_.value(root).device;
        if (p.where == location::kind::arena && program_.value(root).type.element == element_type::string)
            return f->texts.try_emplace(root, element_type::string, program_.value(root).type.extents)
                .first->second.data();
        if (p.where == location::kind::arena) return arena(device) + p.offset;
        if (p.where == location::kind::uploaded)
            return static_cast<std::byte*>(constants_[static_cast<std::size_t>(device)].data()) + p.offset;
        return p.where == location::kind::resident ? p.address : nullptr;
    };
    std::vector<int> uses(program_.values.size());
    for (const int i : schedule_.order) {
        const program_item& it = program_.item(i);
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (it.read[k]) ++uses[static_cast<std::size_t>(program_.root(it.inputs[k]))];
    }
    for (const int i : schedule_.order) {
        const program_item& it = program_.item(i);
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            f->in.push_back(it.read[k] ? address(it.inputs[k]) : nullptr);
        for (const int v : it.outputs) {
            // A kernel of one output is spared the question whether anybody reads it.
            const bool wanted =
                it.outputs.size() == 1 || uses[static_cast<std::size_t>(v)] > 0 || program_.value(v).variable;
            f->out.push_back(wanted ? const_cast<void*>(address(v)) : nullptr);
        }
    }
    for (std::size_t s = 0; s < operations_.size(); ++s)
        f->runs.push_back({f->in.data() + in_begin_[s], f->out.data() + out_begin_[s],
                           arena(operations_[s].device) + schedule_.memory.scratch[s], nullptr});
    if (!streams_.empty()) {
        f->events.resize(operations_.size());
        f->told.resize(operations_.size());
        for (std::size_t s = 0; s < operations_.size(); ++s)
            if (const std::size_t bytes = operations_[s].kernel->told_bytes(); bytes > 0 && operations_[s].line >= 0) {
                f->told[s] = devices_[static_cast<std::size_t>(operations_[s].device)]->streams()->told_memory(bytes);
                f->runs[s].told = f->told[s].get();
            }
        for (std::size_t s = 0; s < operations_.size(); ++s)
            if (operations_[s].awaited)
                f->events[s] = devices_[static_cast<std::size_t>(operations_[s].by.device)]->streams()->make_event();
        for (const line& l : streams_)
            f->ends.push_back(devices_[static_cast<std::size_t>(l.by.device)]->streams()->make_event());
    }
    f->in_flight = std::make_unique<executor>(*this, *f);
    frames_made_.fetch_add(1, std::memory_order_relaxed);
    return f;
}

TENON_INLINE plan::frame* plan::take_frame() {
    if (frame* f = spare_.exchange(nullptr, std::memory_order_acquire)) return f;
    {
        const std::lock_guard lock(guard_);
        if (frame* f = frames_) {
            frames_ = f->next;
            return f;
        }
    }
    return make_frame().release();
}

TENON_INLINE void plan::give_frame(frame* f) noexcept {
    f->next = nullptr;
    frame* none = nullptr;
    if (spare_.compare_exchange_strong(none, f, std::memory_order_release, std::memory_order_relaxed)) return;
    const std::lock_guard lock(guard_);
    f->next = frames_;
    frames_ = f;
}

TENON_INLINE bool plan::accepts(const any_array* const* feeds) const {
    for (std::size_t f = 0; f < feed_types_.size(); ++f) {
        const extents &a = feeds[f]->extents(), &b = feed_types_[f].extents;
        if (a.rank() != b.rank()) return false;
        for (int d = 0; d < a.rank(); ++d)
            if (a[d].size != b[d].size) return false;
    }
    return true;
}

} // namespace tenon::runtime

#include <tenon/runtime/run/plan_at_once.inl>
#include <tenon/runtime/run/plan_executor.inl>
#include <tenon/runtime/run/plan_run.inl>
