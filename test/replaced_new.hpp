#pragma once

#include <cstddef>
#include <new>

/// Operators new and delete in all their forms, by two functions of the program's own, of which one file includes this.

namespace replaced_new {

/// nullptr: there is no memory for it. `alignment`: 1, or a power of two.
void* take(std::size_t bytes, std::size_t alignment) noexcept;
void give(void* memory) noexcept;

inline void* take_or_throw(std::size_t bytes, std::size_t alignment) {
    void* const memory = take(bytes, alignment);
    if (!memory) throw std::bad_alloc();
    return memory;
}

} // namespace replaced_new

void* operator new(std::size_t n) { return replaced_new::take_or_throw(n, 1); }
void* operator new[](std::size_t n) { return replaced_new::take_or_throw(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) {
    return replaced_new::take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
    return replaced_new::take_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return replaced_new::take(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return replaced_new::take(n, 1); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
    return replaced_new::take(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
    return replaced_new::take(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { replaced_new::give(p); }
void operator delete[](void* p) noexcept { replaced_new::give(p); }
void operator delete(void* p, std::size_t) noexcept { replaced_new::give(p); }
void operator delete[](void* p, std::size_t) noexcept { replaced_new::give(p); }
void operator delete(void* p, std::align_val_t) noexcept { replaced_new::give(p); }
void operator delete[](void* p, std::align_val_t) noexcept { replaced_new::give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { replaced_new::give(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { replaced_new::give(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { replaced_new::give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { replaced_new::give(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { replaced_new::give(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { replaced_new::give(p); }
