#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include <tenon/nn/attention.hpp>
#include <tenon/nn/dense.hpp>
#include <tenon/nn/split_parameter.hpp>
#include <tenon/ops/elementwise/add_n.hpp>
#include <tenon/ops/shape/assembly.hpp>

/// Layers whose weights are split over devices (SEMANTICS 43), with the numbers of the layers in one piece: they begin with the same
/// values, and what they compute, gradients too, is equal to rounding. M. Shoeybi et al., Megatron-LM, 2019.
///
///     auto h = tn::nn::column_parallel_dense<300>({"/gpu:0", "/gpu:1"}, tn::nn::relu)(x);   // columns: h is in parts
///     auto y = tn::nn::row_parallel_dense<10>({"/gpu:0", "/gpu:1"})(h);                     // rows: sums of partial products
///     auto z = tn::nn::parallel_mlp<1024, 256>({"/gpu:0", "/gpu:1"}, tn::nn::gelu)(x);      // both, nothing gathered between
///     auto a = tn::nn::parallel_multi_head_attention<8>({"/gpu:0", "/gpu:1"})(x);           // heads
///
/// What crosses in a forward pass: x to each device but its own, and a partial product from each but the first. What is
/// summed, with the bias, is on the first device. Sizes that the number of devices does not divide do not compile.

namespace tenon {

namespace detail {

// Part I of what several devices compute: f(0), f(1), .., each on its device.
template <std::size_t N, class F> auto on_each(const std::array<device_name, N>& devices, const F& f) {
    const auto part = [&]<std::size_t I>(std::integral_constant<std::size_t, I> i) {
        return on(devices[I], [&] { return as_tensor(f(i)); });
    };
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::array{part(std::integral_constant<std::size_t, I>{})...};
    }
    (std::make_index_sequence<N>{});
}
template <std::size_t N> std::array<device_name, N> array_of(const device_name (&devices)[N]) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::array<device_name, N>{devices[I]...}; }
    (std::make_index_sequence<N>{});
}

} // namespace detail

namespace nn {

/// What the compiler checks when a row-parallel layer is called. in: x, whose last size is a number.
struct row_parallel_rule {
    static constexpr const char* name = "row_parallel_dense";
    struct attributes {
        int units = 0;
        int devices = 1;
    };
    static constexpr char devices_do_not_divide[] = "the number of devices does not divide the last size";
    static constexpr inferred infer(const attributes& a, type_list in, int o) {
        const inferred r = dense_rule::infer({a.units}, in, o);
        if (!r) return r;
        return in[0].extents[in[0].extents.rank() - 1].size % a.devices == 0 ? r : inferred(devices_do_not_divide);
    }
};

/// All of a tensor in parts, on the first device.
template <class X, int N> auto gathered(const split_tensor<X, N>& x) {
    return on(x.devices[0], [&] {
        return std::apply([](const auto&... p) { return concat<X::shape_type::rank - 1>(p...); }, x.parts);
    });
}

/// A dense layer whose columns are split: device i has [n, Units / N] of the kernel and [Units / N] of the bias, and computes
/// these of activation(x kernel + bias). What it returns stays where it is: split_tensor of [.., Units / N].
template <int Units, std::size_t N, class Activation = linear_activation> class column_parallel_dense_layer {
    static_assert(Units > 0 && Units % static_cast<int>(N) == 0,
                  "tenon::nn::column_parallel_dense: the number of devices does not divide the number of units");
    static constexpr int own = Units / static_cast<int>(N);

public:
    template <class X>
    using judged = judgement<dense_rule, detail::constant_attributes<dense_rule::attributes{Units}>, X>;

    column_parallel_dense_layer(const std::array<device_name, N>& devices, Activation a, dense_options o) :
        devices_(devices), activation_(std::move(a)), options_(std::move(o)) {
        check_split_devices("column_parallel_dense", {devices_.begin(), devices_.end()});
    }

    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            using T = typename X::element_type;
            constexpr auto inputs = static_cast<int>(X::shape_type::extents[X::shape_type::rank - 1].size);
            const auto in = detail::as_tensor(x);
            const first_call names(kernel_, options_.name);
            const auto kernel = kernel_.template get<T, shape<inputs, own>>("kernel", options_.kernel, 1, devices_);
            const auto whole = [&](const auto& of) {
                using part = typename std::remove_cvref_t<decltype(of)>::value_type;
                return split_tensor<part, static_cast<int>(N)>{of, devices_};
            };
            if (!options_.use_bias)
                return whole(detail::on_each(devices_, [&](auto i) { return activation_(matmul(in, kernel[i])); }));
            const auto bias = bias_.template get<T, shape<own>>("bias", options_.bias, 0, devices_);
            return whole(
                detail::on_each(devices_, [&](auto i) { return activation_(matmul(in, kernel[i]) + bias[i]); }));
        }
    }
    /// The same layer, which gathers what it returns on the first device: [.., Units].
    auto gathering() const {
        return [layer = *this](const auto& x) { return gathered(layer(x)); };
    }

    /// The variables, a part a device; empty before the first call.
    const std::vector<any_tensor>& kernel() const noexcept { return kernel_.parts(); }
    const std::vector<any_tensor>& bias() const noexcept { return bias_.parts(); }

