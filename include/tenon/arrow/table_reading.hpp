#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/data/data_set.hpp>
#include <tenon/data/tables/columns.hpp>

/// Tables by columns, in Parquet files and in those of Arrow (IPC files and streams, Feather version 2), as data sets.
///
///     struct flat {
///         float price = 0;
///         std::string city;
///         tn::array<float, tn::shape<3>> scores; // a column of lists
///         static constexpr auto fields() {
///             return tn::record_fields("price", &flat::price, "city", &flat::city, "scores", &flat::scores);
///         }
///     };
///     auto flats = tn::data::parquet<flat>("flats.parquet");      // three columns of it are read
///     auto pairs = tn::data::arrow_file("flats.arrow", tn::data::columns<float, std::string>("price", "city"));
///
/// Fields of structs are columns, whose names have points: "address.city". So are those of structs in lists, of which a row has a list,
/// and of maps, "tags.key" and "tags.value". Where a struct is null, so are its fields.

namespace tenon::data {

struct table_read_options {
    /// The columns that the components are, by name; of a struct its fields() say so. Empty: the file's columns, in order, and no others.
    std::vector<std::string> columns = {};
    /// What nulls are, a text for each component, as in CSV; empty: a null is an invalid_argument_error. A component without:
    /// std::nullopt. It stands for a list, or for one element of it.
    std::vector<std::optional<std::string>> defaults = {};
    /// Rows that are decoded together at most, of Parquet about 64 MiB. A batch that lies within such rows shares their memory, where the column's numbers
    /// are of the component's type and none is null.
    std::int64_t decoded_rows = std::int64_t{1} << 16;
};

/// A column of a file, and what its rows are as a component: element_type::none where they are none, as of lists of lists.
struct table_column_type {
    std::string name;
    tensor_type type;
};

} // namespace tenon::data

namespace tenon::detail {

enum class table_format { parquet, arrow };

struct arrow_field {
    std::string name; ///< of the column; empty: the one at the component's place
    tensor_type type;
};
data_node::pointer arrow_table_rows(table_format format, std::vector<std::string> files,
                                    std::vector<arrow_field> fields, const data::table_read_options& o);

std::vector<data::table_column_type> arrow_table_columns(table_format format, const std::string& path);
/// Of the types of the first file's columns.
untyped::data_set untyped_table(table_format format, std::vector<std::string> files, const data::table_read_options& o);
/// Of each component its only name; `said` must be empty. invalid_argument_error.
std::vector<std::string> names_of_columns(table_format format, const std::vector<data::column_names>& names,
                                          const std::vector<std::string>& said);

// Sizes behind the first are numbers: lists of a column may differ in length, and what is in them may not.
template <class T> inline constexpr bool is_table_operand = false;
template <class T> inline constexpr bool is_table_operand<operand_type<T, shape<>>> = true;
template <class T, auto First, auto... D>
inline constexpr bool is_table_operand<operand_type<T, shape<First, D...>>> = (is_count<D> && ...);
template <class List> inline constexpr bool are_table_operands = false;
template <class... Operand>
inline constexpr bool are_table_operands<operand_list<Operand...>> = (is_table_operand<Operand> && ...);

template <class... C, class Which>
auto table_set(table_format format, const data::name_list& files, const Which& which, data::table_read_options o) {
    constexpr bool good =
        is_columns<Which> ? sizeof...(C) == 0 : sizeof...(C) > 0 && std::is_same_v<Which, data::table_read_options>;
    static_assert(
        good, "tenon::data::parquet, arrow_file: say what the columns hold: parquet<row>(file), where row is a struct, "
              "parquet<float, int>(file), or parquet(file, columns<float>(\"x\"))");
    if constexpr (!good) return ill_shaped{};
    else {
        using set = typename table_of<Which, C...>::type;
        static_assert(
            are_table_operands<typename set::operands>,
            "tenon::data::parquet, arrow_file: a component is a number, a text, or an array of either, whose sizes are "
            "numbers but for the first");
        o = options_among<data::table_read_options>(which, o);
        std::vector<arrow_field> fields;
        for (const tensor_type& t : set::types()) fields.push_back({{}, t});
        if constexpr (is_columns<Which>) o.columns = names_of_columns(format, which.names(), o.columns);
        else if constexpr (requires { schema<C...>::names(); }) {
            const std::vector<std::string> names = schema<C...>::names();
            for (std::size_t i = 0; i < names.size(); ++i) fields[i].name = names[i];
        }
        return set(untyped::data_set(arrow_table_rows(format, files.all(), std::move(fields), o)));
    }
}

} // namespace tenon::detail

namespace tenon::data {

/// The rows of Parquet files, one file after another. C...: what each column holds: T, or component<T, S> for lists; or one struct with
/// fields(), whose names are columns, in any order and beside others, which are not read. Lists hold as many elements as S says, in
/// lists of lists or in one; the first size may be dyn. Numbers become T where they fit: integers any integer, all numbers (and
/// decimals) float, double, half; dates and times the integers that are stored. A column of another type is an invalid_argument_error
/// that names both. A value that does not fit, a null or a list of another length is one with file, row and column, and who goes on
/// gets the row behind it. What Arrow's library cannot read is data_loss_error, and the next row group, or file, follows.
/// With columns, parquet(file, columns<float>("price")), those that are named, a name for each component.
template <class... C, class Which = table_read_options>
auto parquet(const name_list& files, const Which& which = {}, const table_read_options& o = {}) {
    return tenon::detail::table_set<C...>(tenon::detail::table_format::parquet, files, which, o);
}
/// The same of Arrow's IPC files and streams, and of Feather version 2. Streams may be packed (gzip, zlib, zstd).
template <class... C, class Which = table_read_options>
auto arrow_file(const name_list& files, const Which& which = {}, const table_read_options& o = {}) {
    return tenon::detail::table_set<C...>(tenon::detail::table_format::arrow, files, which, o);
}

/// What columns a file has, in order; of structs their fields.
inline std::vector<table_column_type> parquet_columns(const std::string& path) {
    return tenon::detail::arrow_table_columns(tenon::detail::table_format::parquet, path);
}
inline std::vector<table_column_type> arrow_columns(const std::string& path) {
    return tenon::detail::arrow_table_columns(tenon::detail::table_format::arrow, path);
}

} // namespace tenon::data

namespace tenon::untyped {

/// The same where types come at run time: components are the columns that are named, or all, and have the types that the first file
/// says (parquet_columns), which is opened now. invalid_argument_error that names a column whose rows are no arrays.
inline data_set parquet(std::vector<std::string> files, const data::table_read_options& o = {}) {
    return detail::untyped_table(detail::table_format::parquet, std::move(files), o);
}
inline data_set arrow_file(std::vector<std::string> files, const data::table_read_options& o = {}) {
    return detail::untyped_table(detail::table_format::arrow, std::move(files), o);
}

} // namespace tenon::untyped

#if TENON_HEADER_ONLY
#include <tenon/arrow/table_reading.ipp>
#endif
