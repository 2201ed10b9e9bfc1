#pragma once

#include <tenon/data/data_set.hpp>

/// The beginning of a data set, as far as a condition holds.
///
///     const auto warm = tn::data::take_while(readings, [](float celsius) { return celsius < 100; });

namespace tenon::data {

/// set.take_while(f).
template <class... C, class F> data_set<C...> take_while(const data_set<C...>& set, F f) {
    return set.take_while(std::move(f));
}

} // namespace tenon::data
