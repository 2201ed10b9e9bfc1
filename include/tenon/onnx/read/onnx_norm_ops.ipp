#pragma once

#include <tenon/onnx/onnx_windows.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/normalization.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX that normalise, and losses of classifiers.

namespace tenon::detail::onnx {

inline any_tensor plus_epsilon(const any_tensor& x, double epsilon) { return untyped::add(x, scalar_like(epsilon, x)); }
inline index_list axes_between(int from, int to) {
    index_list axes;
    for (int i = from; i < to; ++i) axes.push_back(i);
    return axes;
}

inline any_tensor wide(const any_tensor& x) {
    return size_of(x.element()) < 4 && is_floating(x.element()) ? untyped::cast(x, element_type::float32) : x;
}

inline void batch_normalization(const call& c) {
    const bool training = c.opset() >= 14 && c.integer("training_mode", 0) != 0;
    if (!training && c.wants(1)) c.refuse("running means, which training gives");
    const bool each = c.integer("spatial", 1) == 0; // before set 9: of each place of an image by itself
    const bool image = !each && (c.is_last(0) || c.x().rank() == 4);
    const any_tensor x = image ? c.last() : c.x();
    const auto beside = [&](const any_tensor& t) { return image || each ? t : beside_channels(t, x.rank()); };
    any_tensor mean = c.x(3), variance = c.x(4);
    if (training) { // with its own, which the running ones follow
        index_list others;
        for (int d = 0; d < x.rank(); ++d)
            if (d != (image ? x.rank() - 1 : 1)) others.push_back(d);
        const double kept = c.real("momentum", 0.9);
        const auto followed = [&](const any_tensor& running, const any_tensor& now) {
            return untyped::add(
                untyped::multiply(running, scalar_like(kept, running)),
                untyped::multiply(untyped::cast(now, running.element()), scalar_like(1 - kept, running)));
        };
        const any_tensor own_mean = untyped::mean(wide(x), others), own_variance = untyped::variance(wide(x), others);
        c.give(followed(mean, own_mean), 1);
        c.give(followed(variance, own_variance), 2);
        mean = untyped::cast(own_mean, mean.element());
        variance = untyped::cast(own_variance, variance.element());
    }
    // Of constants these are constants.
    const any_tensor scale = untyped::multiply(c.x(1), untyped::rsqrt(plus_epsilon(variance, c.real("epsilon", 1e-5))));
    const any_tensor offset = untyped::subtract(c.x(2), untyped::multiply(mean, scale));
    const any_tensor y = untyped::add(untyped::multiply(x, untyped::cast(beside(scale), x.element())),
                                      untyped::cast(beside(offset), x.element()));
    image ? c.give_last(y) : c.give(y);
}

// (x - mean) / sqrt(variance + epsilon) over axes, beside both.
struct normalized {
    any_tensor y, mean, scale;
};
inline normalized normalize(const any_tensor& x, const index_list& axes, double epsilon) {
    const any_tensor mean = untyped::mean(x, axes, true), centred = untyped::subtract(x, mean);
    const any_tensor scale = untyped::rsqrt(plus_epsilon(untyped::mean(untyped::square(centred), axes, true), epsilon));
    return {untyped::multiply(centred, scale), mean, scale};
}
inline void layer_normalization(const call& c) {
    const any_tensor x = c.x();
    const int axis = axis_in(c, c.integer("axis", -1), x.rank());
    const double epsilon = c.real("epsilon", 1e-5);
    if (axis == x.rank() - 1 && c.has(2) && !c.wants(1) && !c.wants(2) && c.x(1).rank() == 1 && c.x(2).rank() == 1)
        return c.give(untyped::layer_norm(x, c.x(1), c.x(2), epsilon));
    const normalized n = normalize(wide(x), axes_between(axis, x.rank()), epsilon);
    any_tensor y = untyped::multiply(untyped::cast(n.y, x.element()), c.x(1));
    if (c.has(2)) y = untyped::add(y, c.x(2));
    c.give(y, 0);
    c.give(n.mean, 1);
    c.give(n.scale, 2);
}
inline void rms_normalization(const call& c) {
    const any_tensor x = c.x(), v = wide(x);
    const int axis = axis_in(c, c.integer("axis", -1), x.rank());
    const any_tensor square = untyped::mean(untyped::square(v), axes_between(axis, x.rank()), true);
    const any_tensor y = untyped::multiply(v, untyped::rsqrt(plus_epsilon(square, c.real("epsilon", 1e-5))));
    c.give(untyped::multiply(untyped::cast(y, c.x(1).element()), c.x(1)));
}
inline void instance_normalization(const call& c) {
    const any_tensor x = c.x();
    const any_tensor y = normalize(x, axes_between(2, x.rank()), c.real("epsilon", 1e-5)).y;
    c.give(untyped::add(untyped::multiply(y, beside_channels(c.x(1), x.rank())), beside_channels(c.x(2), x.rank())));
}
inline void group_normalization(const call& c) {
    const any_tensor x = c.x();
    const std::int64_t groups = c.integer("num_groups", 1),
                       channels = number_of(c, x.extents()[1], "the number of channels");
    if (groups < 1 || channels % groups != 0)
        c.wrong(std::to_string(channels) + " channels are not of " + std::to_string(groups) + " groups");
    const any_tensor apart = reshaped(x, {reshape_op::copied(0), groups, reshape_op::deduced});
    const any_tensor y = untyped::reshape_like(normalize(wide(apart), {2}, c.real("epsilon", 1e-5)).y, x);
    const auto beside = [&](any_tensor t) { // before set 21 a number a group
        if (c.opset() < 21 && !(t.extents()[0] == extent(channels)))
            t = untyped::repeat(t, static_cast<int>(within(c, channels / groups, 1, 1 << 20, "channels a group")), 0);
        return beside_channels(t, x.rank());
    };
    c.give(untyped::add(untyped::multiply(untyped::cast(y, x.element()), beside(c.x(1))), beside(c.x(2))));
}
inline void mean_variance_normalization(const call& c) {
    const any_tensor x = c.x();
    std::vector<std::int64_t> axes = c.integers("axes");
    if (axes.empty()) axes = {0, 2, 3};
    const index_list over = axes_in(c, axes, x.rank());
    const any_tensor centred = untyped::subtract(x, untyped::mean(x, over, true));
    const any_tensor deviation = untyped::sqrt(untyped::mean(untyped::square(centred), over, true));
    c.give(untyped::divide(centred, untyped::add(deviation, scalar_like(1e-9, x))));
}
inline void lp_normalization(const call& c) {
    const any_tensor x = c.x();
    const index_list axes{axis_in(c, c.integer("axis", -1), x.rank())};
    const any_tensor size = c.integer("p", 2) == 1 ? untyped::sum(untyped::abs(x), axes, true)
                                                   : untyped::sqrt(untyped::sum(untyped::square(x), axes, true));
    const any_tensor none = untyped::equal(size, scalar_like(0, x));
    c.give(
        untyped::select(none, scalar_like(0, x), untyped::divide(x, untyped::select(none, scalar_like(1, x), size))));
}
inline void local_response_normalization(const call& c) {
    const any_tensor x = c.x();
    const std::int64_t size = c.integer("size", 1), channels = number_of(c, x.extents()[1], "the number of channels");
    (void)within(c, size, 1, 1024, "size");
    (void)within(c, channels, 0, max_folded, "the number of channels");
    const std::int64_t before = (size - 1) / 2;
    const any_tensor squares = untyped::pad(untyped::square(x), {{0, 0}, {before, size - 1 - before}});
    any_tensor sum;
    for (std::int64_t i = 0; i < size; ++i) {
        const any_tensor part = untyped::slice(squares, {range{}, range{i, i + channels, 1}});
        sum = sum.node() ? untyped::add(sum, part) : part;
    }
    const any_tensor base =
        untyped::add(untyped::multiply(sum, scalar_like(c.real("alpha", 1e-4) / static_cast<double>(size), x)),
                     scalar_like(c.real("bias", 1), x));
    c.give(untyped::divide(x, untyped::pow(base, scalar_like(c.real("beta", 0.75), x))));
}

// Of logarithms of probabilities [n, c, ...], less what is weighted by 0.
inline any_tensor likelihood_loss(const call& c, const any_tensor& logs, const any_tensor& target,
                                  const std::optional<any_tensor>& weights) {
    const std::int64_t classes = number_of(c, logs.extents()[1], "the number of classes");
    const bool ignores = c.attribute("ignore_index") != nullptr;
    const std::int64_t ignored = c.integer("ignore_index", 0);
    any_tensor hot = untyped::one_hot(untyped::cast(target, element_type::int64), classes, logs.element(), 1);
    if (ignores) {
        const any_tensor kept =
            untyped::cast(untyped::not_equal(target, untyped::scalar(ignored, target.element())), logs.element());
        hot = untyped::multiply(hot, untyped::expand_dims(kept, {1}));
    }
    if (weights) hot = untyped::multiply(hot, beside_channels(*weights, logs.rank()));
    const any_tensor chosen =
        untyped::select(untyped::equal(hot, scalar_like(0, hot)), scalar_like(0, hot), untyped::multiply(hot, logs));
    const any_tensor loss = untyped::negative(untyped::sum(chosen, {1}));
    const std::string how = c.text("reduction", "mean");
    if (how == "none") return loss;
    if (how == "sum") return untyped::sum(loss);
    if (!weights && !ignores) return untyped::mean(loss);
    return untyped::divide(untyped::sum(loss), untyped::sum(hot));
}
inline void negative_log_likelihood(const call& c) {
    c.give(likelihood_loss(c, c.x(), c.x(1), c.has(2) ? std::optional(c.x(2)) : std::nullopt));
}
inline void softmax_cross_entropy_loss(const call& c) {
    const any_tensor logs = untyped::log_softmax(c.x(), 1);
    c.give(likelihood_loss(c, logs, c.x(1), c.has(2) ? std::optional(c.x(2)) : std::nullopt), 0);
    c.give(logs, 1);
}

TENON_INLINE std::vector<entry> norm_operators() {
    return {{"BatchNormalization", batch_normalization},
            {"GroupNormalization", group_normalization},
            {"InstanceNormalization", instance_normalization},
            {"LRN", local_response_normalization},
            {"LayerNormalization", layer_normalization},
            {"LpNormalization", lp_normalization},
            {"MeanVarianceNormalization", mean_variance_normalization},
            {"NegativeLogLikelihoodLoss", negative_log_likelihood},
            {"RMSNormalization", rms_normalization},
            {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss}};
}

} // namespace tenon::detail::onnx
