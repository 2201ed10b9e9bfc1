#pragma once

#include <vector>

#include <tenon/data/data_set.hpp>

/// The beginning of a data set, as far as a condition holds.
///
///     const auto warm = tn::data::take_while(readings, [](float celsius) { return celsius < 100; });

namespace tenon::detail {
data_node::pointer taken_while(data_node::pointer from, shared_function<bool(const data_element&)> f);
} // namespace tenon::detail

namespace tenon::data {

/// The elements before the first for which f, a function of the host as of filter_host, gives false; none behind it is made. What f
/// throws is thrown where the element would have come.
template <class... C, class F> data_set<C...> take_while(const data_set<C...>& set, F f) {
    using schema = tenon::detail::schema<C...>;
    static_assert(schema::template can_call<F>,
                  "tenon::data::take_while: the function takes the element's components: a number or text "
                  "for a scalar, else array<T, shape<..>>");
    if constexpr (!schema::template can_call<F>) return set;
    else {
        const auto goes_on = [f](const std::vector<any_array>& x) mutable {
            return static_cast<bool>(schema::call(f, x));
        };
        return data_set<C...>(
            untyped::data_set(tenon::detail::taken_while(set.untyped().last(), goes_on), set.untyped().options()));
    }
}

} // namespace tenon::data

#if TENON_HEADER_ONLY
#include <tenon/data/take_while.ipp>
#endif
