#include "reference/overlap/overlap.hpp"

#include <algorithm>
#include <unordered_set>

#include <tenon/op/attribute.hpp>
#include <tenon/ops/queue/queue.hpp>

#include "reference/compute.hpp"
#include "reference/overlap/overlap_plan.hpp"
#include "reference/overlap/overlap_state.hpp"

namespace tn = tenon;

namespace reference {

namespace {

constexpr int unknown = -1, too_late = -2;

// The moment when it reads has not come.
struct too_early {};

bool is_current(const tn::node_output& o) { return is_variable(*o.node) && o.index == 1; }

class explorer {
public:
    explorer(const std::vector<lane>& lanes, values& v, const exploration_options& o) :
        lanes_(lanes), values_(v), options_(o) {
        for (const lane& l : lanes) {
            plans_.emplace_back();
            for (const overlapping_step& s : l.steps) plans_.back().push_back(planned(s, v));
        }
    }

    exploration run(const std::vector<world>& begins) {
        for (const world& w : begins) {
            machine m{w, std::vector<int>(lanes_.size()), std::vector<step_state>(lanes_.size()), options_.slow};
            for (std::size_t l = 0; l < lanes_.size(); ++l) begin(m, l);
            enter(std::move(m));
        }
        while (!next_.empty()) {
            if (seen_.size() > options_.most_states) {
                result_.too_many = true;
                break;
            }
            const machine m = std::move(next_.back());
            next_.pop_back();
            step(m);
        }
        return std::move(result_);
    }

private:
    void begin(machine& m, std::size_t l) const {
        step_state& s = m.steps[l] = {};
        if (m.at[l] == static_cast<int>(plans_[l].size())) return;
        const plan_of_step& p = plan(m, l);
        s.effects.resize(p.effects.size());
        s.made.resize(p.places.size(), unknown);
        s.moments.resize(p.segments.size());
    }
    const plan_of_step& plan(const machine& m, std::size_t l) const {
        return *plans_[l][static_cast<std::size_t>(m.at[l])];
    }
    bool runs(const machine& m, std::size_t l) const {
        if (m.at[l] == static_cast<int>(plans_[l].size())) return false;
        return lanes_[l].of < 0 || m.at[static_cast<std::size_t>(lanes_[l].of)] >= lanes_[l].after;
    }

    void enter(machine&& m) {
        std::string key;
        const auto number = [&](long long n) {
            key += std::to_string(n);
            key += ' ';
        };
        for (const queue_model& q : m.all.queues) q.describe(key);
        for (const int v : m.all.variables) number(v);
        number(m.late);
        bool ended = true;
        for (std::size_t l = 0; l < lanes_.size(); ++l) {
            ended = ended && m.at[l] == static_cast<int>(plans_[l].size());
            const step_state& s = m.steps[l];
            number(m.at[l]);
            number(s.error);
            number(s.cut);
            number(s.updated);
            for (const char c : s.effects) number(c);
            for (const int v : s.made) number(v);
            for (const std::vector<int>& all : s.moments) {
                key += '|';
                for (const int v : all) number(v);
            }
        }
        if (ended) { // how it came so does not matter
            std::string end;
            for (const queue_model& q : m.all.queues) q.describe(end);
            for (const int v : m.all.variables) end += std::to_string(v) + " ";
            if (ends_.insert(end).second) result_.ends.push_back(std::move(m.all));
            return;
        }
        if (seen_.insert(std::move(key)).second) next_.push_back(std::move(m));
    }

    // All that can happen next.
    void step(const machine& m) {
        for (std::size_t q = 0; q < m.all.queues.size(); ++q) {
            std::vector<queue_model::move> moves = m.all.queues[q].moves(values_);
            for (queue_model::move& move : moves) {
                machine then = m;
                then.all.queues[q] = std::move(move.then);
                if (move.end) completed(then, *move.end);
                enter(std::move(then));
            }
            if (!moves.empty()) return;
        }
        happened_ = false;
        for (std::size_t l = 0; l < lanes_.size(); ++l)
            if (runs(m, l) && may_be_cut(m, l)) {
                machine then = m;
                cut(then, l, *plan(m, l).cut);
                happened_ = true;
                enter(std::move(then));
            }
        for (std::size_t l = 0; l < lanes_.size(); ++l)
            if (runs(m, l) && goes_on_unseen(m, l)) return;
        for (std::size_t l = 0; l < lanes_.size(); ++l)
            if (runs(m, l)) step_of(m, l);
        if (happened_ && !m.late) return;
        if (!happened_) result_.may_wait_for_ever = true;
        for (std::size_t l = 0; l < lanes_.size(); ++l) {
            if (!runs(m, l) || !may_be_late(m, l)) continue;
            const std::vector<char>& e = m.steps[l].effects;
            if (!options_.slow && std::find(e.begin(), e.end(), 1) == e.end()) continue;
            machine then = m;
            then.late = true;
            cut(then, l, tn::error_code::deadline_exceeded);
            enter(std::move(then));
        }
    }

