#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <tenon/core/sizes/extents.hpp>

/// Sizes as types: `shape<batch, 784>`.

namespace tenon {

/// Text as a template argument.
template <std::size_t N> struct fixed_string {
    char text[N]{};
    constexpr fixed_string(const char (&s)[N]) { // NOLINT: a literal is a fixed_string
        for (std::size_t i = 0; i < N; ++i) text[i] = s[i];
    }
    constexpr fixed_string() = default;
};

/// A named size, known at run time, with one value during a step. Two named sizes are equal exactly when they
/// have the same name. Define one as
///     inline constexpr struct batch : tenon::dim<"batch"> {} batch;
template <fixed_string Name> struct dim { static constexpr const char* name = Name.text; };

/// A size known at run time, about which nothing else is known.
struct dynamic_size {};
inline constexpr dynamic_size dyn{};

namespace detail {

template <class D> constexpr bool is_negative(const D& size) {
    if constexpr (std::is_integral_v<D>) return !(size >= 0);
    return false;
}

template <auto D> constexpr extent extent_of() {
    using type = std::remove_cvref_t<decltype(D)>;
    if constexpr (std::is_same_v<type, dynamic_size>) return extent{};
    else if constexpr (requires { type::name; }) return extent::named(type::name);
    else {
        static_assert(std::is_integral_v<type>, "tenon::shape: a size is a number, dyn, or a named size");
        return extent(is_negative(D) ? 0 : static_cast<std::int64_t>(D)); // of which its shape complains
    }
}

} // namespace detail

/// The sizes of a tensor, as a type; each is a number, `dyn`, or a named size. shape<> is a scalar's.
template <auto... Dims> struct shape {
    static_assert(sizeof...(Dims) <= max_rank, "tenon::shape: a tensor has at most 8 dimensions");
    static constexpr int rank = static_cast<int>(sizeof...(Dims));
    static constexpr tenon::extents extents = [] {
        tenon::extents e;
        (e.push_back(detail::extent_of<Dims>()), ...);
        return e;
    }();
    // Behind the others, which clang would leave out.
    static_assert(!(detail::is_negative(Dims) || ...),
                  "tenon::shape: a size is not negative: one that the data tell has a name, shape<batch, 784>, or is "
                  "dyn; one that follows from the others in reshape is deduce");
};

namespace detail {

template <class S> inline constexpr bool is_shape = false;
template <auto... D> inline constexpr bool is_shape<shape<D...>> = true;

// A number is an int where it fits, so that shape<784> and shape<std::size_t{784}> are one type.
template <auto D> constexpr auto canonical_dim() {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(D)>>) {
        if constexpr (static_cast<std::int64_t>(D) <= 0x7fffffff) return static_cast<int>(D);
        else return static_cast<std::int64_t>(D);
    } else return D;
}
template <class S> struct canonical;
template <auto... D> struct canonical<shape<D...>> { using type = shape<canonical_dim<D>()...>; };

} // namespace detail

/// The same shape with its numbers spelled one way.
template <class S> using canonical_t = typename detail::canonical<S>::type;

template <class S>
concept Shape = detail::is_shape<S>;

namespace detail {

// From values back to types: a named size is looked up by its name among the dimensions of `Sources`.
template <auto D> struct dim_constant { static constexpr auto value = D; };

template <class S> struct dim_table;
template <auto... D> struct dim_table<shape<D...>> {
    static constexpr int index_of([[maybe_unused]] const char* name) {
        int i = 0, found = -1;
        ((found = found < 0 && same_text(extent_of<D>().name, name) ? i : found, ++i), ...);
        return found;
    }
    template <int I> static constexpr auto at() {
        return []<std::size_t... J>(std::index_sequence<J...>) { return pick<I>(dim_constant<D>{}...); }
        (std::make_index_sequence<sizeof...(D)>{});
    }

private:
    template <int I, class First, class... Rest> static constexpr auto pick(First, Rest... rest) {
        if constexpr (I == 0) return First::value;
        else return pick<I - 1>(rest...);
    }
};

template <class Name, class First, class... Rest> constexpr auto named_dim() {
    constexpr int i = dim_table<First>::index_of(Name::value);
    if constexpr (i >= 0) return dim_table<First>::template at<i>();
    else {
        static_assert(sizeof...(Rest) > 0, "tenon: a result names a size that none of its operands has");
        return named_dim<Name, Rest...>();
    }
}

template <class Holder, int I> struct name_at { static constexpr const char* value = Holder::value[I].name; };

template <class Holder, int I, class... Sources> constexpr auto dim_at() {
    constexpr extent e = Holder::value[I];
    if constexpr (e.is_named()) return named_dim<name_at<Holder, I>, Sources...>();
    else if constexpr (!e.is_number()) return dyn;
    else if constexpr (e.size <= 0x7fffffff) return static_cast<int>(e.size);
    else return e.size;
}

template <class Holder, class Indices, class... Sources> struct shape_from;
template <class Holder, std::size_t... I, class... Sources>
struct shape_from<Holder, std::index_sequence<I...>, Sources...> {
    using type = shape<dim_at<Holder, static_cast<int>(I), Sources...>()...>;
};

/// The shape whose extents are Holder::value, with named sizes taken from the shapes in Sources.
template <class Holder, class... Sources>
using shape_from_t =
    typename shape_from<Holder, std::make_index_sequence<static_cast<std::size_t>(Holder::value.rank())>,
                        Sources...>::type;

} // namespace detail
} // namespace tenon
