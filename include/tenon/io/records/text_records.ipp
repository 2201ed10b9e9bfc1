#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/io/records/buffered_records.hpp>

namespace tenon::detail {

class text_source final : public buffered_records {
public:
    explicit text_source(record_file f) :
        buffered_records(std::move(f)),
        limit_(static_cast<std::size_t>(format_.largest_record)),
        quotes_(format_.kind == record_kind::csv_lines && format_.quotes) {}

    bool next(std::string_view& record) override {
        if (at_beginning() && !ended_) begin();
        else if (!format_.forgiving && next_held(record)) return true;
        while (!ended_) {
            if (format_.forgiving) pass_no_rows();
            const std::uint64_t line = lines_ + 1;
            std::size_t whole = 0; // with its end
            const std::size_t size = find_end(whole);
            if (size == none) {
                if (!fill(1)) break;
                continue; // it was left out
            }
            record = {data(), size};
            take(whole);
            ++records_;
            number_ = line;
            return true;
        }
        ended_ = true;
        record = {};
        return false;
    }

    void go_to(const record_position& p) override {
        no_quote_before_ = 0;
        buffered_records::go_to(p);
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    std::string place() const override {
        return "line " + std::to_string(lines_ + 1) + ", which begins at byte " + std::to_string(position().bytes);
    }

    // A line that has been read already, of a size that is allowed and without quotes: nearly every one.
    bool next_held(std::string_view& record) {
        if (ended_) return false;
        const char* const from = data();
        const auto* const at = static_cast<const char*>(std::memchr(from, '\n', available()));
        if (!at) return false;
        std::size_t size = static_cast<std::size_t>(at - from);
        if (quotes_ && has_quote(size)) return false;
        const std::size_t whole = size + 1;
        size -= size > 0 && from[size - 1] == '\r';
        if (size > limit_) return false;
        record = {from, size};
        take(whole);
        ++records_;
        number_ = ++lines_;
        return true;
    }

    // Whether one is in the next so many bytes. Once it looks through all that has been read, instead of each line.
    bool has_quote(std::size_t size) {
        const std::uint64_t here = position().bytes;
        if (here + size <= no_quote_before_) return false;
        const char* const from = data();
        const auto* const at = static_cast<const char*>(std::memchr(from, '"', available()));
        const std::size_t free = at ? static_cast<std::size_t>(at - from) : available();
        no_quote_before_ = here + free;
        return free < size;
    }

    // The byte order mark and the header lines, of whatever length.
    void begin() {
        if (format_.kind == record_kind::csv_lines) refuse_wide();
        if (fill(1) && data()[0] == '\xEF' && fill(3) && std::memcmp(data(), "\xEF\xBB\xBF", 3) == 0) take(3);
        for (std::int64_t i = 0; i < format_.skip_header_lines; ++i) {
            if (format_.forgiving) pass_no_rows(); // which are no lines that count
            if (!fill(1)) break;
            skip_line(quotes_);
        }
    }

    // Text of two or four bytes a character is no CSV: with a byte order mark, or as a zero beside each character shows.
    void refuse_wide() {
        // A pipe may not have more for a long time; four where they may be a mark.
        if (fill(2) && (std::memcmp(data(), "\xFF\xFE", 2) == 0 || std::memcmp(data(), "\0\0", 2) == 0)) (void)fill(4);
        if (available() >= 2 && (data()[0] == 0) != (data()[1] == 0)) (void)fill(64); // however the file is read
        const std::string_view first(data(), std::min<std::size_t>(available(), 64) & ~std::size_t{1});
        bool zeros[2] = {first.size() >= 8, first.size() >= 8}; // the first of each two bytes, and the second
        bool others[2] = {true, true};
        for (std::size_t i = 0; i < first.size(); ++i) {
            zeros[i % 2] = zeros[i % 2] && first[i] == 0;
            others[i % 2] = others[i % 2] && first[i] != 0;
        }
        const bool marked4 = first.starts_with(std::string_view("\xFF\xFE\0\0", 4)) ||
                             first.starts_with(std::string_view("\0\0\xFE\xFF", 4));
        const bool marked = marked4 || first.starts_with("\xFF\xFE") || first.starts_with("\xFE\xFF");
        if (!marked && !(zeros[0] && others[1]) && !(zeros[1] && others[0])) return;
        const std::string is = marked4 ? "UTF-32" : "UTF-16";
        const std::string said = say("the file is " + is + ", not UTF-8; convert it: iconv -f " + is + " -t UTF-8");
        end();
        throw invalid_argument_error(said);
    }

    bool is_blank(char c) const { return c == ' ' || (c == '\t' && !format_.tabs_count); }
    // Forgiving: blank lines and comments up to the next row.
    void pass_no_rows() {
        for (std::size_t seen = 0; !ended_;) {
            if (seen == available() && !more(limit_ + 2)) {
                if (seen > 0) ++lines_;
                return take(seen); // nothing, or spaces
            }
            const char c = data()[seen];
            if (is_blank(c)) {
                if (++seen > limit_) return; // which is said of the row
                continue;
            }
            if (c != '\n' && c != '\r' && (c != format_.comment || c == 0)) return;
            skip_line(false);
            seen = 0;
        }
    }

    // The size of the line end that begins at data() + at, of which that is there; 0: none does.
    std::size_t end_at(std::size_t at) {
        const char c = data()[at];
        if (c == '\n') return 1;
        if (c != '\r' || !format_.forgiving) return 0;
        return (at + 1 < available() || more(at + 2)) && data()[at + 1] == '\n' ? 2 : 1;
    }
    // Forgiving: behind the end of the line or, with quotes, of the row.
    void skip_forgiving(bool with_quotes) {
        for (bool quoted = false; available() > 0 || more(1);) {
            if (data()[0] == '"') quoted = with_quotes && !quoted;
            const std::size_t end = end_at(0);
            take(std::max<std::size_t>(end, 1));
            if (end == 0) continue;
            ++lines_;
            if (!quoted) return;
        }
    }
    // As find_end.
    std::size_t find_end_forgiving(std::size_t& whole) {
        bool quoted = false;
        std::uint64_t lines = 1;
        for (std::size_t seen = 0;;) {
            if (seen > limit_ + 1) return too_long();
            if (seen == available() && !more(limit_ + 2)) {
                whole = seen;
                if (seen > limit_) return too_long();
                if (seen == 0) return none;
                if (quoted) return never_ends();
                lines_ += lines;
                return seen;
            }
            if (data()[seen] == '"') quoted = quotes_ && !quoted;
            const std::size_t end = end_at(seen);
            if (end > 0 && !quoted) {
                if (seen > limit_) return too_long();
                whole = seen + end;
                lines_ += lines;
                return seen;
            }
            lines += end > 0;
            seen += std::max<std::size_t>(end, 1);
        }
    }

    // Behind the end of the line or, with quotes, of the row.
    void skip_line(bool with_quotes) {
        if (format_.forgiving) return skip_forgiving(with_quotes);
        bool quoted = false;
        for (;;) {
            const auto* const at = static_cast<const char*>(std::memchr(data(), '\n', available()));
            const std::size_t here = at ? static_cast<std::size_t>(at - data()) + 1 : available();
            if (with_quotes) quoted = quoted != (std::count(data(), data() + here, '"') % 2 != 0);
            take(here);
            if (at) ++lines_;
            if (at && !quoted) return;
            if (available() == 0 && !more(1)) return;
        }
    }

    // The size of the line at data(), and with its end; none at the end of the file, and where it was left out.
    std::size_t find_end(std::size_t& whole) {
        if (format_.forgiving) return find_end_forgiving(whole);
        std::size_t seen = 0; // without an end that counts
        bool quoted = false;
        std::uint64_t lines = 0;
        for (;;) {
            const char* const from = data();
            const auto* const at = static_cast<const char*>(
                available() > seen ? std::memchr(from + seen, '\n', available() - seen) : nullptr);
            const std::size_t here = at ? static_cast<std::size_t>(at - from) : available();
            if (quotes_) quoted = quoted != (count_quotes(from + seen, from + here) % 2 != 0);
            lines += at != nullptr;
            if (at && !quoted) {
                whole = here + 1;
                const std::size_t size = here - (here > 0 && from[here - 1] == '\r');
                if (size > limit_) return too_long();
                lines_ += lines;
                return size;
            }
            seen = at ? here + 1 : here;
            // A '\r' may belong to the end.
            if (seen > limit_ + 1) return too_long();
            if (at || more(limit_ + 2)) continue;
            whole = seen;
            if (seen > limit_) return too_long();
            if (seen == 0) return none;
            if (quoted) return never_ends();
            lines_ += lines + 1;
            return seen;
        }
    }
    static std::ptrdiff_t count_quotes(const char* from, const char* to) {
        const auto* const first =
            from == to ? nullptr
                       : static_cast<const char*>(std::memchr(from, '"', static_cast<std::size_t>(to - from)));
        return first ? std::count(first, to, '"') : 0;
    }

    // The line in which the quote begins that has not ended within so many bytes from data() on; 0 where none is open.
    std::uint64_t open_quote(std::size_t bytes) const {
        std::uint64_t line = lines_ + 1, since = 0;
        const char* const from = data();
        for (std::size_t i = 0; i < bytes; ++i) {
            line += from[i] == '\n';
            if (from[i] != '"') continue;
            if (since > 0 && i + 1 < bytes && from[i + 1] == '"') ++i; // one that is meant as such
            else since = since > 0 ? 0 : line;
        }
        return since;
    }

    std::size_t too_long() {
        std::string what =
            "a line of more than " + std::to_string(limit_) + " bytes; raise largest_record if it is one";
        // As far as the limit: what has been read beyond it is chance.
        if (const std::uint64_t line = quotes_ ? open_quote(std::min(available(), limit_ + 1)) : 0; line > 0)
            what += "; a quote that begins in line " + std::to_string(line) + " has not ended so far";
        const std::string said = say(what);
        number_ = lines_ + 1;
        ++records_;
        skip_line(quotes_);
        leave_out(error_code::resource_exhausted, said);
        return none;
    }
    std::size_t never_ends() {
        const std::string said = say("a quote that begins in line " + std::to_string(open_quote(available())) +
                                     " never ends; close it, or double a quote that is meant as one");
        number_ = lines_ + 1;
        ++records_;
        end();
        leave_out(error_code::data_loss, said);
        return none;
    }

    const std::size_t limit_;
    const bool quotes_;                 // line ends may stand in them
    std::uint64_t no_quote_before_ = 0; // from position() to there, in the file
};

TENON_INLINE std::unique_ptr<record_source> text_records(record_file f) {
    return std::make_unique<text_source>(std::move(f));
}

} // namespace tenon::detail