    // What no other lane can tell the moment of, and its own steps neither, is done first: there are fewer orders to look at.
    bool goes_on_unseen(const machine& m, std::size_t l) {
        const plan_of_step& p = plan(m, l);
        const step_state& s = m.steps[l];
        if (s.error >= 0) return false;
        bool all_read = true;
        for (const int t : p.reading) {
            if (!s.moments[static_cast<std::size_t>(t)].empty()) continue;
            all_read = false;
            if (!may_read(p, s, t) || others_update(m, l)) continue;
            try_all(m, [&](machine& then, choices&) { return take_moment(then, l, t); });
            return true;
        }
        if (!all_read || std::any_of(s.effects.begin(), s.effects.end(), [](char e) { return e != 2; })) return false;
        try_all(m, [&](machine& then, choices& c) { return end(then, l, c); });
        return true;
    }
    bool others_update(const machine& m, std::size_t l) const {
        for (std::size_t other = 0; other < lanes_.size(); ++other)
            for (auto s = static_cast<std::size_t>(m.at[other]); other != l && s < plans_[other].size(); ++s)
                for (const effect& e : plans_[other][s]->effects)
                    if (e.what == effect::kind::update) return true;
        return false;
    }
    static bool may_read(const plan_of_step& p, const step_state& s, int t) {
        const std::set<int>& waits = p.segments[static_cast<std::size_t>(t)];
        return s.moments[static_cast<std::size_t>(t)].empty() && std::all_of(waits.begin(), waits.end(), [&](int e) {
                   return s.effects[static_cast<std::size_t>(e)] == 2;
               });
    }
    static bool take_moment(machine& m, std::size_t l, int t) {
        step_state& s = m.steps[l];
        std::vector<int>& now = s.moments[static_cast<std::size_t>(t)];
        now = m.all.variables;
        for (std::size_t v = 0; v < now.size(); ++v)
            if (s.updated >> v & 1) now[v] = too_late;
        return true;
    }

    static int who(std::size_t l, std::size_t e) { return static_cast<int>(l * 256 + e); }
    static void fail(machine& m, std::size_t l, tn::error_code why) {
        if (m.steps[l].error < 0) m.steps[l].error = static_cast<int>(why);
    }
    static void cut(machine& m, std::size_t l, tn::error_code why) {
        fail(m, l, why);
        m.steps[l].cut = true;
    }
    // From its first update to its last nothing stops it.
    bool is_past_cutting(const machine& m, std::size_t l) const {
        return m.steps[l].updated != 0 && !plan(m, l).waits_after_update;
    }
    bool may_be_cut(const machine& m, std::size_t l) const {
        const std::optional<tn::error_code> why = plan(m, l).cut;
        return why && may_end_early(m, l, *why);
    }
    bool may_be_late(const machine& m, std::size_t l) const {
        return may_end_early(m, l, tn::error_code::deadline_exceeded);
    }
    bool may_end_early(const machine& m, std::size_t l, tn::error_code why) const {
        if (m.steps[l].error >= 0 || is_past_cutting(m, l)) return false;
        return !options_.seen || (*options_.seen)[l][static_cast<std::size_t>(m.at[l])].error == why;
    }
    void completed(machine& m, const queue_model::ended& end) {
        const auto l = static_cast<std::size_t>(end.who / 256), e = static_cast<std::size_t>(end.who % 256);
        step_state& s = m.steps[l];
        s.effects[e] = end.error ? 3 : 2;
        if (end.error) return fail(m, l, *end.error);
        const plan_of_step& p = plan(m, l);
        const effect& of = p.effects[e];
        if (of.what == effect::kind::enqueue || of.what == effect::kind::enqueue_many) return;
        const queue_rules& rules = m.all.queues[static_cast<std::size_t>(of.on)].rules();
        for (std::size_t c = 0; c < rules.components.size(); ++c) {
            int made = 0;
            if (of.what == effect::kind::dequeue) made = end.taken[0][c];
            else {
                std::vector<shared_array> rows;
                for (const queue_model::tuple& t : end.taken) rows.push_back(values_[t[c]]);
                made = values_.number_of(stacked(rows, rules.components[c]));
            }
            s.made[static_cast<std::size_t>(p.places.at({of.node, static_cast<int>(c)}))] = made;
        }
    }

