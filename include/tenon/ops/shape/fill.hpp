#pragma once

#include <tenon/core/number.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/elementwise/constant.hpp>

/// Tensors of numbers that follow a rule, with NumPy's names.
///
///     auto mask = tn::ones<float, tn::shape<3, 4>>();
///     auto half = tn::full<tn::shape<10>>(0.5f);
///     auto unit = tn::eye<double, 3>();                    // [3, 3]
///     auto ids  = tn::arange<std::int32_t, 10>();          // 0 .. 9
///     auto grid = tn::linspace<float, 101>(-1, 1);         // -1, -0.98 .. 1
///
/// What has the sizes of another tensor: zeros_like, ones_like (ops/control/control.hpp). Without template arguments zeros()
/// and ones() are initialisers of variables (ops/state/state.hpp).

namespace tenon {

namespace untyped {
any_tensor full(element_type element, const extents& shape, const number& value, called_from here = caller());
any_tensor zeros(element_type element, const extents& shape = {}, called_from here = caller());
any_tensor ones(element_type element, const extents& shape = {}, called_from here = caller());
any_tensor eye(element_type element, std::int64_t n, called_from here = caller());
any_tensor eye(element_type element, std::int64_t n, std::int64_t m, called_from here = caller());
any_tensor arange(element_type element, std::int64_t n, const number& start = 0, const number& step = 1,
                  called_from here = caller());
any_tensor linspace(element_type element, std::int64_t n, double first, double last, called_from here = caller());
} // namespace untyped

/// `value` everywhere. All sizes are numbers.
template <Shape S, Element T> auto full(const T& value, called_from here = caller()) {
    const making made(here);
    static_assert(S::extents.is_static(), "tenon::full: the sizes must be numbers; use ones_like(x) * value");
    if constexpr (!S::extents.is_static()) return ill_shaped{};
    else if constexpr (S::rank == 0) return constant(value);
    else return broadcast_to<S>(constant(value));
}
/// Zeros of element type T and sizes S.
template <Element T, Shape S = shape<>> auto zeros(called_from here = caller()) {
    const making made(here);
    return full<S>(T());
}
/// Ones of element type T and sizes S.
template <Element T, Shape S = shape<>> auto ones(called_from here = caller()) {
    const making made(here);
    return full<S>(static_cast<T>(1));
}

/// 1 on the diagonal, else 0.
template <Element T, int N, int M = N> tensor<T, shape<N, M>> eye(called_from here = caller()) {
    const making made(here);
    return tensor<T, shape<N, M>>::unchecked(untyped::eye(element_type_of<T>, N, M));
}

/// start, start + step, ..: N numbers, each rounded once; integers exactly. invalid_argument_error where T does not
/// hold one of them, as 0.5 among integers.
template <Element T, int N>
tensor<T, shape<N>> arange(const number& start = 0, const number& step = 1, called_from here = caller()) {
    const making made(here);
    return tensor<T, shape<N>>::unchecked(untyped::arange(element_type_of<T>, N, start, step));
}

/// N numbers from first to last, at equal distances.
template <Element T, int N> tensor<T, shape<N>> linspace(double first, double last, called_from here = caller()) {
    const making made(here);
    static_assert(N > 0 && is_floating(element_type_of<T>), "tenon::linspace: one or more numbers of a floating type");
    return tensor<T, shape<N>>::unchecked(untyped::linspace(element_type_of<T>, N, first, last));
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_fill)

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>

namespace tenon {

namespace detail {

inline void check_fill(const char* name, element_type element, const extents& sizes) {
    const std::string who = std::string(name) + ": ";
    if (element == element_type::none || element == element_type::string)
        throw invalid_argument_error(who + name_of(element) + " is no type of numbers");
    if (sizes.overfull() || !sizes.is_static())
        throw invalid_argument_error(who + "the sizes must be numbers, at most 8, but are " + to_string(sizes) +
                                     "; what has the sizes of another tensor is ones_like(x) * value");
}

// A constant, written by write(T* first).
template <class Write> any_tensor written(element_type element, const extents& sizes, const Write& write) {
    any_array a = any_array::zeros(element, sizes);
    with_element(element, [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>) write(static_cast<T*>(a.data()));
    });
    return untyped::constant(std::move(a));
}

// start, start + step, ... in T, which holds the first and the last of n of them.
template <class T> void write_integers(T* to, std::int64_t n, const number& start, const number& step) {
    require_fits(start, element_type_of<T>, "arange: start");
    require_fits(step, element_type::int64, "arange: step");
    std::int64_t way = 0;
    T last{};
    if (__builtin_mul_overflow(n > 0 ? n - 1 : 0, step.to<std::int64_t>(), &way) ||
        __builtin_add_overflow(start.to<T>(), way, &last))
        throw invalid_argument_error("arange: " + to_string(start) + " and " + std::to_string(n - 1) + " steps of " +
                                     to_string(step) + " is no number of type " + name_of(element_type_of<T>));
    for (std::int64_t i = 0; i < n; ++i)
        to[i] = static_cast<T>(start.to<std::uint64_t>() + static_cast<std::uint64_t>(i) * step.to<std::uint64_t>());
}

} // namespace detail

namespace untyped {
TENON_INLINE any_tensor full(element_type element, const extents& shape, const number& value, called_from here) {
    const making made(here);
    detail::check_fill("full", element, shape);
    detail::require_fits(value, element, "full");
    const any_tensor one = detail::written(element, {}, [&]<class T>(T* to) { *to = value.to<T>(); });
    return shape.rank() == 0 ? one : broadcast_to(one, shape);
}
TENON_INLINE any_tensor zeros(element_type element, const extents& shape, called_from here) {
    return full(element, shape, 0, here);
}
TENON_INLINE any_tensor ones(element_type element, const extents& shape, called_from here) {
    return full(element, shape, 1, here);
}

TENON_INLINE any_tensor eye(element_type element, std::int64_t n, called_from here) { return eye(element, n, n, here); }
TENON_INLINE any_tensor eye(element_type element, std::int64_t n, std::int64_t m, called_from here) {
    const making made(here);
    detail::check_fill("eye", element, {n, m});
    return detail::written(element, {n, m}, [&]<class T>(T* to) {
        for (std::int64_t i = 0; i < n && i < m; ++i) to[i * m + i] = static_cast<T>(1);
    });
}
TENON_INLINE any_tensor arange(element_type element, std::int64_t n, const number& start, const number& step,
                               called_from here) {
    const making made(here);
    detail::check_fill("arange", element, {n});
    return detail::written(element, {n}, [&]<class T>(T* to) {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) detail::write_integers(to, n, start, step);
        else
            for (std::int64_t i = 0; i < n; ++i)
                to[i] = static_cast<T>(start.as_double() + static_cast<double>(i) * step.as_double());
    });
}
TENON_INLINE any_tensor linspace(element_type element, std::int64_t n, double first, double last, called_from here) {
    const making made(here);
    detail::check_fill("linspace", element, {n});
    if (n < 1 || !is_floating(element))
        throw invalid_argument_error("linspace: one or more numbers of a floating type are needed, not " +
                                     std::to_string(n) + " of type " + name_of(element));
    return detail::written(element, {n}, [&]<class T>(T* to) {
        for (std::int64_t i = 0; i + 1 < n; ++i)
            to[i] = static_cast<T>(first + static_cast<double>(i) * (last - first) / static_cast<double>(n - 1));
        to[n - 1] = static_cast<T>(n == 1 ? first : last);
    });
}
} // namespace untyped

} // namespace tenon

#endif
