#pragma once

#include <string>

namespace tenon::command {

/// A text that others chose, as it may be shown on a terminal: control characters, what changes the direction of writing, and
/// bytes that are no UTF-8 are written as "\n", "\x1b" and "\u202e", a backslash as two. So a name is part of one line, and moves
/// neither cursor nor colours. `lines`: line breaks stay.
std::string printable(const std::string& text, bool lines = false);

} // namespace tenon::command