    // Everything that f does, for all its choices; it answers whether it was possible.
    template <class F> void try_all(const machine& m, const F& f) {
        choices c;
        do {
            machine then = m;
            try {
                if (f(then, c)) {
                    happened_ = true;
                    enter(std::move(then));
                }
            } catch (const too_early&) {
            }
        } while (c.advance());
    }

    void step_of(const machine& m, std::size_t l) {
        const plan_of_step& p = plan(m, l);
        const step_state& s = m.steps[l];
        const auto done = [&](const std::set<int>& all) {
            return std::all_of(all.begin(), all.end(),
                               [&](int e) { return s.effects[static_cast<std::size_t>(e)] == 2; });
        };
        for (const int t : p.reading)
            if (may_read(p, s, t)) try_all(m, [&](machine& then, choices&) { return take_moment(then, l, t); });
        std::set<std::set<int>> updating;
        for (std::size_t e = 0; e < p.effects.size(); ++e) {
            const effect& of = p.effects[e];
            if (s.effects[e] == 1 && s.error >= 0) {
                try_all(m, [&](machine& then, choices&) {
                    then.all.queues[static_cast<std::size_t>(of.on)].stop(who(l, e), values_);
                    then.steps[l].effects[e] = 3;
                    return true;
                });
                continue;
            }
            if (s.effects[e] != 0) continue;
            if (of.what == effect::kind::update) updating.insert(of.waits);
            if (!done(of.before)) continue;
            if (of.what != effect::kind::update)
                try_all(m, [&](machine& then, choices& c) {
                    begin_effect(then, l, e, c);
                    return true;
                });
            else if (!s.cut && (s.error >= 0 || lanes_.size() == 1))
                try_all(m, [&](machine& then, choices& c) { return update(then, l, e, c); });
        }
        if (s.error < 0 && lanes_.size() > 1)
            for (const std::set<int>& segment : updating) update_segment(m, l, segment);
        const auto count = [&](char what) { return std::count(s.effects.begin(), s.effects.end(), what); };
        if (s.error >= 0 ? count(1) == 0 : count(2) == static_cast<long>(s.effects.size()))
            try_all(m, [&](machine& then, choices& c) { return end(then, l, c); });
    }

    // All updates of a segment at one moment; those of one variable as they were made.
    void update_segment(const machine& m, std::size_t l, const std::set<int>& segment) {
        const plan_of_step& p = plan(m, l);
        try_all(m, [&](machine& then, choices& c) {
            bool any = false;
            for (std::size_t e = 0; e < p.effects.size(); ++e) {
                const effect& of = p.effects[e];
                if (of.what != effect::kind::update || of.waits != segment || then.steps[l].effects[e] != 0) continue;
                for (const int b : of.before)
                    if (then.steps[l].effects[static_cast<std::size_t>(b)] != 2) return any;
                if (!update(then, l, e, c)) return false;
                any = true;
            }
            return any;
        });
    }

    bool update(machine& m, std::size_t l, std::size_t e, choices& c) {
        const plan_of_step& p = plan(m, l);
        step_state& s = m.steps[l];
        const effect& of = p.effects[e];
        const bool first = (s.updated >> of.on & 1) == 0;
        if (const auto readers = p.read_before.find(of.on); first && readers != p.read_before.end())
            for (const std::vector<int>* when : readers->second)
                if (std::all_of(when->begin(), when->end(),
                                [&](int t) { return s.moments[static_cast<std::size_t>(t)].empty(); }))
                    return false; // somebody must have read it before
        const int made = value(m, l, of.node->inputs[1], of.node, c, true);
        m.all.variables[static_cast<std::size_t>(of.on)] = made;
        s.made[static_cast<std::size_t>(p.places.at({of.node, 0}))] = made;
        s.effects[e] = 2;
        s.updated |= 1 << of.on;
        return true;
    }

