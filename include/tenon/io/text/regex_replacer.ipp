#pragma once

#include <tenon/io/text/regex_replacer.hpp>

#include <tenon/io/text/compiled_regex.hpp>

namespace tenon {

#if TENON_WITH_RE2

struct regex_replacer::compiled {
    std::unique_ptr<const re2::RE2> pattern;
    std::string rewrite;
    bool replace_global;
};

TENON_INLINE regex_replacer::regex_replacer(const std::string& who, const std::string& pattern,
                                            const std::string& rewrite, bool replace_global) {
    auto made = detail::compiled_regex(who, pattern);
    std::string why;
    if (!made->CheckRewriteString(rewrite, &why))
        throw invalid_argument_error(who + ": the rewrite " + detail::shown_text(rewrite) +
                                     " does not go with the pattern " + detail::shown_text(pattern) + ": " + why +
                                     " (groups are \\1 to \\9, all of the match is \\0, a backslash is \\\\)");
    compiled_ = std::make_shared<const compiled>(compiled{std::move(made), rewrite, replace_global});
}

TENON_INLINE std::string regex_replacer::operator()(std::string_view text) const {
    std::string to(text);
    if (compiled_->replace_global) re2::RE2::GlobalReplace(&to, *compiled_->pattern, compiled_->rewrite);
    else re2::RE2::Replace(&to, *compiled_->pattern, compiled_->rewrite);
    return to;
}

TENON_INLINE std::string detail::re2_library() { return "found"; }

#else

struct regex_replacer::compiled {};

TENON_INLINE regex_replacer::regex_replacer(const std::string& who, const std::string&, const std::string&, bool) {
    detail::needs_re2(who);
}
TENON_INLINE std::string regex_replacer::operator()(std::string_view text) const { return std::string(text); }

TENON_INLINE std::string detail::re2_library() { return "not found: regular expressions cannot be replaced"; }

#endif

} // namespace tenon
