#include "reference/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>

#include "reference/compute.hpp"
#include "reference/order.hpp"
#include "reference/sizes.hpp"
#include "reference/updates.hpp"

namespace tn = tenon;

namespace reference {

namespace {

double largest(const tn::any_array& a) {
    double most = 0;
    tn::detail::with_element(a.element(), [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>)
            for (std::int64_t i = 0; i < a.elements(); ++i) {
                const double x = std::fabs(static_cast<double>(a.data<T>()[i]));
                if (std::isfinite(x)) most = std::max(most, x);
            }
    });
    return most;
}

double rounding_of(tn::element_type e) {
    switch (e) {
    case tn::element_type::float64: return std::numeric_limits<double>::epsilon();
    case tn::element_type::float32: return std::numeric_limits<float>::epsilon();
    case tn::element_type::float16: return 1.0 / 1024;
    default: return 1.0 / 128;
    }
}

// Of a node that failed, which has been told.
struct no_value {};

class evaluation {
public:
    evaluation(const request& r, const state& before, std::uint64_t graph_seed, const noise& shaken) :
        r_(r),
        before_(before),
        seed_(graph_seed),
        shaken_(shaken),
        random_(shaken.seed),
        order_(r),
        sizes_(r, order_),
        updates_(order_) {
        for (const tn::fed_value& f : r.feeds)
            known_[place_of(f.tensor.output())] = {std::make_shared<const tn::any_array>(f.value.share()), true};
    }

    outcome run() {
        for (const auto& [name, v] : before_.variables) end_.variables[name] = {v, true};
        end_.runs = before_.runs;
        for (const tn::fed_value& f : r_.feeds) look_at(f.value, is_read(place_of(f.tensor.output())));
        for (const tn::node* n : order_.sized()) {
            const bool runs = order_.runs(n) && !updates_.is_for_updates_alone(n);
            if (!settle(*n)) failed_.insert(n);
            else if (runs && !is_unread_whole(*n)) run(*n);
        }
        for (const tn::any_tensor& f : r_.fetches)
            if (end_.errors.empty()) end_.fetches.push_back(known_.at(place_of(f.output())));
        for (const auto& [variable, all] : updates_.all()) tell_what_is_left(*variable, all);
        end_.late_names_disagree = sizes_.late_names_disagree();
        for (const tn::node* n : order_.nodes())
            end_.may_be_in_part = end_.may_be_in_part || (n->op->is(tn::op_flags::waits) && comes_after_update(*n));
        return std::move(end_);
    }

private:
    void run(const tn::node& n) {
        for (const tn::node* a : order_.at(&n).after)
            if (failed_.contains(a)) {
                failed_.insert(&n);
                look_whether_it_fits(n);
                return;
            }
        computes_anew_ = false;
        try {
            if (is_variable(n)) read_variable(n);
            else if (is_update(n)) update(n);
            else compute_node(n);
        } catch (const tn::error& e) {
            end_.errors.insert(e.code());
            failed_.insert(&n);
            end_.may_be_in_part = end_.may_be_in_part || computes_anew_ || comes_after_update(n);
        } catch (const no_value&) {
            failed_.insert(&n);
        }
    }

    // What fails for want of a value may fail over its sizes, too, and that may be told first.
    void look_whether_it_fits(const tn::node& n) {
        std::vector<tn::tensor_type> in;
        for (const tn::node_output& i : n.inputs) {
            const auto at = known_.find(place_of(i));
            const auto type = unknown_.find(place_of(i));
            in.push_back(at != known_.end()       ? at->second.value->type()
                         : type != unknown_.end() ? type->second
                                                  : i.node->outputs[static_cast<std::size_t>(i.index)]);
        }
        for (int o = 0; o < static_cast<int>(n.outputs.size()); ++o) {
            try { // a body's rules throw
                const tn::inferred type = n.op->infer(n.attributes, {in.data(), static_cast<int>(in.size())}, o);
                if (type) unknown_.insert_or_assign(place{&n, o}, type.type);
                else end_.errors.insert(tn::error_code::invalid_argument);
            } catch (const tn::error& e) {
                end_.errors.insert(e.code());
            }
        }
    }