    void begin_effect(machine& m, std::size_t l, std::size_t e, choices& c) {
        using kind = effect::kind;
        const plan_of_step& p = plan(m, l);
        const effect& of = p.effects[e];
        queue_model& q = m.all.queues[static_cast<std::size_t>(of.on)];
        char& now = m.steps[l].effects[e];
        const auto gives = [&](auto x) {
            auto a = std::make_shared<tn::any_array>(tn::element_type_of<decltype(x)>, tn::extents{});
            *a->template data<decltype(x)>() = x;
            m.steps[l].made[static_cast<std::size_t>(p.places.at({of.node, 0}))] = values_.number_of(a);
            now = 2;
        };
        switch (of.what) {
        case kind::enqueue:
        case kind::enqueue_many: {
            queue_model::tuple given;
            for (std::size_t i = 1; i < of.node->inputs.size(); ++i)
                given.push_back(value(m, l, of.node->inputs[i], of.node, c));
            std::vector<queue_model::tuple> elements;
            if (of.what == kind::enqueue) elements.push_back(given);
            else
                for (std::int64_t r = 0; r < values_[given[0]]->extents()[0].size; ++r) {
                    queue_model::tuple one;
                    for (const int g : given)
                        one.push_back(values_.number_of(
                            std::make_shared<const tn::any_array>(values_[g]->share().row(r).copy())));
                    elements.push_back(std::move(one));
                }
            now = 1;
            if (q.enqueue(who(l, e), std::move(elements))) return;
            now = 3;
            return fail(m, l, tn::error_code::cancelled);
        }
        case kind::dequeue: now = 1; return q.dequeue(who(l, e), 1, 1, false);
        case kind::dequeue_many:
        case kind::dequeue_up_to:
        case kind::dequeue_some: {
            const auto count = [&](const char* name) {
                return static_cast<std::size_t>(of.node->attributes.get<std::int64_t>(name));
            };
            const bool some = of.what == kind::dequeue_some;
            now = 1;
            return q.dequeue(who(l, e), count(some ? "at_least" : "n"), count(some ? "at_most" : "n"),
                             of.what != kind::dequeue_many);
        }
        case kind::size: return gives(static_cast<std::int64_t>(q.size()));
        case kind::is_closed: return gives(q.is_closed());
        case kind::close: {
            const bool already = q.is_closed();
            const auto cancelled =
                q.close(tn::decode<tn::queue_close_op::attributes>(of.node->attributes).cancel_pending_enqueues);
            now = already ? 3 : 2;
            for (const int w : cancelled) completed(m, {w, tn::error_code::cancelled, {}});
            if (already) fail(m, l, tn::error_code::aborted);
            return;
        }
        case kind::update: return;
        }
    }

    // Of what `reader` reads. `anew`: by an update, of what is there now.
    int value(machine& m, std::size_t l, const tn::node_output& o, const tn::node* reader, choices& c,
              bool anew = false) {
        const plan_of_step& p = plan(m, l);
        for (std::size_t f = 0; f < p.fed.size(); ++f)
            if (p.asked->feeds[f].tensor.output() == o) return p.fed[f];
        step_state& s = m.steps[l];
        if (is_current(o)) return m.all.variables[static_cast<std::size_t>(p.in->variable_of(*o.node))];
        if (is_variable(*o.node)) return read(m, l, *o.node, reader, c);
        int& known = s.made[static_cast<std::size_t>(p.places.at(place_of(o)))];
        if (known != unknown) return known;
        const tn::node& n = *o.node;
        std::vector<int> in;
        bool current = false;
        for (std::size_t i = 0; i < n.inputs.size(); ++i) {
            current = current || (anew && is_current(n.inputs[i]));
            in.push_back(reads_value(n, i) ? value(m, l, n.inputs[i], &n, c, anew) : unknown);
        }
        const int made = computed(n, in, o.index);
        if (!current) known = made;
        return made;
    }

