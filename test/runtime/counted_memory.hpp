#pragma once

#include <cstdint>

// What this test program's operator new has given out (allocation.cpp).
namespace counted_memory {
std::int64_t held_bytes();   // and not got back
std::int64_t taken_blocks(); // since the program began
std::int64_t taken_bytes();  // the same, of those, whatever became of them
} // namespace counted_memory
