#pragma once

#include <tenon/core/config.hpp>

#if TENON_WITH_RE2

#include <cstddef>
#include <memory>
#include <string>

#include <re2/re2.h>

#include <tenon/core/error.hpp>
#include <tenon/io/text/element_text.hpp>

/// Regular expressions from outside, compiled within limits. Read by .ipp files only.

namespace tenon::detail {

/// Errors begin with `who`: invalid_argument_error for what is no pattern, with RE2's words; resource_exhausted_error for one of more
/// than 32 KiB, or that does not fit into 16 MiB compiled.
inline std::unique_ptr<const re2::RE2> compiled_regex(const std::string& who, const std::string& pattern) {
    // Of the program and the automata that it is run by. Where these need more, RE2 is slower and no less right.
    constexpr int memory = 16 << 20;
    // RE2 has no limit for a pattern that it has read and not compiled yet, which can take 10000 times its length.
    constexpr std::size_t longest = 32 << 10;
    if (pattern.size() > longest)
        throw resource_exhausted_error(who + ": the pattern has " + std::to_string(pattern.size()) +
                                       " bytes, more than the limit of " + std::to_string(longest));
    re2::RE2::Options o;
    o.set_max_mem(memory);
    o.set_log_errors(false);
    auto made = std::make_unique<const re2::RE2>(pattern, o);
    if (made->error_code() == re2::RE2::ErrorPatternTooLarge)
        throw resource_exhausted_error(who + ": the pattern " + shown_text(pattern) +
                                       " is too large: compiled, it does not fit into " + std::to_string(memory) +
                                       " bytes (" + made->error() + ")");
    if (!made->ok())
        throw invalid_argument_error(who + ": the pattern " + shown_text(pattern) +
                                     " is no regular expression: " + made->error());
    return made;
}

} // namespace tenon::detail

#else

#include <string>

#include <tenon/core/error.hpp>

namespace tenon::detail {
[[noreturn]] inline void needs_re2(const std::string& who) {
    throw unimplemented_error(who + ": this build of Tenon has no RE2, which regular expressions need: install it "
                                    "(Debian: libre2-dev) and build Tenon again with TENON_WITH_RE2=ON");
}
} // namespace tenon::detail

#endif
