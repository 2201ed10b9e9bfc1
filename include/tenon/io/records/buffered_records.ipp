#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <tenon/io/files/crc32c.hpp>
#include <tenon/io/records/buffered_records.hpp>

namespace tenon::detail {

TENON_INLINE buffered_records::buffered_records(record_file f) :
    format_(f.format),
    who_(std::move(f.who)),
    path_(std::move(f.path)),
    file_(std::move(f.file)),
    first_capacity_(std::max<std::size_t>(f.buffer_bytes, 1)),
    size_(f.size),
    modified_(f.modified) {}

TENON_INLINE bool buffered_records::more(std::size_t most) {
    if (at_end_ || ended_) return false;
    const std::size_t left = available();
    add_to_checksum();
    if (capacity_ == 0) {
        capacity_ = first_capacity_;
        buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
    }
    if (left == capacity_) {
        const std::size_t larger = capacity_ > most / 2 ? std::max(most, capacity_ + 1) : 2 * capacity_;
        std::unique_ptr<char[]> moved = std::make_unique_for_overwrite<char[]>(larger);
        std::memcpy(moved.get(), data(), left);
        buffer_ = std::move(moved);
        capacity_ = larger;
    } else if (begin_ > 0 && left > 0) std::memmove(buffer_.get(), data(), left);
    base_ += begin_;
    begin_ = 0;
    end_ = left;
    std::size_t got = 0;
    try {
        got = file_->read(buffer_.get() + end_, capacity_ - end_);
    } catch (const error& e) {
        cannot_read(e);
    }
    end_ += got;
    if (got == 0) {
        at_end_ = true;
        if (file_->size() > static_cast<std::int64_t>(base_ + end_)) {
            ended_ = true;
            throw data_loss_error(say("the file became shorter while it was read: it had " +
                                      std::to_string(file_->size()) + " bytes, and ends at byte " +
                                      std::to_string(base_ + end_)));
        }
    }
    return got > 0;
}

TENON_INLINE void buffered_records::cannot_read(const error& e) {
    ended_ = true;
    throw_error(e, who_ + ": " + e.what() + " (" + place() + ')');
}

TENON_INLINE void buffered_records::seek(std::uint64_t position) {
    begin_ = end_ = 0;
    base_ = summed_from_ = recent_from_ = position;
    sum_ = recent_sum_ = 0;
    at_end_ = false;
    try {
        file_->seek(position);
    } catch (const error& e) {
        cannot_read(e);
    }
}

TENON_INLINE bool buffered_records::skip(std::uint64_t bytes) {
    const std::int64_t size = file_->size();
    if (bytes > available() + first_capacity_ && size >= 0 && base_ + begin_ <= static_cast<std::uint64_t>(size) &&
        bytes <= static_cast<std::uint64_t>(size) - base_ - begin_) {
        seek(base_ + begin_ + bytes);
        return true;
    }
    for (;;) {
        const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, available()));
        take(here);
        bytes -= here;
        if (bytes == 0) return true;
        if (!more(1)) return false;
    }
}

TENON_INLINE void buffered_records::end() {
    // To the very end, so that who goes to this place later finds it.
    try {
        const std::int64_t size = file_->size();
        if (size > 0 && static_cast<std::uint64_t>(size) > base_ + end_) seek(static_cast<std::uint64_t>(size));
        while (skip(available() + 1)) {
        }
    } catch (const error&) { // it cannot be read: that is its end
    }
    ended_ = true;
}

TENON_INLINE void buffered_records::go_to(const record_position& p) {
    records_ = p.records;
    lines_ = p.lines;
    number_ = 0;
    ended_ = false;
    if (p.bytes >= base_ && p.bytes - base_ <= end_) {
        begin_ = static_cast<std::size_t>(p.bytes - base_);
        return;
    }
    seek(p.bytes - (p.bytes > 0)); // a byte before tells whether the file reaches as far
    if (p.bytes == 0 || skip(1)) return;
    ended_ = true;
    throw out_of_range_error(who_ + ": '" + path_ + "' is shorter than " + std::to_string(p.bytes) +
                             " bytes, where record " + std::to_string(p.records + 1) +
                             " was: it is not the file that it was");
}

// What is about to be left behind. Two sums, so that when one begins anew there is another of enough bytes.
TENON_INLINE void buffered_records::add_to_checksum() {
    if (base_ - recent_from_ >= std::uint64_t{64} << 20) {
        summed_from_ = recent_from_;
        sum_ = recent_sum_;
        recent_from_ = base_;
        recent_sum_ = 0;
    }
    const std::span<const std::byte> gone(reinterpret_cast<const std::byte*>(buffer_.get()), begin_);
    if (summed_from_ != recent_from_) sum_ = crc32c(gone, sum_);
    recent_sum_ = crc32c(gone, recent_sum_);
}

TENON_INLINE file_mark buffered_records::mark() const {
    const bool is_one = summed_from_ == recent_from_;
    return {size_, modified_, summed_from_,
            crc32c({reinterpret_cast<const std::byte*>(buffer_.get()), begin_}, is_one ? recent_sum_ : sum_)};
}

TENON_INLINE std::unique_ptr<readable_file> open_and_mark(const std::string& path, std::int64_t& size,
                                                          std::int64_t& modified) {
    std::unique_ptr<readable_file> file = file_system_of(path).open(path);
    size = file->size();
    modified = file->modified();
    return file;
}

TENON_INLINE std::string difference(const file_mark& was, const file_mark& is, bool same_time) {
    if (was.size != is.size) return "it has " + std::to_string(is.size) + " bytes, and had " + std::to_string(was.size);
    if (same_time && was.modified != is.modified)
        return "it was written to since; of a copy, which has the same bytes but another time, set "
               "data_options::copied_files";
    if (was.checksum != is.checksum) return "what had been read of it was something else";
    return {};
}

TENON_INLINE std::string buffered_records::return_to(const record_position& p, const file_mark& was, bool same_time) {
    if (std::string how = difference(was, {size_, modified_, was.from, was.checksum}, same_time); !how.empty())
        return how;
    record_position at = p;
    at.bytes = was.from;
    go_to(at);
    end_ -= begin_; // the checksum begins here
    if (end_ > 0) std::memmove(buffer_.get(), buffer_.get() + begin_, end_);
    base_ = summed_from_ = recent_from_ = base_ + begin_;
    begin_ = 0;
    sum_ = recent_sum_ = 0;
    for (std::uint64_t left = p.bytes - std::min(p.bytes, was.from); left > 0;) {
        if (available() == 0 && !more(1)) return "it is shorter than what had been read of it";
        const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(left, available()));
        take(here);
        left -= here;
    }
    if (std::string how = difference(was, mark(), same_time); !how.empty()) return how;
    go_to(p);
    return {};
}

TENON_INLINE std::string buffered_records::place() const {
    return "record " + std::to_string(records_ + 1) + ", which begins at byte " + std::to_string(base_ + begin_);
}

TENON_INLINE std::string buffered_records::say(const std::string& what) const {
    return who_ + ": '" + path_ + "': " + what + " (" + place() + ')';
}

TENON_INLINE void buffered_records::leave_out(error_code code, const std::string& said) {
    if (!format_.ignore_errors) throw_error(code, said);
    ++ignored_;
}

} // namespace tenon::detail
