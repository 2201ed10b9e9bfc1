#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/text/compiled_regex.hpp>

/// The patterns by which tokenisers take texts apart. Read by .ipp files only.

namespace tenon::detail {

/// The bytes of the blank (Unicode's White_Space) at a place of a text; 0 where there is none.
inline std::size_t blank_at(std::string_view text, std::size_t at) {
    if (at >= text.size()) return 0;
    const auto byte = [&](std::size_t i) {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
    };
    const unsigned a = byte(0), b = byte(1), c = byte(2);
    if ((a >= 0x09 && a <= 0x0D) || a == ' ') return 1;
    if (a == 0xC2) return b == 0x85 || b == 0xA0 ? 2 : 0;
    const bool wide = (a == 0xE1 && b == 0x9A && c == 0x80) || (a == 0xE2 && b == 0x81 && c == 0x9F) ||
                      (a == 0xE3 && b == 0x80 && c == 0x80) ||
                      (a == 0xE2 && b == 0x80 && ((c >= 0x80 && c <= 0x8A) || c == 0xA8 || c == 0xA9 || c == 0xAF));
    return wide ? 3 : 0;
}
/// Where the blanks that begin at a place end.
inline std::size_t behind_blanks(std::string_view text, std::size_t at) {
    while (const std::size_t n = blank_at(text, at)) at += n;
    return at;
}

#if TENON_WITH_RE2

/// A pattern of Oniguruma's, which Hugging Face's tokenisers use, found by RE2: what means something else there is said in its words, the
/// one way to look ahead that such patterns use, an alternative \s+(?!\S), is done by hand, and the rest is refused.
class piece_pattern {
public:
    struct match {
        std::size_t begin = 0, end = 0;
        bool found() const { return end > begin; }
    };

    /// What compiled_regex throws; unimplemented_error for what is not read.
    piece_pattern(std::string who, std::string_view pattern) : who_(std::move(who)), pattern_(pattern) {
        translate();
        if (ahead_ != none) {
            earlier_ = joined(0, ahead_);
            later_ = joined(ahead_ + 1, alternatives_.size());
        }
        all_ = joined(0, alternatives_.size());
        if (re2::RE2::FullMatch("", *all_)) refuse("a match of no characters");
    }
    /// This text.
    static piece_pattern literal(const std::string& who, const std::string& text) {
        piece_pattern p;
        p.all_ = compiled_regex(who, re2::RE2::QuoteMeta(text));
        return p;
    }

    /// The first match at `from` or behind it.
    match next(std::string_view text, std::size_t from) const {
        for (;;) {
            const match m = find(all_, text, from, re2::RE2::UNANCHORED);
            if (ahead_ == none || !m.found() || m.end == text.size() || blank_at(text, m.end) > 0) return m;
            std::size_t last = m.begin; // the last of the blanks
            for (std::size_t at = last; at < m.end; at += blank_at(text, at)) {
                if (blank_at(text, at) == 0) return m;
                last = at;
            }
            // Blanks and then something else: these are not what looks ahead matches.
            if (const match e = find(earlier_, text, m.begin, re2::RE2::ANCHOR_START); e.found()) return e;
            if (last > m.begin) return {m.begin, last};
            if (const match l = find(later_, text, m.begin, re2::RE2::ANCHOR_START); l.found()) return l;
            from = m.end;
        }
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    using compiled = std::shared_ptr<const re2::RE2>;

    piece_pattern() = default;
    [[noreturn]] void refuse(const std::string& what) const {
        throw unimplemented_error(who_ + ": the pattern " + shown_text(pattern_) + " has " + what +
                                  ", which is not read");
    }
    compiled joined(std::size_t from, std::size_t to) const {
        if (from == to) return nullptr;
        std::string all;
        for (std::size_t i = from; i < to; ++i) all += (i > from ? "|" : "") + alternatives_[i];
        return compiled_regex(who_, all);
    }
    static match find(const compiled& pattern, std::string_view text, std::size_t from, re2::RE2::Anchor how) {
        re2::StringPiece found, all(text.data(), text.size());
        if (!pattern || !pattern->Match(all, from, text.size(), how, &found, 1)) return {};
        const auto begin = static_cast<std::size_t>(found.data() - text.data());
        return {begin, begin + found.size()};
    }

    static constexpr std::string_view blanks =
        R"(\t\n\v\f\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
    static constexpr std::string_view others =
        R"(\x{00}-\x{08}\x{0E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
        R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";

    // What begins at `at` with a backslash; `at` goes behind it.
    std::string escaped(std::size_t& at, bool in_class) const {
        if (at + 1 >= pattern_.size()) refuse("a backslash at its end");
        const char c = pattern_[at + 1];
        at += 2;
        const auto set = [&](std::string_view inside) {
            return in_class ? std::string(inside) : "[" + std::string(inside) + "]";
        };
        switch (c) {
        case 's': return set(blanks);
        case 'S': return set(others);
        case 'd': return R"(\p{Nd})";
        case 'D': return R"(\P{Nd})";
        case 'u': { // four digits
            const std::string digits(pattern_.substr(at, 4));
            at += digits.size();
            return R"(\x{)" + digits + '}';
        }
        default: break;
        }
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter && std::string_view("tnrfvapPx").find(c) == std::string_view::npos) refuse(std::string("\\") + c);
        return {'\\', c};
    }
    void translate() {
        constexpr std::string_view looking_ahead = R"(\s+(?!\S))";
        const std::string_view p = pattern_;
        std::string now;
        int depth = 0;
        bool in_class = false;
        for (std::size_t at = 0; at < p.size();) {
            const char c = p[at], next = at + 1 < p.size() ? p[at + 1] : '\0';
            if (now.empty() && depth == 0 && p.substr(at, looking_ahead.size()) == looking_ahead) {
                const std::size_t end = at + looking_ahead.size();
                if (ahead_ != none) refuse("two alternatives that look ahead");
                if (end == p.size() || p[end] == '|') {
                    ahead_ = alternatives_.size();
                    now = "[" + std::string(blanks) + "]+";
                    at = end;
                    continue;
                }
            }
            if (c == '\\') {
                now += escaped(at, in_class);
                continue;
            }
            if (in_class) {
                if (c == '[' || (c == '&' && next == '&')) refuse("a class within a class");
                in_class = c != ']';
            } else if (c == '[') {
                in_class = true;
                if (next == '^') now += p[at++];
                if (at + 1 < p.size() && p[at + 1] == ']') refuse("an empty class");
            } else if (c == '(') {
                ++depth;
                if (next == '?' && p.substr(at, 3) != "(?:" && p.substr(at, 4) != "(?i:")
                    refuse("the group " + std::string(p.substr(at, 4)));
            } else if (c == ')') --depth;
            else if (c == '^' || c == '$') refuse(std::string("the anchor ") + c);
            else if (c == '{' && next == ',') refuse("{,");
            else if ((c == '?' || c == '*' || c == '+') && next == '+') refuse("a possessive quantifier");
            else if (c == '|' && depth == 0) {
                alternatives_.push_back(std::exchange(now, {}));
                ++at;
                continue;
            }
            now += p[at++];
        }
        alternatives_.push_back(now);
    }

    std::string who_;
    std::string_view pattern_; // of the constructor
    std::vector<std::string> alternatives_;
    std::size_t ahead_ = none; // which of them looks ahead
    compiled all_, earlier_, later_;
};

#endif

} // namespace tenon::detail
