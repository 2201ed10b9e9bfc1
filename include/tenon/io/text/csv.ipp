#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/with_element.hpp>
#include <tenon/io/text/csv.hpp>
#include <tenon/io/text/read_number.hpp>

namespace tenon {

struct csv_row_decoder::field {
    std::string_view text;
    bool quoted = false;
    bool doubled = false; // has quotes that are doubled
};

// One record, field after field.
class csv_row_decoder::reader {
public:
    reader(const csv_row_decoder& d, std::string_view record, const record_place& where) :
        d_(d), where_(where), delimiter_(d.how_.delimiter) {
        if (!record.empty() && record.back() == '\n') record.remove_suffix(1);
        if (!record.empty() && record.back() == '\r') record.remove_suffix(1);
        begin_ = at_ = record.data();
        end_ = begin_ + record.size();
    }

    // Numbers and bools. What is not just a number between delimiters goes the long way.
    template <class T> void numbers(const column& c, T* to, std::int64_t row) {
        T spare{};
        T* at = to ? to + row * c.stride : &spare;
        const std::ptrdiff_t step = to ? 1 : 0;
        for (std::int64_t i = 0; i < c.fields; ++i, at += step) {
            if (!more_) too_few();
            T v{};
            detail::text_fault f = detail::text_fault::no_value;
            const char* behind = detail::read_number(past_spaces(at_), end_, v, f);
            if (f == detail::text_fault::none && !d_.na_numbers_) {
                if (behind != end_ && *behind != delimiter_) behind = past_spaces(behind);
                if (behind == end_ || *behind == delimiter_) {
                    *at = v;
                    leave(behind);
                    continue;
                }
            }
            const field read = next();
            if (!is_missing(read)) {
                if (const auto w = detail::element_of_text(read.text, c.element, at); w != detail::text_fault::none)
                    fail(detail::shown_text(read.text) + " " + detail::words(w, c.element));
            } else *at = *otherwise<T>(c);
        }
    }

    void strings(const column& c, std::string* to, std::int64_t row) {
        for (std::int64_t i = 0; i < c.fields; ++i) {
            if (!more_) too_few();
            const field read = next();
            std::string spare;
            std::string& at = to ? to[row * c.stride + i] : spare;
            if (read.text.empty() || is_na(read.text)) at = *otherwise<std::string>(c);
            else if (!read.doubled) at.assign(read.text);
            else {
                at.clear();
                for (std::size_t k = 0; k < read.text.size(); ++k) {
                    at += read.text[k];
                    if (read.text[k] == '"') ++k; // the one that doubles it
                }
            }
        }
    }

    void pass(const column& c) {
        for (std::int64_t i = 0; i < c.fields; ++i) {
            if (!more_) too_few();
            next();
        }
    }

    void finish() {
        if (!more_) return;
        const std::int64_t expected = number_;
        while (more_) next();
        fail_record(count_of(number_) + ", and " + std::to_string(expected) + (expected == 1 ? " is" : " are") +
                    " expected");
    }

private:
    bool is_space(char c) const noexcept { return (c == ' ' || c == '\t') && c != delimiter_; }
    const char* past_spaces(const char* p) const noexcept {
        while (p != end_ && is_space(*p)) ++p;
        return p;
    }
    void leave(const char* behind) noexcept {
        ++number_;
        more_ = behind != end_;
        at_ = more_ ? behind + 1 : end_;
    }

