#include <net/http/request_head.hpp>

#include <charconv>

#include <tenon/core/text/letter_case.hpp>

namespace tenon::net {

namespace {

using tenon::detail::is_same_but_for_case;

// Calls f(line with its end, name, value) for each header.
template <class F> void each_header(std::string_view head, F&& f) {
    std::size_t at = head.find("\r\n");
    while (at != std::string_view::npos) {
        const std::size_t begin = at + 2;
        at = head.find("\r\n", begin);
        if (at == std::string_view::npos || at == begin) return;
        const std::string_view line = head.substr(begin, at - begin);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) f(begin, at + 2, line, std::string_view());
        else f(begin, at + 2, line.substr(0, colon), without_blanks(line.substr(colon + 1)));
    }
}

} // namespace

std::string_view without_blanks(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

body_said body_of_head(std::string_view head, std::size_t most) {
    body_said said;
    bool has_length = false;
    const auto refuse = [&](const char* status, const std::string& why) {
        said.refused = status;
        said.why = why;
    };
    each_header(head, [&](std::size_t, std::size_t, std::string_view name, std::string_view value) {
        // A blank before the colon hides a header from one reader and not from another.
        if (!name.empty() && (name.back() == ' ' || name.back() == '\t' || name.front() == ' ' || name.front() == '\t'))
            refuse("400 Bad Request", "a header's name has a blank at its end");
        if (is_same_but_for_case(name, "Transfer-Encoding"))
            refuse("411 Length Required", "bodies in chunks are not read; send the body's Content-Length");
        if (is_same_but_for_case(name, "Expect") && is_same_but_for_case(value, "100-continue"))
            said.waits_to_be_told = true;
        if (!is_same_but_for_case(name, "Content-Length")) return;
        std::size_t length = 0;
        const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), length);
        if (has_length || value.empty() || end != value.data() + value.size() || wrong == std::errc::invalid_argument)
            refuse("400 Bad Request", "one Content-Length is needed, a number of bytes");
        else if ((wrong != std::errc() || length > most) && said.refused.empty())
            refuse("413 Payload Too Large",
                   "a body of " + std::string(value) + " bytes; " + std::to_string(most) + " are read at most");
        else said.bytes = length;
        has_length = true;
    });
    if (!said.refused.empty()) said.bytes = 0;
    return said;
}

std::string without_expectation(const std::string& head) {
    std::string all;
    std::size_t kept = 0;
    each_header(head, [&](std::size_t begin, std::size_t end, std::string_view name, std::string_view) {
        if (!is_same_but_for_case(name, "Expect")) return;
        all.append(head, kept, begin - kept);
        kept = end;
    });
    return all.append(head, kept);
}

} // namespace tenon::net