    int read(machine& m, std::size_t l, const tn::node& variable, const tn::node* reader, choices& c) {
        const plan_of_step& p = plan(m, l);
        const step_state& s = m.steps[l];
        if (reader)
            if (const tn::node* u = own_update_before(p, *reader, variable))
                return s.made[static_cast<std::size_t>(p.places.at({u, 0}))];
        const auto number = static_cast<std::size_t>(p.in->variable_of(variable));
        std::vector<int> found;
        for (const int t : p.moments.at({reader, &variable}))
            if (const std::vector<int>& then = s.moments[static_cast<std::size_t>(t)];
                !then.empty() && then[number] != too_late &&
                std::find(found.begin(), found.end(), then[number]) == found.end())
                found.push_back(then[number]);
        if (found.empty()) throw too_early{};
        const int x =
            found.size() == 1 ? found[0] : found[static_cast<std::size_t>(c.choose(static_cast<int>(found.size())))];
        if (x < 0) throw tn::internal_error("a variable is read before it has a value");
        return x;
    }

    int computed(const tn::node& n, const std::vector<int>& in, int output) {
        std::vector<int>& known = computed_[{&n, in}];
        if (known.empty()) {
            work w{n, n.attributes, {}, {}, {}, 0, nullptr};
            for (const int i : in) {
                w.values.push_back(values_[i]);
                w.inputs.push_back(values_[i]->type());
            }
            for (int k = 0; k < static_cast<int>(n.outputs.size()); ++k)
                w.outputs.push_back(
                    n.op->infer(n.attributes, tn::type_list(w.inputs.data(), static_cast<int>(w.inputs.size())), k)
                        .type);
            for (shared_array& a : compute(w)) known.push_back(values_.number_of(std::move(a)));
        }
        return known.at(static_cast<std::size_t>(output));
    }

    bool end(machine& m, std::size_t l, choices& c) {
        const plan_of_step& p = plan(m, l);
        const step_state& s = m.steps[l];
        ending e;
        if (s.error >= 0) e.error = static_cast<tn::error_code>(s.error);
        else
            for (const tn::any_tensor& f : p.asked->fetches) e.fetched.push_back(value(m, l, f.output(), nullptr, c));
        if (options_.seen && e != (*options_.seen)[l][static_cast<std::size_t>(m.at[l])])
            return happened_ = true, false;
        if (!p.waits_after_update && s.error >= 0 && is_in_part(p, s)) return happened_ = true, false;
        settle(m, l, c);
        ++m.at[l];
        begin(m, l);
        return true;
    }

    static bool is_in_part(const plan_of_step& p, const step_state& s) {
        bool all = true, any = false;
        for (std::size_t e = 0; e < p.effects.size(); ++e) {
            if (p.effects[e].what != effect::kind::update) continue;
            all = all && s.effects[e] == 2;
            any = any || s.effects[e] == 2;
        }
        return any && !all;
    }

    // What a step that failed dequeued is put back, or used.
    void settle(machine& m, std::size_t l, choices& c) const {
        const plan_of_step& p = plan(m, l);
        const step_state& s = m.steps[l];
        for (queue_model& q : m.all.queues)
            q.settle(
                [&](int by) -> std::optional<bool> {
                    if (by / 256 != static_cast<int>(l)) return {};
                    if (s.error < 0) return false;
                    const int mine = by % 256;
                    bool may_be_used = p.seen.contains(mine);
                    for (std::size_t e = 0; e < p.effects.size(); ++e) {
                        const effect& of = p.effects[e];
                        if (s.effects[e] == 2 && !of.is_dequeue() && of.data.contains(mine)) return false;
                        const bool ran = s.effects[e] == 2 || (s.effects[e] == 3 && !of.is_waiting());
                        may_be_used = may_be_used || (ran && of.before.contains(mine));
                    }
                    return !may_be_used || c.choose(2) == 0;
                },
                values_);
    }

    const std::vector<lane>& lanes_;
    values& values_;
    const exploration_options& options_;
    std::vector<std::vector<std::unique_ptr<plan_of_step>>> plans_;
    std::map<std::pair<const tn::node*, std::vector<int>>, std::vector<int>> computed_;
    std::vector<machine> next_;
    std::unordered_set<std::string> seen_;
    std::unordered_set<std::string> ends_;
    exploration result_;
    bool happened_ = false;
};

} // namespace

exploration explore(const std::vector<world>& begins, const std::vector<lane>& lanes, values& v,
                    const exploration_options& o) {
    return explorer(lanes, v, o).run(begins);
}

} // namespace reference
