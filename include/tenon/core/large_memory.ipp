#pragma once

#include <algorithm>
#include <bit>
#include <list>
#include <map>
#include <mutex>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <tenon/core/large_memory.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define TENON_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef TENON_ADDRESS_SANITIZER
#define TENON_ADDRESS_SANITIZER 0
#endif

namespace tenon::detail {

// Pieces of memory that nobody uses, by size; the ones longest unused are freed first.
class memory_keeper {
public:
    static memory_keeper& instance() {
        static auto* const keeper = new memory_keeper; // arrays may outlive everything that is static
        return *keeper;
    }

    void* take(std::size_t bytes) noexcept {
        if (void* const kept = find(bytes)) return kept;
        void* memory = make(bytes);
        if (!memory) {
            shrink_to(0);
            memory = make(bytes);
        }
        return memory;
    }

    void give_back(void* memory, std::size_t bytes) noexcept {
        if (bytes > limit_) return end(memory, bytes);
        try {
            const std::lock_guard lock(guard_);
            unused_.push_back({memory, bytes});
            try {
                by_size_.emplace(bytes, std::prev(unused_.end()));
            } catch (...) {
                unused_.pop_back();
                throw;
            }
            bytes_ += bytes;
        } catch (...) { // no memory for a note of it
            return end(memory, bytes);
        }
        shrink_to(limit_);
    }

    std::size_t bytes() noexcept {
        const std::lock_guard lock(guard_);
        return bytes_;
    }

    // Sizes differ by an eighth at least, so that pieces fit again when sizes vary a little.
    static std::size_t rounded(std::size_t bytes) noexcept {
        const std::size_t step = std::bit_floor(bytes) / 8;
        return (bytes + step - 1) / step * step;
    }

private:
    struct piece {
        void* memory;
        std::size_t bytes;
    };
    static constexpr std::size_t huge_page = std::size_t{2} << 20;

    static std::size_t alignment_of(std::size_t bytes) noexcept { return bytes < huge_page ? 64 : huge_page; }
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

    void* find(std::size_t bytes) noexcept {
        const std::lock_guard lock(guard_);
        const auto at = by_size_.find(bytes);
        if (at == by_size_.end()) return nullptr;
        void* const memory = at->second->memory;
        unused_.erase(at->second);
        by_size_.erase(at);
        bytes_ -= bytes;
        return memory;
    }
    void shrink_to(std::size_t most) noexcept {
        const std::lock_guard lock(guard_);
        while (bytes_ > most) {
            const auto oldest = unused_.begin();
            auto at = by_size_.find(oldest->bytes);
            while (at->second != oldest) ++at;
            by_size_.erase(at);
            bytes_ -= oldest->bytes;
            end(oldest->memory, oldest->bytes);
            unused_.erase(oldest);
        }
    }

    static std::size_t most_kept() noexcept {
#if TENON_ADDRESS_SANITIZER
        return 0; // it shall see every use of memory that was given back
#else
        std::size_t most = std::size_t{256} << 20;
#if defined(__linux__)
        const auto installed =
            static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
        most = std::min(most, installed / 16);
#endif
        return most;
#endif
    }

    const std::size_t limit_ = most_kept();
    std::mutex guard_;        // of what follows
    std::list<piece> unused_; // the longest unused first
    std::multimap<std::size_t, std::list<piece>::iterator> by_size_;
    std::size_t bytes_ = 0;
};

TENON_INLINE void* new_large(std::size_t bytes) noexcept {
    return memory_keeper::instance().take(memory_keeper::rounded(bytes));
}
TENON_INLINE void delete_large(void* memory, std::size_t bytes) noexcept {
    memory_keeper::instance().give_back(memory, memory_keeper::rounded(bytes));
}
TENON_INLINE std::size_t kept_large_memory() noexcept { return memory_keeper::instance().bytes(); }

} // namespace tenon::detail
