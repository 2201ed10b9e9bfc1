#pragma once

#include <tenon/io/text/regex_replacer.hpp>

#include <tenon/core/error.hpp>

#if TENON_WITH_RE2
#include <cstddef>

#include <re2/re2.h>

#include <tenon/io/text/element_text.hpp>
#endif

namespace tenon {

#if TENON_WITH_RE2

struct regex_replacer::compiled {
    re2::RE2 pattern;
    std::string rewrite;
    bool replace_global;

    // Of the program and the automata that it is run by. Where these need more, RE2 is slower and no less right.
    static constexpr int memory = 16 << 20;
    // RE2 has no limit for a pattern that it has read and not compiled yet, which can take 10000 times its length.
    static constexpr std::size_t longest_pattern = 32 << 10;

    static re2::RE2::Options options() {
        re2::RE2::Options o;
        o.set_max_mem(memory);
        o.set_log_errors(false);
        return o;
    }
    compiled(const std::string& p, const std::string& by, bool all) :
        pattern(p, options()), rewrite(by), replace_global(all) {}
};

TENON_INLINE regex_replacer::regex_replacer(const std::string& who, const std::string& pattern,
                                            const std::string& rewrite, bool replace_global) {
    if (pattern.size() > compiled::longest_pattern)
        throw resource_exhausted_error(who + ": the pattern has " + std::to_string(pattern.size()) +
                                       " bytes, more than the limit of " + std::to_string(compiled::longest_pattern));
    const auto made = std::make_shared<const compiled>(pattern, rewrite, replace_global);
    if (made->pattern.error_code() == re2::RE2::ErrorPatternTooLarge)
        throw resource_exhausted_error(who + ": the pattern " + detail::shown_text(pattern) +
                                       " is too large: compiled, it does not fit into " +
                                       std::to_string(compiled::memory) + " bytes (" + made->pattern.error() + ")");
    if (!made->pattern.ok())
        throw invalid_argument_error(who + ": the pattern " + detail::shown_text(pattern) +
                                     " is no regular expression: " + made->pattern.error());
    std::string why;
    if (!made->pattern.CheckRewriteString(rewrite, &why))
        throw invalid_argument_error(who + ": the rewrite " + detail::shown_text(rewrite) +
                                     " does not go with the pattern " + detail::shown_text(pattern) + ": " + why +
                                     " (groups are \\1 to \\9, all of the match is \\0, a backslash is \\\\)");
    compiled_ = made;
}

TENON_INLINE std::string regex_replacer::operator()(std::string_view text) const {
    std::string to(text);
    if (compiled_->replace_global) re2::RE2::GlobalReplace(&to, compiled_->pattern, compiled_->rewrite);
    else re2::RE2::Replace(&to, compiled_->pattern, compiled_->rewrite);
    return to;
}

TENON_INLINE std::string detail::re2_library() { return "found"; }

#else

struct regex_replacer::compiled {};

TENON_INLINE regex_replacer::regex_replacer(const std::string& who, const std::string&, const std::string&, bool) {
    throw unimplemented_error(who + ": this build of Tenon has no RE2, which regular expressions need: install it "
                                    "(Debian: libre2-dev) and build Tenon again with TENON_WITH_RE2=ON");
}
TENON_INLINE std::string regex_replacer::operator()(std::string_view text) const { return std::string(text); }

TENON_INLINE std::string detail::re2_library() { return "not found: regular expressions cannot be replaced"; }

#endif

} // namespace tenon
