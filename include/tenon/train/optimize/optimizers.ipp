#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/train/optimize/doubtful_loss.hpp>
#include <tenon/train/optimize/given_gradients.hpp>
#include <tenon/train/optimize/optimizers.hpp>
#include <tenon/train/optimize/slots.hpp>
#include <tenon/train/optimize/tape_writer.hpp>

namespace tenon {

namespace detail {

/// What the updates of one apply_gradients share.
class update_setup {
public:
    /// `step`: the one in which each variable is updated once; an empty handle: updates are made whenever they are run. `wanted`, a scalar
    /// bool: and only where it is true.
    update_setup(const optimizer& of, const graph& g, any_tensor step, any_tensor wanted, bool masters) :
        float_masters(masters), of_(of), graph_(g), step_(std::move(step)), wanted_(std::move(wanted)) {}

    const bool float_masters;

    /// Whether a variable is to be updated, a scalar; an empty handle: always. It is beside the variable, as is what it is known
    /// by: the first step in which the variable has not been updated.
    any_tensor guard_of(const any_tensor& variable) { return guard_of(variable, wanted_); }
    any_tensor guard_of(const any_tensor& variable, const any_tensor& wanted) {
        if (!step_.node()) return wanted;
        const any_tensor next = add_slot(variable, "next_step", {element_type::int64, {}}, 0);
        const owned_scope there(variable);
        tape_writer t;
        const tape_value was = t.read(current_value(next)), step = t.read(step_);
        const tape_value first = t.apply(opcode::less_equal, was, step);
        t.write(wanted.node() ? t.apply(opcode::logical_and, first, t.read(wanted)) : first, element_type::boolean);
        t.write(t.apply(opcode::maximum, was, step + 1), element_type::int64);
        const std::vector<any_tensor> is = t.finish();
        operations_.push_back(untyped::assign(next, is[1]).operation());
        return is[0];
    }
    // A counter's next value.
    void increment(const any_tensor& count) {
        const any_tensor guard = guard_of(count);
        const owned_scope there(count);
        const any_tensor by = guard.node() ? add_instruction(opcode::cast, {guard}, element_type::int64)
                                           : scalar_constant(1, element_type::int64);
        operations_.push_back(
            add_assign(count, add_instruction(opcode::add, {current_value(count), by}), "assign_add").operation());
    }

    const learning_rate& rate() const { return of_.rate_; }
    bool takes_rows() const { return of_.takes_rows(); }
    std::vector<operation>& operations() { return operations_; }
    row_gradients& rows() { return rows_; }

    /// Asks for a count of this operation's runs, kept beside the graph's own: that one may count others too.
    void count_runs() {
        runs_ = add_count(graph_, of_.name_ + "_step");
        increment(runs_);
    }
    const any_tensor& runs() const { return runs_; }

    void keeps(const any_tensor& variable, const any_tensor& slot) { slots_[variable.node()].push_back(slot); }
    /// What is kept beside the parts of a variable are parts of what is kept beside it.
    void enter_slots() {
        const only_devices scope(graph_);
        for (const any_tensor& whole : graph_.collection(partitioned_variables)) {
            const std::vector<any_tensor> parts = parts_of(whole);
            const auto kept = [&](const any_tensor& part) {
                const auto at = slots_.find(part.node());
                return at == slots_.end() ? std::size_t{0} : at->second.size();
            };
            const std::size_t count = kept(parts[0]);
            if (!std::all_of(parts.begin(), parts.end(), [&](const any_tensor& p) { return kept(p) == count; }))
                continue;
            for (std::size_t s = 0; s < count; ++s) {
                std::vector<any_tensor> slots;
                for (const any_tensor& p : parts) slots.push_back(slots_[p.node()][s]);
                const std::string& first = slots[0].node()->name;
                enter_parts(whole.node()->name + first.substr(first.rfind('/')), slots);
            }
        }
    }

private:
    const optimizer& of_;
    graph graph_;
    any_tensor step_, wanted_, runs_;
    std::unordered_map<const node*, std::vector<any_tensor>> slots_; // by variable
    std::vector<operation> operations_;
    row_gradients rows_;
};

/// Writes the update of one variable as one fused node, and the assignments of what it computes. Of a sparse gradient
/// the same node computes the rows alone: those of a table that are equal all get the same value, so the one that is
/// written last does not matter. All that is computed of the variable runs where that is, whatever scopes say.
class update_writer {
public:
    update_writer(update_setup& setup, const gradient_and_variable& of) :
        there_(of.variable),
        setup_(setup),
        variable_(of.variable),
        type_(compute_type(of.variable.element())),
        rows_(setup.takes_rows() ? setup.rows().of(of.gradient) : std::nullopt),
        guard_(setup.guard_of(of.variable)),
        master_(setup.float_masters && type_ != of.variable.element() ? master_of(of.variable) : any_tensor()),
        w_(current_w()),
        g_(tape_.read(rows_ ? add<sum_equal_rows_op>({}, {rows_->values, rows_->indices}) : of.gradient)) {}

