#pragma once

#include <doctest/doctest.h>

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

/// CHECK_ERROR(tn::not_found_error, "no file", open(path)): that the expression throws an Error which says this, among other words.
#define CHECK_ERROR(ERROR, WORDS, ...) CHECK_THROWS_WITH_AS((void)(__VA_ARGS__), saying(WORDS), ERROR)
inline doctest::Contains saying(const std::string& words) {
    return doctest::Contains(doctest::String(words.data(), static_cast<unsigned>(words.size())));
}
