#pragma once

#include <concepts>
#include <initializer_list>
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
class column_names {
public:
    template <std::convertible_to<std::string> Name> column_names(const Name& name) : all_{std::string(name)} {}
    column_names(std::initializer_list<std::string> names) : all_(names) {}
    explicit column_names(std::vector<std::string> names) : all_(std::move(names)) {}
    const std::vector<std::string>& all() const noexcept { return all_; }

private:
    std::vector<std::string> all_;
};

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
template <class... C> class columns {
    static_assert(sizeof...(C) > 0,
                  "tenon::data::columns: say what the columns hold: columns<float, std::int64_t>(\"x\", \"y\")");

public:
    explicit columns(tenon::detail::column_names_of<C>... names) : names_{std::move(names)...} {}
    template <class... Name>
        requires(sizeof...(Name) != sizeof...(C) && sizeof...(C) > 1) // of one, {"x", "y"} would be two of these, too
    explicit columns(const Name&...) {
        static_assert(sizeof...(Name) == sizeof...(C),
                      "tenon::data::columns: give a name for each column: columns<float, std::int64_t>(\"x\", \"y\")");
    }
    const std::vector<column_names>& names() const noexcept { return names_; }

private:
    std::vector<column_names> names_;
};

} // namespace tenon::data