private:
    std::array<device_name, N> devices_;
    Activation activation_;
    dense_options options_;
    split_parameter kernel_, bias_;
};

template <int Units, std::size_t N, class Activation = linear_activation>
column_parallel_dense_layer<Units, N, Activation>
column_parallel_dense(const device_name (&devices)[N], Activation a = {}, const dense_options& o = {}) {
    return {detail::array_of(devices), std::move(a), o};
}
template <int Units, std::size_t N>
column_parallel_dense_layer<Units, N> column_parallel_dense(const device_name (&devices)[N], const dense_options& o) {
    return {detail::array_of(devices), {}, o};
}

/// A dense layer whose rows are split: device i has [n / N, Units] of the kernel, and multiplies that with its columns of x. The sum
/// of these products, the bias and the activation are on the first device: [.., n] -> [.., Units]. x is what a column-parallel layer
/// returned, or a tensor, which is taken apart where it lies.
template <int Units, std::size_t N, class Activation = linear_activation> class row_parallel_dense_layer {
    static_assert(Units > 0, "tenon::nn::row_parallel_dense: the number of units must be positive");
    static constexpr int devices = static_cast<int>(N);

public:
    template <class X>
    using judged =
        judgement<row_parallel_rule, detail::constant_attributes<row_parallel_rule::attributes{Units, devices}>, X>;

    row_parallel_dense_layer(const std::array<device_name, N>& names, Activation a, dense_options o) :
        devices_(names), activation_(std::move(a)), options_(std::move(o)) {
        check_split_devices("row_parallel_dense", {devices_.begin(), devices_.end()});
    }

    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            const auto whole = detail::as_tensor(x);
            const auto split = [&] { return tenon::split<devices, X::shape_type::rank - 1>(whole); };
            const auto parts = detail::as_array(colocate_with(whole, split));
            return (*this)(
                split_tensor<typename std::remove_cvref_t<decltype(parts)>::value_type, devices>{parts, devices_});
        }
    }
    template <class X, int M> auto operator()(const split_tensor<X, M>& x, called_from here = caller()) const {
        const making made(here);
        static_assert(M == devices, "tenon::nn::row_parallel_dense: its input lies on another number of devices");
        using verdict = judgement<dense_rule, detail::constant_attributes<dense_rule::attributes{Units}>, X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            using T = typename X::element_type;
            constexpr auto own = static_cast<int>(X::shape_type::extents[X::shape_type::rank - 1].size);
            const first_call names(kernel_, options_.name);
            const auto kernel = kernel_.template get<T, shape<own, Units>>("kernel", options_.kernel, 0, devices_);
            const auto products = detail::on_each(devices_, [&](auto i) { return matmul(x.parts[i], kernel[i]); });
            const device_scope first(devices_[0]);
            const auto sum = std::apply([](const auto&... p) { return add_n(p...); }, products);
            if (!options_.use_bias) return detail::as_tensor(activation_(sum));
            const auto bias = bias_.template get<T, shape<Units>>("bias", options_.bias);
            return detail::as_tensor(activation_(sum + bias));
        }
    }

    const std::vector<any_tensor>& kernel() const noexcept { return kernel_.parts(); }
    const any_tensor& bias() const noexcept { return bias_.variable(); }

private:
    std::array<device_name, N> devices_;
    Activation activation_;
    dense_options options_;
    split_parameter kernel_;
    parameter bias_;
};

template <int Units, std::size_t N, class Activation = linear_activation>
row_parallel_dense_layer<Units, N, Activation> row_parallel_dense(const device_name (&devices)[N], Activation a = {},
                                                                  const dense_options& o = {}) {
    return {detail::array_of(devices), std::move(a), o};
}
template <int Units, std::size_t N>
row_parallel_dense_layer<Units, N> row_parallel_dense(const device_name (&devices)[N], const dense_options& o) {
    return {detail::array_of(devices), {}, o};
}

/// A column-parallel layer of Hidden units with an activation, and a row-parallel one of Units: of the hidden values nothing crosses.
template <int Hidden, int Units, std::size_t N, class Activation> class parallel_mlp_layer {
public:
    parallel_mlp_layer(const std::array<device_name, N>& devices, Activation a, const dense_options& o) :
        columns_(devices, std::move(a), o), rows_(devices, {}, o) {}

    template <class X> using judged = typename column_parallel_dense_layer<Hidden, N, Activation>::template judged<X>;

    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else return rows_(columns_(x));
    }
    const column_parallel_dense_layer<Hidden, N, Activation>& columns() const noexcept { return columns_; }
    const row_parallel_dense_layer<Units, N>& rows() const noexcept { return rows_; }

