#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <tenon/io/text/read_number.hpp>
#include <tenon/io/text/utf8.hpp>

/// JSON (RFC 8259) read from left to right, as most of it is written: what is unusual, or wrong, is somebody else's. Included where parsers
/// are compiled only.

namespace tenon::detail {

/// Each function reads what its name says at the place where it is and goes behind it; false: it is not there, or is one of what is left to
/// the parser of nlohmann's library, which knows why. What is true is what that parser says, too.
class json_scanner {
public:
    explicit json_scanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    bool at_end() const noexcept { return at_ == end_; }
    char peek() const noexcept { return at_ == end_ ? '\0' : *at_; }
    void pass_spaces() noexcept {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
    }
    /// A character, and spaces behind it.
    bool take(char c) noexcept {
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        pass_spaces();
        return true;
    }
    bool word(std::string_view w) noexcept {
        if (static_cast<std::size_t>(end_ - at_) < w.size() || std::memcmp(at_, w.data(), w.size()) != 0) return false;
        at_ += w.size();
        return true;
    }
    bool truth(bool& v) noexcept {
        v = peek() == 't';
        return word(v ? "true" : "false");
    }
    /// A number that T can hold; whole ones for whole T.
    template <class T> bool number(T& v) {
        const char* const digits = at_ + (peek() == '-');
        if (digits == end_ || !is_decimal_digit(*digits)) return false;
        if (*digits == '0' && digits + 1 != end_ && is_decimal_digit(digits[1])) return false;
        text_fault f = text_fault::no_value;
        const char* const behind = read_number(at_, end_, v, f);
        if (f != text_fault::none || !is_decimal_digit(behind[-1])) return false;
        if constexpr (!std::is_integral_v<T>) // "1.e5" is none
            if (const void* const point = std::memchr(digits, '.', static_cast<std::size_t>(behind - digits)))
                if (!is_decimal_digit(static_cast<const char*>(point)[1])) return false;
        at_ = behind;
        return at_ == end_ || (*at_ != '.' && (*at_ | 0x20) != 'e');
    }
    /// Behind the quote that begins it: what stands before the one that ends it, and whether something in it is escaped.
    bool text(std::string_view& raw, bool& escaped) noexcept {
        if (peek() != '"') return false;
        const char* const from = ++at_;
        escaped = false;
        for (;;) {
            pass_plain();
            if (at_ == end_) return false;
            const auto c = static_cast<unsigned char>(*at_);
            if (c == '"') break;
            if (c < 0x20) return false;
            if (c >= 0x80) {
                if (!pass_wide()) return false;
            } else if (c == '\\') {
                escaped = true;
                if (end_ - at_ < 2) return false;
                at_ += 2;
            } else ++at_;
        }
        raw = {from, static_cast<std::size_t>(at_ - from)};
        ++at_;
        return true;
    }
    /// What a text with escapes in it says.
    static bool unescape(std::string_view raw, std::string& to) {
        to.resize(raw.size()); // never longer
        const char *at = raw.data(), *const end = at + raw.size();
        char* out = to.data();
        for (;;) {
            // Up to the next backslash; what is copied behind it is written over.
            while (end - at >= 8) {
                const std::uint64_t word = next_8(at);
                std::memcpy(out, &word, 8);
                const std::uint64_t found = zeros_in(word ^ ones * '\\') & highs;
                const int n = found == 0 ? 8 : reads_few_digits ? std::countr_zero(found) / 8 : 0;
                at += n;
                out += n;
                if (found != 0) break;
            }
            while (at != end && *at != '\\') *out++ = *at++;
            if (at == end) break;
            const char c = at[1], says = meaning(c);
            at += 2;
            if (says != 0) {
                *out++ = says;
                continue;
            }
            std::uint32_t code = 0, low = 0;
            if (c != 'u' || !unit(at, end, code) || (code & 0xFC00) == 0xDC00) return false;
            if ((code & 0xFC00) == 0xD800) {
                if (end - at < 2 || at[0] != '\\' || at[1] != 'u') return false;
                at += 2;
                if (!unit(at, end, low) || (low & 0xFC00) != 0xDC00) return false;
                code = 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF));
            }
            out = put_utf8(code, out);
        }
        to.resize(static_cast<std::size_t>(out - to.data()));
        return true;
    }
    /// Any value.
    bool pass_value(int deepest = 64) { // NOLINT(misc-no-recursion)
        std::string_view raw;
        bool flag = false;
        double number_passed = 0;
        switch (peek()) {
        case '"': return text(raw, flag) && (!flag || unescape(raw, passed_));
        case 't': return word("true");
        case 'f': return word("false");
        case 'n': return word("null");
        case '[':
            if (deepest == 0) return false;
            (void)take('[');
            for (bool more = peek() != ']'; more; more = next_of_several())
                if (!pass_value(deepest - 1)) return false;
            return word("]");
        case '{':
            if (deepest == 0) return false;
            (void)take('{');
            for (bool more = peek() != '}'; more; more = next_of_several())
                if (!text(raw, flag) || flag || !colon() || !pass_value(deepest - 1)) return false;
            return word("}");
        default: return number(number_passed);
        }
    }
    /// Spaces, a colon, spaces.
    bool colon() noexcept {
        pass_spaces();
        return take(':');
    }
    /// Spaces and, where there is one, a comma and spaces behind it.
    bool next_of_several() noexcept {
        pass_spaces();
        return take(',');
    }

