#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenon/data/data_set.hpp>
#include <tenon/data/tables/columns.hpp>
#include <tenon/io/files/compressed.hpp>

/// JSON lines as data sets: files with a JSON object (RFC 8259) in each line.
///
///     struct sample {
///         std::string text;
///         tn::array<float, tn::shape<3>> scores; // a list of three
///         bool good = false;
///         static constexpr auto fields() {
///             return tn::record_fields("text", &sample::text, "scores", &sample::scores, "good", &sample::good);
///         }
///     };
///     auto samples = tn::data::json_lines<sample>("samples.jsonl");
///     auto texts = tn::data::json_lines("samples.jsonl", tn::data::columns<std::string, bool>("text", "good"));

namespace tenon::data {

struct json_read_options {
    /// What members that are missing or null are, a text for each component; empty: none may be missing. A component without: std::nullopt.
    std::vector<std::optional<std::string>> defaults = {};
    compression compressed = compression::automatic;
    std::int64_t largest_line = std::int64_t{1} << 28; ///< bytes; a longer one is a resource_exhausted_error
};

} // namespace tenon::data

namespace tenon::detail {

/// The objects in the lines of files.
data_node::pointer json_objects(std::vector<std::string> files, const std::vector<table_field>& fields,
                                const data::json_read_options& o);

// Whether a list of this shape is one that a member can be: of any length, but what it holds is of sizes that are numbers.
template <class S> constexpr bool is_json_shape() {
    for (int k = 1; k < S::extents.rank(); ++k)
        if (!S::extents[k].is_number()) return false;
    return true;
}
template <class List> inline constexpr bool are_json_operands = false;
template <class... Operand>
inline constexpr bool are_json_operands<operand_list<Operand...>> = (is_json_shape<typename Operand::shape>() && ...);

} // namespace tenon::detail

namespace tenon::data {

/// The members of the objects, one file after another. C: a struct with fields(), each of which is a member of its name: a number, a text, true or
/// false, or, of arrays, lists of lists of .. of these sizes, of which the first may be dyn: a list of any length, which is empty where it is
/// missing and has a default. Members that are not asked for, and blank lines, are passed over; numbers are
/// rounded to nearest. A line that is no such object is an invalid_argument_error with file, line, member and what is there, and who
/// goes on gets the line behind it.
/// With columns, json_lines(file, columns<float>("price")), the members that are named.
template <class... C, class Which = json_read_options>
auto json_lines(const name_list& files, const Which& which = {}, const json_read_options& o = {}) {
    constexpr bool good = tenon::detail::is_columns<Which>
                              ? sizeof...(C) == 0
                              : sizeof...(C) == 1 && (Record<C> && ...) && std::is_same_v<Which, json_read_options>;
    static_assert(good, "tenon::data::json_lines: say what a line holds: json_lines<row>(file), where row is a "
                        "struct, or json_lines(file, columns<float>(\"x\"))");
    if constexpr (!good) return ill_shaped{};
    else {
        using set = typename tenon::detail::table_of<Which, C...>::type;
        static_assert(tenon::detail::are_json_operands<typename set::operands>,
                      "tenon::data::json_lines: the sizes of a member's lists are numbers, but for the first: array<T, "
                      "shape<3, 2>>, or component<T, shape<dyn, 2>>");
        return set(
            untyped::data_set(tenon::detail::json_objects(files.all(), tenon::detail::table_fields<Which, C...>(which),
                                                          tenon::detail::options_among<json_read_options>(which, o))));
    }
}

} // namespace tenon::data

#if TENON_HEADER_ONLY
#include <tenon/data/tables/json_lines.ipp>
#endif
