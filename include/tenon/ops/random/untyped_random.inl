#pragma once

#include <cmath>
#include <limits>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>

/// What ops/random/random.hpp adds to graphs, and what it refuses.

namespace tenon {

namespace detail {

TENON_INLINE void check_interval(const char* op, double low, double high) {
    if (!(low < high) || !std::isfinite(high - low))
        throw invalid_argument_error(std::string(op) + ": [" + detail::text_of_number(low) + ", " +
                                     detail::text_of_number(high) +
                                     ") holds no number; give finite bounds, the lower one first");
}
TENON_INLINE void check_deviation(const char* op, double mean, double deviation) {
    if (!(deviation >= 0) || !std::isfinite(deviation) || !std::isfinite(mean))
        throw invalid_argument_error(std::string(op) + ": mean " + detail::text_of_number(mean) + " and deviation " +
                                     detail::text_of_number(deviation) + " must be finite, the deviation not negative");
}
TENON_INLINE void check_integers(const char* op, element_type element, std::int64_t low, std::int64_t high) {
    const std::string interval = "[" + std::to_string(low) + ", " + std::to_string(high) + ")";
    if (low >= high)
        throw invalid_argument_error(std::string(op) + ": " + interval +
                                     " holds no number; the lower bound comes first");
    if (!is_integer(element)) return; // the rule complains
    const int bits = 8 * static_cast<int>(size_of(element));
    const bool is_signed = is_signed_integer(element);
    const std::int64_t least = !is_signed   ? 0
                               : bits == 64 ? std::numeric_limits<std::int64_t>::min()
                                            : -(std::int64_t{1} << (bits - 1));
    const std::int64_t most =
        bits == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    if (low < least || high - 1 > most)
        throw invalid_argument_error(std::string(op) + ": " + interval + " holds numbers that " + name_of(element) +
                                     " does not have");
}

} // namespace detail

namespace untyped {
TENON_INLINE any_tensor random_uniform(element_type element, const extents& shape, double low, double high,
                                       std::uint64_t seed, called_from here) {
    const making made(here);
    detail::check_interval("random_uniform", low, high);
    return tenon::add<random_uniform_op>({element, shape, low, high, static_cast<std::int64_t>(seed)}, {});
}
TENON_INLINE any_tensor random_uniform_like(const any_tensor& x, double low, double high, std::uint64_t seed,
                                            called_from here) {
    const making made(here);
    detail::check_interval("random_uniform", low, high);
    return tenon::add<random_uniform_op>({x.element(), {}, low, high, static_cast<std::int64_t>(seed)}, {x});
}
TENON_INLINE any_tensor random_uniform(element_type element, const extents& shape, const any_tensor& x, double low,
                                       double high, std::uint64_t seed, called_from here) {
    return random_uniform_like(zeros(element, shape, {x}), low, high, seed, here);
}
TENON_INLINE any_tensor random_normal(element_type element, const extents& shape, const any_tensor& x, double mean,
                                      double deviation, std::uint64_t seed, called_from here) {
    return random_normal_like(zeros(element, shape, {x}), mean, deviation, seed, here);
}
TENON_INLINE any_tensor truncated_normal(element_type element, const extents& shape, const any_tensor& x, double mean,
                                         double deviation, std::uint64_t seed, called_from here) {
    return truncated_normal_like(zeros(element, shape, {x}), mean, deviation, seed, here);
}
TENON_INLINE any_tensor random_integers(element_type element, const extents& shape, const any_tensor& x,
                                        std::int64_t low, std::int64_t high, std::uint64_t seed, called_from here) {
    return random_integers_like(zeros(element, shape, {x}), low, high, seed, element, here);
}
TENON_INLINE any_tensor random_normal(element_type element, const extents& shape, double mean, double deviation,
                                      std::uint64_t seed, called_from here) {
    const making made(here);
    detail::check_deviation("random_normal", mean, deviation);
    return tenon::add<random_normal_op>({element, shape, mean, deviation, false, static_cast<std::int64_t>(seed)}, {});
}
TENON_INLINE any_tensor random_normal_like(const any_tensor& x, double mean, double deviation, std::uint64_t seed,
                                           called_from here) {
    const making made(here);
    detail::check_deviation("random_normal", mean, deviation);
    return tenon::add<random_normal_op>({x.element(), {}, mean, deviation, false, static_cast<std::int64_t>(seed)},
                                        {x});
}
TENON_INLINE any_tensor truncated_normal(element_type element, const extents& shape, double mean, double deviation,
                                         std::uint64_t seed, called_from here) {
    const making made(here);
    detail::check_deviation("truncated_normal", mean, deviation);
    return tenon::add<random_normal_op>({element, shape, mean, deviation, true, static_cast<std::int64_t>(seed)}, {});
}
TENON_INLINE any_tensor truncated_normal_like(const any_tensor& x, double mean, double deviation, std::uint64_t seed,
                                              called_from here) {
    const making made(here);
    detail::check_deviation("truncated_normal", mean, deviation);
    return tenon::add<random_normal_op>({x.element(), {}, mean, deviation, true, static_cast<std::int64_t>(seed)}, {x});
}
TENON_INLINE any_tensor random_integers(element_type element, const extents& shape, std::int64_t low, std::int64_t high,
                                        std::uint64_t seed, called_from here) {
    const making made(here);
    detail::check_integers("random_integers", element, low, high);
    return tenon::add<random_integers_op>({element, shape, low, high, static_cast<std::int64_t>(seed)}, {});
}
TENON_INLINE any_tensor random_integers_like(const any_tensor& x, std::int64_t low, std::int64_t high,
                                             std::uint64_t seed, element_type element, called_from here) {
    const making made(here);
    detail::check_integers("random_integers", element, low, high);
    return tenon::add<random_integers_op>({element, {}, low, high, static_cast<std::int64_t>(seed)}, {x});
}
TENON_INLINE any_tensor random_permutation_like(const any_tensor& x, std::uint64_t seed, element_type element,
                                                called_from here) {
    return tenon::add<random_permutation_op>({element, {}, static_cast<std::int64_t>(seed)}, {x}, here);
}
TENON_INLINE any_tensor random_permutation(element_type element, std::int64_t n, std::uint64_t seed, called_from here) {
    const making made(here);
    if (n < 0) throw invalid_argument_error("random_permutation: of " + std::to_string(n) + " numbers there is none");
    return tenon::add<random_permutation_op>({element, extents{n}, static_cast<std::int64_t>(seed)}, {});
}
TENON_INLINE any_tensor random_shuffle(const any_tensor& x, std::uint64_t seed, called_from here) {
    return tenon::add<random_shuffle_op>({static_cast<std::int64_t>(seed)}, {x}, here);
}
} // namespace untyped

} // namespace tenon
