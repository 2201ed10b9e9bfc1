#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/data/data_set.hpp>
#include <tenon/data/tables/columns.hpp>
#include <tenon/data/tables/table_rows.hpp>
#include <tenon/io/files/compressed.hpp>
#include <tenon/io/text/csv.hpp>

/// Tables of comma-separated values (RFC 4180) as data sets.
///
///     struct flat {
///         float price = 0;
///         std::int32_t rooms = 0;
///         tn::array<float, tn::shape<3>> scores; // three columns, from the one of this name on
///         static constexpr auto fields() {
///             return tn::record_fields("price", &flat::price, "rooms", &flat::rooms, "score_1", &flat::scores);
///         }
///     };
///     auto flats = tn::data::csv<flat>("flats.csv");             // by the names in the file's first line
///     auto prices = tn::data::csv("flats.csv", tn::data::columns<float, std::int32_t>("price", "rooms"));
///     auto rows = tn::data::csv<std::int32_t, tn::component<float, tn::shape<784>>>("train.csv", {.skip_header_lines = 1});

namespace tenon::data {

struct csv_read_options {
    /// Of columns in order; a struct's files have one line of names, which is read. Forgiving: beside what is left out.
    std::int64_t skip_header_lines = 0;
    char delimiter = ',';
    bool quotes = true;                      ///< fields may stand in quotes
    std::vector<std::string> na_values = {}; ///< what stands for a missing field beside an empty one
    /// What missing fields are, a text for each component; empty: none may be missing. A component without: std::nullopt.
    std::vector<std::optional<std::string>> defaults = {};
    compression compressed = compression::automatic;
    std::int64_t largest_line = std::int64_t{1} << 28; ///< bytes; a longer one is a resource_exhausted_error
    /// Files as people write them: blank lines, and lines that begin with `comment`, are left out, a lone carriage return ends a line, and
    /// spaces and tabs beside the quotes of a field are no part of it. A line of nothing is no row of one empty field then.
    bool forgiving = false;
    char comment = '#'; ///< forgiving: 0: there are none
};

} // namespace tenon::data

namespace tenon::detail {

/// The rows of files: in order or, where `named`, by the names in each file's first line. One name of n columns is that of the first.
data_node::pointer csv_rows(std::vector<std::string> files, std::vector<table_field> fields, bool named,
                            const data::csv_read_options& o, const std::string& who = "csv");
record_format csv_format(const data::csv_read_options& o);
/// The fields of a record as texts.
std::vector<std::string> csv_texts(std::string_view record, const record_place& where, const csv_options& how);

template <class T> inline constexpr bool is_csv_operand = false;
template <class T, auto... D>
inline constexpr bool is_csv_operand<operand_type<T, shape<D...>>> = sizeof...(D) <= 1 && (is_count<D> && ...);
template <class List> inline constexpr bool are_csv_operands = false;
template <class... Operand>
inline constexpr bool are_csv_operands<operand_list<Operand...>> = (is_csv_operand<Operand> && ...);

} // namespace tenon::detail

namespace tenon::data {

/// The rows of files, one file after another. C...: what each column holds, in order: T, or component<T, shape<n>> for n columns; or one
/// struct with fields(), whose names each file has in its first line, in any order and beside others. Text is UTF-8, or any other in
/// which ASCII stands for itself: invalid_argument_error for UTF-16 and UTF-32. A row that is none throws
/// invalid_argument_error with file, line and column, and who goes on gets the row behind it.
/// With columns, csv(file, columns<float>("price")), those that are named, as a struct's are.
template <class... C, class Which = csv_read_options>
auto csv(const name_list& files, const Which& which = {}, const csv_read_options& o = {}) {
    constexpr bool good = tenon::detail::is_columns<Which>
                              ? sizeof...(C) == 0
                              : sizeof...(C) > 0 && std::is_same_v<Which, csv_read_options>;
    static_assert(good, "tenon::data::csv: say what the columns hold: csv<row>(file), where row is a struct, "
                        "csv<float, int>(file), or csv(file, columns<float>(\"x\")); infer_csv(file) finds it out");
    constexpr bool known = ((!std::is_void_v<tenon::detail::component_t<C>> || requires { C::fields(); }) && ...);
    static_assert(known, "tenon::data::csv: a column holds numbers, bools or texts, a row is a struct with fields()");
    if constexpr (!good || !known) return ill_shaped{};
    else {
        using set = typename tenon::detail::table_of<Which, C...>::type;
        static_assert(tenon::detail::are_csv_operands<typename set::operands>,
                      "tenon::data::csv: a component is a number or a text, or component<T, shape<n>>: n columns");
        std::vector<tenon::detail::table_field> fields = tenon::detail::table_fields<Which, C...>(which);
        const bool named = !fields.front().names.empty();
        return set(untyped::data_set(tenon::detail::csv_rows(
            files.all(), std::move(fields), named, tenon::detail::options_among<csv_read_options>(which, o))));
    }
}

// clang-format off
ill_shaped csv(const name_list&, std::initializer_list<const char*>) = delete; // names come with types: csv(file, columns<float, int>("a", "b"))
// clang-format on

} // namespace tenon::data

#if TENON_HEADER_ONLY
#include <tenon/data/csv.ipp>
#endif
