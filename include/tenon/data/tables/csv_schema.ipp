#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/text/columns.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/data/tables/csv_schema.hpp>
#include <tenon/io/records/record_source.hpp>
#include <tenon/io/text/element_text.hpp>
#include <tenon/io/text/read_number.hpp>

namespace tenon::detail {

// "2024-02-29", "2024-02-29 12:30:00", "2024-02-29T12:30Z"
inline bool is_date(std::string_view text) {
    static constexpr std::string_view form = "dddd-dd-dd dd:dd:dd";
    std::size_t i = 0;
    for (; i < text.size() && i < form.size(); ++i) {
        const bool fits = form[i] == 'd'   ? is_decimal_digit(text[i])
                          : form[i] == ' ' ? text[i] == ' ' || text[i] == 'T'
                                           : text[i] == form[i];
        if (!fits) break;
    }
    const auto number = [&](std::size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
    if (i < 10 || number(5) < 1 || number(5) > 12 || number(8) < 1 || number(8) > 31) return false;
    if (i == 10) return i == text.size();
    if (i != 16 && i != 19) return false;
    return text.find_first_not_of("0123456789.:+-Z", i) == text.npos; // fractions of a second, a time zone
}

inline std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// What the fields of a column may be, of those that were seen.
class column_guess {
public:
    // `empty`: missing as a text; `blank`: as a number.
    void see(std::string_view text, bool empty, bool blank) {
        empty_ += empty;
        blank_ += blank;
        if (blank) return;
        any_ = true;
        if (examples_.size() < 3 && std::find(examples_.begin(), examples_.end(), text) == examples_.end())
            examples_.emplace_back(text);
        text = without_blanks(text);
        const std::string_view digits = text.substr(text.starts_with('-') || text.starts_with('+'));
        if (digits.size() > 1 && digits[0] == '0' && is_decimal_digit(digits[1])) whole_ = number_ = false; // a code
        std::int64_t n = 0;
        double v = 0;
        bool truth = false;
        const bool all_digits = std::all_of(digits.begin(), digits.end(), is_decimal_digit);
        if (whole_ || (number_ && all_digits)) {
            const text_fault f = element_of_text(text, element_type::int64, &n);
            whole_ = whole_ && f == text_fault::none;
            exact_ = exact_ && std::abs(static_cast<double>(n)) < 9007199254740992.0;
            // What is too large for 64 bits loses digits as a number.
            if (f == text_fault::out_of_range) number_ = false;
        }
        number_ = number_ && element_of_text(text, element_type::float64, &v) == text_fault::none;
        truth_ = truth_ && text.size() > 1 && element_of_text(text, element_type::boolean, &truth) == text_fault::none;
        dates_ = dates_ && is_date(text);
    }
    bool is_name() const { return blank_ == 0 && any_ && !whole_ && !number_ && !truth_ && !dates_; }
    data::inferred_column found(std::string name) const {
        data::inferred_column c;
        c.name = std::move(name);
        c.examples = examples_;
        c.dates = any_ && dates_;
        if (any_ && whole_ && blank_ == 0) c.element = element_type::int64;
        else if (any_ && number_ && (exact_ || (!whole_ && blank_ == 0))) c.element = element_type::float64;
        else if (any_ && truth_ && blank_ == 0) c.element = element_type::boolean;
        c.missing = c.element == element_type::string ? empty_ : blank_;
        return c;
    }

private:
    bool any_ = false, whole_ = true, number_ = true, truth_ = true, dates_ = true;
    bool exact_ = true; // whole numbers are so as doubles too
    std::int64_t empty_ = 0, blank_ = 0;
    std::vector<std::string> examples_;
};

// The rows of a file as texts.
class csv_text_rows {
public:
    csv_text_rows(const std::string& file, const data::csv_read_options& o) :
        file_(file),
        how_{.delimiter = o.delimiter, .quotes = o.quotes, .forgiving = o.forgiving},
        source_(open_records("csv", file, csv_format(o))),
        na_values_(o.na_values) {}
    bool next(std::vector<std::string>& fields) {
        std::string_view record;
        if (!source_->next(record)) return false;
        const record_place where{.file = file_, .line = source_->number()};
        if (!decoder_) {
            fields = csv_texts(record, where, how_);
            decoder_.emplace(
                "csv", std::vector<csv_column>{{element_type::string, "", static_cast<std::int64_t>(fields.size())}},
                how_);
        } else {
            void* const to = fields.data();
            decoder_->decode(record, where, &to, 0);
        }
        return true;
    }
    // As csv_row_decoder has it.
    bool is_empty(std::string_view text) const {
        return text.empty() || std::find(na_values_.begin(), na_values_.end(), text) != na_values_.end();
    }
    bool is_blank(std::string_view text) const { return is_empty(text) || is_empty(without_blanks(text)); }

private:
    const std::string file_;
    const csv_options how_;
    const std::unique_ptr<record_source> source_;
    const std::vector<std::string>& na_values_;
    std::optional<csv_row_decoder> decoder_;
};

inline std::string type_words(const data::inferred_column& c) {
    return std::string(name_of(c.element)) + (c.dates ? " (dates)" : "");
}
// Lines of cells, each column as wide as its widest.
inline std::string aligned(const std::vector<std::vector<std::string>>& lines) {
    std::vector<std::size_t> widths;
    for (const auto& line : lines)
        for (std::size_t c = 0; c < line.size(); ++c) {
            if (c == widths.size()) widths.push_back(0);
            widths[c] = std::max(widths[c], columns_of(line[c]));
        }
    std::string text;
    for (const auto& line : lines) {
        std::string row;
        for (std::size_t c = 0; c < line.size(); ++c)
            row += line[c] + std::string(c + 1 < line.size() ? widths[c] - columns_of(line[c]) + 2 : 0, ' ');
        text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

// As a text is written in C++.
inline std::string as_literal(std::string_view text) {
    std::string said = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        char octal[8] = {};
        if (byte < 0x20 || byte == 0x7f) std::snprintf(octal, sizeof octal, "\\%03o", byte);
        said += octal[0] ? octal : c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return said + '"';
}

inline std::string known_columns(const std::vector<data::inferred_column>& all) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 20); ++i)
        names += (i ? ", " : "") + shown_text(all[i].name);
    return names + (all.size() > 20 ? ", ..." : "");
}

} // namespace tenon::detail

