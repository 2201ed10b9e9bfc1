#pragma once

#include <algorithm>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/rows.hpp>
#include <tenon/data/tables/table_rows.hpp>
#include <tenon/io/records/record_source.hpp>

namespace tenon::detail {

TENON_INLINE std::vector<tensor_type> types_of(const std::vector<table_field>& fields) {
    std::vector<tensor_type> types;
    for (const table_field& f : fields) types.push_back(f.type);
    return types;
}

TENON_INLINE std::unordered_map<std::string_view, table_place> table_places(const std::string& who,
                                                                            const std::vector<table_field>& fields) {
    std::unordered_map<std::string_view, table_place> places;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const table_field& field = fields[f];
        if (field.names.size() != 1 && (is_open_list(field.type) ||
                                        static_cast<std::int64_t>(field.names.size()) != field.type.extents.elements()))
            throw invalid_argument_error(who + ": " + to_string(field.type) + " has " +
                                         std::to_string(field.names.size()) +
                                         " names; give one, or one for each of its elements");
        for (std::size_t k = 0; k < field.names.size(); ++k)
            if (!places.emplace(field.names[k], table_place{f, k}).second)
                throw invalid_argument_error(who + ": " + shown_text(field.names[k]) + " is asked for twice");
    }
    return places;
}

// Elements, or batches of n of them.
class table_node::stream final : public element_stream {
public:
    stream(const table_node& n, pipeline& p, std::int64_t batch, bool drop) :
        node_(n),
        types_(n.components()),
        batch_(batch),
        drop_(drop),
        walk_(n.step(), n.files_, n.format_, p.options().copied_files),
        room_(std::clamp<std::int64_t>(batch, 1, rows_at_first)),
        memory_(types_.size()) {}

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
            out_.clear();
            for (const table_place& p : reader_->places) {
                any_array& to = memory_[p.field];
                if (is_open_list(types_[p.field])) out_.push_back(&to);
                else out_.push_back(static_cast<char*>(to.data()) + p.element * size_of(to.element()));
            }
            // A row that is none leaves those before it where they are.
            rows_ += reader_->read(record, {.file = walk_.file(), .line = walk_.number()}, out_.data(), rows_);
        }
        const std::int64_t count = std::exchange(rows_, 0);
        if (count == 0 || (drop_ && count < wanted)) return false;
        for (any_array& m : memory_) {
            if (batch_ == 0) x.push_back(std::move(m));
            else x.push_back(count == room_ ? m.share() : m.slice(0, count));
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
        tensor_type t = types_[c];
        if (batch_ > 0) t.extents.insert(0, rows);
        return t;
    }
    // Memory for what comes; that of a batch which was let go is used again.
    void begin() {
        memory_.resize(types_.size());
        for (std::size_t c = 0; c < memory_.size(); ++c) {
            tensor_type t = type_of(c, room_);
            if (is_open_list(t)) t.extents[0] = extent(0); // the reader makes it
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
        reader_.reset();
        try {
            reader_ = node_.reader_of(walk_);
        } catch (...) { // nobody knows what its columns are
            walk_.close();
            throw;
        }
    }

    const table_node& node_;
    const std::vector<tensor_type>& types_;
    const std::int64_t batch_; // 0: single elements
    const bool drop_;
    file_walk walk_;
    std::shared_ptr<const row_reader> reader_; // of the file that is open
    std::int64_t room_;                        // rows that memory_ has
    std::vector<any_array> memory_;
    std::vector<void*> out_;
    std::int64_t rows_ = 0; // that are in memory_ already
};

TENON_INLINE table_node::table_node(const char* step, std::vector<std::string> files, std::vector<tensor_type> types,
                                    const record_format& f) :
    data_node(step, std::move(types)), files_(std::move(files)), format_(f) {
    check_format(step, format_);
}
TENON_INLINE std::unique_ptr<element_stream> table_node::make(pipeline& p) const {
    return std::make_unique<stream>(*this, p, 0, false);
}
TENON_INLINE std::unique_ptr<element_stream> table_node::make_batches(pipeline& p, std::int64_t n, bool drop) const {
    if (std::any_of(components().begin(), components().end(), is_open_list)) return nullptr;
    return std::make_unique<stream>(*this, p, n, drop);
}

} // namespace tenon::detail