private:
    // Characters that neither end a text nor need to be looked at, eight at a time.
    void pass_plain() noexcept {
        while (end_ - at_ >= 8) {
            const std::uint64_t word = next_8(at_);
            const std::uint64_t other =
                (zeros_in(word ^ ones * '"') | zeros_in(word ^ ones * '\\') | (word - ones * 0x20) | word) & highs;
            if (other == 0) {
                at_ += 8;
                continue;
            }
            if constexpr (reads_few_digits) at_ += std::countr_zero(other) / 8; // the first of them is exact
            return;
        }
    }
    // A character of several bytes, as Unicode (table 3-7) has them.
    bool pass_wide() noexcept {
        const auto byte = [&](std::ptrdiff_t i) {
            return i < end_ - at_ ? static_cast<unsigned char>(at_[i]) : static_cast<unsigned char>(0);
        };
        const unsigned char c = byte(0), second = byte(1);
        const int more = c >= 0xC2 && c <= 0xDF ? 1 : c >= 0xE0 && c <= 0xEF ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
        const unsigned char first = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
        const unsigned char last = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
        if (more == 0 || second < first || second > last) return false;
        for (int i = 2; i <= more; ++i)
            if ((byte(i) & 0xC0) != 0x80) return false;
        at_ += more + 1;
        return true;
    }
    static constexpr std::uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    // The high bit of each byte that is 0, and perhaps of bytes above the first of them.
    static constexpr std::uint64_t zeros_in(std::uint64_t word) { return (word - ones) & ~word; }

    // Of the character behind a backslash; 0: it is another one.
    static constexpr char meaning(char c) {
        switch (c) {
        case '"':
        case '\\':
        case '/': return c;
        case 'b': return '\b';
        case 'f': return '\f';
        case 'n': return '\n';
        case 'r': return '\r';
        case 't': return '\t';
        default: return 0;
        }
    }
    // Four hexadecimal digits.
    static bool unit(const char*& at, const char* end, std::uint32_t& code) {
        if (end - at < 4) return false;
        code = 0;
        for (const char* const behind = at + 4; at != behind; ++at) {
            const char letter = static_cast<char>(*at | 0x20);
            if (is_decimal_digit(*at)) code = code << 4 | static_cast<std::uint32_t>(*at - '0');
            else if (letter >= 'a' && letter <= 'f') code = code << 4 | static_cast<std::uint32_t>(letter - 'a' + 10);
            else return false;
        }
        return true;
    }

    const char* at_;
    const char* const end_;
    std::string passed_;
};

} // namespace tenon::detail