    tape_value w() const { return w_; }
    tape_value g() const { return g_; }
    /// `factor` times the learning rate.
    tape_value rate(double factor = 1) {
        const learning_rate& rate = setup_.rate();
        if (rate.is_number()) return tape_.literal(factor * rate.number(), type_);
        const owned_scope its(rate.tensor());
        tape_writer t; // a node that the graph has once for all variables
        t.write(factor * t.cast(t.read(rate.tensor()), type_), type_);
        return tape_.read(t.finish().front());
    }

    /// Scalars that are the same for each element: computed once, in double.
    template <class F> std::vector<tape_value> scalars(F formulas) {
        const owned_scope its(setup_.runs());
        tape_writer t;
        const tape_value runs = t.cast(t.read(setup_.runs()), element_type::float64) + 1;
        const tape_value rate = setup_.rate().is_number()
                                    ? t.literal(setup_.rate().number(), element_type::float64)
                                    : t.cast(t.read(setup_.rate().tensor()), element_type::float64);
        for (const tape_value v : formulas(runs, rate)) t.write(t.cast(v, type_), type_);
        std::vector<tape_value> read;
        for (const any_tensor& s : t.finish()) read.push_back(tape_.read(s));
        return read;
    }

    /// A variable that is kept beside this one, of its sizes.
    struct slot_value {
        any_tensor variable;
        tape_value value;
    };
    slot_value slot(const char* name, double initial = 0) {
        const any_tensor slot = add_slot(variable_, name, {type_, variable_.extents()}, initial);
        setup_.keeps(variable_, slot);
        return {slot, read(slot)};
    }

    void store(const slot_value& slot, tape_value value) { store(slot.variable, value); }
    void store_w(tape_value value) {
        store(variable_, value);
        if (master_.node()) store(master_, value);
    }

    /// w -= `factor` |w| / |u| u, where the quotient is 1 if a norm is 0: a pass for u and the norms, and one for w.
    void store_w_by_norm(tape_value factor, tape_value u) {
        tape_.write(factor * u, type_);
        for (const tape_value v : {w_, u}) tape_.write_sum(v * v, type_, scalar_constant(0, type_));
        by_norm_ = true;
    }

    void finish() {
        std::vector<any_tensor> values = tape_.finish();
        for (std::size_t i = 0; i < targets_.size(); ++i) assign(targets_[i], values[i]);
        if (!by_norm_) return;
        values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(targets_.size()));
        targets_.clear();
        tape_ = {};
        const tape_value norm = sqrt(tape_.read(values[1])), of_u = sqrt(tape_.read(values[2])),
                         none = tape_.literal(0, type_), unit = tape_.literal(1, type_);
        const auto is_some = [&](tape_value v) { return tape_.apply(opcode::less, none, v); };
        const tape_value quotient =
            tape_.apply(opcode::select, tape_.apply(opcode::logical_and, is_some(norm), is_some(of_u)),
                        norm / tape_.apply(opcode::select, is_some(of_u), of_u, unit), unit);
        store_w(multiply_add(-quotient, tape_.read(values[0]), current_w()));
        const std::vector<any_tensor> next = tape_.finish();
        for (std::size_t i = 0; i < targets_.size(); ++i) assign(targets_[i], next[i]);
    }

private:
    void assign(const any_tensor& target, const any_tensor& value) {
        const any_tensor update = rows_ ? untyped::scatter(scatter_op::way::update, target, rows_->indices, value)
                                        : untyped::assign(target, value);
        setup_.operations().push_back(update.operation());
        if (!guard_.node() || target.node() != variable_.node()) return;
        graph of(target.node()->graph);
        of.add_to_collection(guarded_updates, update);
        of.add_to_collection(guarded_updates, guard_);
    }
    // What this update is applied to: in a step of several, what those before left.
    tape_value read(const any_tensor& variable) {
        const any_tensor current = current_value(variable);
        return tape_.read(rows_ ? untyped::gather(current, rows_->indices) : current);
    }
    tape_value current_w() {
        const tape_value w = read(variable_);
        if (!master_.node()) return w;
        // Where the variable was assigned to, as by a program that loads it, its master is no more what it was rounded of.
        const tape_value master = read(master_), rounded = tape_.cast(master, variable_.element());
        return tape_.apply(opcode::select, tape_.apply(opcode::equal, rounded, w), master, w);
    }
    any_tensor master_of(const any_tensor& variable) {
        const any_tensor master = add_copy(variable, "master", type_);
        setup_.keeps(variable, master);
        return master;
    }
    void store(const any_tensor& target, tape_value value) {
        targets_.push_back(target);
        if (guard_.node()) value = tape_.apply(opcode::select, tape_.read(guard_), value, read(target));
        tape_.write(value, target.element());
    }

