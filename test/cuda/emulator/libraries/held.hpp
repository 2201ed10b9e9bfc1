#pragma once

#include <mutex>

namespace tenon::emulator {

/// What the calls of a library share, a State with a `guard`, which is locked as long as this lives.
template <class State> class held {
public:
    held(State& s) : lock_(s.guard), state_(s) {}
    State* operator->() const { return &state_; }

private:
    const std::lock_guard<std::mutex> lock_;
    State& state_;
};

} // namespace tenon::emulator
