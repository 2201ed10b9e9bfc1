#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include <tenon/core/error.hpp>
#include <tenon/runtime/plan/stages.hpp>
#include <tenon/runtime/plan/update_chains.hpp>

namespace tenon::runtime {

namespace detail {

// Sets of items that wait, by number; 0 is the empty one.
class wait_sets {
public:
    wait_sets() { (void)number_of({}); }
    const std::vector<int>& operator[](int set) const { return sets_[static_cast<std::size_t>(set)]; }
    int united(int a, int b) {
        if (a == b || b == 0) return a;
        if (a == 0) return b;
        const auto [at, isnew] = unions_.try_emplace(std::minmax(a, b), 0);
        if (isnew) {
            std::vector<int> all;
            std::set_union((*this)[a].begin(), (*this)[a].end(), (*this)[b].begin(), (*this)[b].end(),
                           std::back_inserter(all));
            at->second = number_of(std::move(all));
        }
        return at->second;
    }
    int with(int set, int item) { return united(set, number_of({item})); }
    // Whether all of a is in b.
    bool within(int a, int b) { return united(a, b) == b; }

private:
    int number_of(std::vector<int> items) {
        const auto [at, isnew] = known_.try_emplace(items, static_cast<int>(sets_.size()));
        if (isnew) sets_.push_back(std::move(items));
        return at->second;
    }
    std::vector<std::vector<int>> sets_;
    std::map<std::vector<int>, int> known_;
    std::map<std::pair<int, int>, int> unions_;
};

class stage_cutter {
public:
    explicit stage_cutter(const program& p) :
        p_(p), chains_(find_update_chains(p)), made_by_(p.values.size(), -1), set_(p.items.size()) {
        awaited_.resize(p.items.size());
        for (int n = 0; n < count(); ++n) {
            for (const int o : p.item(n).outputs) made_by_[static_cast<std::size_t>(o)] = n;
            if (!p.item(n).removed)
                for (const int b : p.item(n).predecessors) awaited_[static_cast<std::size_t>(b)] = true;
        }
        std::unordered_map<const node*, int> last; // update of a variable, which may be fed
        for (int n = 0; n < count(); ++n) {
            const program_item& i = p.item(n);
            if (i.removed || !i.op->is(op_flags::updates)) continue;
            const auto [at, first] = last.emplace(i.origin->inputs[0].node, n);
            if (!first) follows_.emplace(n, std::exchange(at->second, n));
        }
    }

    std::vector<step_unit> run() {
        for (int n = 0; n < count(); ++n) set_[static_cast<std::size_t>(n)] = what_comes_before(n);
        move_to_readers();
        make_units();
        for (std::size_t u = 0, made = units_.size(); u < made; ++u) follow_waits(static_cast<int>(u));
        for (int n = 0; n < count(); ++n)
            if (const int u = unit_of_item(n); u >= 0) connect(n, u);
        for (const int f : p_.fetches) {
            const int u = unit_that_has(f);
            if (u < 0) continue;
            give(u, f);
            if (const int from = maker_of(f); from >= 0 && is_source(from)) keep_from_updates(f, u);
        }
        find_late_stages();
        count_edges();
        return std::move(units_);
    }

private:
    int count() const { return static_cast<int>(p_.items.size()); }
    int set_of(int item) const { return set_[static_cast<std::size_t>(item)]; }
    int maker_of(int value) const { return made_by_[static_cast<std::size_t>(value)]; }
    bool waits(int item) const { return p_.item(item).op->is(op_flags::waits); }
    bool is_open(int value) const { return !p_.value(value).type.extents.is_static(); }
    bool is_source(int item) const { return is_read_anywhere(p_.item(item)); }
    // Whether it is run by itself: what is read anywhere is so only where others are made to run after it.
    bool has_a_place(int n) const {
        return !p_.item(n).removed && (!is_source(n) || awaited_[static_cast<std::size_t>(n)]);
    }
    int set_after(int item) { return waits(item) ? sets_.with(set_of(item), item) : set_of(item); }

    // Whether input k is the current value of a variable of this program: one of another task is read as it is sent.
    bool is_current(int n, std::size_t k) const {
        const int from = maker_of(p_.item(n).inputs[k]);
        return from >= 0 && (p_.item(from).op->is(op_flags::variable) || p_.item(from).op->is(op_flags::updates)) &&
               reads_current(p_, p_.item(n), k);
    }