    const owned_scope there_;
    update_setup& setup_;
    any_tensor variable_;
    element_type type_;
    std::optional<row_gradient> rows_;
    any_tensor guard_, master_;
    tape_writer tape_;
    tape_value w_, g_;
    std::vector<any_tensor> targets_;
    bool by_norm_ = false;
};

TENON_INLINE bool is_no_gradient(const gradient_and_variable& of) {
    const node& n = *of.gradient.node();
    return n.op == &fill_like_definition && n.inputs[0] == of.variable.output() &&
           number_attribute(n.attributes, "value").as_double() == 0;
}

TENON_INLINE std::vector<operation> forward_updates_of(const std::vector<gradient_and_variable>& gradients) {
    std::vector<operation> found;
    const std::vector<any_tensor> all = graph(gradients.front().variable.node()->graph).collection(forward_updates);
    if (all.empty()) return found;
    const std::unordered_set<const node*> before = nodes_behind(gradients);
    for (std::size_t u = 0; u + 1 < all.size(); u += 2) {
        const std::vector<node_output>& of = all[u].node()->inputs[1].node->inputs;
        if (before.contains(all[u + 1].node()) && std::any_of(of.begin(), of.end(), [&](const node_output& i) {
                return !i.node->op->is(op_flags::variable) && before.contains(i.node);
            }))
            found.push_back(all[u].operation());
    }
    return found;
}

} // namespace detail

TENON_INLINE std::vector<gradient_and_variable> optimizer::gradients_of(const any_tensor& loss,
                                                                        const std::vector<any_tensor>& variables) {
    if (!loss.node()) throw invalid_argument_error("minimize: the loss is no tensor of any graph");
    if (const std::string doubt = detail::doubt_about(loss); !doubt.empty())
        std::fprintf(stderr, "tenon: minimize: %s\n", doubt.c_str());
    const bool all = variables.empty();
    const std::vector<any_tensor> of =
        all ? graph(loss.node()->graph).collection(trainable_variables) : detail::with_parts(variables);
    std::vector<any_tensor> values = gradients(loss, of);
    std::vector<gradient_and_variable> result;
    for (std::size_t i = 0; i < of.size(); ++i) {
        gradient_and_variable pair{std::move(values[i]), of[i]};
        if (!detail::is_no_gradient(pair)) result.push_back(std::move(pair));
        else if (!all)
            throw invalid_argument_error("minimize: the loss " + loss.name() + " does not depend on " + of[i].name() +
                                         " in a way that has a gradient");
    }
    if (of.empty())
        throw invalid_argument_error(
            "minimize: the graph has no trainable variables; variable() and the first call of a "
            "layer make them, in the graph of the loss");
    if (result.empty())
        throw invalid_argument_error("minimize: the loss " + loss.name() + " depends on none of the graph's " +
                                     std::to_string(of.size()) + " trainable variables in a way that has a gradient");
    return result;
}

TENON_INLINE operation optimizer::minimize_untyped(const any_tensor& loss, const minimize_options& o) const {
    if (!o.scale) return apply_gradients(gradients_of(loss, o.variables), o);
    return apply_gradients(o.scale->unscaled(gradients_of(o.scale->scaled(loss), o.variables)), o);
}

TENON_INLINE operation optimizer::apply_gradients(const std::vector<gradient_and_variable>& gradients,
                                                  const minimize_options& o) const {
    return apply_once(gradients, o, {});
}

