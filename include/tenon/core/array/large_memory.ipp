#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <tenon/core/array/large_memory.hpp>
#include <tenon/core/intrusive_list.hpp>

namespace tenon::detail {

inline constexpr std::size_t most_large_memory_kept = std::size_t{512} << 20;

// Sizes differ by an eighth at least, so that pieces fit again when sizes vary a little: eight classes between a
// power of two and the next.
inline std::size_t rounded_large(std::size_t bytes) noexcept {
    const std::size_t step = std::bit_floor(bytes) / 8;
    return (bytes + step - 1) / step * step;
}
constexpr std::size_t size_class(std::size_t rounded_bytes) noexcept {
    const auto power = static_cast<std::size_t>(std::bit_width(rounded_bytes)) - 1;
    return power * 8 + (rounded_bytes >> (power - 3)) - 8;
}

// Pieces of memory that nobody uses. Each begins with its place in two lists, so keeping it takes no other memory: of
// all pieces by age, and of those of its size.
class memory_keeper {
public:
    static memory_keeper& instance() {
        static auto* const keeper = new memory_keeper; // arrays may outlive everything that is static
        return *keeper;
    }

    void* take(std::size_t bytes) noexcept {
        bytes = rounded_large(bytes);
        {
            const std::lock_guard lock(guard_);
            if (bytes <= limit_)
                if (piece* const kept = of_size_[size_class(bytes)].last) return unlink(kept);
        }
        if (void* const memory = make(bytes)) return memory;
        {
            const std::lock_guard lock(guard_);
            shrink_to(0);
        }
        return make(bytes);
    }

    void give_back(void* memory, std::size_t bytes) noexcept {
        bytes = rounded_large(bytes);
        if (bytes > limit_) return end(memory, bytes);
        const std::lock_guard lock(guard_);
        auto* const p = new (memory) piece{.bytes = bytes};
        all_.push(*p);
        of_size_[size_class(bytes)].push(*p);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        shrink_to(limit_);
    }

    std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
    void shrink(std::size_t bytes) noexcept {
        const std::lock_guard lock(guard_);
        shrink_to(bytes);
    }

private:
    struct piece {
        std::size_t bytes;
        list_links<piece> of_all{}, of_size{};
    };
    static constexpr std::size_t huge_page = std::size_t{2} << 20;

    static std::size_t alignment_of(std::size_t bytes) noexcept { return bytes < huge_page ? 256 : huge_page; }
    static void* make(std::size_t bytes) noexcept {
        void* const memory = ::operator new (bytes, std::align_val_t{alignment_of(bytes)}, std::nothrow);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (memory && bytes >= huge_page) (void)::madvise(memory, bytes, MADV_HUGEPAGE); // where off, nothing is lost
#endif
        return memory;
    }
    static void end(void* memory, std::size_t bytes) noexcept {
        ::operator delete (memory, std::align_val_t{alignment_of(bytes)});
    }

    piece* unlink(piece* p) noexcept {
        all_.remove(*p);
        of_size_[size_class(p->bytes)].remove(*p);
        bytes_.fetch_sub(p->bytes, std::memory_order_relaxed);
        return p;
    }
    void shrink_to(std::size_t bytes) noexcept {
        while (this->bytes() > bytes) {
            piece* const p = unlink(all_.first);
            end(p, p->bytes);
        }
    }

    static std::size_t most_kept() noexcept {
#if TENON_ADDRESS_SANITIZER
        return 0; // it shall see every use of memory that was given back
#elif defined(__linux__)
        const auto installed =
            static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
        return std::min(most_large_memory_kept, installed / 16);
#else
        return most_large_memory_kept;
#endif
    }

    const std::size_t limit_ = most_kept();
    std::mutex guard_;                          // of what follows
    intrusive_list<piece, &piece::of_all> all_; // by age
    intrusive_list<piece, &piece::of_size> of_size_[size_class(most_large_memory_kept) + 1];
    std::atomic<std::size_t> bytes_{0}; // changed under the guard
};

TENON_INLINE void* new_large(std::size_t bytes) noexcept { return memory_keeper::instance().take(bytes); }
TENON_INLINE void delete_large(void* memory, std::size_t bytes) noexcept {
    memory_keeper::instance().give_back(memory, bytes);
}
TENON_INLINE std::size_t kept_large_memory() noexcept { return memory_keeper::instance().bytes(); }
TENON_INLINE void shrink_kept_large_memory(std::size_t bytes) noexcept { memory_keeper::instance().shrink(bytes); }

} // namespace tenon::detail
