#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// What the head of a request of HTTP/1.1 says of the bytes that follow it. Whatever two readers could take for different things is
/// refused.

namespace tenon::net {

struct body_said {
    /// Empty where the request can be read; else a status, "411 Length Required", with which it is answered, and why.
    std::string refused = {}, why = {};
    std::size_t bytes = 0;         ///< of the body
    bool waits_to_be_told = false; ///< "Expect: 100-continue": it is sent when it is asked for
};

/// `head`: up to the empty line, and with it. At most `most` bytes follow.
body_said body_of_head(std::string_view head, std::size_t most);
/// The same head without what it expects.
std::string without_expectation(const std::string& head);
/// A header's value without the blanks and tabulators around it.
std::string_view without_blanks(std::string_view text) noexcept;

} // namespace tenon::net