TENON_INLINE operation optimizer::apply_once(const std::vector<gradient_and_variable>& gradients,
                                             const minimize_options& o, const any_tensor& step,
                                             const any_tensor& wanted) const {
    const std::vector<gradient_and_variable> all = detail::checked_gradients(gradients);
    const graph of(all.front().variable.node()->graph);
    const detail::home_scope scope(of);
    const name_scope names(o.name);

    if (o.scale && !o.scale->value().node())
        throw invalid_argument_error(
            "apply_gradients: no loss was scaled by the loss_scale that it is given; take the gradients of what "
            "scaled(loss) returns, unscaled()");
    const any_tensor finite = o.scale ? o.scale->all_finite(all, !step.node()) : any_tensor();
    const any_tensor when = finite.node() && wanted.node()
                                ? detail::add_instruction(opcode::logical_and, {finite, wanted})
                            : finite.node() ? finite
                                            : wanted;
    detail::update_setup setup(*this, of, step, when, o.float_masters);
    begin(setup);
    for (const gradient_and_variable& g : all) {
        detail::update_writer update(setup, g);
        write(update);
        update.finish();
    }
    setup.enter_slots();
    if (o.scale) setup.operations().push_back(o.scale->next(finite, setup.guard_of(o.scale->value(), wanted)));
    if (o.advance_global_step) setup.increment(global_step());
    for (const operation& update : detail::forward_updates_of(all)) setup.operations().push_back(update);
    return group(setup.operations(), o.name);
}

namespace detail {

[[noreturn]] inline void throw_bad_setting(const std::string& optimizer, const char* setting, double value,
                                           const char* range) {
    throw invalid_argument_error(optimizer + ": the " + setting + " is " + detail::text_of_number(value) + "; give " +
                                 range);
}
// What is averaged with this weight is neither forgotten nor grows without bound.
inline void check_weight(const char* optimizer, const char* setting, double value) {
    if (!(value >= 0 && value < 1)) throw_bad_setting(optimizer, setting, value, "a number from 0, less than 1");
}
inline void check_not_negative(const char* optimizer, const char* setting, double value) {
    if (!(value >= 0 && std::isfinite(value)))
        throw_bad_setting(optimizer, setting, value, "a finite number that is not negative");
}
inline std::string text_of_settings(std::initializer_list<std::pair<const char*, double>> all) {
    std::string text;
    for (const auto& [name, value] : all)
        text += (text.empty() ? "" : ", ") + std::string(name) + " " + text_of_number(value);
    return text;
}

// Of adam and those that follow it: two moments of the gradient, kept beside the variable.
inline void check_moments(const char* optimizer, const auto& o) {
    check_weight(optimizer, "beta1", o.beta1);
    check_weight(optimizer, "beta2", o.beta2);
    check_not_negative(optimizer, "epsilon", o.epsilon);
    check_not_negative(optimizer, "weight_decay", o.weight_decay);
}
inline std::string text_of_moments(const auto& o) {
    return text_of_settings(
        {{"beta1", o.beta1}, {"beta2", o.beta2}, {"epsilon", o.epsilon}, {"weight_decay", o.weight_decay}});
}
inline std::pair<tape_value, tape_value> next_moments(update_writer& u, const char* first_name, const char* second_name,
                                                      const auto& o) {
    const auto first = u.slot(first_name), second = u.slot(second_name);
    const auto m = multiply_add(o.beta1, first.value, (1 - o.beta1) * u.g());
    const auto v = multiply_add(o.beta2, second.value, (1 - o.beta2) * u.g() * u.g());
    u.store(first, m);
    u.store(second, v);
    return {m, v};
}

} // namespace detail

TENON_INLINE optimizer::optimizer(std::string name, learning_rate rate) :
    name_(std::move(name)), rate_(std::move(rate)) {
    if (rate_.is_number() && !std::isfinite(rate_.number()))
        detail::throw_bad_setting(name_, "learning rate", rate_.number(), "a finite number");
}

TENON_INLINE optimizer::~optimizer() = default;

TENON_INLINE momentum::momentum(learning_rate rate, double factor, const momentum_options& o) :
    optimizer("momentum", std::move(rate)), momentum_(factor), options_(o) {
    detail::check_weight("momentum", "factor", factor);
}

TENON_INLINE adagrad::adagrad(learning_rate rate, const adagrad_options& o) :
    optimizer("adagrad", std::move(rate)), options_(o) {
    detail::check_not_negative("adagrad", "initial sum", o.initial);
    detail::check_not_negative("adagrad", "epsilon", o.epsilon);
}

