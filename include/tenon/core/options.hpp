#pragma once

#include <cstddef>
#include <type_traits>

#include <tenon/core/config.hpp>

/// Of a misspelt member in `adam(0.1, {.beta = 0.9})` g++ says how else a class is made, and of no member. But it takes braces with any
/// members for an array's: so a constructor of such, which is worse than one of options, can name the options.

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#define TENON_TAKES_BRACES_FOR_ARRAYS 1
/// TENON_OTHER_BRACES(adam(learning_rate, detail::other_braces_than<adam_options, N>&)): in the class.
#define TENON_OTHER_BRACES(...) template <std::size_t N> __VA_ARGS__ = delete
/// TENON_OTHER_ARGUMENT(layer_norm, options_in_braces): of what is made of options alone; `...` is worse than those. (Where an argument is
/// converted by a constructor g++ 12 takes that for as bad.)
#define TENON_OTHER_ARGUMENT(NAME, WORDS) template <class WORDS = void> explicit NAME(...) = delete
/// TENON_OTHER_ARGUMENTS(adam, adam_options, a_rate_then_options_in_braces): of what is made of one argument and options.
#define TENON_OTHER_ARGUMENTS(NAME, OPTIONS, WORDS)                      \
    template <class A, class B, class... WORDS>                          \
        requires(!std::is_base_of_v<OPTIONS, B> || sizeof...(WORDS) > 0) \
    NAME(const A&, const B&, const WORDS&...)                            \
    = delete
#else
#define TENON_TAKES_BRACES_FOR_ARRAYS 0
#define TENON_OTHER_BRACES(...) static_assert(true)
#if defined(__clang__) // which takes braces for `...`
#define TENON_OTHER_ARGUMENT(NAME, WORDS) template <class WORDS = void> explicit NAME(...) = delete
#define TENON_OTHER_ARGUMENTS(NAME, OPTIONS, WORDS) TENON_OTHER_ARGUMENT(NAME, WORDS)
#else
#define TENON_OTHER_ARGUMENT(...) static_assert(true)
#define TENON_OTHER_ARGUMENTS(...) static_assert(true)
#endif
#endif

namespace tenon::detail {

template <class Options> struct no_such_member_or_its_value_is_of_another_type_in {
    template <class A> no_such_member_or_its_value_is_of_another_type_in(const A&); // NOLINT
};

#if TENON_TAKES_BRACES_FOR_ARRAYS
template <class Options, std::size_t N = 16>
using other_braces_than = const no_such_member_or_its_value_is_of_another_type_in<Options>[N];
#else
template <class Options> using other_braces_than = Options;
#endif

} // namespace tenon::detail