private:
    column_parallel_dense_layer<Hidden, N, Activation> columns_;
    row_parallel_dense_layer<Units, N> rows_;
};
template <int Hidden, int Units, std::size_t N, class Activation = relu_activation>
parallel_mlp_layer<Hidden, Units, N, Activation> parallel_mlp(const device_name (&devices)[N], Activation a = {},
                                                              const dense_options& o = {}) {
    return {detail::array_of(devices), std::move(a), o};
}

/// multi_head_attention whose heads are split: device i projects, and attends with, Heads / N of them, and multiplies what they give
/// with its rows of the output's kernel; the sum and the bias are on the first device.
template <int Heads, std::size_t N> class parallel_multi_head_attention_layer {
    static_assert(
        Heads > 0 && Heads % static_cast<int>(N) == 0,
        "tenon::nn::parallel_multi_head_attention: the number of devices does not divide the number of heads");
    template <class... X>
    using verdict_on = detail::verdict_of<multi_head_attention_rule,
                                          detail::constant_attributes<multi_head_attention_rule::attributes{Heads}>,
                                          detail::operand_of_t<X>...>;

public:
    template <class X> using judged = verdict_on<X>;

    parallel_multi_head_attention_layer(const std::array<device_name, N>& devices, attention_options o) :
        devices_(devices), options_(std::move(o)) {
        check_split_devices("parallel_multi_head_attention", {devices_.begin(), devices_.end()});
    }

    template <OperandOrIllShaped X> auto operator()(const X& x, called_from here = caller()) const {
        const making made(here);
        using verdict = judged<X>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else {
            const auto in = detail::as_tensor(x);
            return attend(in, in);
        }
    }
    template <OperandOrIllShaped X, OperandOrIllShaped Y>
    auto operator()(const X& x, const Y& source, called_from here = caller()) const {
        const making made(here);
        using verdict = verdict_on<X, Y>;
        static_assert(verdict::agree, "tenon: shapes do not agree");
        if constexpr (!verdict::fits) return ill_shaped{};
        else return attend(detail::as_tensor(x), detail::as_tensor(source));
    }

private:
    struct projection {
        split_parameter kernel, bias;
    };
    // x times the columns of a projection: a list of functions of a device's number.
    template <int Own, class X> auto projected(const projection& p, const char* called, const X& x) const {
        using T = typename X::element_type;
        constexpr auto inputs = static_cast<int>(X::shape_type::extents[X::shape_type::rank - 1].size);
        const std::string name = called;
        const auto kernel =
            p.kernel.template get<T, shape<inputs, Own>>(name + "/kernel", options_.kernel, 1, devices_);
        if (!options_.use_bias) return detail::on_each(devices_, [&](auto i) { return matmul(x, kernel[i]); });
        const auto bias = p.bias.template get<T, shape<Own>>(name + "/bias", options_.bias, 0, devices_);
        return detail::on_each(devices_, [&](auto i) { return matmul(x, kernel[i]) + bias[i]; });
    }

    template <class X, class Y> auto attend(const X& x, const Y& source) const {
        using T = typename X::element_type;
        constexpr auto width = static_cast<int>(X::shape_type::extents[X::shape_type::rank - 1].size);
        constexpr int own = width / static_cast<int>(N), heads = Heads / static_cast<int>(N), size = width / Heads;
        const first_call names(query_.kernel, options_.name);
        const auto q = projected<own>(query_, "query", x);
        const auto k = projected<own>(key_, "key", source);
        const auto v = projected<own>(value_, "value", source);
        const auto kernel = output_.template get<T, shape<own, width>>("output/kernel", options_.kernel, 0, devices_);
        const auto products = detail::on_each(devices_, [&](auto i) {
            return matmul(detail::attend_by_heads<heads, size>(q[i], k[i], v[i], options_.causal), kernel[i]);
        });
        const device_scope first(devices_[0]);
        const auto sum = std::apply([](const auto&... p) { return add_n(p...); }, products);
        if (!options_.use_bias) return detail::as_tensor(sum);
        const auto bias = output_bias_.template get<T, shape<width>>("output/bias", options_.bias);
        return detail::as_tensor(sum + bias);
    }

    std::array<device_name, N> devices_;
    attention_options options_;
    projection query_, key_, value_;
    split_parameter output_;
    parameter output_bias_;
};
template <int Heads, std::size_t N>
parallel_multi_head_attention_layer<Heads, N> parallel_multi_head_attention(const device_name (&devices)[N],
                                                                            const attention_options& o = {}) {
    return {detail::array_of(devices), o};
}

} // namespace nn

} // namespace tenon