    bool comes_after_update(const tn::node& n) const {
        const std::set<const tn::node*>& all = order_.at(&n).after;
        return std::any_of(all.begin(), all.end(), [](const tn::node* a) { return is_update(*a); });
    }

    // False where sizes that its own are computed of are not known, since who tells them failed; and where they do not fit.
    bool settle(const tn::node& n) {
        try {
            return sizes_.settle(n);
        } catch (const tn::error& e) {
            end_.errors.insert(e.code());
            return false;
        }
    }

    void tell_what_is_left(const tn::node& variable, const std::vector<const tn::node*>& updates) {
        const std::string name = identity_of(variable);
        const auto fails = std::find_if(updates.begin(), updates.end(), [&](auto* u) { return failed_.contains(u); });
        if (fails == updates.end()) {
            end_.variables[name] = known_made_.at(updates.back());
            return;
        }
        end_.not_made.insert(name);
        if ((*fails)->inputs.back().node->outputs.size() > 1 || sizes_.late_names_disagree()) end_.unsaid.insert(name);
    }

    bool is_read(const place& p) const {
        for (const tn::any_tensor& f : r_.fetches)
            if (place_of(f.output()) == p) return true;
        for (const tn::node* n : order_.nodes())
            for (std::size_t i = 0; i < n->inputs.size(); ++i)
                if (place_of(n->inputs[i]) == p && reads_value(*n, i)) return true;
        return false;
    }
    void look_at(const tn::any_array& a, bool read) {
        end_.denormal = end_.denormal || has_denormals(a);
        if (is_finite(a)) return;
        end_.finite = false;
        end_.read_finite = end_.read_finite && !read;
    }

    // The variable before the step. That it has a value matters to those who read this one.
    void read_variable(const tn::node& n) {
        const auto at = before_.variables.find(identity_of(n));
        if (at != before_.variables.end()) {
            for (const int o : {0, 1}) known_.try_emplace({&n, o}, result{at->second, true});
            look_at(*at->second, true);
            return;
        }
        // It is asked for by name, or by one who reads it early.
        bool wanted = updates_.is_found_as_before(&n);
        for (const tn::any_tensor& f : r_.fetches) wanted = wanted || f.node() == &n;
        for (const tn::operation& t : r_.targets) wanted = wanted || t.node() == &n;
        for (const tn::node* m : order_.nodes()) {
            wanted = wanted || order_.at(m).controls.contains(&n);
            // What updates find of it they ask for themselves.
            const bool for_updates = is_update(*m) || updates_.is_for_updates_alone(m);
            for (std::size_t i = 0; i < m->inputs.size(); ++i)
                if (m->inputs[i].node == &n && reads_value(*m, i) && !(for_updates && updates_.reads_current(*m, i)))
                    wanted = wanted || !is_read_after(*m, n);
        }
        if (wanted) throw tn::failed_precondition_error("variable " + n.name + " is read before it has a value");
    }

    // Whether a reader, or, of what joins the parts of a variable, all who read that, are made to run after an update of the
    // variable.
    bool is_read_after(const tn::node& reader, const tn::node& variable) const {
        if (!is_whole(reader) || is_asked_for(reader)) return update_before(reader, variable) != nullptr;
        const std::vector<const tn::node*> all = readers_of(reader);
        return std::all_of(all.begin(), all.end(), [&](auto* r) { return update_before(*r, variable) != nullptr; });
    }
    bool is_asked_for(const tn::node& n) const {
        return order_.asked_for().contains(&n) ||
               std::any_of(order_.nodes().begin(), order_.nodes().end(),
                           [&](const tn::node* m) { return order_.at(m).controls.contains(&n); });
    }
    std::vector<const tn::node*> readers_of(const tn::node& n) const {
        std::vector<const tn::node*> all;
        for (const tn::node* m : order_.nodes())
            for (std::size_t i = 0; i < m->inputs.size(); ++i)
                if (m->inputs[i].node == &n && reads_value(*m, i)) all.push_back(m);
        return all;
    }
    // Of parts that are joined anew for each who reads them, after updates.
    bool is_unread_whole(const tn::node& n) const {
        if (!is_whole(n) || is_asked_for(n)) return false;
        const std::vector<const tn::node*> all = readers_of(n);
        return std::all_of(all.begin(), all.end(), [&](auto* r) { return reads_after_updates(*r, n); });
    }
    bool reads_after_updates(const tn::node& reader, const tn::node& whole) const {
        return std::any_of(whole.inputs.begin(), whole.inputs.end(),
                           [&](const tn::node_output& p) { return update_before(reader, *p.node) != nullptr; });
    }

