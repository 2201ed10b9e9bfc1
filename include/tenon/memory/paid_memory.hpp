#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include <tenon/core/array/memory_payer.hpp>

/// Memory that a kernel holds from when it is prepared: tables, packed weights, what libraries work in. Who prepares it is asked before it
/// is made, so that sizes too large for a limit cost neither memory nor time.

namespace tenon {

/// Asks for what it allocates; nullptr: nobody. The payer outlives what is allocated.
template <class T> class paid_allocator {
public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    paid_allocator(memory_payer* p = nullptr) noexcept : payer_(p) {} // NOLINT: a container is given its payer
    template <class U> paid_allocator(const paid_allocator<U>& other) noexcept : payer_(other.payer()) {}

    /// Throws what memory_payer::take throws.
    T* allocate(std::size_t n) {
        if (n > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) throw std::bad_array_new_length();
        if (payer_) payer_->take(n * sizeof(T));
        try {
            return std::allocator<T>().allocate(n);
        } catch (...) {
            if (payer_) payer_->give(n * sizeof(T));
            throw;
        }
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        std::allocator<T>().deallocate(memory, n);
        if (payer_) payer_->give(n * sizeof(T));
    }
    memory_payer* payer() const noexcept { return payer_; }
    friend bool operator==(const paid_allocator& a, const paid_allocator& b) noexcept { return a.payer_ == b.payer_; }

private:
    memory_payer* payer_;
};

template <class T> using paid_vector = std::vector<T, paid_allocator<T>>;

} // namespace tenon
