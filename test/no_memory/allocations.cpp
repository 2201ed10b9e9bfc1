#include "allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counting{false};
std::atomic<long> counted{0}, to_fail{0};
std::atomic<bool> failed{false};

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (counting.load(std::memory_order_relaxed) && ++counted == to_fail.load(std::memory_order_relaxed)) {
        failed.store(true);
        return nullptr;
    }
    if (bytes == 0) bytes = 1;
    return alignment <= alignof(std::max_align_t)
               ? std::malloc(bytes)
               : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* allocate_or_throw(std::size_t bytes, std::size_t alignment = 0) {
    void* const memory = allocate(bytes, alignment);
    if (!memory) throw std::bad_alloc();
    return memory;
}

} // namespace

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

// The forms that are not here call one of these.
void* operator new(std::size_t n) { return allocate_or_throw(n); }
void* operator new[](std::size_t n) { return allocate_or_throw(n); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
    return allocate(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
