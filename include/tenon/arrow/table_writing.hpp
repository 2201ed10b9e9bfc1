#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/arrow/table_reading.hpp>
#include <tenon/data/data_set.hpp>

/// Data sets as Parquet files, and as Arrow's (IPC files, which are Feather version 2).

namespace tenon {

enum class table_compression { none, snappy, gzip, zstd, lz4 };

struct table_write_options {
    /// The columns' names; empty: a struct's fields(), else "0", "1", ...
    std::vector<std::string> columns = {};
    /// Columns of texts that are bytes; the others hold UTF-8, and other texts in them are an invalid_argument_error.
    std::vector<std::string> binary = {};
    /// Whether names with points are fields of structs, as they are when they are read: "address.city" is field city of column address.
    bool structs = false;
    /// With `structs`, those that are lists of structs: with "path" the columns "path.x" and "path.y" of component<float, shape<dyn>> are a list of
    /// structs of two floats for each row, as long as the first size says, which is the same in both.
    std::vector<std::string> lists = {};
    std::int64_t group_rows = std::int64_t{1}
                              << 16; ///< of a row group, or of a record batch, which are in memory until it is full
    table_compression compressed = table_compression::zstd; ///< Arrow's files are packed by zstd, lz4 or none
};

namespace detail {

/// A file that elements are written to, one a row; it appears when commit() is called, whole or not at all.
class table_writer {
public:
    table_writer(table_format format, const std::string& path, const std::vector<tensor_type>& types,
                 const table_write_options& o);
    ~table_writer();
    void write(const std::vector<any_array>& element);
    void commit();

private:
    class state;
    std::unique_ptr<state> state_;
};

template <class... C>
void write_table(table_format format, const std::string& path, const data_set<C...>& from, table_write_options o) {
    if constexpr (requires { schema<C...>::names(); }) {
        if (o.columns.empty()) o.columns = schema<C...>::names();
    }
    table_writer out(format, path, data_set<C...>::types(), o);
    data_run run(from.untyped());
    for (std::vector<any_array> element; run.next(element);) out.write(element);
    out.commit();
}

} // namespace detail

/// Writes the elements of a data set, a row each, to a Parquet file, which appears whole or not at all. Arrays are lists; sizes that
/// are numbers are lists of that size. unimplemented_error where Arrow's library was built without the compression.
template <class... C>
void write_parquet(const std::string& path, const data_set<C...>& from, table_write_options o = {}) {
    detail::write_table(detail::table_format::parquet, path, from, std::move(o));
}
/// The same to an Arrow IPC file.
template <class... C>
void write_arrow(const std::string& path, const data_set<C...>& from, table_write_options o = {}) {
    detail::write_table(detail::table_format::arrow, path, from, std::move(o));
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/arrow/table_writing.ipp>
#endif
