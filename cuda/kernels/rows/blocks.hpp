#pragma once

#include <cstdint>

#include <cuda/kernels/grid.hpp>

/// A tensor [outer, n, inner] as lines of n elements, and how blocks take them: for what needs a whole line to find an element.

namespace tenon::cuda {

/// Elements of a line that a thread holds in registers: a line that its threads hold together is read once.
inline constexpr int held_elements = 16;
/// Threads of a block at most: what they hold must fit into the registers.
inline constexpr int most_line_threads = 512;

/// How the threads of a line take its elements in turns: one by one (columns are all lines that are no rows), or 16 bytes at a time.
enum class line_kind { columns, rows, packed_rows };

struct line_layout {
    std::int64_t outer = 1, n = 1, inner = 1;
    int held = held_elements; ///< of a line that a thread has
    int threads = 1;          ///< that share a line
    int lines = 1;            ///< side by side in a block
    std::int64_t tiles = 1;   ///< of what those threads hold, that a line has
    bool is_wide = false;     ///< rows begin at multiples of 16 bytes where the first does
    constexpr bool is_rows() const { return inner == 1; }
    constexpr std::int64_t count() const { return outer * inner; }
    constexpr unsigned block() const { return static_cast<unsigned>(threads * lines); }
    /// Shares lines out so.
    void share(std::int64_t threads_of_line, std::int64_t lines_of_block) {
        threads = static_cast<int>(threads_of_line);
        lines = static_cast<int>(lines_of_block);
        const std::int64_t all = threads_of_line * held;
        tiles = (n + all - 1) / all;
    }
};

constexpr std::int64_t least_power_of_two(std::int64_t from) {
    std::int64_t p = 1;
    while (p < from) p *= 2;
    return p;
}

/// Threads for such lines of elements of `element_bytes` bytes. A line along the last axis is read 16 bytes at once by neighbouring threads;
/// of other lines those side by side are read by neighbouring threads.
inline line_layout lay_lines(std::int64_t outer, std::int64_t n, std::int64_t inner, std::int64_t element_bytes,
                             int held = held_elements) {
    line_layout l{.outer = outer, .n = n, .inner = inner, .held = held};
    if (l.is_rows()) {
        const std::int64_t width = 16 / element_bytes, reads = (n + width - 1) / width;
        l.is_wide = n % width == 0;
        std::int64_t threads = reads < 32 ? least_power_of_two(reads) : 32;
        while (threads < most_line_threads && threads * held < n) threads *= 2;
        l.share(threads, threads < block_threads ? block_threads / threads : 1);
        return l;
    }
    const std::int64_t count = l.count();
    std::int64_t lines = count < 32 ? least_power_of_two(count) : 32, threads = block_threads / lines;
    while (threads > 1 && threads / 2 * 4 >= n) { // 4 elements a thread, rather than more threads
        threads /= 2;
        lines *= 2;
    }
    while (threads * lines < most_line_threads && threads * held < n) threads *= 2;
    l.share(threads, lines);
    return l;
}

} // namespace tenon::cuda
