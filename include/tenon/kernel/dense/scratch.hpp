#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace tenon::dense::detail {

/// Memory for the runs of one planned kernel: one piece kept for the usual case of one run at a time, more
/// for runs that overlap. Pieces are of one size, aligned to 64 bytes and, when new, filled with zeros.
class scratch_memory {
public:
    class lease {
    public:
        lease(scratch_memory& from, std::byte* memory) noexcept : from_(from), memory_(memory) {}
        ~lease() { from_.give_back(memory_); }
        lease(const lease&) = delete;
        lease& operator=(const lease&) = delete;
        void* memory() const noexcept { return memory_; }

    private:
        scratch_memory& from_;
        std::byte* memory_;
    };

    scratch_memory() = default;
    ~scratch_memory() {
        delete_piece(kept_.load(std::memory_order_relaxed));
        for (std::byte* piece : others_) delete_piece(piece);
    }
    scratch_memory(const scratch_memory&) = delete;
    scratch_memory& operator=(const scratch_memory&) = delete;

    /// Once, before the first lease: memory for `pieces` leases at a time.
    void resize(std::size_t bytes, std::int64_t pieces) {
        bytes_ = bytes;
        if (bytes == 0 || pieces < 1) return;
        kept_.store(new_piece(), std::memory_order_relaxed);
        others_.reserve(static_cast<std::size_t>(2 * pieces));
        for (std::int64_t i = 1; i < pieces; ++i) others_.push_back(new_piece());
    }
    /// Of one piece.
    std::size_t bytes() const noexcept { return bytes_; }

    lease borrow() {
        if (bytes_ == 0) return {*this, nullptr};
        if (std::byte* piece = kept_.exchange(nullptr, std::memory_order_acquire)) return {*this, piece};
        const std::lock_guard guard(mutex_);
        if (others_.empty()) return {*this, new_piece()};
        std::byte* piece = others_.back();
        others_.pop_back();
        return {*this, piece};
    }

private:
    void give_back(std::byte* piece) noexcept {
        if (piece == nullptr) return;
        std::byte* none = nullptr;
        if (kept_.compare_exchange_strong(none, piece, std::memory_order_release)) return;
        try {
            const std::lock_guard guard(mutex_);
            others_.push_back(piece);
        } catch (const std::bad_alloc&) {
            delete_piece(piece);
        }
    }
    std::byte* new_piece() const {
        auto* piece = static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{64}));
        std::memset(piece, 0, bytes_);
        return piece;
    }
    static void delete_piece(std::byte* piece) noexcept { ::operator delete (piece, std::align_val_t{64}); }

    std::size_t bytes_ = 0;
    std::atomic<std::byte*> kept_{nullptr};
    std::mutex mutex_;
    std::vector<std::byte*> others_;
};

} // namespace tenon::dense::detail
