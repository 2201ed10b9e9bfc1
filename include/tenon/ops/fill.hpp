#pragma once

#include <tenon/core/error.hpp>
#include <tenon/core/number.hpp>
#include <tenon/ops/movement.hpp>
#include <tenon/ops/state.hpp>

/// Tensors of numbers that follow a rule, with NumPy's names.
///
///     auto mask = tn::ones<float, tn::shape<3, 4>>();
///     auto half = tn::full<tn::shape<10>>(0.5f);
///     auto unit = tn::eye<double, 3>();                    // [3, 3]
///     auto ids  = tn::arange<std::int32_t, 10>();          // 0 .. 9
///     auto grid = tn::linspace<float, 101>(-1, 1);         // -1, -0.98 .. 1
///
/// What has the sizes of another tensor: zeros_like, ones_like (ops/control.hpp). Without template arguments zeros()
/// and ones() are initialisers of variables (ops/state.hpp).

namespace tenon {

/// `value` everywhere. All sizes are numbers.
template <Shape S, Element T> auto full(const T& value) {
    static_assert(S::extents.is_static(), "tenon::full: the sizes must be numbers; use ones_like(x) * value");
    if constexpr (S::rank == 0) return constant(value);
    else return broadcast_to<S>(constant(value));
}
template <Element T, Shape S = shape<>> auto zeros() { return full<S>(T()); }
template <Element T, Shape S = shape<>> auto ones() { return full<S>(static_cast<T>(1)); }

/// 1 on the diagonal, else 0.
template <Element T, int N, int M = N> auto eye() {
    array<T, shape<N, M>> a;
    for (int i = 0; i < N && i < M; ++i) a.data()[std::int64_t{i} * M + i] = static_cast<T>(1);
    return constant(std::move(a));
}

/// start, start + step, ..: N numbers, each rounded once; integers exactly. invalid_argument_error where T does not
/// hold one of them, as 0.5 among integers.
template <Element T, int N> auto arange(const number& start = 0, const number& step = 1) {
    array<T, shape<N>> a;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        detail::require_fits(start, element_type_of<T>, "arange: start");
        detail::require_fits(step, element_type::int64, "arange: step");
        std::int64_t way = 0;
        T last{};
        if (__builtin_mul_overflow(std::int64_t{N > 0 ? N - 1 : 0}, step.to<std::int64_t>(), &way) ||
            __builtin_add_overflow(start.to<T>(), way, &last))
            throw invalid_argument_error("arange: " + to_string(start) + " and " + std::to_string(N - 1) +
                                         " steps of " + to_string(step) + " is no number of type " +
                                         name_of(element_type_of<T>));
        for (int i = 0; i < N; ++i)
            a.data()[i] =
                static_cast<T>(start.to<std::uint64_t>() + static_cast<std::uint64_t>(i) * step.to<std::uint64_t>());
    } else
        for (int i = 0; i < N; ++i) a.data()[i] = static_cast<T>(start.as_double() + i * step.as_double());
    return constant(std::move(a));
}

/// N numbers from first to last, at equal distances.
template <Element T, int N> auto linspace(double first, double last) {
    static_assert(N > 0 && is_floating(element_type_of<T>), "tenon::linspace: one or more numbers of a floating type");
    array<T, shape<N>> a;
    for (int i = 0; i + 1 < N; ++i) a.data()[i] = static_cast<T>(first + i * (last - first) / (N - 1));
    a.data()[N - 1] = static_cast<T>(N == 1 ? first : last);
    return constant(std::move(a));
}

} // namespace tenon
