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

// A place, and what it is in.
TENON_INLINE void save_mark(state_writer& to, const record_position& at, const file_mark& mark) {
    for (const std::uint64_t v : {at.bytes, at.records, at.lines, static_cast<std::uint64_t>(mark.size),
                                  static_cast<std::uint64_t>(mark.modified), mark.from, std::uint64_t{mark.checksum}})
        to.number(v);
}
TENON_INLINE void restore_mark(state_reader& from, record_position& at, file_mark& mark) {
    at.bytes = from.number();
    at.records = from.number();
    at.lines = from.number();
    mark.size = static_cast<std::int64_t>(from.number());
    mark.modified = static_cast<std::int64_t>(from.number());
    mark.from = from.number(0, at.bytes);
    mark.checksum = static_cast<std::uint32_t>(from.number(0, 0xFFFFFFFF));
}

inline std::string changed_file(const std::string& path) { return "'" + path + "' is not the file that it was"; }
TENON_INLINE void require_same_file(const state_reader& from, const std::string& path, const std::string& how) {
    if (!how.empty()) from.damaged((changed_file(path) + ": " + how).c_str());
}

TENON_INLINE void file_walk::save(state_writer& to) const {
    to.number(next_file_);
    to.number(source_ != nullptr);
    if (source_) save_mark(to, *source_);
}

// Whether a file was open, which is the next then.
TENON_INLINE bool file_walk::read_place(state_reader& from, place& p) {
    next_file_ = static_cast<std::size_t>(from.number());
    source_.reset();
    if (next_file_ > files_.size()) from.damaged("there are fewer files than there were");
    if (from.number(0, 1) == 0) return false;
    if (from.version() > 1) restore_mark(from, p.at, p.mark.emplace());
    else {
        p.at.bytes = from.number();
        p.at.records = from.number();
        p.at.lines = from.number();
    }
    if (next_file_ == 0) from.damaged("no file was open");
    --next_file_;
    return true;
}

TENON_INLINE void file_walk::go_to(const state_reader& from, const place& p) {
    const std::string changed = changed_file(file());
    if (!source_) from.damaged(changed.c_str()); // it was passed over
    try {
        if (!p.mark) source_->go_to(p.at);
        else require_same_file(from, file(), source_->return_to(p.at, *p.mark, !copied_));
    } catch (const out_of_range_error&) { // it is shorter
        from.damaged(changed.c_str());
    }
}

} // namespace tenon::detail
