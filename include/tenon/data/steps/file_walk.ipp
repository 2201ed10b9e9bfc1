#pragma once

#include <tenon/data/steps/file_walk.hpp>

namespace tenon::detail {

TENON_INLINE bool file_walk::open_next() {
    if (next_file_ == files_.size()) return false;
    const std::string& file = files_[next_file_++];
    ignored_ = 0;
    source_ = open_records(who_, file, format_);
    return true;
}

TENON_INLINE void file_walk::save(state_writer& to) const {
    to.number(next_file_);
    to.number(source_ != nullptr);
    if (!source_) return;
    const record_position at = source_->position();
    to.number(at.bytes);
    to.number(at.records);
    to.number(at.lines);
}

// Whether a file was open, which is the next then.
TENON_INLINE bool file_walk::read_place(state_reader& from, record_position& at) {
    next_file_ = static_cast<std::size_t>(from.number());
    source_.reset();
    if (next_file_ > files_.size()) from.damaged("there are fewer files than there were");
    if (from.number(0, 1) == 0) return false;
    at.bytes = from.number();
    at.records = from.number();
    at.lines = from.number();
    if (next_file_ == 0) from.damaged("no file was open");
    --next_file_;
    return true;
}

TENON_INLINE void file_walk::go_to(const state_reader& from, const record_position& at) {
    const std::string changed = "'" + file() + "' is not the file that it was";
    if (!source_) from.damaged(changed.c_str()); // it was passed over
    try {
        source_->go_to(at);
    } catch (const out_of_range_error&) { // which would be taken for the end of the data
        from.damaged(changed.c_str());
    }
}

} // namespace tenon::detail
