#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/io/records/records.hpp>

/// What the sources of records have in common: a window on the file, and what they say when it is damaged.

namespace tenon::detail {

/// A file that was opened to be cut into records, and who wants them.
struct record_file {
    std::string who, path;
    std::unique_ptr<readable_file> file; ///< unpacked
    record_format format;
    std::size_t buffer_bytes = std::size_t{1} << 18; ///< larger ones leave the nearer caches
    std::int64_t size = -1, modified = -1;           ///< of the file as it lies there
};

/// One for each record_kind.
std::unique_ptr<record_source> text_records(record_file f); ///< text_lines, csv_lines
std::unique_ptr<record_source> whole_file_record(record_file f);
std::unique_ptr<record_source> fixed_length_records(record_file f);
std::unique_ptr<record_source> tfrecords(record_file f);
std::unique_ptr<record_source> array_records(record_file f); ///< idx, npy
std::unique_ptr<record_source> make_record_source(record_file f);

/// Opens a file as it lies there, not unpacked; its size, and when it was written to.
std::unique_ptr<readable_file> open_and_mark(const std::string& path, std::int64_t& size, std::int64_t& modified);
/// How a file that is `is` differs from what it was, in words; empty: it does not. `same_time`: false: it may have been written to at
/// another time.
std::string difference(const file_mark& was, const file_mark& is, bool same_time);

class buffered_records : public record_source {
public:
    explicit buffered_records(record_file f);

    std::uint64_t number() const override { return number_; }
    record_position position() const override { return {base_ + begin_, records_, lines_}; }
    void go_to(const record_position& p) override;
    file_mark mark() const override;
    std::string return_to(const record_position& p, const file_mark& was, bool same_time) override;
    std::uint64_t ignored() const override { return ignored_; }

protected:
    /// What has been read of the file from position() on. Stays until the next fill() or more().
    const char* data() const { return buffer_.get() + begin_; }
    std::size_t available() const { return end_ - begin_; }
    /// Reads until `bytes` are available; false where the file has fewer. A file that cannot be read is the source's end.
    bool fill(std::size_t bytes) {
        while (available() < bytes)
            if (!more(bytes)) return false;
        return true;
    }
    /// Reads on; `most` is how many bytes there is use for. The buffer at most doubles: no more is allocated than has been read.
    bool more(std::size_t most);
    void take(std::size_t bytes) { begin_ += bytes; }
    bool at_beginning() const { return base_ + begin_ == 0; }
    /// take(), of bytes that may lie behind what was read; false where the file has fewer.
    bool skip(std::uint64_t bytes);
    /// Nothing follows any more.
    void end();

    /// "who: 'path': what (record N, at byte B)", of the record that begins at position().
    std::string say(const std::string& what) const;
    virtual std::string place() const;
    /// A record that cannot be given: counted where errors are ignored, else thrown. Called when it has been left behind or the
    /// file has been ended, with what say() said before.
    void leave_out(error_code code, const std::string& said);

    std::uint64_t records_ = 0, lines_ = 0; // before position()
    std::uint64_t number_ = 0;
    bool ended_ = false;
    const record_format format_;

private:
    [[noreturn]] void cannot_read(const error& e);
    void seek(std::uint64_t position);
    void add_to_checksum();

    const std::string who_, path_;
    std::unique_ptr<readable_file> file_;
    const std::size_t first_capacity_;
    std::size_t capacity_ = 0;
    std::unique_ptr<char[]> buffer_; // base_ is where it begins in the file; of it, begin_ .. end_ - 1 are to be read
    std::size_t begin_ = 0, end_ = 0;
    std::uint64_t base_ = 0;
    const std::int64_t size_, modified_;
    // Checksums of what stood before base_: of bytes summed_from_ .. recent_from_ - 1, and of recent_from_ .. base_ - 1.
    std::uint64_t summed_from_ = 0, recent_from_ = 0;
    std::uint32_t sum_ = 0, recent_sum_ = 0;
    std::uint64_t ignored_ = 0;
    bool at_end_ = false; // of the file
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/records/buffered_records.ipp>
#endif
