#pragma once

// A part of train/optimize/optimizers.ipp: losses that are scaled.

namespace tenon {

struct loss_scale::state {
    loss_scale_options options;
    any_tensor scale, good;
    struct unscaled_gradient {
        any_tensor raw;
        const node* now;
    };
    std::vector<unscaled_gradient> unscaled;
};

TENON_INLINE loss_scale::loss_scale(const loss_scale_options& o) : state_(std::make_shared<state>()) {
    const auto require = [](bool good, const char* setting, double value, const char* range) {
        if (!good) detail::throw_bad_setting("loss_scale", setting, value, range);
    };
    constexpr double most = 0x1p126; // it is a float, and so is 1 / it
    require(o.least >= 1 / most && o.least <= most, "least scale", o.least, "a number from 2^-126 to 2^126");
    require(o.most >= o.least && o.most <= most, "greatest scale", o.most, "a number from the least scale to 2^126");
    require(o.initial >= o.least && o.initial <= o.most, "initial scale", o.initial,
            "a number between the least and the greatest");
    require(o.factor > 1 && std::isfinite(o.factor), "factor", o.factor, "a finite number greater than 1");
    require(o.good_steps >= 1, "number of good steps", static_cast<double>(o.good_steps), "1 or more");
    state_->options = o;
}

TENON_INLINE const any_tensor& loss_scale::value() const noexcept { return state_->scale; }

TENON_INLINE const loss_scale_options& loss_scale::options() const noexcept { return state_->options; }

TENON_INLINE any_tensor loss_scale::scaled_loss(const any_tensor& loss) const {
    if (!loss.node()) throw invalid_argument_error("loss_scale: the loss is no tensor of any graph");
    if (!is_floating(loss.element()))
        throw invalid_argument_error("loss_scale: the loss " + loss.name() + " is " + to_string(loss.type()) +
                                     "; it must be floating");
    if (!state_->scale.node()) {
        const graph of(loss.node()->graph);
        const detail::only_devices scope(of);
        const auto make = [](const char* name, element_type e, double initial) {
            const any_tensor v = detail::add_variable(name, {e, {}}, {.trainable = false});
            detail::set_initial_value(v, detail::initial_value(constant_value(initial), v), {.trainable = false});
            return v;
        };
        state_->scale = make("loss_scale", element_type::float32, state_->options.initial);
        state_->good = make("loss_scale/good_steps", element_type::int64, 0);
    }
    if (state_->scale.node()->graph != loss.node()->graph)
        throw invalid_argument_error("loss_scale: the loss " + loss.name() +
                                     " is of another graph than the scale; make a scale for each");
    const detail::home_scope scope{graph(loss.node()->graph)};
    detail::tape_writer t;
    const detail::tape_value l = t.read(loss);
    t.write(l * t.cast(t.read(state_->scale), l.type), loss.element());
    return t.finish().front();
}

TENON_INLINE std::vector<gradient_and_variable>
loss_scale::unscaled(std::vector<gradient_and_variable> gradients) const {
    if (!state_->scale.node())
        throw invalid_argument_error(
            "loss_scale::unscaled: no loss was scaled; take the gradients of what scaled(loss) returns");
    for (gradient_and_variable& g : gradients) {
        detail::check_gradient(g);
        const detail::home_scope scope{graph(g.variable.node()->graph)};
        const element_type type = g.gradient.element();
        any_tensor factor; // one for all gradients of a type
        {
            const detail::owned_scope its(state_->scale);
            detail::tape_writer t;
            const detail::tape_value s = t.read(state_->scale);
            t.write(t.cast(1 / s, compute_type(type)), compute_type(type));
            factor = t.finish().front();
        }
        const detail::follow_scope there(g.gradient.node());
        detail::tape_writer t;
        t.write(t.read(g.gradient) * t.read(factor), type);
        any_tensor raw = std::exchange(g.gradient, t.finish().front());
        state_->unscaled.push_back({std::move(raw), g.gradient.node()});
    }
    return gradients;
}

// A product with 0 is NaN where a number is not finite, and so is its sum: one pass that writes nothing.
TENON_INLINE any_tensor loss_scale::all_finite(const std::vector<gradient_and_variable>& gradients,
                                               bool and_unscaled) const {
    std::vector<any_tensor> looked_at, sums;
    std::unordered_set<const node*> known;
    if (and_unscaled) {
        const std::unordered_set<const node*> behind = detail::nodes_behind(gradients);
        for (const auto& [raw, now] : state_->unscaled)
            if (behind.contains(now) && known.insert(now).second) looked_at.push_back(raw);
    }
    for (const gradient_and_variable& g : gradients)
        if (!known.contains(g.gradient.node())) looked_at.push_back(g.gradient);
    detail::row_gradients found;
    for (const any_tensor& g : looked_at) {
        const element_type type = compute_type(g.element());
        const detail::follow_scope there(g.node());
        detail::tape_writer t;
        const std::optional<row_gradient> rows = found.of(g);
        t.write_sum(t.read(rows ? rows->values : g) * 0.0, type, detail::scalar_constant(0, type));
        sums.push_back(t.finish().front());
    }
    detail::tape_writer t;
    t.write(t.apply(opcode::is_finite, t.read(detail::sum_of_scalars(std::move(sums)))), element_type::boolean);
    return t.finish().front();
}

TENON_INLINE operation loss_scale::next(const any_tensor& all_finite, const any_tensor& guard) const {
    const loss_scale_options& o = state_->options;
    const detail::owned_scope there(state_->scale);
    detail::tape_writer t;
    const auto choose = [&](detail::tape_value which, detail::tape_value yes, detail::tape_value no) {
        return t.apply(opcode::select, which, yes, no);
    };
    const detail::tape_value good = t.read(all_finite), scale = t.read(detail::current_value(state_->scale)),
                             were = t.read(detail::current_value(state_->good)), steps = were + 1,
                             none = t.literal(0, steps.type),
                             grows = t.apply(opcode::less_equal, t.literal(o.good_steps, steps.type), steps);
    const detail::tape_value larger = minimum(scale * o.factor, t.literal(o.most, scale.type)),
                             smaller = not_below(scale / o.factor, o.least);
    const auto store = [&](detail::tape_value next, detail::tape_value now, element_type e) {
        t.write(guard.node() ? choose(t.read(guard), next, now) : next, e);
    };
    store(choose(good, choose(grows, larger, scale), smaller), scale, element_type::float32);
    store(choose(good, choose(grows, none, steps), none), were, element_type::int64);
    const std::vector<any_tensor> is = t.finish();
    return group({untyped::assign(state_->scale, is[0]).operation(), untyped::assign(state_->good, is[1]).operation()},
                 "loss_scale/next");
}

} // namespace tenon
