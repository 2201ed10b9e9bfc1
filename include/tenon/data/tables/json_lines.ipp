#pragma once

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/tables/json_lines.hpp>
#include <tenon/io/text/json_lines.hpp>

namespace tenon::detail {

class json_row_reader final : public row_reader {
public:
    json_row_reader(std::vector<json_column> columns, std::vector<table_place> where) :
        decoder_("json_lines", std::move(columns)) {
        places = std::move(where);
    }
    bool read(std::string_view record, const record_place& where, void* const* out, std::int64_t row) const override {
        if (record.find_first_not_of(" \t\r") == record.npos) return false;
        decoder_.decode(record, where, out, row);
        return true;
    }

private:
    const json_row_decoder decoder_;
};

class json_node final : public table_node {
public:
    json_node(std::vector<std::string> files, const std::vector<table_field>& fields,
              const data::json_read_options& o) :
        table_node("json_lines", std::move(files), types_of(fields),
                   {.compressed = o.compressed, .largest_record = o.largest_line}) {
        if (!o.defaults.empty() && o.defaults.size() != fields.size())
            throw invalid_argument_error("json_lines: " + std::to_string(o.defaults.size()) + " defaults for " +
                                         std::to_string(fields.size()) + " components; give one for each, or none");
        (void)table_places("json_lines", fields); // that they are good
        std::vector<json_column> columns;
        std::vector<table_place> places;
        for (std::size_t f = 0; f < fields.size(); ++f) {
            const table_field& field = fields[f];
            const bool by_one = field.names.size() > 1, any_length = is_open_list(field.type);
            extents sizes = by_one ? extents() : field.type.extents;
            if (any_length) sizes.erase(0);
            for (std::size_t k = 0; k < field.names.size(); ++k) {
                columns.push_back({field.names[k], field.type.element, sizes,
                                   o.defaults.empty() ? std::nullopt : o.defaults[f],
                                   any_length ? 0 : field.type.extents.elements(), any_length});
                places.push_back({f, k});
            }
        }
        reader_ = std::make_shared<json_row_reader>(std::move(columns), std::move(places));
    }

private:
    std::shared_ptr<const row_reader> reader_of(file_walk&) const override { return reader_; }
    std::shared_ptr<const row_reader> reader_;
};

TENON_INLINE data_node::pointer json_objects(std::vector<std::string> files, const std::vector<table_field>& fields,
                                             const data::json_read_options& o) {
    return std::make_shared<json_node>(std::move(files), fields, o);
}

} // namespace tenon::detail
