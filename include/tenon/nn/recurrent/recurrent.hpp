#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/function_ref.hpp>
#include <tenon/nn/layer.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/movement.hpp>

/// Recurrent layers, over sequences [batch, time, features].
///
///     auto [all, last] = tn::nn::lstm<256>()(x);          // [batch, time, 256], and its state: last.hidden, last.cell, [batch, 256]
///     auto [more, end] = tn::nn::lstm<256>()(x, last);    // begins with a state instead of zeros
///     auto [h, state]  = tn::nn::gru<256>({.reversed = true})(x);   // from the last step to the first; the state is [batch, 256]
///     auto model = tn::nn::sequential(tn::nn::all_steps(tn::nn::lstm<64>()), tn::nn::last_step(tn::nn::gru<64>()), tn::nn::dense<10>());
///
/// Where the compiler knows the number of steps, each becomes nodes of its own; where it has a name, or is known in the step only, they are one
/// scan. The input's part of all steps is one product. Gates and their order are cuDNN's and PyTorch's, so weights of those fit, transposed.

namespace tenon::nn {

struct recurrent_options {
    bool reversed = false; ///< from the last step to the first; results stay where their steps are
    initializer kernel = glorot_uniform();
    initializer recurrent_kernel = glorot_uniform();
    initializer bias = zeros();
    std::string name = {}; ///< of its variables NAME/kernel, NAME/recurrent_kernel, ..; "": "lstm" or "gru"
};

/// What an lstm goes on from: [batch, Hidden] each.
template <class Hidden, class Cell = Hidden> struct lstm_state {
    Hidden hidden;
    Cell cell;
};
template <class H, class C> lstm_state(H, C) -> lstm_state<H, C>;

/// What a recurrent layer gives: the results of all steps [batch, time, Hidden], and the state after the last.
template <class Sequence, class State> struct recurrent_result {
    using several_tensors = void;
    Sequence sequence;
    State state;
};
template <class S, class T> recurrent_result(S, T) -> recurrent_result<S, T>;

/// What the compiler checks when such a layer is called. in: x, and the tensors that it begins with.
template <fixed_string Name> struct recurrent_rule {
    static constexpr const char* name = Name.text;
    struct attributes {
        int hidden = 1;
    };
    static constexpr char input_is[] = "the input is [batch, time, features]";
    static constexpr char features_are_a_number[] = "features must be a number here, and there is one step at least";
    static constexpr char state_is[] = "a state has batch and hidden as its sizes, and the input's element type";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        const extents& x = in[0].extents;
        if (x.rank() != 3) return input_is;
        if (!x[2].is_number() || (x[1].is_number() && x[1].size < 1)) return features_are_a_number;
        extents state;
        state.push_back(x[0]);
        state.push_back(a.hidden);
        for (int i = 1; i < in.size(); ++i)
            if (in[i].element != in[0].element || equal_shapes(state, in[i].extents).what != fault::none)
                return state_is;
        return inferred(in[0].element, state);
    }
};

} // namespace tenon::nn

namespace tenon::detail {

// x kernel + bias, time first: of [batch, time, features] [time, batch, width].
any_tensor projected_steps(const any_tensor& x, const any_tensor& kernel, const any_tensor& bias);
// Zeros [batch, hidden].
any_tensor zero_state(const any_tensor& x, const any_tensor& kernel, std::int64_t hidden);
// What a step gives to its part of x kernel + bias, and what it goes on from; empty: zeros.
using recurrent_step = function_ref<any_tensor(const any_tensor& projected, std::vector<any_tensor>& state)>;
// [batch, time, hidden] of the results of all steps; `state` becomes what the last one leaves.
any_tensor run_steps(const any_tensor& projected, bool reversed, std::vector<any_tensor>& state, recurrent_step step);
any_tensor scan_steps(const any_tensor& projected, bool reversed, std::vector<any_tensor>& state, recurrent_step step);

// [batch, Width] beside x.
template <class X, int Width>
using beside_batch = std::remove_cvref_t<decltype(as_tensor(matmul(
    sum<1>(std::declval<const X&>()),
    std::declval<
        const tensor<typename X::element_type, shape<static_cast<int>(X::shape_type::extents[2].size), Width>>&>())))>;

// What a recurrent layer is made of: a state of `States` tensors [batch, Hidden], and gates [batch, Gates * Hidden].
template <int Gates, int Hidden, int States, class X> struct recurrence_of {
    using T = typename X::element_type;
    using state = beside_batch<X, Hidden>;
    using gates = beside_batch<X, Gates * Hidden>;
    using sequence = std::remove_cvref_t<decltype(as_tensor(
        matmul(std::declval<const X&>(),
               std::declval<const tensor<T, shape<static_cast<int>(X::shape_type::extents[2].size), Hidden>>&>())))>;

    // step(gates, now) gives its result, and changes `now`, whose first it mostly is.
    template <class Step>
    static sequence run(const X& x, const any_tensor& kernel, const any_tensor& bias, bool reversed,
                        std::vector<state>& now, const Step& step) {
        constexpr bool is_unrolled = X::shape_type::extents[1].is_number();
        std::vector<any_tensor> untyped(now.begin(), now.end());
        if (!is_unrolled && now.empty()) untyped.assign(States, zero_state(x, kernel, Hidden));
        const auto untyped_step = [&](const any_tensor& projected, std::vector<any_tensor>& carried) -> any_tensor {
            std::vector<state> typed;
            for (const any_tensor& t : carried) typed.push_back(state::unchecked(t));
            const state result = step(gates::unchecked(projected), typed);
            carried.assign(typed.begin(), typed.end());
            return result;
        };
        const any_tensor projected = projected_steps(x, kernel, bias);
        const any_tensor all = is_unrolled ? run_steps(projected, reversed, untyped, untyped_step)
                                           : scan_steps(projected, reversed, untyped, untyped_step);
        now.clear();
        for (const any_tensor& t : untyped) now.push_back(state::unchecked(t));
        return sequence::unchecked(all);
    }
};

} // namespace tenon::detail

