#pragma once

/// Touching memory that may not be touched: a kernel that does it ends with an error; the host's program ends, and is told why.

namespace tenon::emulator {

/// Once, on the thread that runs kernels.
void make_signal_stack();
/// Before a kernel: test frameworks put handlers of their own in place for each test.
void catch_signals();

} // namespace tenon::emulator
