#pragma once

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/csv.hpp>

namespace tenon::detail {

TENON_INLINE record_format csv_format(const data::csv_read_options& o) {
    return {.kind = record_kind::csv_lines,
            .compressed = o.compressed,
            .skip_header_lines = o.skip_header_lines,
            .largest_record = o.largest_line,
            .quotes = o.quotes,
            .forgiving = o.forgiving,
            .comment = o.comment,
            .tabs_count = o.delimiter == '\t'};
}

class csv_row_reader final : public row_reader {
public:
    csv_row_reader(const std::string& who, std::vector<csv_column> columns, csv_options how) :
        decoder_(who, std::move(columns), std::move(how)) {}
    bool read(std::string_view record, const record_place& where, void* const* out, std::int64_t row) const override {
        decoder_.decode(record, where, out, row);
        return true;
    }

private:
    const csv_row_decoder decoder_;
};

class csv_node final : public table_node {
public:
    csv_node(std::vector<std::string> files, std::vector<table_field> fields, bool named,
             const data::csv_read_options& o, const std::string& who) :
        table_node("csv", std::move(files), types_of(fields), csv_format(o)),
        who_(who),
        fields_(std::move(fields)),
        options_(o) {
        if (!options_.defaults.empty() && options_.defaults.size() != fields_.size())
            throw invalid_argument_error("csv: " + std::to_string(options_.defaults.size()) + " defaults for " +
                                         std::to_string(fields_.size()) + " components; give one for each, or none");
        options_.defaults.resize(fields_.size());
        if (named) places_ = table_places("csv", fields_);
        else in_order_ = reader_in_order(); // what is wrong with it is said now
    }

private:
    csv_options how() const {
        return {.delimiter = options_.delimiter,
                .quotes = options_.quotes,
                .na_values = options_.na_values,
                .forgiving = options_.forgiving};
    }
    csv_column column(std::size_t f) const {
        const std::int64_t elements = fields_[f].type.extents.elements();
        const bool by_one = fields_[f].names.size() > 1; // each of its elements has a name
        return {fields_[f].type.element, options_.defaults[f], by_one ? 1 : elements, elements};
    }
    std::shared_ptr<const row_reader> reader_in_order() const {
        std::vector<csv_column> all;
        for (std::size_t f = 0; f < fields_.size(); ++f) all.push_back(column(f));
        auto made = std::make_shared<csv_row_reader>(who_, std::move(all), how());
        for (std::size_t f = 0; f < fields_.size(); ++f) made->places.push_back({f, 0});
        return made;
    }
    std::shared_ptr<const row_reader> reader_of(file_walk& file) const override {
        if (in_order_) return in_order_;
        std::string_view names;
        return file.next(names) ? reader_by_names(file, names) : nullptr;
    }
    std::shared_ptr<const row_reader> reader_by_names(const file_walk& walk, std::string_view first_line) const;

    const std::string who_; // begins messages
    const std::vector<table_field> fields_;
    data::csv_read_options options_;
    std::unordered_map<std::string_view, table_place> places_; // of fields_
    std::shared_ptr<const row_reader> in_order_;
};

TENON_INLINE std::vector<std::string> csv_texts(std::string_view record, const record_place& where,
                                                const csv_options& how) {
    std::int64_t count = 1;
    bool quoted = false;
    for (const char c : record) {
        if (c == '"' && how.quotes) quoted = !quoted;
        else if (c == how.delimiter && !quoted) ++count;
    }
    std::vector<std::string> texts(static_cast<std::size_t>(count));
    void* const to = texts.data();
    csv_options plain = how;
    plain.na_values.clear();
    csv_row_decoder("csv", {{element_type::string, "", count}}, plain).decode(record, where, &to, 0);
    return texts;
}

inline std::shared_ptr<const row_reader> csv_node::reader_by_names(const file_walk& walk,
                                                                   std::string_view first_line) const {
    csv_options o = how();
    const std::vector<std::string> names = csv_texts(first_line, {.file = walk.file(), .line = walk.number()}, o);
    const auto refuse = [&](const std::string& what) {
        std::string there;
        for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 20); ++i)
            there += (i ? ", " : "") + shown_text(names[i]);
        throw invalid_argument_error("csv: '" + walk.file() + "': " + what + "; its first line names " + there +
                                     (names.size() > 20 ? ", ..." : ""));
    };
    std::vector<csv_column> all;
    std::vector<table_place> places;
    std::unordered_set<std::string_view> found;
    for (std::size_t i = 0; i < names.size();) {
        const auto at = places_.find(names[i]);
        if (at == places_.end()) {
            all.push_back({element_type::none, std::nullopt, 1});
            ++i;
            continue;
        }
        if (!found.insert(names[i]).second) refuse("there are two columns called " + shown_text(names[i]));
        all.push_back(column(at->second.field));
        const auto fields = static_cast<std::size_t>(all.back().fields);
        if (fields > names.size() - i)
            refuse("from column " + shown_text(names[i]) + " on there are " + std::to_string(names.size() - i) +
                   " columns, and " + to_string(fields_[at->second.field].type) + " has " + std::to_string(fields));
        places.push_back(at->second);
        i += fields;
    }
    for (const table_field& f : fields_)
        for (const std::string& name : f.names)
            if (!found.contains(name)) refuse("there is no column called " + shown_text(name));
    o.header = names;
    auto made = std::make_shared<csv_row_reader>(who_, std::move(all), std::move(o));
    made->places = std::move(places);
    return made;
}

TENON_INLINE data_node::pointer csv_rows(std::vector<std::string> files, std::vector<table_field> fields, bool named,
                                         const data::csv_read_options& o, const std::string& who) {
    return std::make_shared<csv_node>(std::move(files), std::move(fields), named, o, who);
}

} // namespace tenon::detail
