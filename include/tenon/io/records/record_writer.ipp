#pragma once

#include <charconv>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/io/records/record_writer.hpp>
#include <tenon/io/records/tfrecord.hpp>

namespace tenon {

namespace detail {

template <class F> void record_output::told(F f) const { detail::said_by(who_, f); }

TENON_INLINE record_output::record_output(const char* who, std::string path, compression how) :
    who_(who), path_(std::move(path)) {
    told([&] { file_ = packed(file_system_of(path_).create(path_), path_, how); });
}

TENON_INLINE void record_output::write(const char* from, std::size_t bytes) {
    constexpr std::size_t enough = 1 << 18;
    if (!file_)
        throw failed_precondition_error(
            std::string(who_) + ": '" + path_ +
            "' is committed, or its writer was moved from: nothing is written to it any more");
    if (waiting_.size() + bytes > enough) flush();
    if (bytes > enough) told([&] { file_->write(from, bytes); });
    else waiting_.append(from, bytes);
}

TENON_INLINE void record_output::flush() {
    if (waiting_.empty()) return;
    told([&] { file_->write(waiting_.data(), waiting_.size()); });
    waiting_.clear();
}

TENON_INLINE void record_output::commit() {
    write(nullptr, 0); // is it open?
    flush();
    told([&] { file_->commit(); });
    file_ = nullptr;
}

TENON_INLINE void record_output::refuse(const std::string& what) const {
    throw invalid_argument_error(std::string(who_) + ": '" + path_ + "': " + what);
}

} // namespace detail

TENON_INLINE void tfrecord_writer::write(std::string_view record) {
    const detail::tfrecord_frame around(record);
    out_.write(around.head, sizeof around.head);
    out_.write(record);
    out_.write(around.tail, sizeof around.tail);
}

TENON_INLINE void text_writer::write(std::string_view line) {
    if (line.find('\n') != std::string_view::npos || line.ends_with('\r'))
        out_.refuse("a line with a '\\n' in it or a '\\r' at its end would be read as another");
    out_.write(line);
    out_.write('\n');
}

TENON_INLINE csv_writer::csv_writer(const std::string& path, const std::vector<std::string>& header,
                                    const csv_writer_options& options) :
    out_("csv_writer", path, options.compressed), options_(options) {
    if (options.delimiter == '"' || options.delimiter == '\n' || options.delimiter == '\r')
        out_.refuse("a quote or a line end is no delimiter");
    for (const std::string& name : header) field(name);
    if (!header.empty()) end_row();
}

TENON_INLINE void csv_writer::begin_field() {
    if (fields_ > 0) out_.write(options_.delimiter);
    ++fields_;
    only_empty_ = false;
}

TENON_INLINE csv_writer& csv_writer::field(std::string_view text) {
    const bool first = rows_ == 0 && fields_ == 0;
    begin_field();
    const char special[] = {options_.delimiter, '"', '\n', '\r'};
    // A byte order mark at the beginning would be left out.
    if (text.find_first_of(std::string_view(special, sizeof special)) == std::string_view::npos &&
        !(first && text.starts_with("\xEF\xBB\xBF"))) {
        only_empty_ = text.empty() && fields_ == 1;
        out_.write(text);
        return *this;
    }
    out_.write('"');
    for (;;) {
        const std::size_t quote = text.find('"');
        out_.write(text.substr(0, quote));
        if (quote == std::string_view::npos) break;
        out_.write("\"\"");
        text.remove_prefix(quote + 1);
    }
    out_.write('"');
    return *this;
}

namespace detail {
template <class T> std::string_view shortest(T value, char (&to)[32]) {
    if (value != value) return "nan"; // whatever its sign
    return {to, static_cast<std::size_t>(std::to_chars(to, to + sizeof to, value).ptr - to)};
}
} // namespace detail

// A number has no quote, and a delimiter only where a digit, a sign, a point or a letter is one.
TENON_INLINE csv_writer& csv_writer::number(float value) {
    char digits[32];
    return field(detail::shortest(value, digits));
}
TENON_INLINE csv_writer& csv_writer::number(double value) {
    char digits[32];
    return field(detail::shortest(value, digits));
}
TENON_INLINE csv_writer& csv_writer::number(std::int64_t value) {
    char digits[32];
    return field(detail::shortest(value, digits));
}
TENON_INLINE csv_writer& csv_writer::number(std::uint64_t value) {
    char digits[32];
    return field(detail::shortest(value, digits));
}

TENON_INLINE void csv_writer::end_row() {
    if (rows_ == 0) columns_ = fields_;
    if (fields_ == 0) out_.refuse("row " + std::to_string(rows_ + 1) + " has no fields");
    if (fields_ != columns_)
        out_.refuse("row " + std::to_string(rows_ + 1) + " has " + std::to_string(fields_) +
                    " fields where the first has " + std::to_string(columns_));
    if (only_empty_) out_.write("\"\""); // an empty line is no row
    out_.write(options_.crlf ? "\r\n" : "\n");
    fields_ = 0;
    only_empty_ = false;
    ++rows_;
}

TENON_INLINE void csv_writer::rows(const any_array& table) {
    if (table.rank() == 0 || table.element() == element_type::none)
        out_.refuse("rows of " + to_string(table.type()) + ", which has no dimension to go along");
    const std::int64_t n = table.extents()[0].size, columns = n == 0 ? 0 : table.elements() / n;
    detail::with_element(table.element(), [&]<class T>(const T&) {
        const T* at = static_cast<const T*>(table.data());
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) field(*at++);
            end_row();
        }
    });
}

TENON_INLINE void csv_writer::commit() {
    if (fields_ > 0) out_.refuse("row " + std::to_string(rows_ + 1) + " has not ended; call end_row()");
    out_.commit();
}

} // namespace tenon
