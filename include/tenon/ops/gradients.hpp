#pragma once

#include <tuple>

#include <tenon/graph/tensor.hpp>

/// Reverse-mode differentiation, as graph code.

namespace tenon {

namespace detail {

/// d(sum of ys * output gradients) / dxs; zeros where x does not matter. Through an op without a gradient none flows, and
/// none beyond `borders`, whatever these are computed of.
std::vector<any_tensor> add_gradients(const std::vector<any_tensor>& ys, const std::vector<any_tensor>& xs,
                                      std::vector<any_tensor> output_gradients = {},
                                      const std::vector<any_tensor>& borders = {});

struct gradients_rule {
    static constexpr const char* name = "gradients";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in[0].extents.rank() != 0) return fault::loss_must_be_scalar;
        for (const tensor_type& x : in)
            if (!is_floating(x.element)) return fault::element_type_must_be_floating;
        return in[0];
    }
};

} // namespace detail

/// The gradients of a scalar `loss` with respect to xs (any tensors it was computed from): a tuple of tensors,
/// each of its x's element type and sizes. Zeros where x does not matter. All are floating. In the body of
/// a loop, a scan or a cond an x may lie outside of it, where nothing else that the loss needs is computed of it.
template <class L, class... Xs> auto gradients(const L& loss, const Xs&... xs) {
    static_assert(sizeof...(Xs) > 0, "tenon::gradients: say with respect to what: gradients(loss, w, b)");
    using mistaken = std::tuple<detail::ill_shaped_for<Xs>...>;
    using of_loss = detail::verdict_on_operands<detail::gradients_rule, L>;
    static_assert(of_loss::agree, "tenon: shapes do not agree");
    if constexpr (sizeof...(Xs) == 0) return ill_shaped{};
    else if constexpr (!of_loss::fits) return mistaken{};
    else {
        using verdict = detail::verdict_on_operands<detail::gradients_rule, L, Xs...>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return mistaken{};
        else {
            std::vector<any_tensor> g = detail::add_gradients({detail::as_tensor(loss)}, {detail::as_tensor(xs)...});
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return std::tuple(
                    tensor<typename Xs::element_type, typename Xs::shape_type>::unchecked(std::move(g[I]))...);
            }
            (std::index_sequence_for<Xs...>{});
        }
    }
}

/// The same for untyped tensors; invalid_argument_error for the same mistakes.
std::vector<any_tensor> gradients(const any_tensor& loss, const std::vector<any_tensor>& xs);
namespace untyped {
inline std::vector<any_tensor> gradients(const any_tensor& loss, const std::vector<any_tensor>& xs) {
    return tenon::gradients(loss, xs);
}
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/ops/gradients.ipp>
#endif
