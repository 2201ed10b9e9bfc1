#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <tenon/core/config.hpp>

/// What matches a regular expression, replaced: RE2 finds it, in time that grows with the text and on a stack that does not,
/// whatever the pattern is.

namespace tenon {

/// Replaces in texts what matches a pattern. Pattern and rewrite are RE2's (https://github.com/google/re2/wiki/Syntax), as
/// TensorFlow's regex_replace has them: in a rewrite, \1 to \9 are the pattern's groups, \0 is all of the match, and a
/// backslash is \\. A match is the leftmost, and of several there the one that Perl prefers; behind it the search goes on, and
/// what is empty right behind a match is none. Texts are UTF-8; a byte that is a part of no character is matched by \C alone.
///
/// Thread-safe. A pattern as it is compiled takes up to 16 MiB.
class regex_replacer {
public:
    /// `replace_global`: each match, not the first only. Errors begin with `who`: invalid_argument_error for what is no pattern,
    /// with RE2's words, and for a rewrite that names a group that is not there; resource_exhausted_error for a pattern of more
    /// than 32 KiB, or that RE2 cannot compile within its limit; unimplemented_error where this build has no RE2.
    regex_replacer(const std::string& who, const std::string& pattern, const std::string& rewrite,
                   bool replace_global = true);
    std::string operator()(std::string_view text) const;

private:
    struct compiled;
    std::shared_ptr<const compiled> compiled_;
};

namespace detail {
/// That RE2 is there, or what cannot be done without it. (It does not tell its version.)
std::string re2_library();
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/text/regex_replacer.ipp>
#endif