namespace tenon::data {

TENON_INLINE const inferred_column& csv_schema::column(std::string_view name) const {
    const auto at =
        std::find_if(columns.begin(), columns.end(), [&](const inferred_column& c) { return c.name == name; });
    if (at == columns.end())
        throw not_found_error("csv: '" + file + "' has no column " + tenon::detail::shown_text(name) + "; there are " +
                              tenon::detail::known_columns(columns));
    return *at;
}
TENON_INLINE inferred_column& csv_schema::column(std::string_view name) {
    return const_cast<inferred_column&>(std::as_const(*this).column(name));
}

TENON_INLINE csv_schema csv_schema::only(const std::vector<std::string>& names) const {
    if (!has_names)
        throw invalid_argument_error("csv: the first line of '" + file +
                                     "' has no names by which some of its columns could be found");
    csv_schema some = *this;
    some.columns.clear();
    for (const std::string& name : names) some.columns.push_back(column(name));
    return some;
}

TENON_INLINE std::string csv_schema::to_text() const {
    std::vector<std::vector<std::string>> lines{{"column", "type", "missing", "examples"}};
    std::string types, names;
    for (const inferred_column& c : columns) {
        std::string examples;
        for (const std::string& e : c.examples)
            examples +=
                (examples.empty() ? "" : ", ") + (c.element == element_type::string ? tenon::detail::shown_text(e) : e);
        lines.push_back({c.name, tenon::detail::type_words(c), std::to_string(c.missing), examples});
        types += (types.empty() ? "" : ", ") + std::string(c.element == element_type::string  ? "std::string"
                                                           : c.element == element_type::int64 ? "std::int64_t"
                                                                                              : name_of(c.element));
        names += (names.empty() ? "" : ", ") + tenon::detail::as_literal(c.name);
    }
    return "'" + file + "': " + std::to_string(columns.size()) + " columns, " + (whole ? "all " : "the first ") +
           std::to_string(rows) + " rows" + (has_names ? "" : ", no names in the first line") + "\n" +
           tenon::detail::aligned(lines) +
           (has_names ? "tn::data::columns<" + types + ">(" + names + ")\n" : "tn::data::csv<" + types + ">(..)\n");
}

TENON_INLINE csv_schema infer_csv(const std::string& file, const infer_options& o) {
    csv_schema s;
    s.file = file;
    s.read = o.read;
    s.read.defaults.clear();
    if (s.read.na_values.empty()) s.read.na_values = {"NA", "N/A", "n/a", "null", "NULL"};
    tenon::detail::csv_text_rows from(file, s.read);
    std::vector<std::string> fields, names;
    if (!from.next(fields))
        throw invalid_argument_error("csv: '" + file + "' has no rows, so nothing is known of its columns");
    s.has_names = o.names.value_or(true);
    if (!o.names)
        for (std::size_t c = 0; c < fields.size(); ++c) {
            tenon::detail::column_guess first;
            first.see(fields[c], from.is_empty(fields[c]), from.is_blank(fields[c]));
            const bool unnamed =
                c == 0 && fields.size() > 1 && fields[0].empty(); // numbers of rows, as pandas writes them
            s.has_names = s.has_names && (unnamed || first.is_name()) &&
                          std::find(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(c), fields[c]) ==
                              fields.begin() + static_cast<std::ptrdiff_t>(c);
        }
    std::vector<tenon::detail::column_guess> guesses(fields.size());
    bool there = true;
    if (s.has_names) {
        names = fields;
        there = from.next(fields);
    } else
        for (std::size_t c = 1; c <= fields.size(); ++c) names.push_back("column_" + std::to_string(c));
    for (; there && s.rows != o.rows; there = from.next(fields), ++s.rows)
        for (std::size_t c = 0; c < fields.size(); ++c)
            guesses[c].see(fields[c], from.is_empty(fields[c]), from.is_blank(fields[c]));
    s.whole = !there;
    for (std::size_t c = 0; c < names.size(); ++c) s.columns.push_back(guesses[c].found(names[c]));
    return s;
}

TENON_INLINE untyped::data_set csv(const name_list& files, const csv_schema& s) {
    std::vector<tenon::detail::table_field> fields;
    csv_read_options o = s.read;
    o.defaults.clear();
    for (const inferred_column& c : s.columns) {
        fields.push_back({{c.name}, {c.element, {}}});
        if (c.element == element_type::string) o.defaults.emplace_back("");
        else if (is_floating(c.element)) o.defaults.emplace_back("nan");
        else o.defaults.emplace_back();
    }
    const std::string who = "csv (types of the first " + std::to_string(s.rows) + " rows of '" + s.file + "')";
    return untyped::data_set(tenon::detail::csv_rows(files.all(), std::move(fields), s.has_names, o, who));
}

TENON_INLINE csv_table read_csv(const std::string& file, const infer_options& o) {
    infer_options all = o;
    all.rows = -1;
    csv_schema s = infer_csv(file, all);
    std::vector<any_array> columns;
    std::vector<array<bool, shape<dyn>>> missing;
    for (const inferred_column& c : s.columns) {
        columns.emplace_back(c.element, extents{s.rows});
        missing.emplace_back(s.rows);
    }
    tenon::detail::csv_text_rows from(file, s.read);
    std::vector<std::string> fields;
    if (s.has_names) (void)from.next(fields);
    for (std::int64_t r = 0; r < s.rows; ++r) {
        if (!from.next(fields)) throw data_loss_error("csv: '" + file + "' became shorter while it was read");
        for (std::size_t c = 0; c < columns.size(); ++c) {
            missing[c](r) =
                s.columns[c].element == element_type::string ? from.is_empty(fields[c]) : from.is_blank(fields[c]);
            tenon::detail::with_element(s.columns[c].element, [&]<class T>(const T&) {
                T& to = columns[c].data<T>()[r];
                if constexpr (std::is_same_v<T, std::string>) to = missing[c](r) ? std::string() : fields[c];
                else if (!missing[c](r)) {
                    if (tenon::detail::element_of_text(fields[c], s.columns[c].element, &to) !=
                        tenon::detail::text_fault::none)
                        throw data_loss_error("csv: '" + file + "' was changed while it was read");
                } else if constexpr (std::is_same_v<T, double>) to = std::numeric_limits<double>::quiet_NaN();
                else throw data_loss_error("csv: '" + file + "' was changed while it was read");
            });
        }
    }
    return csv_table(std::move(s), std::move(columns), std::move(missing));
}

TENON_INLINE std::size_t csv_table::place(std::string_view name) const {
    return static_cast<std::size_t>(&schema_.column(name) - schema_.columns.data());
}

TENON_INLINE any_array csv_table::converted(std::size_t c, element_type e) const {
    const any_array& from = columns_[c];
    if (from.element() == e) return from.copy();
    const std::string who =
        "csv: column " + tenon::detail::shown_text(schema_.columns[c].name) + " of '" + schema_.file + "'";
    const bool whole = from.element() == element_type::int64;
    if (!(whole || from.element() == element_type::float64) || !is_numeric(e))
        throw invalid_argument_error(who + " is " + name_of(from.element()) + ", not " + name_of(e));
    any_array to(e, from.extents());
    const auto convert = [&]<class A>(const A* v) {
        tenon::detail::with_element(e, [&]<class B>(const B&) {
            if constexpr (!std::is_same_v<B, std::string>)
                for (std::int64_t r = 0; r < from.elements(); ++r) {
                    if constexpr (std::is_integral_v<B> && !std::is_same_v<B, bool>) {
                        std::int64_t n = 0;
                        bool fits = true;
                        if constexpr (std::is_integral_v<A>) n = v[r];
                        else {
                            fits = v[r] >= -0x1p63 && v[r] < 0x1p63 && std::trunc(v[r]) == v[r];
                            if (fits) n = static_cast<std::int64_t>(v[r]);
                        }
                        if (!fits || !std::in_range<B>(n))
                            throw invalid_argument_error(who + ": row " + std::to_string(r) + ": " +
                                                         tenon::detail::text_of_number(v[r]) + " is no " + name_of(e));
                        to.data<B>()[r] = static_cast<B>(n);
                    } else to.data<B>()[r] = static_cast<B>(static_cast<double>(v[r]));
                }
        });
    };
    if (whole) convert(from.data<std::int64_t>());
    else convert(from.data<double>());
    return to;
}

TENON_INLINE std::string csv_table::to_text(std::int64_t rows) const {
    std::vector<std::vector<std::string>> lines(1);
    for (const inferred_column& c : schema_.columns) lines[0].push_back(c.name);
    const std::int64_t shown = std::clamp<std::int64_t>(rows, 0, schema_.rows);
    for (std::int64_t r = 0; r < shown; ++r) {
        std::vector<std::string>& line = lines.emplace_back();
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            const any_array& a = columns_[c];
            if (missing_[c](r)) line.emplace_back("-");
            else if (a.element() == element_type::string)
                line.push_back(tenon::detail::shown_text(a.data<std::string>()[r]));
            else if (a.element() == element_type::boolean) line.emplace_back(a.data<bool>()[r] ? "true" : "false");
            else if (a.element() == element_type::int64) line.push_back(std::to_string(a.data<std::int64_t>()[r]));
            else line.push_back(tenon::detail::text_of_number(a.data<double>()[r]));
        }
    }
    return tenon::detail::aligned(lines) +
           (shown < schema_.rows ? "... (" + std::to_string(schema_.rows) + " rows)\n" : std::string());
}

} // namespace tenon::data