    // The latest update of the variable that n is made to run after; nullptr: none.
    const tn::node* update_before(const tn::node& n, const tn::node& variable) const {
        const tn::node* latest = nullptr;
        for (const tn::node* u : updates_.of(&variable))
            if (order_.at(&n).begins_after.contains(u)) latest = u;
        return latest;
    }

    // What the update left, or the variable before the step where there is none.
    result left_by(const tn::node* update, const tn::node& variable) const {
        if (update) {
            if (failed_.contains(update)) throw no_value{};
            return known_made_.at(update);
        }
        const auto at = before_.variables.find(identity_of(variable));
        if (at == before_.variables.end())
            throw tn::failed_precondition_error("variable " + variable.name + " is changed before it has a value");
        return {at->second, true};
    }

    // Input i of a node, or of one that is evaluated anew before the update `first`.
    result input(const tn::node& n, std::size_t i, const tn::node* first) {
        const tn::node_output& from = n.inputs[i];
        if (!reads_value(n, i)) return {};
        if (order_.is_fed(from)) return known_.at(place_of(from));
        if (first && updates_.reads_current(n, i)) return left_by(updates_.latest_before(from.node, first), *from.node);
        if (first && updates_.is_computed_anew(from.node, first)) return computed_anew(from, first);
        if (is_whole(*from.node) && reads_after_updates(n, *from.node)) return joined_after(n, *from.node);
        return read_by(n, from);
    }
    result read_by(const tn::node& reader, const tn::node_output& from) const {
        if (is_variable(*from.node) && !order_.is_fed(from))
            if (const tn::node* u = update_before(reader, *from.node)) return known_made_.at(u);
        return known_.at(place_of(from));
    }
    // The parts of a variable as the updates that the reader runs after left them.
    result joined_after(const tn::node& reader, const tn::node& whole) {
        bool exact = true;
        const work w = work_of(whole, exact, [&](std::size_t i) { return read_by(reader, whole.inputs[i]); });
        return {compute(w).at(0), exact};
    }

    // Its inputs' types are those of their values, which may be others than where it is evaluated for somebody else.
    template <class Input> work work_of(const tn::node& n, bool& exact, const Input& value_of) {
        work w{n, {}, {}, {}, {}, seed_, nullptr, shaken_};
        for (std::size_t i = 0; i < n.inputs.size(); ++i) {
            const result in = value_of(i);
            w.inputs.push_back(in.value ? in.value->type() : sizes_.of(n.inputs[i]));
            w.values.push_back(in.value);
            exact = exact && in.exact;
        }
        w.outputs = sizes_.outputs(n, w.inputs, w.attributes);
        return w;
    }
    work work_of(const tn::node& n, bool& exact, const tn::node* first = nullptr) {
        return work_of(n, exact, [&](std::size_t i) { return input(n, i, first); });
    }

    const result& computed_anew(const tn::node_output& of, const tn::node* first) {
        std::map<place, result>& known = anew_[first];
        if (!known.contains(place_of(of))) {
            bool exact = true;
            const work w = work_of(*of.node, exact, first);
            computes_anew_ = true;
            std::vector<shared_array> made = compute(w);
            computes_anew_ = false;
            const bool own = is_exact(w, shaken_.other_functions);
            for (std::size_t o = 0; o < made.size(); ++o) {
                if (!own) made[o] = shake(made[o], w);
                look_at(*made[o], made.size() == 1);
                known[{of.node, static_cast<int>(o)}] = {made[o], exact && own};
            }
        }
        return known.at(place_of(of));
    }

