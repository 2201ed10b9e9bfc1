#pragma once

#include <string>

#include "messages.hpp"

/// What the Error says that f(seconds) throws at its limit, which is doubled until `words` are among it: a machine with much else to do
/// may come to a limit before a step has come to where it waits for ever.
template <class Error, class F> std::string message_at_limit(const std::string& words, F f, double seconds = 0.01) {
    for (;; seconds *= 2) {
        const std::string text = message_of<Error>([&] { f(seconds); });
        if (contains(text, words) || text == "nothing was thrown" || seconds > 100) return text;
    }
}
