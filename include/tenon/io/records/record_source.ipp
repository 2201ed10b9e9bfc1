#pragma once

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/io/records/buffered_records.hpp>
#include <tenon/io/records/record_source.hpp>
#include <tenon/io/text/element_text.hpp>

namespace tenon {

TENON_INLINE void check_format(const std::string& who, const record_format& f) {
    const auto refuse = [&](const std::string& what) { throw invalid_argument_error(who + ": " + what); };
    const auto not_negative = [&](const char* name, std::int64_t value) {
        if (value < 0) refuse(std::string(name) + " is " + std::to_string(value) + "; it must be 0 or more");
    };
    not_negative("skip_header_lines", f.skip_header_lines);
    not_negative("header_bytes", f.header_bytes);
    not_negative("footer_bytes", f.footer_bytes);
    if (f.largest_record < 1)
        refuse("largest_record is " + std::to_string(f.largest_record) + "; it must be 1 byte or more");
    if (f.largest_record > std::int64_t{1} << 48)
        refuse("largest_record is " + std::to_string(f.largest_record) + ", which is more than 2^48 bytes");
    const bool fixed = f.kind == record_kind::fixed_length;
    if (fixed && f.record_bytes < 1)
        refuse("record_bytes is " + std::to_string(f.record_bytes) + "; a record has 1 byte or more");
    if (fixed && f.record_bytes > f.largest_record)
        refuse("record_bytes is " + std::to_string(f.record_bytes) + ", more than largest_record, which is " +
               std::to_string(f.largest_record));
    if (fixed && f.footer_bytes > std::int64_t{1} << 48)
        refuse("footer_bytes is " + std::to_string(f.footer_bytes) + ", which is more than 2^48 bytes");
    if (!fixed && (f.header_bytes != 0 || f.record_bytes != 0 || f.footer_bytes != 0))
        refuse("header_bytes, record_bytes and footer_bytes are of records of fixed length only");
    if (f.skip_header_lines != 0 && f.kind != record_kind::text_lines && f.kind != record_kind::csv_lines)
        refuse("skip_header_lines is of text only");
    if (f.kind != record_kind::csv_lines && (!f.quotes || f.forgiving))
        refuse("quotes and forgiving are of comma-separated values only");
    if (f.forgiving && (f.comment == '"' || f.comment == '\n' || f.comment == '\r' || f.comment == ' '))
        refuse("a comment cannot begin with " + detail::shown_text({&f.comment, 1}) +
               "; give another character, or 0 for none");
}

namespace detail {

TENON_INLINE std::unique_ptr<record_source> make_record_source(record_file f) {
    check_format(f.who, f.format);
    switch (f.format.kind) {
    case record_kind::text_lines:
    case record_kind::csv_lines: return text_records(std::move(f));
    case record_kind::whole_file: return whole_file_record(std::move(f));
    case record_kind::fixed_length: return fixed_length_records(std::move(f));
    case record_kind::tfrecord: return tfrecords(std::move(f));
    case record_kind::idx:
    case record_kind::npy: return array_records(std::move(f));
    }
    throw invalid_argument_error(f.who + ": there is no kind " + std::to_string(static_cast<int>(f.format.kind)) +
                                 " of records");
}

} // namespace detail

TENON_INLINE std::unique_ptr<record_source> open_records(const std::string& who, const std::string& path,
                                                         const record_format& f) {
    check_format(who, f);
    detail::record_file opened{who, path, nullptr, f};
    detail::said_by(who, [&] {
        opened.file = unpacked(detail::open_and_mark(path, opened.size, opened.modified), path, f.compressed);
    });
    return detail::make_record_source(std::move(opened));
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/records/array_records.ipp>
#include <tenon/io/records/fixed_length_records.ipp>
#include <tenon/io/records/text_records.ipp>
#include <tenon/io/records/tfrecords.ipp>
#endif
