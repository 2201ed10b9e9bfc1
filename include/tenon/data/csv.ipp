#pragma once

#include <algorithm>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/csv.hpp>
#include <tenon/data/steps/file_walk.hpp>
#include <tenon/data/steps/rows.hpp>
#include <tenon/data/steps/sources.hpp>
#include <tenon/io/text/element_text.hpp>

namespace tenon::detail {

class csv_node final : public data_node {
public:
    csv_node(std::vector<std::string> files, std::vector<csv_field> fields, bool named,
             const data::csv_read_options& o) :
        data_node("csv", types_of(fields)),
        files_(std::move(files)),
        fields_(std::move(fields)),
        named_(named),
        options_(o),
        format_{.kind = record_kind::csv_lines,
                .compressed = o.compressed,
                .skip_header_lines = o.skip_header_lines,
                .largest_record = o.largest_line,
                .quotes = o.quotes,
                .forgiving = o.forgiving,
                .comment = o.comment,
                .tabs_count = o.delimiter == '\t'} {
        check_format("csv", format_);
        if (!options_.defaults.empty() && options_.defaults.size() != fields_.size())
            throw invalid_argument_error("csv: " + std::to_string(options_.defaults.size()) + " defaults for " +
                                         std::to_string(fields_.size()) + " components; give one for each, or none");
        options_.defaults.resize(fields_.size());
        if (!named_) (void)decoder_in_order(); // what is wrong with it is said now
    }
    std::unique_ptr<element_stream> make(pipeline& p) const override {
        return std::make_unique<stream>(*this, p, 0, false);
    }
    std::unique_ptr<element_stream> make_batches(pipeline& p, std::int64_t n, bool drop_remainder) const override {
        return std::make_unique<stream>(*this, p, n, drop_remainder);
    }
    bool may_wait() const override { return true; }

private:
    static std::vector<tensor_type> types_of(const std::vector<csv_field>& fields) {
        std::vector<tensor_type> types;
        for (const csv_field& f : fields) types.push_back(f.type);
        return types;
    }
    // What takes a file's rows apart, and which component each of its columns is.
    struct columns {
        std::unique_ptr<const csv_row_decoder> decoder;
        std::vector<std::size_t> component;
    };
    csv_options how() const {
        csv_options o;
        o.delimiter = options_.delimiter;
        o.quotes = options_.quotes;
        o.na_values = options_.na_values;
        o.forgiving = options_.forgiving;
        return o;
    }
    csv_column column(std::size_t c) const {
        const tensor_type& t = fields_[c].type;
        return {t.element, options_.defaults[c], t.extents.rank() == 0 ? 1 : t.extents[0].size};
    }
    columns decoder_in_order() const {
        columns made;
        std::vector<csv_column> all;
        for (std::size_t c = 0; c < fields_.size(); ++c) {
            all.push_back(column(c));
            made.component.push_back(c);
        }
        made.decoder = std::make_unique<const csv_row_decoder>("csv", std::move(all), how());
        return made;
    }
    columns decoder_by_names(const file_walk& walk, std::string_view first_line) const;

    // Elements, or batches of n of them, of which rows are read to where they stay.
    class stream final : public element_stream {
    public:
        stream(const csv_node& n, pipeline& p, std::int64_t batch, bool drop) :
            node_(n),
            batch_(batch),
            drop_(drop),
            walk_(n.step(), n.files_, n.format_, p.options().copied_files),
            room_(std::clamp<std::int64_t>(batch, 1, rows_at_first)),
            memory_(n.fields_.size()),
            out_(n.fields_.size()) {}

        bool next(data_element& x) override {
            x.clear();
            std::string_view record;
            const std::int64_t wanted = batch_ == 0 ? 1 : batch_;
            if (rows_ == 0) begin();
            while (rows_ < wanted && next_record(record)) {
                if (rows_ == room_) {
                    room_ = std::min(wanted, 2 * room_);
                    for (any_array& m : memory_) m = with_room(std::move(m), rows_, room_);
                }
                for (std::size_t c = 0; c < columns_.component.size(); ++c)
                    out_[c] = memory_[columns_.component[c]].data();
                // A row that is none leaves those before it where they are.
                columns_.decoder->decode(record, {.file = walk_.file(), .line = walk_.number()}, out_.data(), rows_);
                ++rows_;
            }
            const std::int64_t count = std::exchange(rows_, 0);
            if (count == 0 || (drop_ && count < wanted)) return false;
            for (std::size_t c = 0; c < memory_.size(); ++c) {
                if (batch_ == 0) x.push_back(std::move(memory_[c]));
                else x.push_back(count == room_ ? memory_[c].share() : memory_[c].slice(0, count));
            }
            return true;
        }
        void save(state_writer& to) override {
            to.number(static_cast<std::uint64_t>(rows_));
            if (rows_ > 0) {
                std::vector<any_array> held;
                for (any_array& m : memory_) held.push_back(m.slice(0, rows_));
                to.element(held);
            }
            walk_.save(to);
        }
        void restore(state_reader& from) override {
            rows_ = static_cast<std::int64_t>(from.number());
            if (rows_ < 0 || rows_ > batch_) from.damaged("a batch holds more than it may");
            if (rows_ > 0) {
                std::vector<tensor_type> types;
                for (std::size_t c = 0; c < memory_.size(); ++c) types.push_back(type_of(c, dynamic_extent));
                memory_ = from.element(types);
                room_ = memory_[0].extents()[0].size;
                for (const any_array& m : memory_)
                    if (m.extents()[0].size != room_ || room_ < rows_ || room_ > batch_)
                        from.damaged("a batch has other rows than it says");
            }
            walk_.restore(from, [this] { opened(); });
        }

