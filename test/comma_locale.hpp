#pragma once

#include <clocale>
#include <cstdlib>
#include <string>

#include "temporary_folder.hpp"

/// While it lives numbers of the C library have a decimal comma, as a program's have that takes its user's language. is_there: where the
/// system can make such a locale (localedef), or has one.
class comma_locale {
public:
    comma_locale() : before_(std::setlocale(LC_ALL, nullptr)) {
        ::setenv("LOCPATH", folder_.path().c_str(), 1);
        const std::string make = "localedef -i de_DE -f UTF-8 '" + (folder_ / "de_DE.UTF-8") + "' >/dev/null 2>&1";
        (void)!std::system(make.c_str());
        is_there =
            std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr && std::string(std::localeconv()->decimal_point) == ",";
        ::unsetenv("LOCPATH");
    }
    ~comma_locale() { std::setlocale(LC_ALL, before_.c_str()); }
    comma_locale(comma_locale&&) = delete;

    bool is_there = false;

private:
    const temporary_folder folder_;
    const std::string before_;
};