    // The items that an item runs after: all that it reads or asks the sizes of, where they are known late.
    template <class Visit> void each_before(int n, Visit visit) const {
        const program_item& i = p_.item(n);
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            const int from = maker_of(i.inputs[k]);
            if (from >= 0 && !is_source(from) && ((!i.removed && i.read[k]) || is_open(i.inputs[k]))) visit(from);
        }
        for (const int b : i.predecessors) visit(b);
        if (const auto at = follows_.find(n); at != follows_.end()) visit(at->second);
    }

    int what_comes_before(int n) {
        int set = 0;
        each_before(n, [&](int b) { set = sets_.united(set, set_after(b)); });
        return set;
    }

    // Items without effects that begin with variables, constants and feeds, and whose readers are all in one stage, run
    // there: what they read need not be handed on, and is of that stage's moment. What an update is computed of its
    // variable's current value must, or updates of other steps would be lost.
    void move_to_readers() {
        const auto is_pure = [&](int n) {
            const program_item& i = p_.item(n);
            return !i.removed && !i.target && i.predecessors.empty() && !i.op->is(op_flags::stateful) &&
                   !i.op->is(op_flags::source) && !i.op->is(op_flags::updates) && !i.op->is(op_flags::waits);
        };
        std::vector<bool> rooted(p_.items.size()), of_current(p_.items.size());
        for (int n = 0; n < count(); ++n) {
            if (!is_pure(n)) continue;
            const program_item& i = p_.item(n);
            bool all = true, any = false;
            for (std::size_t k = 0; k < i.inputs.size(); ++k) {
                const int from = maker_of(i.inputs[k]);
                const bool computed = from >= 0 && !is_source(from) && i.read[k];
                all = all && (!computed || rooted[static_cast<std::size_t>(from)]);
                any = any || is_current(n, k) || (computed && of_current[static_cast<std::size_t>(from)]);
            }
            rooted[static_cast<std::size_t>(n)] = all;
            of_current[static_cast<std::size_t>(n)] = any;
        }
        constexpr int none = -1, several = -2;
        std::vector<int> readers(p_.items.size(), none); // by item: the set of its readers
        const auto read_in = [&](int item, int set) {
            int& known = readers[static_cast<std::size_t>(item)];
            known = known == none || known == set ? set : several;
        };
        for (int n = count(); n-- > 0;) {
            const int known = readers[static_cast<std::size_t>(n)];
            if (known >= 0 && (rooted[static_cast<std::size_t>(n)] || of_current[static_cast<std::size_t>(n)]))
                set_[static_cast<std::size_t>(n)] = known;
            if (!p_.item(n).removed) each_before(n, [&](int b) { read_in(b, waits(n) ? several : set_of(n)); });
        }
    }

    // By the number of ops that are waited for, and stages before the ops that wait.
    void make_units() {
        using key = std::tuple<std::size_t, int, int>; // size of the set, the item that waits or -1, the set
        std::map<key, int> order;
        const auto key_of = [&](int n) { return key(sets_[set_of(n)].size(), waits(n) ? n : -1, set_of(n)); };
        for (int n = 0; n < count(); ++n)
            if (has_a_place(n)) order.emplace(key_of(n), 0);
        for (auto& [k, number] : order) {
            number = static_cast<int>(units_.size());
            units_.emplace_back().waits = std::get<1>(k);
            unit_sets_.push_back(std::get<2>(k));
            if (std::get<1>(k) < 0) stage_of_[std::get<2>(k)] = number;
        }
        unit_of_.assign(p_.items.size(), -1);
        for (int n = 0; n < count(); ++n) {
            if (!has_a_place(n)) continue;
            unit_of_[static_cast<std::size_t>(n)] = order.at(key_of(n));
            step_unit& u = units_[static_cast<std::size_t>(order.at(key_of(n)))];
            if (u.waits < 0) u.items.push_back(n);
            else u.gives.assign(p_.item(n).outputs.begin(), p_.item(n).outputs.end());
        }
    }
    int unit_of_item(int n) const { return unit_of_[static_cast<std::size_t>(n)]; }
    // The stage that waits for nothing; a new one is the last, which comes before others all the same.
    int first_stage() {
        const auto [at, isnew] = stage_of_.try_emplace(0, static_cast<int>(units_.size()));
        if (isnew) {
            units_.emplace_back();
            unit_sets_.push_back(0);
        }
        return at->second;
    }

