#pragma once

#include <string>

#include <tenon/graph/tensor.hpp>

/// How variables begin.

namespace tenon {

/// How a variable begins. A value: it says which distribution, and the variable says which sizes.
struct initializer {
    enum class distribution { constant, uniform, normal, truncated_normal };
    enum class scale { fixed, glorot, he };
    distribution kind = distribution::constant;
    scale scaled = scale::fixed; ///< with glorot and he, deviations follow from fan-in and fan-out
    double a = 0;                ///< the constant; lower bound; mean
    double b = 0;                ///< upper bound; standard deviation
    std::uint64_t seed = 0;      ///< 0: from the graph's seed and the variable's place in it

    initializer() = default;
    initializer(distribution d, scale s, double first, double second, std::uint64_t op_seed) :
        kind(d), scaled(s), a(first), b(second), seed(op_seed) {}
    /// What else is given in place of one is a mistake.
    template <class X>
        requires(!std::is_same_v<X, initializer> && !std::is_same_v<X, ill_shaped>)
    initializer(const X&) { // NOLINT
        static_assert(detail::is_mistake<X>,
                      "tenon: how a variable begins is said by zeros(), constant_value(v), uniform(low, high), "
                      "normal(mean, deviation), glorot_uniform(), ..; a tensor or array to begin with is "
                      "given as variable(name, tensor)");
    }
    /// So are functions that are not called: random_normal, which makes a tensor besides, and zeros.
    using random_function = tensor<float, shape<>> (*)(double, double, std::uint64_t, called_from);
    initializer(random_function) = delete;   // normal(..), uniform(..), ..
    initializer(initializer (*)()) = delete; // zeros(), ones()
};

/// Zeros.
inline initializer zeros() { return {}; }
/// v everywhere.
inline initializer constant_value(double v) {
    return {initializer::distribution::constant, initializer::scale::fixed, v, 0, 0};
}
/// Ones.
inline initializer ones() { return constant_value(1); }
/// Even in [low, high).
inline initializer uniform(double low, double high, std::uint64_t seed = 0) {
    return {initializer::distribution::uniform, initializer::scale::fixed, low, high, seed};
}
/// Normal, of this mean and standard deviation.
inline initializer normal(double mean = 0, double deviation = 1, std::uint64_t seed = 0) {
    return {initializer::distribution::normal, initializer::scale::fixed, mean, deviation, seed};
}
/// Normal, drawn again beyond two standard deviations.
inline initializer truncated_normal(double mean = 0, double deviation = 1, std::uint64_t seed = 0) {
    return {initializer::distribution::truncated_normal, initializer::scale::fixed, mean, deviation, seed};
}
/// Uniform in +-sqrt(6 / (fan_in + fan_out)). X. Glorot, Y. Bengio, AISTATS 2010.
inline initializer glorot_uniform(std::uint64_t seed = 0) {
    return {initializer::distribution::uniform, initializer::scale::glorot, 0, 0, seed};
}
/// Truncated normal with deviation sqrt(2 / (fan_in + fan_out)).
inline initializer glorot_normal(std::uint64_t seed = 0) {
    return {initializer::distribution::truncated_normal, initializer::scale::glorot, 0, 0, seed};
}
/// Uniform in +-sqrt(6 / fan_in). K. He et al., ICCV 2015.
inline initializer he_uniform(std::uint64_t seed = 0) {
    return {initializer::distribution::uniform, initializer::scale::he, 0, 0, seed};
}
/// Truncated normal with deviation sqrt(2 / fan_in).
inline initializer he_normal(std::uint64_t seed = 0) {
    return {initializer::distribution::truncated_normal, initializer::scale::he, 0, 0, seed};
}

namespace detail {
/// Throws invalid_argument_error, naming the variable, where `how` cannot begin a variable of this type.
void check_initializer(const std::string& name, const initializer& how, element_type element);
/// What `how` makes of a variable's sizes: the node "v/initial_value" of a variable "v".
any_tensor initial_value(const initializer& how, const any_tensor& variable);
/// The same of a part of a variable: what it would make of the variable of sizes `whole`, called `name`, from a row on.
any_tensor initial_part(const initializer& how, const any_tensor& part, const extents& whole, std::int64_t first_row,
                        const std::string& name);
/// Such rows of the whole, `sizes`, that a part of other sizes begins with some elements of; `how` draws random numbers.
any_tensor initial_rows(const initializer& how, const any_tensor& part, const extents& sizes, const extents& whole,
                        std::int64_t first_row, const std::string& name);
/// The same of a value.
any_tensor initial_value(any_array value, const any_tensor& variable);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_initializers)

#include <algorithm>
#include <cmath>

#include <tenon/core/error.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/control/control.hpp>

namespace tenon::detail {

// Inputs and outputs per unit: of a matrix [in, out]; of a convolution's filter [..., in, out] times its window.
inline std::pair<double, double> fans(const extents& e) {
    if (e.rank() == 0) return {1, 1};
    if (e.rank() == 1) return {static_cast<double>(e[0].size), static_cast<double>(e[0].size)};
    double window = 1;
    for (int i = 0; i + 2 < e.rank(); ++i) window *= static_cast<double>(e[i].size);
    return {window * static_cast<double>(e[e.rank() - 2].size), window * static_cast<double>(e[e.rank() - 1].size)};
}

TENON_INLINE void check_initializer(const std::string& name, const initializer& how, element_type element) {
    using enum initializer::distribution;
    const std::string who = "variable \"" + name + "\"";
    if (element == element_type::string)
        throw invalid_argument_error(who + ": its elements are strings, which no initialiser makes; give a value");
    if (how.kind == constant) return;
    if (!is_floating(element))
        throw invalid_argument_error(who + ": its elements are " + name_of(element) +
                                     "; an initialiser that draws random numbers makes floating ones, so give a value, "
                                     "zeros() or the tensor random_integers<T, S>(low, high)");
    if (how.scaled != initializer::scale::fixed) return;
    if (how.kind == uniform) check_interval((who + ": uniform").c_str(), how.a, how.b);
    else check_deviation((who + (how.kind == normal ? ": normal" : ": truncated_normal")).c_str(), how.a, how.b);
}

// The interval, or the mean and the deviation, for a variable of these sizes.
inline std::pair<double, double> bounds_of(const initializer& how, const extents& sizes) {
    if (how.scaled == initializer::scale::fixed) return {how.a, how.b};
    const auto [in, out] = fans(sizes);
    const double n = how.scaled == initializer::scale::he ? in : (in + out) / 2;
    const double deviation = std::sqrt((how.scaled == initializer::scale::he ? 2.0 : 1.0) / std::max(1.0, n));
    if (how.kind == initializer::distribution::uniform)
        return {-deviation * std::sqrt(3.0), deviation * std::sqrt(3.0)};
    // A normal distribution cut at two deviations has 0.8796 of its deviation left.
    return {0, deviation / 0.87962566103423978};
}

inline constexpr const char* initial_value_name = "initial_value";

TENON_INLINE any_tensor initial_value(const initializer& how, const any_tensor& variable) {
    const tensor_type& type = variable.type();
    using enum initializer::distribution;
    const auto bounds = bounds_of(how, type.extents);
    const double a = bounds.first, b = bounds.second;
    constexpr const char* name = initial_value_name;
    const owned_scope of(variable, owned_scope::part::initializer);
    const auto seed = static_cast<std::int64_t>(how.seed);
    switch (how.kind) {
    case uniform: return tenon::add<random_uniform_op>({type.element, type.extents, a, b, seed}, {}, name);
    case normal: return tenon::add<random_normal_op>({type.element, type.extents, a, b, false, seed}, {}, name);
    case truncated_normal:
        return tenon::add<random_normal_op>({type.element, type.extents, a, b, true, seed}, {}, name);
    default: break;
    }
    return tenon::add<fill_like_op>({a}, {variable}, name);
}

TENON_INLINE any_tensor initial_part(const initializer& how, const any_tensor& part, const extents& whole,
                                     std::int64_t first_row, const std::string& name) {
    if (how.kind == initializer::distribution::constant) return initial_value(how, part);
    return initial_rows(how, part, part.extents(), whole, first_row, name);
}

TENON_INLINE any_tensor initial_rows(const initializer& how, const any_tensor& part, const extents& sizes,
                                     const extents& whole, std::int64_t first_row, const std::string& name) {
    using enum initializer::distribution;
    const auto bounds = bounds_of(how, whole);
    random_part_op::attributes a;
    a.element = part.element();
    a.shape = sizes;
    a.kind = how.kind == uniform  ? random_part_op::distribution::uniform
             : how.kind == normal ? random_part_op::distribution::normal
                                  : random_part_op::distribution::truncated_normal;
    a.a = bounds.first;
    a.b = bounds.second;
    a.seed = static_cast<std::int64_t>(how.seed);
    a.first = whole[0].size == 0 ? 0 : first_row * (whole.elements() / whole[0].size);
    a.of = name + "/" + initial_value_name;
    const owned_scope of(part, owned_scope::part::initializer);
    return tenon::add<random_part_op>(a, {}, initial_value_name);
}

} // namespace tenon::detail

#endif
