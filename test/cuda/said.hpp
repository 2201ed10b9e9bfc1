#pragma once

#include <unistd.h>

#include "tests.hpp"

namespace tenon::test {

/// What f writes to standard error.
template <class F> std::string said_by(const F& f) {
    const temporary_folder folder;
    const std::string file = folder / "said";
    std::fflush(stderr);
    const int kept = dup(2);
    REQUIRE(std::freopen(file.c_str(), "w", stderr) != nullptr);
    const auto back = [&] {
        std::fflush(stderr);
        dup2(kept, 2);
        close(kept);
    };
    try {
        f();
    } catch (...) {
        back();
        throw;
    }
    back();
    return read_bytes(file);
}

} // namespace tenon::test
