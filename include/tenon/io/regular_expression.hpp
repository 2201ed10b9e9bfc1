#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

/// Regular expressions that find a match in time that grows with text times pattern, whatever these are, and without a stack that
/// grows: texts come from outside.

namespace tenon {

/// A pattern in ECMAScript's syntax (ECMA-262, 22.2.1): . [a-z] [^a-z] \d \w \s \D \W \S \t \n \r \f \v \0 \xHH \uHHHH ^ $ \b \B
/// (x) (?:x) x|y x* x+ x? x{2} x{2,} x{2,4}, and the last five lazily with a ? behind. What would need to try again is not there:
/// back references and look-aheads. A match is the leftmost, and of several there the first in the pattern's order of preference.
/// Of a group that is repeated the last match counts. Texts are UTF-8, and what is matched are characters (code points); a byte
/// that is a part of none is one of its own.
///
/// The method: the threads of K. Thompson's matcher, in order of preference, with their groups (R. Pike's sam).
///
/// Thread-safe.
class regular_expression {
public:
    /// invalid_argument_error, which begins with `who` and names the place, for what is no pattern, or too large a one.
    regular_expression(const std::string& who, std::string_view pattern);

    /// Groups in round brackets.
    int groups() const noexcept { return groups_; }
    /// The first match that begins at byte `from` or later: where it and its groups begin and end, as many as `ends` has room
    /// for (2 each); npos for a group that took no part. False where there is none.
    bool find(std::string_view text, std::size_t from, std::vector<std::size_t>& ends) const;
    static constexpr std::size_t npos = static_cast<std::size_t>(-1);

    /// What stands in place of a match: texts and groups.
    struct piece {
        std::string text;
        int group = -1; ///< 0: all of the match; -1: the text
    };
    using rewrite = std::vector<piece>;
    /// Of a text with $1, $2, ... for groups, $& for all of the match, and $$ for $. invalid_argument_error for a group that is
    /// not there.
    rewrite read_rewrite(const std::string& who, std::string_view text) const;
    /// Of each match or of the first. Behind an empty one, a character is passed over.
    std::string replace(std::string_view text, const rewrite& by, bool all = true) const;

private:
    enum class kind : std::uint8_t {
        character,
        set,
        split,
        jump,
        save,
        text_begin,
        text_end,
        word_edge,
        no_word_edge,
        match
    };
    struct instruction {
        kind what;
        std::int32_t a = 0, b = 0; // a character, a set, a slot, or how far to go: split, first to a, then to b
    };
    using ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>; // from, to: of characters, in order
    class compiler;
    class matcher;

    bool holds(const ranges& set, std::uint32_t c) const noexcept;
    void find_first_bytes();

    std::vector<instruction> program_;
    std::vector<ranges> sets_;
    int groups_ = 0;
    bool first_bytes_[256] = {}; // that a match can begin with
    bool may_be_empty_ = false;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/regular_expression.ipp>
#endif
