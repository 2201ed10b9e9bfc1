#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/half.hpp>
#include <tenon/io/files/compressed.hpp>

/// Writers of record files. A file appears when commit() is called, whole, in the place of what had its name; a writer that ends
/// without it leaves nothing behind. Packed as `compressed` says, automatic: with gzip where the name ends in ".gz", with
/// zlib where it ends in ".zlib", with zstd where in ".zst". For one thread at a time. What goes wrong is the error that fits, naming the file.

namespace tenon {

namespace detail {

/// A file that is written in pieces of a useful size.
class record_output {
public:
    record_output(const char* who, std::string path, compression how);
    record_output(record_output&&) noexcept = default;
    record_output& operator=(record_output&&) noexcept = default;
    ~record_output() = default;

    void write(const char* from, std::size_t bytes);
    void write(std::string_view text) { write(text.data(), text.size()); }
    void write(char c) { write(&c, 1); }
    void commit();
    /// "who: 'path': what", as an invalid_argument_error.
    [[noreturn]] void refuse(const std::string& what) const;

private:
    void flush();
    template <class F> void told(F f) const;

    const char* who_;
    std::string path_;
    std::unique_ptr<writable_file> file_; // none: it is committed
    std::string waiting_;
};

} // namespace detail

/// TFRecord files, as TensorFlow has them.
///
///     tfrecord_writer out("train.tfrecord.gz");
///     out.write(example);
///     out.commit();
class tfrecord_writer {
public:
    explicit tfrecord_writer(const std::string& path, compression compressed = compression::automatic) :
        out_("tfrecord_writer", path, compressed) {}
    void write(std::string_view record);
    void commit() { out_.commit(); }

private:
    detail::record_output out_;
};

/// Lines of text, each with a '\n' behind it.
class text_writer {
public:
    explicit text_writer(const std::string& path, compression compressed = compression::automatic) :
        out_("text_writer", path, compressed) {}
    /// invalid_argument_error for a line that would not be read as it was written: with a '\n' in it or a '\r' at its end.
    void write(std::string_view line);
    void commit() { out_.commit(); }

private:
    detail::record_output out_;
};

struct csv_writer_options {
    char delimiter = ',';
    bool crlf = false; ///< lines end in "\r\n", as RFC 4180 has them, not in "\n"
    compression compressed = compression::automatic;
};

/// CSV files (RFC 4180): fields that need quotes get them. Numbers are written with as many digits as it takes to read the
/// same ones again; bools as true and false. All rows have as many fields as the first, which may be a header of names.
///
///     csv_writer out("table.csv", {"name", "height"});
///     out.row("Ada", 1.65);
///     out.commit();
class csv_writer {
public:
    explicit csv_writer(const std::string& path, const std::vector<std::string>& header = {},
                        const csv_writer_options& options = {});

    csv_writer& field(std::string_view text);
    template <class T>
    requires std::is_arithmetic_v<T> csv_writer& field(T value) {
        if constexpr (std::is_same_v<T, bool>) return field(std::string_view(value ? "true" : "false"));
        else if constexpr (std::same_as<T, float>) return number(value);
        else if constexpr (std::is_floating_point_v<T>) return number(static_cast<double>(value));
        else if constexpr (std::is_signed_v<T>) return number(static_cast<std::int64_t>(value));
        else return number(static_cast<std::uint64_t>(value));
    }
    csv_writer& field(half value) { return number(static_cast<float>(value)); }
    csv_writer& field(bfloat16 value) { return number(static_cast<float>(value)); }
    /// invalid_argument_error where it has not as many fields as the first row.
    void end_row();

    template <class... Fields> void row(const Fields&... fields) {
        (field(fields), ...);
        end_row();
    }
    /// A row for each element along dimension 0; what an element holds are its fields, in order.
    void rows(const any_array& table);
    void commit();

private:
    csv_writer& number(float value);
    csv_writer& number(double value);
    csv_writer& number(std::int64_t value);
    csv_writer& number(std::uint64_t value);
    void begin_field();

    detail::record_output out_;
    csv_writer_options options_;
    std::size_t columns_ = 0; // of the first row
    std::size_t fields_ = 0;  // of the row that is being written
    std::uint64_t rows_ = 0;
    bool only_empty_ = false; // so far the row is one empty field
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/records/record_writer.ipp>
#endif
