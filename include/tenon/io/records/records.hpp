#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/io/files/compressed.hpp>

/// Files as records, one after another: what readers and data sets read.

namespace tenon {

/// How a file is cut into records.
enum class record_kind {
    text_lines, ///< lines without their ends, "\n" or "\r\n"; the last one may have none. A byte order mark is left out
    csv_lines,  ///< the same, but a line ends outside of quotes only (RFC 4180)
    whole_file, ///< one record
    fixed_length, ///< so many bytes each, between a header and a footer of the file
    tfrecord,     ///< length, its masked CRC32C, data, their masked CRC32C
    idx,          ///< the elements along dimension 0 of an IDX file, as they are stored
    npy,          ///< the same of an .npy file, which is stored by rows
};

struct record_format {
    record_kind kind = record_kind::text_lines;
    compression compressed = compression::automatic;
    std::int64_t skip_header_lines = 0;                  ///< text_lines, csv_lines: of each file
    std::int64_t header_bytes = 0;                       ///< fixed_length
    std::int64_t record_bytes = 0;                       ///< fixed_length, 1 or more
    std::int64_t footer_bytes = 0;                       ///< fixed_length
    std::int64_t largest_record = std::int64_t{1} << 28; ///< bytes; a larger one is a resource_exhausted_error
    bool quotes = true;         ///< csv_lines: fields may stand in quotes, and then hold line ends
    bool forgiving = false;     ///< csv_lines: a lone "\r" ends a line too, and blank lines and comments are left out
    char comment = '#';         ///< csv_lines, forgiving: what lines that are none begin with; 0: nothing
    bool tabs_count = false;    ///< csv_lines, forgiving: lines of tabs are not blank, since tabs delimit fields
    bool ignore_errors = false; ///< damaged records are left out and counted, where the next can be found
    friend bool operator==(const record_format&, const record_format&) = default;
};

/// Where a source is in its file.
struct record_position {
    std::uint64_t bytes = 0;   ///< of what is unpacked, from the beginning of the file
    std::uint64_t records = 0; ///< that came before
    std::uint64_t lines = 0;   ///< text: that came before, headers among them
    friend bool operator==(const record_position&, const record_position&) = default;
};

/// What a file was when a source was at a place in it.
struct file_mark {
    std::int64_t size = -1, modified = -1; ///< of the file, packed or not; -1: nobody knows
    /// Of the bytes, unpacked, that were read before the place, those from here on (64 MiB of them at least, or all that there were)
    /// have this checksum (CRC32C).
    std::uint64_t from = 0;
    std::uint32_t checksum = 0;
    friend bool operator==(const file_mark&, const file_mark&) = default;
};

/// The records of one file. For one thread at a time.
class record_source {
public:
    record_source() = default;
    record_source(record_source&&) = delete;
    virtual ~record_source() = default;

    /// The next record; false at the end of the file. `record` stays until the next call. data_loss_error where the file is
    /// damaged or cut off, resource_exhausted_error where a record is larger than the format allows, both naming file, record
    /// and byte; a second call then goes on behind the damage, where that can be found, or is at the end.
    virtual bool next(std::string_view& record) = 0;
    /// Of text the line, else the record, that came last, from 1: what a key "file:number" and messages name. 0 before it.
    virtual std::uint64_t number() const = 0;
    /// Where the next record begins.
    virtual record_position position() const = 0;
    /// Goes to a position that this file's source gave. out_of_range_error where the file is shorter.
    virtual void go_to(const record_position& p) = 0;
    /// Of the file at position().
    virtual file_mark mark() const = 0;
    /// Goes to a position where the file had this mark. How it differs, in words; empty: it does not. out_of_range_error as go_to.
    /// `same_time`: false: it may have been written to at another time.
    virtual std::string return_to(const record_position& p, const file_mark& was, bool same_time) = 0;
    /// Records that were left out because of ignore_errors.
    virtual std::uint64_t ignored() const = 0;
};

} // namespace tenon