    // The field that begins here, which ends at a delimiter or with the record.
    field next() {
        field f;
        const char* const first = d_.how_.forgiving ? past_spaces(at_) : at_;
        if (d_.how_.quotes && first != end_ && *first == '"') {
            f.quoted = true;
            const char* p = first + 1;
            for (;; p += 2) {
                p = p < end_ ? static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end_ - p)))
                             : nullptr;
                if (!p) fail("a quote that never ends: " + detail::shown_text(rest()));
                if (p + 1 == end_ || p[1] != '"') break;
                f.doubled = true;
            }
            f.text = {first + 1, static_cast<std::size_t>(p - first - 1)};
            const char* const behind = d_.how_.forgiving ? past_spaces(p + 1) : p + 1;
            if (behind != end_ && *behind != delimiter_)
                fail("text after a closing quote: " + detail::shown_text(rest()) +
                     "; a quote inside of quotes is doubled");
            leave(behind);
            return f;
        }
        const char* p = at_;
        while (p != end_ && !d_.stops_[static_cast<unsigned char>(*p)]) ++p;
        if (p != end_ && *p == '"')
            fail("a quote in a field that does not begin with one: " + detail::shown_text(rest()) +
                 "; such a field stands in quotes, and its own are doubled; or set quotes to false");
        if (p != end_ && *p != delimiter_) fail("a line ends in a field without quotes: " + detail::shown_text(rest()));
        f.text = {at_, static_cast<std::size_t>(p - at_)};
        leave(p);
        return f;
    }
    std::string_view rest() {
        ++number_; // it is this field's fault
        return {at_, static_cast<std::size_t>(end_ - at_)};
    }

    bool is_na(std::string_view text) const {
        return std::find(d_.how_.na_values.begin(), d_.how_.na_values.end(), text) != d_.how_.na_values.end();
    }
    bool is_missing(const field& f) const { // of numbers
        std::string_view t = f.text;
        while (!t.empty() && is_blank(t.front())) t.remove_prefix(1);
        while (!t.empty() && is_blank(t.back())) t.remove_suffix(1);
        return t.empty() || is_na(t) || (!d_.how_.na_values.empty() && is_na(f.text));
    }
    static bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

    template <class T> const T* otherwise(const column& c) const {
        if (!c.otherwise) fail("the field is missing, and has no default");
        return static_cast<const T*>(c.otherwise.data());
    }

    static std::string count_of(std::int64_t n) { return std::to_string(n) + (n == 1 ? " field" : " fields"); }
    [[noreturn]] void too_few() const {
        fail_record((begin_ == end_ ? "the record is empty" : count_of(number_)) + ", and " + count_of(d_.fields_) +
                    (d_.fields_ == 1 ? " is" : " are") + " expected");
    }
    [[noreturn]] void fail(const std::string& why) const {
        const auto& names = d_.how_.header;
        const auto at = static_cast<std::size_t>(number_ - 1);
        fail_record("column " + std::to_string(number_) + (at < names.size() ? " (" + names[at] + ")" : "") + ": " +
                    why);
    }
    [[noreturn]] void fail_record(const std::string& why) const {
        throw invalid_argument_error(d_.who_ + ": " + to_string(where_) + why);
    }

    const csv_row_decoder& d_;
    const record_place& where_;
    const char delimiter_;
    const char *begin_, *at_, *end_;
    std::int64_t number_ = 0; // fields that were read
    bool more_ = true;        // another field begins here
};

TENON_INLINE char csv_row_decoder::checked_delimiter(const std::string& who, const csv_options& o) {
    const char c = o.delimiter;
    const bool in_numbers =
        detail::is_decimal_digit(c) || c == '+' || c == '-' || c == '.' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    if (in_numbers || c == '\n' || c == '\r' || (c == '"' && o.quotes))
        throw invalid_argument_error(who + ": fields cannot be delimited by " + detail::shown_text({&c, 1}));
    return c;
}

TENON_INLINE csv_row_decoder::csv_row_decoder(std::string who, std::vector<csv_column> columns, csv_options options) :
    who_(std::move(who)), how_(std::move(options)) {
    how_.delimiter = checked_delimiter(who_, how_);
    for (const char c : {how_.delimiter, '\n', '\r', how_.quotes ? '"' : '\n'})
        stops_[static_cast<unsigned char>(c)] = true;
    for (const csv_column& c : columns) {
        const std::int64_t number = fields_ + 1;
        if (c.fields < 1 || c.fields > (std::int64_t{1} << 40))
            throw invalid_argument_error(who_ + ": column " + std::to_string(number) + " has " +
                                         std::to_string(c.fields) + " fields");
        column& made = columns_.emplace_back(column{c.element, c.fields, std::max(c.stride, c.fields), {}});
        if (c.otherwise && c.element != element_type::none) {
            made.otherwise = any_array(c.element, {});
            const detail::text_fault f = detail::element_of_text(*c.otherwise, c.element, made.otherwise.data());
            if (f != detail::text_fault::none)
                throw invalid_argument_error(who_ + ": the default of column " + std::to_string(number) + ", " +
                                             detail::shown_text(*c.otherwise) + ", " + detail::words(f, c.element));
        }
        fields_ += c.fields;
    }
    if (columns_.empty()) throw invalid_argument_error(who_ + ": there are no columns");
    for (const std::string& na : how_.na_values) {
        double v = 0;
        bool truth = false;
        na_numbers_ = na_numbers_ ||
                      detail::element_of_text(na, element_type::float64, &v) != detail::text_fault::no_value ||
                      detail::element_of_text(na, element_type::boolean, &truth) == detail::text_fault::none;
    }
}

TENON_INLINE void csv_row_decoder::decode(std::string_view record, const record_place& where, void* const* out,
                                          std::int64_t row) const {
    reader r(*this, record, where);
    for (const column& c : columns_) {
        switch (c.element) {
        case element_type::none: r.pass(c); continue;
        case element_type::float32: r.numbers(c, static_cast<float*>(*out), row); break;
        case element_type::string: r.strings(c, static_cast<std::string*>(*out), row); break;
        default:
            detail::with_element(c.element, [&]<class T>(const T&) {
                if constexpr (!std::is_same_v<T, std::string>) r.numbers(c, static_cast<T*>(*out), row);
            });
        }
        ++out;
    }
    r.finish();
}

} // namespace tenon
