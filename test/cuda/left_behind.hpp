#pragma once

#include <utility>

#include <doctest/doctest.h>

#include "emulator/control.hpp"

namespace tenon::test {

/// Checks that what `use` does leaves no stream, event, graph or memory of a card behind, once it has been done before. What there was before
/// and after, for more checks.
template <class F> std::pair<emulator::counts, emulator::counts> check_nothing_is_left(const F& use) {
    use();
    const emulator::counts before = emulator::count();
    for (int i = 0; i < 3; ++i) use();
    const emulator::counts after = emulator::count();
    CHECK(after.streams == before.streams);
    CHECK(after.events == before.events);
    CHECK(after.graphs == before.graphs);
    CHECK(after.executables == before.executables);
    CHECK(after.device_bytes == before.device_bytes);
    return {before, after};
}

} // namespace tenon::test
