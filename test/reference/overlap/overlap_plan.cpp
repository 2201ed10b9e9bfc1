#include "reference/overlap/overlap_plan.hpp"

#include <algorithm>
#include <string_view>

namespace tn = tenon;

namespace reference {

namespace {

std::optional<effect> effect_at(const tn::node& n, const bindings& in) {
    using kind = effect::kind;
    static const std::map<std::string_view, kind> kinds{{"enqueue", kind::enqueue},
                                                        {"enqueue_many", kind::enqueue_many},
                                                        {"dequeue", kind::dequeue},
                                                        {"dequeue_many", kind::dequeue_many},
                                                        {"dequeue_up_to", kind::dequeue_up_to},
                                                        {"dequeue_some", kind::dequeue_some},
                                                        {"queue_size", kind::size},
                                                        {"queue_is_closed", kind::is_closed},
                                                        {"queue_close", kind::close}};
    effect e;
    if (is_update(n)) {
        e.what = kind::update;
        e.on = in.variable_of(*n.inputs[0].node);
        return e;
    }
    const auto at = kinds.find(n.op->name);
    if (at == kinds.end()) return {};
    e.what = at->second;
    e.on = in.queue_of(*n.inputs[0].node);
    return e;
}

std::set<int> waits_before(const plan_of_step& p, const tn::node* n) {
    std::set<int> all;
    for (const int b : p.before.at(n))
        if (p.effects[static_cast<std::size_t>(b)].is_waiting()) all.insert(b);
    return all;
}

// After all that wait and come after no update, or else who waits in vain would have updated something; but what uses a queue that
// somebody waits for after an update may need that.
void put_updates_last(plan_of_step& p) {
    std::set<int> updates, first, used; // `used`: queues
    for (std::size_t e = 0; e < p.effects.size(); ++e)
        if (p.effects[e].what == effect::kind::update) updates.insert(static_cast<int>(e));
    const auto follows_update = [&](const std::set<int>& before) {
        return std::any_of(before.begin(), before.end(), [&](int b) { return updates.contains(b); });
    };
    for (const effect& e : p.effects)
        if (e.is_waiting() && follows_update(e.before)) used.insert(e.on);
    for (std::size_t e = 0; e < p.effects.size(); ++e) {
        const effect& x = p.effects[e];
        if (x.is_waiting() && !follows_update(x.before) && !used.contains(x.on)) first.insert(static_cast<int>(e));
    }
    for (auto& [n, before] : p.before)
        if (is_update(*n) || follows_update(before)) before.insert(first.begin(), first.end());
    for (effect& e : p.effects) {
        if (e.what != effect::kind::update && !follows_update(e.before)) continue;
        e.before.insert(first.begin(), first.end());
        e.waits = waits_before(p, e.node);
    }
}

int segment_of(plan_of_step& p, const std::set<int>& waits) {
    const auto at = std::find(p.segments.begin(), p.segments.end(), waits);
    if (at == p.segments.end()) p.segments.push_back(waits);
    return static_cast<int>(std::find(p.segments.begin(), p.segments.end(), waits) - p.segments.begin());
}

// What is not computed of what waited may be computed where it is needed, and then reads there.
void find_moments(plan_of_step& p) {
    const std::vector<const tn::node*>& nodes = p.order->nodes();
    std::map<const tn::node*, std::set<int>> runs_in; // segments
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
        std::set<int>& mine = runs_in[*n];
        mine.insert(segment_of(p, waits_before(p, *n)));
        for (const tn::node* d : p.order->at(*n).data)
            if (!p.effect_of.contains(d)) runs_in[d].insert(mine.begin(), mine.end());
    }
    for (const tn::node* n : nodes)
        for (std::size_t i = 0; i < n->inputs.size(); ++i) {
            const tn::node_output& from = n->inputs[i];
            if (!is_variable(*from.node) || from.index != 0 || !reads_value(*n, i) || p.order->is_fed(from)) continue;
            std::set<int> when{0};
            const int variable = p.in->variable_of(*from.node);
            for (const int s : runs_in.at(n)) {
                bool before_updates = true;
                for (const effect& e : p.effects)
                    if (e.what == effect::kind::update && e.on == variable)
                        before_updates =
                            before_updates && std::includes(e.waits.begin(), e.waits.end(),
                                                            p.segments[static_cast<std::size_t>(s)].begin(),
                                                            p.segments[static_cast<std::size_t>(s)].end());
                if (before_updates) when.insert(s);
            }
            std::vector<int>& all = p.moments[{n, from.node}];
            all.assign(when.begin(), when.end());
            p.reading.insert(when.begin(), when.end());
            if (!own_update_before(p, *n, *from.node)) p.read_before[variable].push_back(&all);
        }
    for (const tn::any_tensor& f : p.asked->fetches)
        if (is_variable(*f.node()) && !p.order->is_fed(f.output())) {
            std::vector<int>& all = p.moments[{nullptr, f.node()}];
            all = {0};
            p.reading.insert(0);
            p.read_before[p.in->variable_of(*f.node())].push_back(&all);
        }
}

} // namespace

