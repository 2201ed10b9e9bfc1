#pragma once

/// The allocations of this program, of which one can be made to fail: operator new in all its forms, and so what is built on it.

namespace no_memory {

/// From here on allocations are counted, on all threads; number `failing` (from 1 on; 0: none) finds no memory.
void count_allocations(long failing);
/// Counts no more; how many there were.
long stop_counting();
/// Whether the one that was to fail came.
bool has_failed();

} // namespace no_memory
