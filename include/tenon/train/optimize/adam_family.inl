#pragma once

// A part of train/optimize/optimizers.ipp: optimisers of later years.

namespace tenon {

TENON_INLINE radam::radam(learning_rate rate, const radam_options& o) :
    optimizer("radam", std::move(rate)), options_(o) {
    detail::check_moments("radam", o);
}
TENON_INLINE lamb::lamb(learning_rate rate, const lamb_options& o) : optimizer("lamb", std::move(rate)), options_(o) {
    detail::check_moments("lamb", o);
}
TENON_INLINE lion::lion(learning_rate rate, const lion_options& o) : optimizer("lion", std::move(rate)), options_(o) {
    detail::check_weight("lion", "beta1", o.beta1);
    detail::check_weight("lion", "beta2", o.beta2);
    detail::check_not_negative("lion", "weight_decay", o.weight_decay);
}

TENON_INLINE std::string radam::settings() const { return detail::text_of_moments(options_); }
TENON_INLINE std::string lamb::settings() const { return detail::text_of_moments(options_); }
TENON_INLINE std::string lion::settings() const {
    return detail::text_of_settings(
        {{"beta1", options_.beta1}, {"beta2", options_.beta2}, {"weight_decay", options_.weight_decay}});
}

TENON_INLINE void radam::begin(detail::update_setup& setup) const { setup.count_runs(); }
TENON_INLINE void lamb::begin(detail::update_setup& setup) const { setup.count_runs(); }

TENON_INLINE void radam::write(detail::update_writer& u) const {
    const auto s = u.scalars([&](detail::tape_value t, detail::tape_value rate) {
        using detail::correction;
        const double most = 2 / (1 - options_.beta2) - 1;
        const auto rho = most - 2 * t * detail::power(options_.beta2, t) / correction(options_.beta2, t);
        const auto is_tractable = t.in->apply(opcode::less, t.in->literal(5, t.type), rho);
        const auto none = t.in->literal(0, t.type), one = t.in->literal(1, t.type);
        // Of a rho that is not, any number whose root there is.
        const auto r = t.in->apply(opcode::select, is_tractable, rho, t.in->literal(6, t.type));
        const auto rectified =
            sqrt((r + -4.0) * (r + -2.0) * (most / ((most - 4) * (most - 2))) / r * correction(options_.beta2, t));
        return std::vector<detail::tape_value>{
            -(rate / correction(options_.beta1, t)), t.in->apply(opcode::select, is_tractable, rectified, none),
            t.in->apply(opcode::select, is_tractable, none, one), 1 - rate * options_.weight_decay};
    });
    const auto [m, v] = detail::next_moments(u, "radam_m", "radam_v", options_);
    const auto w = options_.weight_decay == 0 ? u.w() : u.w() * s[3];
    u.store_w(multiply_add(s[0] * m, s[1] / (sqrt(v) + options_.epsilon) + s[2], w));
}

TENON_INLINE void lamb::write(detail::update_writer& u) const {
    const auto s = u.scalars([&](detail::tape_value t, detail::tape_value) {
        using detail::correction;
        return std::vector<detail::tape_value>{1 / correction(options_.beta1, t),
                                               1 / sqrt(correction(options_.beta2, t))};
    });
    const auto [m, v] = detail::next_moments(u, "lamb_m", "lamb_v", options_);
    const auto epsilon = s[1].in->literal(options_.epsilon, s[1].type);
    auto step = s[0] * m / multiply_add(sqrt(v), s[1], epsilon);
    if (options_.weight_decay != 0) step = multiply_add(options_.weight_decay, u.w(), step);
    u.store_w_by_norm(u.rate(), step);
}

TENON_INLINE void lion::write(detail::update_writer& u) const {
    const auto slot = u.slot("lion_m");
    const auto step = multiply_add(options_.beta1, slot.value, (1 - options_.beta1) * u.g());
    u.store(slot, multiply_add(options_.beta2, slot.value, (1 - options_.beta2) * u.g()));
    auto sign = u.g().in->apply(opcode::sign, step);
    if (options_.weight_decay != 0) sign = multiply_add(options_.weight_decay, u.w(), sign);
    u.store_w(multiply_add(u.rate(-1), sign, u.w()));
}

} // namespace tenon
