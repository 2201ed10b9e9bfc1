#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/data/csv.hpp>

/// What is in a table that nobody has described: its columns and their types are found by looking.
///
///     const auto schema = tn::data::infer_csv("flats.csv");
///     std::puts(schema.to_text().c_str());              // columns, types, missing fields, some values, and columns<...>(...) to copy
///     const auto rows = tn::data::csv("flats.csv", schema.only({"price", "rooms"}));   // untyped::data_set
///     const auto table = tn::data::read_csv("flats.csv");                              // all of it, in memory
///     const tn::array<float, tn::shape<tn::dyn>> prices = table.column<float>("price");

namespace tenon::data {

/// What was found of a column: the first of these that all its fields are that are not missing.
///     int64    whole numbers, none of which has zeros before it ("02134" is a code); where fields are missing double, of which NaN says so
///     double   numbers, nan and inf among them
///     bool     true and false in any case; where fields are missing string
///     string   anything; dates too, as which `dates` says
struct inferred_column {
    std::string name;
    element_type element = element_type::string;
    std::int64_t missing = 0;          ///< fields, of the rows that were looked at
    bool dates = false;                ///< all are YYYY-MM-DD, with a time of day behind it or not
    std::vector<std::string> examples; ///< the first fields that differ, three at most
};

struct infer_options {
    std::int64_t rows = 1000; ///< that are looked at; -1: all
    /// Whether the first line has names; not said: where its fields differ, and none of them is missing (but the first, as pandas writes
    /// tables: that column is called ""), a number, a bool or a date.
    /// Without names columns are column_1, column_2, ...
    std::optional<bool> names = {};
    /// Where it says no na_values, "NA", "N/A", "n/a", "null" and "NULL" stand for missing fields beside empty ones. Defaults are not asked for.
    csv_read_options read = {};
};

struct csv_schema {
    std::string file; ///< that was looked at
    std::vector<inferred_column> columns;
    std::int64_t rows = 0;  ///< that were looked at
    bool whole = false;     ///< they are all that there are
    bool has_names = false; ///< the first line has them
    csv_read_options read;

    /// A table for people, and behind it the columns as they are written in a program.
    std::string to_text() const;
    /// not_found_error, naming those that there are.
    const inferred_column& column(std::string_view name) const;
    inferred_column& column(std::string_view name);
    /// With these columns only, in this order. invalid_argument_error of a file whose first line has no names.
    csv_schema only(const std::vector<std::string>& names) const;
};

/// Looks at a file's first rows. invalid_argument_error, naming file and line, where one has another number of fields than the first.
csv_schema infer_csv(const std::string& file, const infer_options& o = {});

/// The rows of files as a schema says, which may have been changed: a component for each column, double, int64, bool or string. Missing fields are NaN
/// and "". A field that is no such, or an int64 or a bool that is missing, as may be where the rows that were looked at had none, is an
/// invalid_argument_error that says where and what.
untyped::data_set csv(const name_list& files, const csv_schema& s);

/// A table in memory, by column.
class csv_table {
public:
    csv_table(csv_schema s, std::vector<any_array> columns, std::vector<array<bool, shape<dyn>>> missing) :
        schema_(std::move(s)), columns_(std::move(columns)), missing_(std::move(missing)) {}

    const csv_schema& schema() const noexcept { return schema_; }
    std::int64_t rows() const noexcept { return schema_.rows; }
    /// [rows] of the column's type. not_found_error, naming those that there are.
    const any_array& column(std::string_view name) const { return columns_[place(name)]; }
    /// As T, in memory of its own: a text as it is, numbers as the nearest T. invalid_argument_error, naming column and row, for a number
    /// that T has not, and for a column of another kind.
    template <Element T> array<T, shape<dyn>> column(std::string_view name) const {
        return array<T, shape<dyn>>(converted(place(name), element_type_of<T>));
    }
    /// The numbers of several columns side by side, [rows, columns].
    template <Element T> array<T, shape<dyn, dyn>> columns(const std::vector<std::string>& names) const {
        static_assert(!std::is_same_v<T, std::string>,
                      "tenon::data::csv_table::columns: numbers; ask for texts one by one");
        array<T, shape<dyn, dyn>> all(rows(), static_cast<std::int64_t>(names.size()));
        for (std::size_t c = 0; c < names.size(); ++c) {
            const auto one = column<T>(names[c]);
            for (std::int64_t r = 0; r < rows(); ++r) all(r, static_cast<std::int64_t>(c)) = one(r);
        }
        return all;
    }
    /// Which fields are missing.
    const array<bool, shape<dyn>>& missing(std::string_view name) const { return missing_[place(name)]; }
    /// Its first rows, side by side, for people.
    std::string to_text(std::int64_t rows = 10) const;

private:
    std::size_t place(std::string_view name) const;
    any_array converted(std::size_t c, element_type e) const;

    csv_schema schema_;
    std::vector<any_array> columns_;
    std::vector<array<bool, shape<dyn>>> missing_;
};

/// All of a file, whose types are found by looking at all of it first (infer_options::rows does not count).
csv_table read_csv(const std::string& file, const infer_options& o = {});

} // namespace tenon::data

#if TENON_HEADER_ONLY
#include <tenon/data/tables/csv_schema.ipp>
#endif
