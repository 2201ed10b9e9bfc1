#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/core/options.hpp>
#include <tenon/graph/tensor.hpp>
#include <tenon/train/optimize/gradient_and_variable.hpp>

/// Loss scaling, without which gradients in half are lost below 6e-8 (P. Micikevicius et al., Mixed precision training, ICLR 2018, 3.2). The
/// loss is multiplied by a scale, and so are its gradients, which are divided by it before they are applied. A step in which one of them is
/// infinite or NaN changes no variable and counts nowhere; it halves the scale, which begins at 32768, and 2000 good ones in a row double it.
///
///     auto train = tn::adam(1e-3).minimize(loss, {.scale = tn::loss_scale()});
///
///     tn::loss_scale scale;                                                     // the same in parts
///     auto g = scale.unscaled(opt.compute_gradients(scale.scaled(loss)));
///     auto careful = opt.apply_gradients(tn::clip_by_global_norm(g, 5), {.scale = scale});
///
/// bfloat16 needs none: it has float's exponents.

namespace tenon {

struct loss_scale_options {
    double initial = 32768;         ///< a power of 2 loses no bits
    double factor = 2;              ///< by which it grows and shrinks
    std::int64_t good_steps = 2000; ///< in a row, after which it grows
    double least = 1, most = 16777216;
};

/// The scale of a loss: variables of the loss's graph, "loss_scale" and "loss_scale/good_steps", made when a loss is first scaled. They are
/// saved with the others, and not trained. Copies are the same scale.
class loss_scale {
public:
    /// Throws invalid_argument_error where an option makes no sense, naming it.
    explicit loss_scale(const loss_scale_options& o = {});
    TENON_OTHER_BRACES(loss_scale(detail::other_braces_than<loss_scale_options, N>&));

    /// The loss times the scale: what gradients are asked of.
    template <detail::Typed L> auto scaled(const L& loss) const {
        return tensor<typename L::element_type, typename L::shape_type>::unchecked(
            scaled_loss(detail::as_tensor(loss)));
    }
    any_tensor scaled(const any_tensor& loss) const { return scaled_loss(loss); }
    /// Gradients of the scaled loss, divided by the scale; a sparse one stays so.
    std::vector<gradient_and_variable> unscaled(std::vector<gradient_and_variable> gradients) const;
    /// A float scalar, the variable; an empty handle before a loss was scaled.
    const any_tensor& value() const noexcept;
    const loss_scale_options& options() const noexcept;

private:
    friend class optimizer;
    struct state;
    any_tensor scaled_loss(const any_tensor& loss) const;
    // Whether all elements of these gradients are finite, and, if asked for, of what was unscaled for them: a scalar.
    any_tensor all_finite(const std::vector<gradient_and_variable>& gradients, bool and_unscaled) const;
    // The scale of the next step; `guard`, a scalar bool, if any: where it is false, this one's.
    operation next(const any_tensor& all_finite, const any_tensor& guard) const;

    std::shared_ptr<state> state_;
};

} // namespace tenon
