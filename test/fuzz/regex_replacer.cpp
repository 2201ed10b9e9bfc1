// Whatever the bytes, a pattern and a rewrite are refused, or replace what they find: a text stays as it is where a match is
// replaced by itself, and grows by none that is left out. The pattern ends with the first 0, the rewrite with the second; behind that is the text.
// covers: io/text/regex_replacer io/text/element_text

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/io/text/regex_replacer.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

std::string part(std::string_view& rest) {
    const std::string_view p = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(p.size() + 1, rest.size()));
    return std::string(p);
}

} // namespace

void try_input(const fuzz::input& in) {
    std::string_view text = in.view();
    const std::string pattern = part(text), rewrite = part(text);
    // unimplemented_error: without RE2.
    fuzz::is_read<tenon::invalid_argument_error, tenon::resource_exhausted_error, tenon::unimplemented_error>([&] {
        for (const bool global : {false, true}) {
            if (tenon::regex_replacer("fuzz", pattern, "\\0", global)(text) != text) std::abort();
            if (tenon::regex_replacer("fuzz", pattern, "", global)(text).size() > text.size()) std::abort();
            tenon::regex_replacer("fuzz", pattern, rewrite, global)(text);
        }
    });
}