    void compute_node(const tn::node& n) {
        bool exact = true;
        work w = work_of(n, exact);
        std::uint64_t& runs = end_.runs[identity_of(n)];
        w.runs = &runs;
        std::vector<shared_array> made = compute(w);
        if (runs == 0) end_.runs.erase(identity_of(n));
        const bool own = is_exact(w, shaken_.other_functions);
        for (std::size_t o = 0; o < made.size(); ++o) {
            if (!own) made[o] = shake(made[o], w);
            look_at(*made[o], made.size() == 1 || is_read({&n, static_cast<int>(o)}));
            if (n.op->is(tn::op_flags::waits))
                sizes_.tell({const_cast<tn::node*>(&n), static_cast<int>(o)}, made[o]->type());
            known_.try_emplace({&n, static_cast<int>(o)}, result{made[o], exact && own}); // what is fed stays
        }
    }

    void update(const tn::node& n) {
        const tn::node& variable = *n.inputs[0].node;
        bool exact = true;
        const work w = work_of(n, exact, updates_.first_of(&n));
        result made;
        if (std::string_view(n.op->name) == "assign") made = {w.values[1], exact};
        else {
            const result old = left_by(updates_.latest_before(&variable, &n), variable);
            made = {scattered(w, old.value), exact && old.exact};
        }
        look_at(*made.value, true);
        known_made_[&n] = made;
        known_.try_emplace({&n, 0}, made);
    }

    shared_array shake(const shared_array& a, const work& w) {
        if (shaken_.units == 0 || !tn::is_floating(a->element())) return a;
        auto moved = std::make_shared<tn::any_array>(a->copy());
        double size = largest(*a);
        for (const shared_array& v : w.values)
            if (v && tn::is_floating(v->element())) size = std::max(size, largest(*v));
        std::uniform_real_distribution<double> by(-1, 1);
        tn::detail::with_element(a->element(), [&]<class T>(const T&) {
            if constexpr (!std::is_same_v<T, std::string> && !std::is_same_v<T, bool> && !std::is_integral_v<T>) {
                const double unit = shaken_.units * rounding_of(tn::element_type_of<T>) * size;
                for (std::int64_t i = 0; i < moved->elements(); ++i) {
                    T& x = moved->data<T>()[i];
                    x = static_cast<T>(static_cast<double>(x) + unit * by(random_));
                }
            }
        });
        return moved;
    }

    const request& r_;
    const state& before_;
    std::uint64_t seed_;
    noise shaken_;
    std::mt19937_64 random_;
    order order_;
    sizes sizes_;
    updates updates_;
    std::map<place, result> known_;
    std::map<const tn::node*, std::map<place, result>> anew_; // by the update before which it was evaluated
    std::map<place, tn::tensor_type>
        unknown_; // of what failed for want of a value, as far as its sizes follow from others
    std::map<const tn::node*, result> known_made_; // what updates made, also where something else is fed for it
    std::set<const tn::node*> failed_;
    bool computes_anew_ = false; // or has failed to
    outcome end_;
};

} // namespace

namespace {

// What is fed for a variable is its current value, too.
request with_current_values(const request& r) {
    request all{.fetches = r.fetches, .targets = r.targets};
    for (const tn::fed_value& f : r.feeds) all.feeds.push_back({f.tensor, f.value.share()});
    for (const tn::fed_value& f : r.feeds) {
        const tn::any_tensor current({f.tensor.node(), 1});
        if (is_variable(*f.tensor.node()) && f.tensor.index() == 0 &&
            std::none_of(r.feeds.begin(), r.feeds.end(),
                         [&](const tn::fed_value& g) { return g.tensor.output() == current.output(); }))
            all.feeds.push_back({current, f.value.share()});
    }
    return all;
}

} // namespace

outcome evaluate(const request& asked, const state& before, std::uint64_t graph_seed, const noise& shaken) {
    try {
        const request r = with_current_values(asked);
        return evaluation(r, before, graph_seed, shaken).run();
    } catch (const tn::error& e) {
        outcome o{.begins = false};
        o.errors.insert(e.code());
        for (const auto& [name, v] : before.variables) o.variables[name] = {v, true};
        o.runs = before.runs;
        return o;
    }
}

state after(const outcome& o) {
    state s;
    for (const auto& [name, v] : o.variables) s.variables[name] = v.value;
    s.runs = o.runs;
    return s;
}

} // namespace reference
