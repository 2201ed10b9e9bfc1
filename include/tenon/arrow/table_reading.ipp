#pragma once

#include <tenon/arrow/table_reading.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/file_walk.hpp>
#include <tenon/data/steps/pipeline.hpp>
#include <tenon/data/steps/rows.hpp>
#include <tenon/io/text/element_text.hpp>

#if TENON_WITH_ARROW
#include <tenon/arrow/arrow_batches.inl>
#include <tenon/arrow/arrow_columns.inl>
#include <tenon/arrow/arrow_fields.inl>
#endif

namespace tenon::detail {

inline const char* reader_name(table_format f) { return f == table_format::parquet ? "parquet" : "arrow_file"; }

TENON_INLINE std::vector<std::string> names_of_columns(table_format format,
                                                       const std::vector<data::column_names>& names,
                                                       const std::vector<std::string>& said) {
    const std::string who = std::string(reader_name(format)) + ": ";
    if (!said.empty()) throw invalid_argument_error(who + "columns<..> names the columns; leave `columns` empty");
    std::vector<std::string> all;
    for (const data::column_names& n : names) {
        if (n.all().size() != 1)
            throw invalid_argument_error(who + std::to_string(n.all().size()) +
                                         " names for one component, which is one column");
        all.push_back(n.all()[0]);
    }
    return all;
}

#if TENON_WITH_ARROW

class arrow_table_node final : public data_node {
public:
    arrow_table_node(table_format format, std::vector<std::string> files, std::vector<arrow_field> fields,
                     const data::table_read_options& o) :
        data_node(reader_name(format), types_of_fields(fields)),
        format_(format),
        files_(std::move(files)),
        fields_(std::move(fields)),
        decoded_rows_(o.decoded_rows) {
        const std::string who = step() + ": ";
        if (decoded_rows_ < 1)
            throw invalid_argument_error(who + "decoded_rows is " + std::to_string(decoded_rows_) + "; give 1 or more");
        const auto one_each = [&](const char* what, std::size_t given) {
            if (given > 0 && given != fields_.size())
                throw invalid_argument_error(who + std::to_string(given) + " " + what + " for " +
                                             std::to_string(fields_.size()) +
                                             " components; give one for each, or none");
        };
        one_each("columns", o.columns.size());
        one_each("defaults", o.defaults.size());
        for (std::size_t c = 0; c < o.columns.size(); ++c) {
            if (!fields_[c].name.empty())
                throw invalid_argument_error(who + "the struct's fields() name the columns; leave `columns` empty");
            fields_[c].name = o.columns[c];
        }
        missing_.resize(fields_.size());
        for (std::size_t c = 0; c < o.defaults.size(); ++c) {
            if (!o.defaults[c]) continue;
            const element_type e = fields_[c].type.element;
            missing_[c] = any_array(e, extents());
            const text_fault f = element_of_text(*o.defaults[c], e, missing_[c].data());
            if (f != text_fault::none)
                throw invalid_argument_error(who + "the default of component " + std::to_string(c) + ", " +
                                             shown_text(*o.defaults[c]) + ", " + words(f, e));
        }
    }
    std::unique_ptr<element_stream> make(pipeline& p) const override;
    std::unique_ptr<element_stream> make_batches(pipeline& p, std::int64_t n, bool drop_remainder) const override;
    bool may_wait() const override { return true; }

private:
    static std::vector<tensor_type> types_of_fields(const std::vector<arrow_field>& fields) {
        std::vector<tensor_type> types;
        for (const arrow_field& f : fields) types.push_back(f.type);
        return types;
    }
    // For each component the column of its name, or at its place.
    std::vector<leaf_column> columns_in(const ::arrow::Schema& schema, const std::string& where) const {
        const std::vector<leaf_column> leaves = leaves_in(schema);
        const auto refuse = [&](const std::string& what) {
            std::string names;
            for (std::size_t i = 0; i < std::min<std::size_t>(leaves.size(), 20); ++i)
                names += (i > 0 ? ", " : "") + shown_text(leaves[i].name);
            throw invalid_argument_error(where + ": " + what + "; its columns are " + names +
                                         (leaves.size() > 20 ? ", ..." : ""));
        };
        if (fields_[0].name.empty() && leaves.size() != fields_.size())
            refuse("it has " + std::to_string(leaves.size()) + " columns, and an element " +
                   std::to_string(fields_.size()) + " components: say which they are with {.columns = {..}}");
        std::vector<leaf_column> columns;
        for (std::size_t c = 0; c < fields_.size(); ++c) {
            const std::string& name = fields_[c].name;
            auto column = leaves.begin();
            if (name.empty()) column += static_cast<std::ptrdiff_t>(c);
            else {
                const auto is_called = [&](const leaf_column& l) { return l.name == name; };
                const auto count = std::count_if(leaves.begin(), leaves.end(), is_called);
                if (count == 0 && schema.GetFieldIndex(name) >= 0)
                    refuse("column " + shown_text(name) + " is a struct, whose fields are columns");
                if (count == 0) refuse("there is no column called " + shown_text(name));
                if (count > 1) refuse("there are " + std::to_string(count) + " columns called " + shown_text(name));
                column = std::find_if(leaves.begin(), leaves.end(), is_called);
            }
            if (const std::string why = misfit_of_column(*column->type, fields_[c].type); !why.empty())
                throw invalid_argument_error(where + ": column " + shown_text(column->name) + " is " +
                                             column->type->ToString() + ", and the component " +
                                             (fields_[c].type.extents.rank() == 0 ? name_of(fields_[c].type.element)
                                                                                  : to_string(fields_[c].type)) +
                                             ": " + why);
            columns.push_back(*column);
        }
        return columns;
    }

