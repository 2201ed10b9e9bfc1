#pragma once

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <tenon/core/error.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/ops/collective/exchange.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/plan/sizes.hpp>
#include <tenon/runtime/run/subgraph.hpp>
#include <tenon/runtime/trace/trace.hpp>

namespace tenon::runtime {

TENON_INLINE subgraph::subgraph(program&& placed, const plan_options& o, bool is_distributed) :
    options_(o), feed_types_(placed.feed_types), sizes_(placed.sizes) {
    if (is_distributed || has_waits(placed)) make_units(std::move(placed));
    else only_ = std::make_shared<segment>(std::move(placed), options_);
}
TENON_INLINE subgraph::~subgraph() = default;

TENON_INLINE void subgraph::make_units(program&& placed) {
    std::vector<step_unit> cut = cut_into_segments(placed);
    segments_ = segment_programs(placed);
    slot_of_.assign(placed.values.size(), -1);
    std::vector<int> uses;
    for (std::size_t u = 0; u < cut.size(); ++u)
        for (const int v : cut[u].gives) {
            slot_of_[static_cast<std::size_t>(v)] = slots_++;
            given_by_.push_back(static_cast<int>(u));
            uses.push_back(0);
        }
    const auto source_of = [&](int v) {
        if (v < 0) return source{};
        const program_value& value = placed.value(v);
        if (value.feed >= 0) return source{.feed = value.feed};
        const int slot = slot_of_[static_cast<std::size_t>(v)];
        ++uses[static_cast<std::size_t>(slot)];
        return source{.slot = slot};
    };
    std::unordered_map<int, std::size_t> given_by; // value: the segment
    for (std::size_t u = 0; u < cut.size(); ++u)
        if (cut[u].waits < 0)
            for (const int v : cut[u].gives) given_by.emplace(v, u);
    const auto needs_of = [&](const step_unit& c, const step_unit& segment, std::size_t number) {
        if (c.waits < 0) return -1;
        if (const program_item& i = placed.item(c.waits); !i.predecessors.empty() || !i.op->is(op_flags::early))
            return -1;
        int needed = -1;
        for (const int v : c.takes) {
            if (const auto at = given_by.find(v); at == given_by.end() || at->second != number) continue;
            if (needed >= 0 && needed != v) return -1; // several of what it gives
            needed = v;
        }
        if (needed < 0) return -1;
        return static_cast<int>(std::find(segment.gives.begin(), segment.gives.end(), needed) - segment.gives.begin());
    };
    std::vector<std::vector<int>> then_by(cut.size());
    for (std::size_t u = 0; u < cut.size(); ++u)
        for (const int next : cut[u].then)
            then_by[u].push_back(cut[u].waits < 0 ? needs_of(cut[static_cast<std::size_t>(next)], cut[u], u) : -1);
    // By who may keep it: what is fetched, or an op that is no send.
    std::unordered_set<int> kept(placed.fetches.begin(), placed.fetches.end());
    for (const step_unit& c : cut)
        if (c.waits >= 0 && placed.item(c.waits).op != &send_definition) kept.insert(c.takes.begin(), c.takes.end());
    bool late = false;
    for (step_unit& c : cut) {
        unit& u = units_.emplace_back();
        u.then_by = std::move(then_by[units_.size() - 1]);
        u.gives_early = std::any_of(u.then_by.begin(), u.then_by.end(), [](int by) { return by >= 0; });
        const auto changes = [&](int item) { return changes_resources(placed.item(item)); };
        u.changes = c.waits >= 0 ? changes(c.waits) : std::any_of(c.items.begin(), c.items.end(), changes);
        for (const int v : c.takes) u.takes.push_back(source_of(v));
        for (const int v : c.gives) u.gives.push_back(slot_of_[static_cast<std::size_t>(v)]);
        if (c.waits >= 0) {
            const program_item& i = placed.item(c.waits);
            u.kernel = prepare_kernel(placed, i, options_);
            prepared_ = placed.prepared;
            const device& on = options_.device(i.device);
            u.origin = i.origin;
            u.receives = i.op == &receive_definition;
            u.sends = i.op == &send_definition;
            const auto& waiting = static_cast<const waiting_kernel&>(*u.kernel);
            u.only_takes = waiting.takes();
            u.uses_values = waiting.uses_values() && !u.receives;
            takes_ = takes_ || (u.only_takes && cut.size() > 1);
            u.name = u.sends && !i.inputs.empty()       ? any_tensor(placed.value(i.inputs[0]).origin).name()
                     : u.receives && !i.outputs.empty() ? any_tensor(placed.value(i.outputs[0]).origin).name()
                                                        : i.origin->name;
            u.op = i.op == i.origin->op ? shown_op(*i.origin) : i.op->name;
            if (u.changes && !u.only_takes) u.changed.push_back(i.origin->inputs[0].node->name);
            u.row = on.full_name().type.str() + ":" + std::to_string(on.full_name().index) + " waits";
            u.task = tenon::detail::traced_task(on.full_name());
            if (u.sends) u.edge = decode<send_op::attributes>(i.attributes).edge;
            if (u.receives) u.edge = decode<receive_op::attributes>(i.attributes).edge;
            u.place = described(*i.origin, on.name());
            for (const int v : i.inputs) u.taken.push_back(placed.value(v).type);
            if (all_static(u.taken) || i.op != i.origin->op) u.taken.clear();
            u.sizes_from = last_sizes_.size();
            for (const int v : i.outputs) {
                u.outputs.push_back(placed.value(v).origin);
                u.given.push_back(placed.value(v).type);
                if (!u.given.back().extents.is_static())
                    last_sizes_.emplace_back(u.outputs.back(), u.given.back().extents);
            }
            sizes_matter_ = sizes_matter_ || !all_static(i.origin->outputs);
            waits_.push_back(static_cast<int>(units_.size()) - 1);
        } else {
            for (const int n : c.items) {
                const program_item& i = placed.item(n);
                if (i.op->is(op_flags::uses) && i.outputs.empty()) u.changed.push_back(i.origin->inputs[0].node->name);
                if (i.op->is(op_flags::updates)) u.updated.push_back(i.origin->inputs[0].node->name);
                else u.has_effects = u.has_effects || (i.op->is(op_flags::stateful) && !i.op->is(op_flags::source));
            }
            if (!c.items.empty()) {
                const program_item& last = placed.item(c.items.back());
                u.place = place_of(*last.origin, options_.device(last.device));
            }
            for (const int v : c.gives) u.lends.push_back(options_.lender && !kept.contains(v));
            if (c.late_from.empty())
                u.segment = std::make_shared<segment>(program_of(placed, c, u.lends, {placed.sizes, {}, {}}), options_);
            else late = true;
        }
        u.cut = std::move(c);
    }
    number_turns();
    for (const int f : placed.fetches) fetches_.push_back(source_of(f));
    for (unit& u : units_)
        for (source& s : u.takes) s.last = s.slot >= 0 && uses[static_cast<std::size_t>(s.slot)] == 1;
    std::unordered_set<int> later;                  // slots
    for (std::size_t f = fetches_.size(); f-- > 0;) // when they are handed out, nobody else takes
        fetches_[f].last = later.insert(fetches_[f].slot).second;
    at_once_ = std::all_of(units_.begin(), units_.end(), [at = 0](const unit& u) mutable {
        ++at;
        return u.cut.waits >= 0 && !u.sends && !u.receives &&
               std::all_of(u.cut.then.begin(), u.cut.then.end(), [&](int next) { return next >= at; });
    });
    share_arenas();
    find_handed_on(placed);
    segments_ = {};
    if (!late) return;
    bind_variables(placed, options_); // those of now: a container may be reset before the sizes are known
    whole_ = std::move(placed);
    segments_ = segment_programs(whole_);
}

// Each after those before it.
TENON_INLINE std::vector<int> subgraph::units_in_order() const {
    std::vector<int> left, order;
    for (const unit& u : units_) left.push_back(u.cut.before);
    for (std::size_t u = 0; u < units_.size(); ++u)
        if (left[u] == 0) order.push_back(static_cast<int>(u));
    for (std::size_t at = 0; at < order.size(); ++at)
        for (const int next : units_[static_cast<std::size_t>(order[at])].cut.then)
            if (--left[static_cast<std::size_t>(next)] == 0) order.push_back(next);
    return order;
}

// Segments that follow each other use the same memory, each while it runs. How many may run at a time is told by chains of segments of which each
// begins when the one before it has ended: there are no more than chains.
TENON_INLINE void subgraph::share_arenas() {
    arenas_ = std::make_shared<shared_arenas>(options_.devices);
    for (unit& u : units_)
        if (u.segment) u.segment->share(arenas_);
    constexpr std::size_t many = 4000; // the sets below would be large
    const std::size_t n = units_.size();
    if (n > many) {
        at_a_time_ = n - waits_.size();
        return;
    }
    const std::vector<int> order = units_in_order();
    position_sets later(n), after_end(n); // units that begin after one has begun; after it has ended
    for (std::size_t at = order.size(); at-- > 0;) {
        const unit& u = units_[static_cast<std::size_t>(order[at])];
        for (std::size_t k = 0; k < u.cut.then.size(); ++k) {
            const int next = u.cut.then[k];
            later.insert(order[at], next);
            later.unite(order[at], next);
            if (u.then_by[k] >= 0) continue; // of what is taken early
            after_end.insert(order[at], next);
            after_end.unite_with(order[at], later, next);
        }
    }
    std::vector<int> last; // of each chain
    for (const int u : order) {
        if (units_[static_cast<std::size_t>(u)].cut.waits >= 0) continue;
        const auto chain = std::find_if(last.begin(), last.end(), [&](int before) { return after_end.has(before, u); });
        if (chain == last.end()) last.push_back(u);
        else *chain = u;
    }
    at_a_time_ = last.size();
}

// In an order in which the units may run, an op that waits as late as those that come after it allow: what others send comes when it may.
TENON_INLINE void subgraph::find_handed_on(const program& placed) {
    const std::size_t n = units_.size();
    const std::vector<int> order = units_in_order();
    std::vector<std::size_t> place(n), earliest(n); // of units; of what a unit comes after
    for (std::size_t at = 0; at < order.size(); ++at) {
        const auto u = static_cast<std::size_t>(order[at]);
        place[u] = at;
        for (const int next : units_[u].cut.then) {
            const auto v = static_cast<std::size_t>(next);
            earliest[v] = std::max(earliest[v], units_[u].cut.waits < 0 ? at : earliest[u]);
        }
    }
    for (std::size_t at = order.size(); at-- > 0;) {
        const auto u = static_cast<std::size_t>(order[at]);
        if (units_[u].cut.waits < 0) continue;
        place[u] = units_[u].cut.then.empty() ? earliest[u] : n;
        for (const int next : units_[u].cut.then) place[u] = std::min(place[u], place[static_cast<std::size_t>(next)]);
    }
    const std::size_t slots = static_cast<std::size_t>(slots_);
    std::vector<std::size_t> bytes(slots), end(slots);
    for (std::size_t v = 0; v < slot_of_.size(); ++v)
        if (const int slot = slot_of_[v]; slot >= 0)
            if (const tensor_type& t = placed.values[v].type; t.extents.is_static())
                bytes[static_cast<std::size_t>(slot)] = static_cast<std::size_t>(bytes_of(t));
    for (std::size_t s = 0; s < slots; ++s) end[s] = place[static_cast<std::size_t>(given_by_[s])];
    for (std::size_t u = 0; u < n; ++u)
        for (const source& from : units_[u].takes)
            if (from.slot >= 0) {
                std::size_t& e = end[static_cast<std::size_t>(from.slot)];
                e = std::max(e, place[u]);
            }
    for (const source& f : fetches_)
        if (f.slot >= 0) end[static_cast<std::size_t>(f.slot)] = n;
    std::vector<std::ptrdiff_t> change(n + 2);
    for (std::size_t s = 0; s < slots; ++s) {
        change[place[static_cast<std::size_t>(given_by_[s])]] += static_cast<std::ptrdiff_t>(bytes[s]);
        change[end[s] + 1] -= static_cast<std::ptrdiff_t>(bytes[s]);
    }
    std::ptrdiff_t live = 0, most = 0;
    for (const std::ptrdiff_t c : change) most = std::max(most, live += c);
    handed_on_ = static_cast<std::size_t>(most);
}

TENON_INLINE void subgraph::number_turns() {
    std::vector<const unit*> all;
    for (const int w : waits_) {
        const unit& u = units_[static_cast<std::size_t>(w)];
        if (static_cast<const waiting_kernel&>(*u.kernel).has_turn()) all.push_back(&u);
    }
    std::sort(all.begin(), all.end(),
              [](const unit* a, const unit* b) { return a->origin->number < b->origin->number; });
    for (std::size_t n = 0; n < all.size(); ++n)
        static_cast<waiting_kernel&>(*all[n]->kernel).set_turn(static_cast<int>(n), static_cast<int>(all.size()));
}

TENON_INLINE program subgraph::program_of(const program& whole, const step_unit& segment,
                                          const std::vector<bool>& lends, const late_types& late) const {
    program p = segments_.of(whole, segment, late);
    p.lent = lends;
    return p;
}

TENON_INLINE std::shared_ptr<segment> subgraph::segment_of(unit& u, const std::vector<extents>& sizes) {
    if (u.segment) return u.segment;
    std::vector<std::int64_t> key;
    const auto known = [&](int v) -> const extents& {
        return sizes[static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(v)])];
    };
    for (const int v : u.cut.late_from)
        for (const extent& e : known(v)) key.push_back(e.size);
    {
        const std::lock_guard lock(guard_);
        if (const auto at = u.late.find(key); at != u.late.end()) {
            at->second.used = ++requests_;
            return at->second.segment;
        }
    }
    std::vector<std::pair<int, extents>> told;
    for (const int v : u.cut.late_from) told.emplace_back(v, known(v));
    auto made = std::make_shared<segment>(program_of(whole_, u.cut, u.lends, infer_late(whole_, u.cut.inferred, told)),
                                          options_);
    made->share(arenas_);
    std::shared_ptr<segment> dropped; // ends after the lock does
    const std::lock_guard lock(guard_);
    late_segment& kept = u.late[std::move(key)];
    if (!kept.segment) kept.segment = std::move(made);
    kept.used = ++requests_;
    auto result = kept.segment;
    if (u.late.size() > static_cast<std::size_t>(options_.kept_segments)) {
        const auto oldest = std::min_element(
            u.late.begin(), u.late.end(), [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
        dropped = std::move(oldest->second.segment);
        u.late.erase(oldest);
    }
    return result;
}

TENON_INLINE void subgraph::check_taken(const unit& u, const std::vector<any_array>& values) {
    std::vector<tensor_type> in = u.taken;
    for (std::size_t k = 0; k < in.size(); ++k)
        if (values[k]) in[k] = values[k].type();
    for (std::size_t o = 0; o < u.given.size(); ++o)
        (void)inferred_in_step(*u.origin, u.origin->attributes, type_list(in.data(), static_cast<int>(in.size())),
                               static_cast<int>(o), false);
}

TENON_INLINE void subgraph::check_given(const unit& u, const std::vector<any_array>& given, size_bindings& sizes) {
    if (given.size() != u.given.size())
        throw internal_error("it gave " + std::to_string(given.size()) + " outputs and has " +
                             std::to_string(u.given.size()));
    for (std::size_t o = 0; o < given.size(); ++o) {
        if (given[o].type() == u.given[o]) continue;
        if (given[o].element() != u.given[o].element)
            throw internal_error("output " + std::to_string(o) + " is " + to_string(given[o].type()) + ", not " +
                                 to_string(u.given[o]));
        const node_output& from = u.outputs[o];
        sizes.bind(from.node->outputs[static_cast<std::size_t>(from.index)].extents, given[o].extents(), from);
    }
}

TENON_INLINE void subgraph::note_sizes(const unit& u, const std::vector<any_array>& given) noexcept {
    const std::lock_guard lock(guard_);
    std::size_t at = u.sizes_from;
    for (std::size_t o = 0; o < given.size(); ++o)
        if (!u.given[o].extents.is_static()) last_sizes_[at++].second = given[o].extents();
}

TENON_INLINE given_sizes subgraph::last_sizes() const {
    const std::lock_guard lock(guard_);
    given_sizes told = last_sizes_;
    std::erase_if(told, [](const auto& t) { return !t.second.is_static(); });
    return told;
}

TENON_INLINE bool subgraph::accepts(const any_array* const* feeds) const {
    if (only_) return only_->accepts(feeds);
    for (std::size_t f = 0; f < feed_types_.size(); ++f)
        if (!(feeds[f]->extents() == feed_types_[f].extents)) return false;
    return true;
}

TENON_INLINE plan_summary subgraph::summary() const {
    if (only_) return only_->summary();
    plan_summary all;
    all.devices.resize(options_.devices.size());
    std::vector<std::size_t> shared(options_.devices.size()); // of one set
    std::size_t sharing = 0;
    for (const unit& u : units_) {
        if (!u.segment) {
            all.operations += u.cut.waits >= 0 ? 1 : static_cast<int>(u.cut.items.size());
            continue;
        }
        const plan_summary& s = u.segment->summary();
        all.add(s);
        all.lower_bound = std::max(all.lower_bound, s.lower_bound); // segments follow each other
        sharing += u.segment->shares();
        for (std::size_t d = 0; d < all.devices.size(); ++d) {
            device_layout& to = all.devices[d];
            const device_layout& from = s.devices[d];
            if (u.segment->shares()) shared[d] = std::max(shared[d], from.arena_bytes);
            else to.arena_bytes += from.arena_bytes;
            to.lower_bound = std::max(to.lower_bound, from.lower_bound);
            to.constant_bytes += from.constant_bytes;
            to.prepared_bytes += from.prepared_bytes;
        }
    }
    all.arena_bytes = 0;
    for (std::size_t d = 0; d < all.devices.size(); ++d) {
        all.devices[d].arena_bytes += std::min(at_a_time_, sharing) * shared[d];
        all.arena_bytes += all.devices[d].arena_bytes;
    }
    all.fetched_bytes = handed_on_;
    if (!all.devices.empty()) all.devices[0].fetched_bytes = handed_on_;
    return all;
}

TENON_INLINE std::vector<std::string> subgraph::order() const {
    if (only_) return only_->order();
    std::vector<std::string> lines;
    for (const unit& u : units_) {
        if (u.segment)
            for (std::string& line : u.segment->order()) lines.push_back(std::move(line));
        else if (u.kernel) lines.push_back(u.name + " (" + u.op + ")");
        else
            for (const int n : u.cut.items) {
                const node& origin = *whole_.item(n).origin;
                lines.push_back(origin.name + " (" + shown_op(origin) + ")");
            }
    }
    return lines;
}

TENON_INLINE std::size_t subgraph::kept_bytes() const {
    if (only_) return only_->kept_bytes();
    const std::lock_guard lock(guard_);
    std::size_t sum = arenas_->bytes();
    for (const unit& u : units_) {
        if (u.segment) sum += u.segment->kept_bytes();
        for (const auto& [key, kept] : u.late) sum += kept.segment->kept_bytes();
    }
    return sum;
}

TENON_INLINE recording_counts subgraph::recordings() const {
    if (only_) return only_->recordings();
    const std::lock_guard lock(guard_);
    recording_counts sum;
    for (const unit& u : units_) {
        if (u.segment) sum += u.segment->recordings();
        for (const auto& [key, kept] : u.late) sum += kept.segment->recordings();
    }
    return sum;
}

} // namespace tenon::runtime
