#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <tenon/data/data_set.hpp>

/// What the numbers in a data set are like, for bringing them to mean 0 and deviation 1.
///
///     const auto pixels = tn::data::moments<0>(train);             // of component 0, uint8[32, 32, 3]: of three channels
///     auto x = tn::normalize(tn::cast<float>(images), tn::cast<float>(tn::constant(pixels.mean.copy())),
///                            tn::cast<float>(tn::constant(pixels.deviation.copy())));
///     const auto area = tn::data::moments<&flat::area>(flats);     // of a struct's member

namespace tenon {

namespace data {

/// Of each channel: the mean, and the standard deviation sqrt(mean((x - mean)^2)), which is 0 where all numbers are equal.
template <class S> struct channel_moments {
    array<double, S> mean;
    array<double, S> deviation;
    std::int64_t count = 0; ///< numbers in each channel
};

} // namespace data

namespace detail {

struct any_moments {
    any_array mean, deviation;
    std::int64_t count = 0;
};
any_moments moments_of(const untyped::data_set& set, std::size_t component);

// Channels are the places along the last axis; a scalar is one. void: their number is not known.
template <class Operand> struct channel_shape;
template <class T> struct channel_shape<operand_type<T, shape<>>> { using type = shape<>; };
template <class T, auto First, auto... Rest> struct channel_shape<operand_type<T, shape<First, Rest...>>> {
    static constexpr auto last = dim_table<shape<First, Rest...>>::template at<sizeof...(Rest)>();
    template <auto D> static auto shape_of() {
        if constexpr (is_count<D>) return std::type_identity<shape<D>>{};
        else return std::type_identity<void>{};
    }
    using type = typename decltype(shape_of<last>())::type;
};

template <std::size_t I, class List> struct operand_at { using type = void; };
template <std::size_t I, class First, class... Rest>
struct operand_at<I, operand_list<First, Rest...>> : operand_at<I - 1, operand_list<Rest...>> {};
template <class First, class... Rest> struct operand_at<0, operand_list<First, Rest...>> { using type = First; };

template <class Set, auto Component> struct component_index {
    static constexpr bool good = std::is_integral_v<decltype(Component)>;
    static constexpr std::size_t index() {
        if constexpr (good) return static_cast<std::size_t>(Component);
        else return 0;
    }
    static constexpr std::size_t value = index();
};
template <class R, class M, M R::*Member> struct component_index<data_set<R>, Member> {
    static constexpr bool good = true;
    static constexpr std::size_t value = field_index<Member>();
};

} // namespace detail

namespace untyped {
using data_moments = tenon::detail::any_moments;
/// Of component number `component`. Where its last size is known in each element only, that must be the same in all.
inline data_moments moments(const data_set& set, std::size_t component) {
    return tenon::detail::moments_of(set, component);
}
} // namespace untyped

namespace data {

/// Mean and deviation of each channel, the places along the last axis, of a component of numbers (or bools) that has a number or a
/// member; of a scalar component just one of each. The set, which must have an end, is gone through once, and all is computed in
/// double (by element, put together as T. Chan, G. Golub and R. LeVeque do it, "Updating formulae and a pairwise algorithm for
/// computing sample variances", 1979). invalid_argument_error where there are no numbers.
template <auto Component = 0, class... C> auto moments(const data_set<C...>& set) {
    using index = tenon::detail::component_index<data_set<C...>, Component>;
    using operand = typename tenon::detail::operand_at<index::value, typename data_set<C...>::operands>::type;
    static_assert(
        index::good && !std::is_void_v<operand>,
        "tenon::data::moments: give a component's number, from 0, or a member of the struct that elements are");
    if constexpr (index::good && !std::is_void_v<operand>) {
        using sizes = typename tenon::detail::channel_shape<operand>::type;
        constexpr bool known = !std::is_void_v<sizes>;
        static_assert(!std::is_same_v<typename operand::element, std::string>,
                      "tenon::data::moments: texts have no mean");
        static_assert(known,
                      "tenon::data::moments: how many channels there are, the last size of the component, must be "
                      "a number; scalars are counted before batch()");
        if constexpr (known) {
            tenon::detail::any_moments all = tenon::detail::moments_of(set.untyped(), index::value);
            return channel_moments<sizes>{array<double, sizes>(std::move(all.mean)),
                                          array<double, sizes>(std::move(all.deviation)), all.count};
        }
    }
}

} // namespace data
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/data/statistics.ipp>
#endif
