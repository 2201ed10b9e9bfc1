#pragma once

#include <cstddef>

#include <tenon/core/config.hpp>

/// Of a misspelt member in `adam(0.1, {.beta = 0.9})` g++ says how else a class is made, and of no member. But it takes braces with any
/// members for an array's: so a constructor of such, which is worse than one of options, can name the options.

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#define TENON_TAKES_BRACES_FOR_ARRAYS 1
/// TENON_OTHER_BRACES(adam(learning_rate, detail::other_braces_than<adam_options, N>&)): in the class.
#define TENON_OTHER_BRACES(...) template <std::size_t N> __VA_ARGS__ = delete
#else
#define TENON_TAKES_BRACES_FOR_ARRAYS 0
#define TENON_OTHER_BRACES(...) static_assert(true)
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
