#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tenon/data/steps/file_walk.hpp>
#include <tenon/data/steps/pipeline.hpp>
#include <tenon/io/text/element_text.hpp>

/// Rows of files of text as elements: what CSV and JSON lines have in common.

namespace tenon::detail {

/// A component of each row, and what it is called in the file: by one name, or each of its elements by one of its own.
struct table_field {
    std::vector<std::string> names;
    tensor_type type;
};
std::vector<tensor_type> types_of(const std::vector<table_field>& fields);
/// Where a name is asked for: of which field, which of its names. invalid_argument_error, which begins with `who`, where one is asked for
/// twice, and where a field has neither one name nor as many as it has elements.
struct table_place {
    std::size_t field, element;
};
std::unordered_map<std::string_view, table_place> table_places(const std::string& who,
                                                               const std::vector<table_field>& fields);

/// Whether nobody knows how many rows a component has, before it is read.
inline bool is_open_list(const tensor_type& t) { return t.extents.rank() > 0 && !t.extents[0].is_number(); }

/// Takes the rows of a file apart. Thread-safe.
class row_reader {
public:
    virtual ~row_reader() = default;
    /// Writes what column c holds behind `row` rows in out[c], or to the any_array there where it is an open list; false: the record is none and is passed over. Throws for what is no such
    /// row, saying where.
    virtual bool read(std::string_view record, const record_place& where, void* const* out, std::int64_t row) const = 0;
    /// Of each column: where it is written.
    std::vector<table_place> places;
};

/// The rows of files, one file after another; batches of them are read to where they stay.
class table_node : public data_node {
public:
    table_node(const char* step, std::vector<std::string> files, std::vector<tensor_type> types,
               const record_format& f);
    std::unique_ptr<element_stream> make(pipeline& p) const override;
    std::unique_ptr<element_stream> make_batches(pipeline& p, std::int64_t n, bool drop_remainder) const override;
    bool may_wait() const override { return true; }

protected:
    /// For the file that was just opened, of which it may take the first records; what it throws is thrown in place of the file's rows.
    virtual std::shared_ptr<const row_reader> reader_of(file_walk& file) const = 0;

private:
    class stream;
    const std::vector<std::string> files_;
    const record_format format_;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/tables/table_rows.ipp>
#endif
