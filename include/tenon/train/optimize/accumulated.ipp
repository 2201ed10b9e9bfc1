#pragma once

#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/train/optimize/accumulated.hpp>
#include <tenon/train/optimize/given_gradients.hpp>
#include <tenon/train/optimize/slots.hpp>
#include <tenon/train/optimize/tape_writer.hpp>

namespace tenon {

TENON_INLINE accumulated::accumulated(std::shared_ptr<const optimizer> how, std::int64_t runs) :
    optimizer(*how), how_(std::move(how)), runs_(static_cast<int>(runs)) {
    if (runs < 1 || runs > std::numeric_limits<int>::max())
        throw invalid_argument_error("accumulated: gradients of " + std::to_string(runs) +
                                     " runs are asked for; give 1 or more");
}

TENON_INLINE std::string accumulated::settings() const {
    const std::string its = how_->settings();
    return its + (its.empty() ? "" : ", ") + "accumulated " + std::to_string(runs_);
}

TENON_INLINE operation accumulated::apply_gradients(const std::vector<gradient_and_variable>& gradients,
                                                    const minimize_options& o) const {
    const std::vector<gradient_and_variable> all = detail::checked_gradients(gradients);
    const graph of(all.front().variable.node()->graph);
    const detail::home_scope scope(of);
    std::vector<operation> kept;

    const any_tensor count = detail::add_count(of, "accumulated_runs");
    any_tensor is_last;
    {
        const detail::owned_scope there(count);
        detail::tape_writer t;
        const detail::tape_value next = t.read(detail::current_value(count)) + 1;
        const detail::tape_value last = t.apply(opcode::less_equal, t.literal(runs_, next.type), next);
        t.write(last, element_type::boolean);
        t.write(t.apply(opcode::select, last, t.literal(0, next.type), next), element_type::int64);
        const std::vector<any_tensor> is = t.finish();
        is_last = is[0];
        kept.push_back(untyped::assign(count, is[1]).operation());
    }
    std::vector<gradient_and_variable> means;
    for (const gradient_and_variable& g : all) {
        const element_type type = compute_type(g.variable.element());
        const any_tensor sum = detail::add_slot(g.variable, "accumulated", {type, g.variable.extents()}, 0);
        const detail::owned_scope there(g.variable);
        detail::tape_writer t;
        const detail::tape_value now =
            multiply_add(1.0 / runs_, t.read(g.gradient), t.read(detail::current_value(sum)));
        t.write(now, g.variable.element());
        t.write(t.apply(opcode::select, t.read(is_last), t.literal(0, type), now), type);
        const std::vector<any_tensor> is = t.finish();
        means.push_back({is[0], g.variable});
        kept.push_back(untyped::assign(sum, is[1]).operation());
    }
    kept.push_back(how_->apply_once(means, o, {}, is_last));
    return group(kept, o.name);
}

} // namespace tenon
