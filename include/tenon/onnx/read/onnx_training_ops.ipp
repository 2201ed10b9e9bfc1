#pragma once

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>

/// Steps of optimisers, ONNX's preview of training: R, the rate; T, how many steps there were; then of each parameter its value, gradient and
/// slots.

namespace tenon::detail::onnx {

struct optimizer_step {
    explicit optimizer_step(const call& of, int each) :
        c(of), count((of.inputs() - 2) / each), rate(of.x(0)), steps(of.x(1)) {
        if (c.inputs() < 2 + each || (c.inputs() - 2) % each != 0)
            c.wrong("it has " + std::to_string(c.inputs()) + " inputs");
    }
    any_tensor operand(int which, int i) const { return c.x(2 + which * count + i); }
    any_tensor regularized(int i) const {
        const any_tensor x = operand(0, i);
        return untyped::add(untyped::multiply(x, scalar_like(c.real("norm_coefficient", 0), x)), operand(1, i));
    }
    any_tensor first() const { return untyped::equal(steps, scalar_like(0, steps)); }
    void give(const any_tensor& t, int which, int i) const { c.give(t, which * count + i); }
    const call& c;
    int count;
    any_tensor rate, steps;
};
inline any_tensor times(const any_tensor& x, double factor) { return untyped::multiply(x, scalar_like(factor, x)); }

inline void adagrad(const call& c) {
    const optimizer_step s(c, 3);
    const any_tensor t = untyped::cast(s.steps, s.rate.element());
    const any_tensor rate =
        untyped::divide(s.rate, untyped::add(times(t, c.real("decay_factor", 0)), scalar_like(1, t)));
    for (int i = 0; i < s.count; ++i) {
        const any_tensor x = s.operand(0, i), g = s.regularized(i),
                         h = untyped::add(s.operand(2, i), untyped::multiply(g, g));
        const any_tensor root = untyped::add(untyped::sqrt(h), scalar_like(c.real("epsilon", 1e-6), h));
        s.give(untyped::subtract(x, untyped::divide(untyped::multiply(untyped::cast(rate, x.element()), g), root)), 0,
               i);
        s.give(h, 1, i);
    }
}
inline void adam(const call& c) {
    const optimizer_step s(c, 4);
    const double alpha = c.real("alpha", 0.9), beta = c.real("beta", 0.999);
    const any_tensor t = untyped::cast(s.steps, s.rate.element());
    const auto decayed = [&](double b) {
        return untyped::subtract(scalar_like(1, t), untyped::pow(scalar_like(b, t), t));
    };
    const any_tensor corrected =
        untyped::divide(untyped::multiply(s.rate, untyped::sqrt(decayed(beta))), decayed(alpha));
    const any_tensor rate = untyped::select(s.first(), s.rate, corrected);
    for (int i = 0; i < s.count; ++i) {
        const any_tensor x = s.operand(0, i), g = s.regularized(i);
        const any_tensor v = untyped::add(times(s.operand(2, i), alpha), times(g, 1 - alpha)),
                         h = untyped::add(times(s.operand(3, i), beta), times(untyped::multiply(g, g), 1 - beta));
        const any_tensor root = untyped::add(untyped::sqrt(h), scalar_like(c.real("epsilon", 1e-6), h));
        const any_tensor next =
            untyped::subtract(x, untyped::multiply(untyped::cast(rate, x.element()), untyped::divide(v, root)));
        s.give(times(next, 1 - c.real("norm_coefficient_post", 0)), 0, i);
        s.give(v, 1, i);
        s.give(h, 2, i);
    }
}
inline void momentum(const call& c) {
    const optimizer_step s(c, 3);
    const double alpha = c.real("alpha", 0);
    const std::string mode = c.text("mode", "standard");
    if (mode != "standard" && mode != "nesterov") c.wrong("its mode is \"" + mode + '"');
    for (int i = 0; i < s.count; ++i) {
        const any_tensor x = s.operand(0, i), g = s.regularized(i);
        const any_tensor beta = untyped::select(s.first(), scalar_like(1, x), scalar_like(c.real("beta", 1), x));
        const any_tensor v = untyped::add(times(s.operand(2, i), alpha), untyped::multiply(beta, g));
        const any_tensor step = mode == "standard" ? v : untyped::add(g, times(v, alpha));
        s.give(untyped::subtract(x, untyped::multiply(untyped::cast(s.rate, x.element()), step)), 0, i);
        s.give(v, 1, i);
    }
}

TENON_INLINE std::vector<entry> training_operators() {
    return {{"ai.onnx.preview.training.Adagrad", adagrad},
            {"ai.onnx.preview.training.Adam", adam},
            {"ai.onnx.preview.training.Momentum", momentum}};
}

} // namespace tenon::detail::onnx
