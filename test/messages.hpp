#pragma once

#include <string>

/// What the Error that f throws says; another exception passes through.
template <class Error, class F> std::string message_of(F f) {
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