    class stream;

    const table_format format_;
    const std::vector<std::string> files_;
    std::vector<arrow_field> fields_;
    std::vector<any_array> missing_; // a scalar for each component that may be missing
    const std::int64_t decoded_rows_;
};

#include <tenon/arrow/table_stream.inl>

inline std::unique_ptr<element_stream> arrow_table_node::make(pipeline& p) const {
    return std::make_unique<stream>(*this, p, 0, false);
}
inline std::unique_ptr<element_stream> arrow_table_node::make_batches(pipeline& p, std::int64_t n,
                                                                      bool drop_remainder) const {
    for (const arrow_field& f : fields_)
        if (!f.type.extents.is_static()) return nullptr;
    return std::make_unique<stream>(*this, p, n, drop_remainder);
}

TENON_INLINE data_node::pointer arrow_table_rows(table_format format, std::vector<std::string> files,
                                                 std::vector<arrow_field> fields, const data::table_read_options& o) {
    return std::make_shared<arrow_table_node>(format, std::move(files), std::move(fields), o);
}

TENON_INLINE std::vector<data::table_column_type> arrow_table_columns(table_format format, const std::string& path) {
    file_mark mark;
    const auto file = open_table(format, path, std::string(reader_name(format)) + ": '" + path + "'", 1, mark);
    std::vector<data::table_column_type> columns;
    for (const leaf_column& l : leaves_in(file->schema())) columns.push_back({l.name, type_of_column(*l.type)});
    return columns;
}

TENON_INLINE untyped::data_set untyped_table(table_format format, std::vector<std::string> files,
                                             const data::table_read_options& o) {
    const std::string who = reader_name(format);
    if (files.empty()) throw invalid_argument_error(who + ": there are no files, of whose first the types are");
    const std::vector<data::table_column_type> there = arrow_table_columns(format, files[0]);
    std::vector<arrow_field> fields;
    data::table_read_options rest = o;
    rest.columns.clear();
    std::vector<std::string> names = o.columns;
    if (names.empty())
        for (const data::table_column_type& c : there) names.push_back(c.name);
    for (const std::string& name : names) {
        const auto c = std::find_if(there.begin(), there.end(), [&](const auto& t) { return t.name == name; });
        const std::string where = who + ": '" + files[0] + "': ";
        if (c == there.end()) throw invalid_argument_error(where + "there is no column called " + shown_text(name));
        if (c->type.element == element_type::none)
            throw invalid_argument_error(where + "the rows of column " + shown_text(name) +
                                         " are no arrays; say which columns to read with {.columns = {..}}");
        fields.push_back({name, c->type});
    }
    return untyped::data_set(arrow_table_rows(format, std::move(files), std::move(fields), rest));
}

#else

TENON_INLINE std::vector<data::table_column_type> arrow_table_columns(table_format format, const std::string&) {
    (void)arrow_table_rows(format, {}, {}, {});
    return {};
}
TENON_INLINE untyped::data_set untyped_table(table_format format, std::vector<std::string> files,
                                             const data::table_read_options& o) {
    return untyped::data_set(arrow_table_rows(format, std::move(files), {}, o));
}
TENON_INLINE data_node::pointer arrow_table_rows(table_format format, std::vector<std::string>,
                                                 std::vector<arrow_field>, const data::table_read_options&) {
    throw unimplemented_error(std::string(reader_name(format)) +
                              ": this program was built without Apache Arrow; link tenon::arrow, or define "
                              "TENON_WITH_ARROW=1 where Tenon is header-only");
}

#endif

} // namespace tenon::detail
