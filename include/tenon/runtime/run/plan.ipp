#pragma once

#include <algorithm>
#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/ops/state/control.hpp>
#include <tenon/runtime/plan/rewrite/rewrite.hpp>
#include <tenon/runtime/plan/rewrite/update_chains.hpp>
#include <tenon/runtime/plan/transfers.hpp>
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
    std::map<decltype(loan::variable), int> lent; // by variable, the first fetch
    for (loan& l : loans_) {
        if (const auto [first, is_new] = lent.emplace(l.variable, static_cast<int>(l.fetch)); !is_new)
            l.shares = first->second;
        const auto at = std::find_if(program_.variables.begin(), program_.variables.end(),
                                     [&](const auto& v) { return v.get() == variables_[l.variable].variable; });
        using both = std::pair<std::shared_ptr<void>, std::shared_ptr<variable_resource>>;
        l.lender = std::shared_ptr<variable_resource>(std::make_shared<both>(o.lender, *at), at->get());
    }
    for (const operation& s : operations_) {
        summary_.cost += s.cost;
        const bool elsewhere =
            s.by.stream >= 0 && !devices_[static_cast<std::size_t>(s.by.device)]->attributes().simulated;
        if (!elsewhere) own_cost_ += s.cost;
    }
    summary_.operations = static_cast<int>(operations_.size());
    summary_.folded = program_.folded;
    summary_.fused = program_.fused;
    summary_.devices = schedule_.memory.devices;
    for (const device_layout& d : summary_.devices) {
        summary_.arena_bytes += d.arena_bytes;
        summary_.lower_bound += d.lower_bound;
        summary_.fetched_bytes += d.fetched_bytes;
        summary_.constant_bytes += d.constant_bytes;
        summary_.prepared_bytes += d.prepared_bytes;
    }
    require_fit(o);
    upload_constants();
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
    struct returned { // where the frame is not finished
        ~returned() {
            if (of && of->taken) to->give(std::move(of->taken));
        }
        shared_arenas* to;
        frame* of;
    } unfinished{shared_.get(), f.get()};
    if (shared_) take_arenas(*f);
    for (std::size_t d = 0; d < devices_.size() && !shared_; ++d) {
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
    const auto arena = [&](int d) {
        const auto& all = f->taken ? f->taken->memory : f->arenas;
        return static_cast<std::byte*>(all[static_cast<std::size_t>(d)].data());
    };
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
    unfinished.of = nullptr;
    frames_made_.fetch_add(1, std::memory_order_relaxed);
    return f;
}

TENON_INLINE plan::frame* plan::take_frame() {
    frame* f = spare_.exchange(nullptr, std::memory_order_acquire);
    if (!f) {
        const std::lock_guard lock(guard_);
        f = frames_;
        if (f) frames_ = f->next;
    }
    if (!f) return make_frame().release();
    if (shared_) {
        try {
            take_arenas(*f);
        } catch (...) {
            give_frame(f);
            throw;
        }
        point_into_arenas(*f);
    }
    return f;
}

TENON_INLINE bool plan::share(std::shared_ptr<shared_arenas> with) {
    if (!streams_.empty()) return false;
    for (std::size_t d = 0; d < devices_.size(); ++d) with->need(d, schedule_.memory.devices[d].arena_bytes);
    shared_ = std::move(with);
    return true;
}

TENON_INLINE void plan::take_arenas(frame& f) {
    try {
        f.taken = shared_->take();
    } catch (const resource_exhausted_error& e) {
        throw resource_exhausted_error("no memory for this step: " + std::string(e.what()) + "; the largest tensors:" +
                                       largest_holders(0) + "\nfeed smaller batches, or use a device with more memory");
    }
    if (!f.arenas_before.empty()) return;
    for (const device_memory& m : f.taken->memory) f.arenas_before.push_back(m.data());
}

// Where they are others than those that it had before.
TENON_INLINE void plan::point_into_arenas(frame& f) const {
    bool moved = false;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        moved = moved || f.arenas_before[d] != f.taken->memory[d].data();
        f.arenas_before[d] = f.taken->memory[d].data();
    }
    if (!moved) return;
    const auto arena = [&](int d) {
        return static_cast<std::byte*>(f.taken->memory[static_cast<std::size_t>(d)].data());
    };
    const auto address = [&](int v) -> std::byte* { // nullptr: elsewhere
        const location& p = schedule_.memory.locations[static_cast<std::size_t>(v)];
        const program_value& root = program_.value(program_.root(v));
        return p.where == location::kind::arena && root.type.element != element_type::string
                   ? arena(root.device) + p.offset
                   : nullptr;
    };
    std::size_t in = 0, out = 0;
    for (std::size_t s = 0; s < operations_.size(); ++s) {
        const program_item& it = program_.item(schedule_.order[s]);
        for (std::size_t k = 0; k < it.inputs.size(); ++k, ++in)
            if (it.read[k])
                if (std::byte* const to = address(it.inputs[k])) f.in[in] = to;
        for (const int v : it.outputs) {
            if (f.out[out])
                if (std::byte* const to = address(v)) f.out[out] = to;
            ++out;
        }
        f.runs[s].scratch = arena(operations_[s].device) + schedule_.memory.scratch[s];
    }
}

TENON_INLINE void plan::give_frame(frame* f) noexcept {
    if (f->taken) shared_->give(std::move(f->taken));
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
#include <tenon/runtime/run/plan_giving.inl>
#include <tenon/runtime/run/plan_run.inl>
#include <tenon/runtime/run/plan_waits.inl>
