#include "allocations.hpp"
#include "replaced_new.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace {

std::atomic<bool> counting{false};
std::atomic<long> counted{0}, to_fail{0};
std::atomic<bool> failed{false};

} // namespace

void* replaced_new::take(std::size_t bytes, std::size_t alignment) noexcept {
    if (counting.load(std::memory_order_relaxed) && ++counted == to_fail.load(std::memory_order_relaxed)) {
        failed.store(true);
        return nullptr;
    }
    if (bytes == 0) bytes = 1;
    return alignment <= alignof(std::max_align_t)
               ? std::malloc(bytes)
               : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void replaced_new::give(void* memory) noexcept { std::free(memory); }

namespace no_memory {

void count_allocations(long failing) {
    counted = 0;
    failed = false;
    to_fail = failing;
    counting = true;
}
long stop_counting() {
    counting = false;
    return counted;
}
bool has_failed() { return failed; }

} // namespace no_memory