namespace tenon::nn {

/// i, f, g, o = split(x kernel + h recurrent_kernel + bias); c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c').
/// kernel [features, 4 Hidden], recurrent_kernel [Hidden, 4 Hidden], bias [4 Hidden], which is the sum of PyTorch's two. S. Hochreiter,
/// J. Schmidhuber, Long short-term memory, Neural Computation 9 (1997); F. Gers et al., Learning to forget, Neural Computation 12 (2000).
template <int Hidden> class lstm_layer {
    static_assert(Hidden > 0, "tenon::nn::lstm: the size of the state must be positive");
    using rule = recurrent_rule<"lstm">;
    template <class... X>
    using verdict_on = detail::verdict_of<rule, detail::constant_attributes<typename rule::attributes{Hidden}>,
                                          detail::operand_of_t<X>...>;

public:
    explicit lstm_layer(recurrent_options o = {}) : options_(std::move(o)) {}

    /// From a state of zeros.
    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = verdict_on<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return recurrent_result{ill_shaped{}, lstm_state{ill_shaped{}, ill_shaped{}}};
        else return run(detail::as_tensor(x));
    }
    template <OperandOrIllShaped X, OperandOrIllShaped H, OperandOrIllShaped C>
    auto operator()(const X& x, const lstm_state<H, C>& from, called_from here = caller()) const {
        const making made(here);
        using verdict = verdict_on<X, H, C>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return recurrent_result{ill_shaped{}, lstm_state{ill_shaped{}, ill_shaped{}}};
        else return run(detail::as_tensor(x), detail::as_tensor(from.hidden), detail::as_tensor(from.cell));
    }

    const any_tensor& kernel() const noexcept { return kernel_.variable(); }
    const any_tensor& recurrent_kernel() const noexcept { return recurrent_.variable(); }
    const any_tensor& bias() const noexcept { return bias_.variable(); }

private:
    template <class X, class... S> auto run(const X& x, const S&... from) const {
        using T = typename X::element_type;
        using over = detail::recurrence_of<4, Hidden, 2, X>;
        using state = typename over::state;
        constexpr auto features = static_cast<int>(X::shape_type::extents[2].size);
        const first_call names(kernel_, options_.name.empty() ? "lstm" : options_.name);
        const auto w = kernel_.template get<T, shape<features, 4 * Hidden>>("kernel", options_.kernel);
        const auto u =
            recurrent_.template get<T, shape<Hidden, 4 * Hidden>>("recurrent_kernel", options_.recurrent_kernel);
        const auto b = bias_.template get<T, shape<4 * Hidden>>("bias", options_.bias);

        std::vector<state> last{state::unchecked(from)...}; // hidden, cell; none: zeros
        const auto gated = [&](const typename over::gates& projected, std::vector<state>& now) {
            const auto z = now.empty() ? projected : detail::as_tensor(matmul(now[0], u) + projected);
            const auto [i, f, g, o] = split<4, 1>(z);
            const auto c = now.empty() ? detail::as_tensor(sigmoid(i) * tanh(g))
                                       : detail::as_tensor(sigmoid(f) * now[1] + sigmoid(i) * tanh(g));
            now = {detail::as_tensor(sigmoid(o) * tanh(c)), c};
            return now[0];
        };
        const auto all = over::run(x, w, b, options_.reversed, last, gated);
        return recurrent_result{all, lstm_state{last[0], last[1]}};
    }

    recurrent_options options_;
    parameter kernel_, recurrent_, bias_;
};