TENON_INLINE rmsprop::rmsprop(learning_rate rate, const rmsprop_options& o) :
    optimizer("rmsprop", std::move(rate)), options_(o) {
    detail::check_weight("rmsprop", "decay", o.decay);
    detail::check_weight("rmsprop", "momentum", o.momentum);
    detail::check_not_negative("rmsprop", "epsilon", o.epsilon);
}

TENON_INLINE adam::adam(learning_rate rate, const adam_options& o) : optimizer("adam", std::move(rate)), options_(o) {
    detail::check_moments("adam", o);
}

TENON_INLINE std::string momentum::settings() const {
    return detail::text_of_settings({{"factor", momentum_}, {"nesterov", options_.nesterov}});
}
TENON_INLINE std::string adagrad::settings() const {
    return detail::text_of_settings({{"initial", options_.initial}, {"epsilon", options_.epsilon}});
}
TENON_INLINE std::string rmsprop::settings() const {
    return detail::text_of_settings({{"decay", options_.decay},
                                     {"momentum", options_.momentum},
                                     {"epsilon", options_.epsilon},
                                     {"centered", options_.centered}});
}
TENON_INLINE std::string adam::settings() const { return detail::text_of_moments(options_); }

TENON_INLINE void gradient_descent::write(detail::update_writer& u) const {
    u.store_w(multiply_add(u.rate(-1), u.g(), u.w()));
}

TENON_INLINE void momentum::write(detail::update_writer& u) const {
    const auto slot = u.slot("momentum");
    const auto m = multiply_add(momentum_, slot.value, u.g());
    const auto step = options_.nesterov ? multiply_add(momentum_, m, u.g()) : m;
    u.store(slot, m);
    u.store_w(multiply_add(u.rate(-1), step, u.w()));
}

TENON_INLINE void adagrad::write(detail::update_writer& u) const {
    const auto slot = u.slot("adagrad", options_.initial);
    const auto s = multiply_add(u.g(), u.g(), slot.value);
    u.store(slot, s);
    u.store_w(multiply_add(u.rate(-1), u.g() / (sqrt(s) + options_.epsilon), u.w()));
}

TENON_INLINE void rmsprop::write(detail::update_writer& u) const {
    const auto slot = u.slot("rmsprop");
    const auto s = multiply_add(options_.decay, slot.value, (1 - options_.decay) * u.g() * u.g());
    u.store(slot, s);
    auto square = s;
    if (options_.centered) {
        const auto mean = u.slot("rmsprop_mean");
        const auto m = multiply_add(options_.decay, mean.value, (1 - options_.decay) * u.g());
        u.store(mean, m);
        square = not_below(multiply_add(-m, m, s), 0); // which rounding may bring below
    }
    const auto change = u.g() / (sqrt(square) + options_.epsilon);
    if (options_.momentum == 0) return u.store_w(multiply_add(u.rate(-1), change, u.w()));
    const auto momentum = u.slot("rmsprop_momentum");
    const auto m = multiply_add(options_.momentum, momentum.value, u.rate() * change);
    u.store(momentum, m);
    u.store_w(u.w() - m);
}

TENON_INLINE void adam::begin(detail::update_setup& setup) const { setup.count_runs(); }

namespace detail {
// beta^t, and what a mean that began at 0 is divided by after t steps.
inline tape_value power(double beta, tape_value t) { return t.in->apply(opcode::pow, t.in->literal(beta, t.type), t); }
inline tape_value correction(double beta, tape_value t) { return 1 - power(beta, t); }
} // namespace detail

TENON_INLINE void adam::write(detail::update_writer& u) const {
    const auto s = u.scalars([&](detail::tape_value t, detail::tape_value rate) {
        using detail::correction;
        std::vector<detail::tape_value> r{-(rate / correction(options_.beta1, t)),
                                          1 / sqrt(correction(options_.beta2, t))};
        if (options_.weight_decay != 0) r.push_back(1 - rate * options_.weight_decay);
        return r;
    });
    const auto [m, v] = detail::next_moments(u, "adam_m", "adam_v", options_);
    // sqrt(v / c) = sqrt(v) * (1 / sqrt(c)): of each element one root and one quotient are left.
    const auto w = options_.weight_decay == 0 ? u.w() : u.w() * s[2];
    const auto epsilon = s[1].in->literal(options_.epsilon, s[1].type);
    u.store_w(multiply_add(s[0], m / multiply_add(sqrt(v), s[1], epsilon), w));
}

} // namespace tenon

#include <tenon/train/optimize/adam_family.inl>
#include <tenon/train/optimize/clipping.inl>
#include <tenon/train/optimize/loss_scale.inl>