    private:
        tensor_type type_of(std::size_t c, extent rows) const {
            tensor_type t = node_.fields_[c].type;
            if (batch_ > 0) t.extents.insert(0, rows);
            return t;
        }
        // Memory for what comes; that of a batch which was let go is used again.
        void begin() {
            memory_.resize(node_.fields_.size());
            for (std::size_t c = 0; c < memory_.size(); ++c) {
                const tensor_type t = type_of(c, room_);
                if (!memory_[c] || !memory_[c].is_unique()) memory_[c] = any_array(t.element, t.extents);
            }
        }
        bool next_record(std::string_view& record) {
            while (!walk_.next(record)) {
                if (!walk_.open_next()) return false;
                opened();
            }
            return true;
        }
        void opened() {
            if (!node_.named_) {
                if (!columns_.decoder) columns_ = node_.decoder_in_order();
                return;
            }
            std::string_view names;
            columns_ = {};
            try {
                if (walk_.next(names)) columns_ = node_.decoder_by_names(walk_, names);
            } catch (...) { // nobody knows what its columns are
                walk_.close();
                throw;
            }
        }

        const csv_node& node_;
        const std::int64_t batch_; // 0: single elements
        const bool drop_;
        file_walk walk_;
        columns columns_;
        std::int64_t room_; // rows that memory_ has
        std::vector<any_array> memory_;
        std::vector<void*> out_;
        std::int64_t rows_ = 0; // that are in memory_ already
    };

    const std::vector<std::string> files_;
    const std::vector<csv_field> fields_;
    const bool named_;
    data::csv_read_options options_;
    const record_format format_;
};

inline csv_node::columns csv_node::decoder_by_names(const file_walk& walk, std::string_view first_line) const {
    const std::string& file = walk.file();
    std::int64_t count = 1;
    bool quoted = false;
    for (const char c : first_line) {
        if (c == '"' && options_.quotes) quoted = !quoted;
        else if (c == options_.delimiter && !quoted) ++count;
    }
    any_array names(element_type::string, {count});
    void* const to = names.data();
    csv_options plain = how();
    plain.na_values.clear();
    csv_row_decoder("csv", {{element_type::string, "", count}}, plain)
        .decode(first_line, {.file = file, .line = walk.number()}, &to, 0);
    const std::string* const name = names.data<std::string>();
    const auto refuse = [&](const std::string& what) {
        std::string there;
        for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 20); ++i)
            there += (i ? ", " : "") + shown_text(name[i]);
        throw invalid_argument_error("csv: '" + file + "': " + what + "; its first line names " + there +
                                     (count > 20 ? ", ..." : ""));
    };
    columns made;
    std::vector<csv_column> all;
    csv_options o = how();
    for (std::int64_t i = 0; i < count;) {
        const auto at =
            std::find_if(fields_.begin(), fields_.end(), [&](const csv_field& f) { return f.name == name[i]; });
        if (at == fields_.end()) {
            all.push_back({element_type::none, std::nullopt, 1});
            o.header.push_back(name[i++]);
            continue;
        }
        const auto c = static_cast<std::size_t>(at - fields_.begin());
        if (std::find(made.component.begin(), made.component.end(), c) != made.component.end())
            refuse("there are two columns called " + shown_text(name[i]));
        all.push_back(column(c));
        if (all.back().fields > count - i)
            refuse("from column " + shown_text(name[i]) + " on there are " + std::to_string(count - i) +
                   " columns, and " + to_string(fields_[c].type) + " has " + std::to_string(all.back().fields));
        made.component.push_back(c);
        for (std::int64_t k = 0; k < all.back().fields; ++k) o.header.push_back(name[i++]);
    }
    for (std::size_t c = 0; c < fields_.size(); ++c)
        if (std::find(made.component.begin(), made.component.end(), c) == made.component.end())
            refuse("there is no column called " + shown_text(fields_[c].name));
    made.decoder = std::make_unique<const csv_row_decoder>("csv", std::move(all), std::move(o));
    return made;
}

TENON_INLINE data_node::pointer csv_rows(std::vector<std::string> files, std::vector<csv_field> fields, bool named,
                                         const data::csv_read_options& o) {
    return std::make_shared<csv_node>(std::move(files), std::move(fields), named, o);
}

} // namespace tenon::detail
