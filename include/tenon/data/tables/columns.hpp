#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/data/data_set.hpp>
#include <tenon/data/tables/table_rows.hpp>

/// The columns of a table by their names, without a struct.
///
///     auto flats = tn::data::csv("flats.csv", tn::data::columns<float, std::int64_t>("price", "rooms"));
///     // three columns, wherever they stand, as one tensor, float[3], and a fourth
///     auto trips = tn::data::csv("trips.csv",
///         tn::data::columns<tn::component<float, tn::shape<3>>, bool>({"distance", "speed", "hour"}, "late"));

namespace tenon::data {

/// What a component's column is called or, of component<T, shape<n>>, what n columns are.
using column_names = name_list;

} // namespace tenon::data

namespace tenon::detail {
template <class> using column_names_of = data::column_names;
inline std::vector<table_field> fields_of(const std::vector<tensor_type>& types,
                                          const std::vector<data::column_names>& names) {
    std::vector<table_field> fields;
    for (std::size_t c = 0; c < types.size(); ++c) fields.push_back({names[c].all(), types[c]});
    return fields;
}
} // namespace tenon::detail

namespace tenon::data {

/// Columns that hold C, and a name for each. Of CSV component<T, shape<n>> with one name is n columns from this one on; of JSON lines a list.
template <class... C> class table_columns {
public:
    explicit table_columns(std::vector<column_names> names) : names_(std::move(names)) {}
    const std::vector<column_names>& names() const noexcept { return names_; }

private:
    std::vector<column_names> names_;
};
template <class... C> table_columns<C...> columns(tenon::detail::column_names_of<C>... names) {
    return table_columns<C...>({std::move(names)...});
}
/// A mistake: more names or fewer.
template <class... C, class... Name>
    requires(sizeof...(Name) != sizeof...(C))
table_columns<C...> columns(const Name&...) {
    static_assert(tenon::detail::is_mistake<Name...>, "tenon::data::columns: give a name for each column: "
                                                      "columns<float, std::int64_t>(\"x\", \"y\")");
    return table_columns<C...>({});
}

} // namespace tenon::data

namespace tenon::detail {
template <class Which> inline constexpr bool is_columns = false;
template <class... C> inline constexpr bool is_columns<data::table_columns<C...>> = true;
// The data set of a table's rows: of components C, or of the columns that are named.
template <class Which, class... C> struct table_of { using type = data_set<C...>; };
template <class... D> struct table_of<data::table_columns<D...>> { using type = data_set<D...>; };

// Functions that open tables take columns and options, or options alone: one function, so that a compiler that refuses a call has little
// to say. Which of its arguments the options are.
template <class Options> const Options& options_among(const Options& first, const Options&) { return first; }
template <class Options, class Which> const Options& options_among(const Which&, const Options& second) {
    return second;
}
// The columns that are named or, of a struct, its members; else none has a name.
template <class Which, class... C> std::vector<table_field> table_fields(const Which& which) {
    using set = typename table_of<Which, C...>::type;
    if constexpr (is_columns<Which>) return fields_of(set::types(), which.names());
    else {
        std::vector<table_field> fields;
        for (const tensor_type& t : set::types()) fields.push_back({{}, t});
        if constexpr (requires { schema<C...>::names(); }) {
            const std::vector<std::string> names = schema<C...>::names();
            for (std::size_t i = 0; i < names.size(); ++i) fields[i].names = {names[i]};
        }
        return fields;
    }
}
} // namespace tenon::detail