/// xr, xz, xn = split(x kernel + bias); hr, hz, hn = split(h recurrent_kernel + recurrent_bias); r = sigmoid(xr + hr); z = sigmoid(xz + hz);
/// n = tanh(xn + r hn); h' = (1 - z) n + z h. kernel [features, 3 Hidden], recurrent_kernel [Hidden, 3 Hidden], biases [3 Hidden].
/// K. Cho et al., EMNLP 2014, with the reset after the product, as cuDNN and PyTorch have it.
template <int Hidden> class gru_layer {
    static_assert(Hidden > 0, "tenon::nn::gru: the size of the state must be positive");
    using rule = recurrent_rule<"gru">;
    template <class... X>
    using verdict_on = detail::verdict_of<rule, detail::constant_attributes<typename rule::attributes{Hidden}>,
                                          detail::operand_of_t<X>...>;

public:
    explicit gru_layer(recurrent_options o = {}) : options_(std::move(o)) {}

    /// From a state of zeros.
    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = verdict_on<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return recurrent_result{ill_shaped{}, ill_shaped{}};
        else return run(detail::as_tensor(x));
    }
    template <OperandOrIllShaped X, OperandOrIllShaped H>
    auto operator()(const X& x, const H& from, called_from here = caller()) const {
        const making made(here);
        using verdict = verdict_on<X, H>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return recurrent_result{ill_shaped{}, ill_shaped{}};
        else return run(detail::as_tensor(x), detail::as_tensor(from));
    }

    const any_tensor& kernel() const noexcept { return kernel_.variable(); }
    const any_tensor& recurrent_kernel() const noexcept { return recurrent_.variable(); }
    const any_tensor& bias() const noexcept { return bias_.variable(); }
    const any_tensor& recurrent_bias() const noexcept { return recurrent_bias_.variable(); }

private:
    template <class X, class... S> auto run(const X& x, const S&... from) const {
        using T = typename X::element_type;
        using over = detail::recurrence_of<3, Hidden, 1, X>;
        using state = typename over::state;
        constexpr auto features = static_cast<int>(X::shape_type::extents[2].size);
        const first_call names(kernel_, options_.name.empty() ? "gru" : options_.name);
        const auto w = kernel_.template get<T, shape<features, 3 * Hidden>>("kernel", options_.kernel);
        const auto u =
            recurrent_.template get<T, shape<Hidden, 3 * Hidden>>("recurrent_kernel", options_.recurrent_kernel);
        const auto b = bias_.template get<T, shape<3 * Hidden>>("bias", options_.bias);
        const auto c = recurrent_bias_.template get<T, shape<3 * Hidden>>("recurrent_bias", options_.bias);

        std::vector<state> last{state::unchecked(from)...}; // none: zeros
        const auto gated = [&](const typename over::gates& projected, std::vector<state>& now) {
            const auto [xr, xz, xn] = split<3, 1>(projected);
            if (now.empty()) {
                const auto [hr, hz, hn] = split<3, 0>(c);
                now = {detail::as_tensor((1 - sigmoid(xz + hz)) * tanh(xn + sigmoid(xr + hr) * hn))};
                return now[0];
            }
            const auto [hr, hz, hn] = split<3, 1>(detail::as_tensor(matmul(now[0], u) + c));
            const auto z = detail::as_tensor(sigmoid(xz + hz)), n = detail::as_tensor(tanh(xn + sigmoid(xr + hr) * hn));
            now = {detail::as_tensor(z * (now[0] - n) + n)};
            return now[0];
        };
        const auto all = over::run(x, w, b, options_.reversed, last, gated);
        return recurrent_result{all, last[0]};
    }

    recurrent_options options_;
    parameter kernel_, recurrent_, bias_, recurrent_bias_;
};

template <int Hidden> lstm_layer<Hidden> lstm(const recurrent_options& o = {}) { return lstm_layer<Hidden>(o); }
template <int Hidden> gru_layer<Hidden> gru(const recurrent_options& o = {}) { return gru_layer<Hidden>(o); }
template <std::integral... N> ill_shaped lstm(N...) {
    static_assert(detail::is_mistake<N...>,
                  "tenon::nn::lstm: the size of its state is a template argument: lstm<64>()");
    return {};
}
template <std::integral... N> ill_shaped gru(N...) {
    static_assert(detail::is_mistake<N...>, "tenon::nn::gru: the size of its state is a template argument: gru<64>()");
    return {};
}

/// A recurrent layer among layers: what it gives for all steps, [batch, time, Hidden], ..
template <class Recurrent> struct all_steps {
    explicit all_steps(Recurrent r) : layer(std::move(r)) {}
    Recurrent layer;
    const Recurrent& inner() const noexcept { return layer; }
    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        return layer(x).sequence;
    }
};
template <class R> all_steps(R) -> all_steps<R>;
/// .. or for the one it ends with, [batch, Hidden].
template <class Recurrent> struct last_step {
    explicit last_step(Recurrent r) : layer(std::move(r)) {}
    Recurrent layer;
    const Recurrent& inner() const noexcept { return layer; }
    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        const auto state = layer(x).state;
        if constexpr (requires { state.hidden; }) return state.hidden;
        else return state;
    }
};
template <class R> last_step(R) -> last_step<R>;

} // namespace tenon::nn

#if TENON_HEADER_ONLY
#include <tenon/nn/recurrent/recurrent.ipp>
#endif