std::unique_ptr<plan_of_step> planned(const overlapping_step& s, values& v) {
    auto p = std::make_unique<plan_of_step>();
    p->asked = s.asked;
    p->in = s.in;
    p->cut = s.cut;
    p->order = std::make_unique<order>(*s.asked);
    for (const tn::fed_value& f : s.asked->feeds)
        p->fed.push_back(v.number_of(std::make_shared<const tn::any_array>(f.value.share())));
    p->segments.emplace_back();
    std::map<int, int> latest;                         // update, by variable
    std::map<const tn::node*, std::set<int>> computed; // of which effects
    for (const tn::node* n : p->order->nodes()) {
        std::set<int>& before = p->before[n];
        const running& r = p->order->at(n);
        const auto after = [&](int e) {
            before.insert(e);
            before.insert(p->effects[static_cast<std::size_t>(e)].before.begin(),
                          p->effects[static_cast<std::size_t>(e)].before.end());
        };
        for (const tn::node* b : r.after)
            if (p->effect_of.contains(b)) after(p->effect_of.at(b));
        std::optional<effect> e = effect_at(*n, *s.in);
        if (e && e->what == effect::kind::update) {
            if (latest.contains(e->on)) after(latest[e->on]);
            latest[e->on] = static_cast<int>(p->effects.size());
        }
        for (int o = 0; o < static_cast<int>(n->outputs.size()); ++o)
            p->places.emplace(place{n, o}, static_cast<int>(p->places.size()));
        std::set<int>& data = computed[n];
        for (const tn::node* d : r.data) data.insert(computed[d].begin(), computed[d].end());
        if (!e && n->op->is(tn::op_flags::stateful) && !n->op->is(tn::op_flags::source))
            p->seen.insert(before.begin(), before.end());
        if (!e) continue;
        e->node = n;
        e->before = before;
        e->waits = waits_before(*p, n);
        e->data = data;
        data.insert(static_cast<int>(p->effects.size()));
        for (const int b : before)
            p->waits_after_update =
                p->waits_after_update ||
                (e->is_waiting() && p->effects[static_cast<std::size_t>(b)].what == effect::kind::update);
        p->effect_of[n] = static_cast<int>(p->effects.size());
        p->effects.push_back(std::move(*e));
    }
    put_updates_last(*p);
    find_moments(*p);
    return p;
}

const tn::node* own_update_before(const plan_of_step& p, const tn::node& n, const tn::node& variable) {
    const tn::node* latest = nullptr;
    for (const effect& e : p.effects)
        if (e.what == effect::kind::update && e.node->inputs[0].node == &variable &&
            p.order->at(&n).begins_after.contains(e.node))
            latest = e.node;
    return latest;
}

} // namespace reference