    void before(int unit, int then) {
        if (unit != then) edges_.emplace(unit, then);
    }
    void give(int unit, int value) {
        std::vector<int>& all = units_[static_cast<std::size_t>(unit)].gives;
        if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
    }
    void take(int unit, int value) {
        std::vector<int>& all = units_[static_cast<std::size_t>(unit)].takes;
        if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
    }
    // Who has a value to hand on; -1: it is fed.
    int unit_that_has(int value) {
        const int from = maker_of(value);
        if (from < 0) return p_.value(value).feed >= 0 ? -1 : first_stage();
        return is_source(from) ? first_stage() : unit_of_item(from);
    }

    // What a unit depends on may be by way of items that do not run, whose sizes alone matter.
    void follow_waits(int unit) {
        const std::vector<int> all = sets_[unit_sets_[static_cast<std::size_t>(unit)]];
        int covered = 0;
        for (auto w = all.rbegin(); w != all.rend(); ++w) {
            if (std::binary_search(sets_[covered].begin(), sets_[covered].end(), *w)) continue;
            covered = sets_.united(covered, set_after(*w));
            before(unit_of_item(*w), unit);
        }
    }

    void connect(int n, int u) {
        each_before(n, [&](int b) {
            if (const int from = unit_of_item(b); from >= 0) before(from, u);
        });
        const program_item& i = p_.item(n);
        for (std::size_t k = 0; k < i.inputs.size(); ++k) {
            const int v = i.inputs[k];
            const bool op = waits(n);
            if (op) units_[static_cast<std::size_t>(u)].takes.push_back(i.read[k] ? v : -1);
            if (!i.read[k]) continue;
            const int from = maker_of(v);
            if (is_current(n, k)) { // what is there when the stage updates it
                if (!is_updated_too_early(i.origin->inputs[k].node, from, u)) continue;
                units_[static_cast<std::size_t>(u)].taken_current.push_back(v);
            } else if (from >= 0 && is_source(from) && !op && !is_updated_elsewhere(v, u)) continue;
            const int has = unit_that_has(v);
            if (has == u) continue;
            if (!op) take(u, v);
            if (has < 0) continue;
            give(has, v);
            before(has, u);
            if (from >= 0 && is_source(from)) keep_from_updates(v, has);
        }
    }

    // Whether a stage that reads a variable as it was before the step might find an update. Where it can come first, it does.
    bool is_updated_elsewhere(int value, int unit) {
        const auto chain = chains_.find(value);
        return chain != chains_.end() && !comes_before(unit, chain->second.updates);
    }
    // The same of who reads what an update left, or the variable where it is none: of the updates after that.
    bool is_updated_too_early(const node* variable, int left_by, int unit) {
        for (const auto& [value, c] : chains_)
            if (p_.item(c.variable).origin == variable)
                return !comes_before(unit,
                                     {std::upper_bound(c.updates.begin(), c.updates.end(), left_by), c.updates.end()});
        return false;
    }
    // Whether a stage can be made to come before updates of other stages, as it then is.
    bool comes_before(int unit, std::span<const int> updates) {
        const int set = unit_sets_[static_cast<std::size_t>(unit)];
        for (const int u : updates)
            if (unit_of_item(u) != unit && (set == set_of(u) || !sets_.within(set, set_of(u)))) return false;
        for (const int u : updates) before(unit, unit_of_item(u));
        return true;
    }
    void keep_from_updates(int value, int reader) {
        const auto chain = chains_.find(value);
        if (chain == chains_.end()) return;
        for (const int update : chain->second.updates) before(reader, unit_of_item(update));
    }

    void find_late_stages() {
        for (std::size_t u = 0; u < units_.size(); ++u) {
            step_unit& unit = units_[u];
            const auto open = [&](int n) {
                const program_item& i = p_.item(n);
                const auto is = [&](int v) { return is_open(v); };
                return std::any_of(i.inputs.begin(), i.inputs.end(), is) ||
                       std::any_of(i.outputs.begin(), i.outputs.end(), is);
            };
            if (unit.waits >= 0 || std::none_of(unit.items.begin(), unit.items.end(), open)) continue;
            for (const int w : sets_[unit_sets_[u]])
                for (const int o : p_.item(w).outputs)
                    if (is_open(o)) unit.told.push_back(o);
            unit.inferred.resize(p_.items.size());
            for (int n = 0; n < count(); ++n)
                unit.inferred[static_cast<std::size_t>(n)] = !waits(n) && sets_.within(set_of(n), unit_sets_[u]);
        }
    }

    void count_edges() {
        for (const auto& [from, to] : edges_) {
            units_[static_cast<std::size_t>(from)].then.push_back(to);
            ++units_[static_cast<std::size_t>(to)].before;
        }
    }

    const program& p_;
    const update_chains chains_;
    std::vector<int> made_by_;             // by value, items that do not run included
    std::vector<bool> awaited_;            // by item: others are made to run after it
    std::unordered_map<int, int> follows_; // the update of the same variable that comes before one
    wait_sets sets_;
    std::vector<int> set_; // by item: what has completed before it runs
    std::vector<step_unit> units_;
    std::vector<int> unit_sets_;            // by unit
    std::vector<int> unit_of_;              // by item, or -1
    std::unordered_map<int, int> stage_of_; // by set
    std::set<std::pair<int, int>> edges_;
};

} // namespace detail

TENON_INLINE bool has_waits(const program& p) {
    return std::any_of(p.items.begin(), p.items.end(),
                       [](const program_item& i) { return !i.removed && i.op->is(op_flags::waits); });
}

TENON_INLINE std::vector<step_unit> cut_into_stages(const program& p) { return detail::stage_cutter(p).run(); }

TENON_INLINE program program_of_stage(const program& p, const step_unit& stage) {
    program s;
    s.sizes = p.sizes;
    s.variables = p.variables;
    std::unordered_map<int, int> here, item_here; // values and items of p: those of the stage
    std::vector<int> made_by(p.values.size(), -1);
    for (std::size_t n = 0; n < p.items.size(); ++n)
        for (const int o : p.items[n].outputs) made_by[static_cast<std::size_t>(o)] = static_cast<int>(n);
    const auto enter = [&](int value) -> program_value& {
        program_value v;
        v.origin = p.value(value).origin;
        v.type = p.value(value).type;
        here[value] = s.add(std::move(v));
        return s.values.back();
    };
    for (const int v : stage.takes) {
        enter(v).feed = static_cast<int>(s.feed_types.size());
        s.feed_types.push_back(p.value(v).type);
    }
    // A variable's current value is what is there when the stage updates it, unless the stage itself has changed it before.
    const auto read_current = [&](int n, std::size_t k) {
        const int v = p.item(n).inputs[k], from = made_by[static_cast<std::size_t>(v)];
        return from >= 0 && !item_here.contains(from) && reads_current(p, p.item(n), k) &&
               std::find(stage.taken_current.begin(), stage.taken_current.end(), v) == stage.taken_current.end() &&
               (p.item(from).op->is(op_flags::variable) || p.item(from).op->is(op_flags::updates));
    };
    std::unordered_map<const node*, int> variables;
    for (std::size_t n = 0; n < p.items.size(); ++n)
        if (p.items[n].op->is(op_flags::variable)) variables.emplace(p.items[n].origin, static_cast<int>(n));
    const auto variable_of_current = [&](int n, std::size_t k) {
        return variables.at(p.item(n).origin->inputs[k].node);
    };
    const auto enter_item = [&](int n) {
        program_item i = p.item(n);
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
        const int from = made_by[static_cast<std::size_t>(value)];
        if (here.contains(value) || from < 0 || !is_read_anywhere(p.item(from))) return;
        enter_item(from);
    };
    for (const int n : stage.items) {
        for (std::size_t k = 0; k < p.item(n).inputs.size(); ++k)
            if (!read_current(n, k)) bring(p.item(n).inputs[k]);
            else if (const int from = variable_of_current(n, k); !item_here.contains(from)) {
                // Beside what was handed on of it, if anything was.
                const int value = p.item(from).outputs[0];
                const auto handed_on = here.find(value);
                const int before = handed_on == here.end() ? -1 : handed_on->second;
                enter_item(from);
                program_item& variable = s.item(item_here.at(from));
                variable.removed = false;
                s.value(variable.outputs[0]).producer = item_here.at(from);
                if (before >= 0) here[value] = before;
            }
        enter_item(n);
    }
    // What items elsewhere are made to run after runs although nobody here may read it.
    for (std::size_t n = 0; n < p.items.size(); ++n)
        if (!p.items[n].removed && !item_here.contains(static_cast<int>(n)))
            for (const int b : p.items[n].predecessors)
                if (const auto at = item_here.find(b); at != item_here.end()) s.item(at->second).target = true;
    for (const int v : stage.gives) {
        bring(v);
        if (!here.contains(v)) enter(v);
        s.fetches.push_back(here.at(v));
        s.fetched.push_back(p.value(v).origin);
    }
    return s;
}

} // namespace tenon::runtime
