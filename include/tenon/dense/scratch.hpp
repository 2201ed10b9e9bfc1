#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include <tenon/core/array/memory_payer.hpp>

namespace tenon::dense::detail {

/// Memory for the runs of one planned kernel: one piece kept for the usual case of one run at a time, more
/// for runs that overlap. Pieces are of one size, aligned to 64 bytes and, when new, filled with zeros.
class scratch_memory {
public:
    class lease {
    public:
        lease(scratch_memory& from, std::byte* memory) noexcept : from_(from), memory_(memory) {}
        ~lease() { from_.give_back(memory_); }
        lease(lease&&) = delete;
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
    scratch_memory(scratch_memory&&) = delete;

    /// Once, before the first lease: memory for `pieces` leases at a time. The payer, if any, is asked for each piece, and outlives this.
    void resize(std::size_t bytes, std::int64_t pieces, memory_payer* payer = nullptr) {
        bytes_ = bytes;
        payer_ = payer;
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
        if (payer_) payer_->take(bytes_);
        void* const piece = ::operator new (bytes_, std::align_val_t{64}, std::nothrow);
        if (!piece) {
            if (payer_) payer_->give(bytes_);
            throw std::bad_alloc();
        }
        std::memset(piece, 0, bytes_);
        return static_cast<std::byte*>(piece);
    }
    void delete_piece(std::byte* piece) const noexcept {
        if (!piece) return;
        ::operator delete (piece, std::align_val_t{64});
        if (payer_) payer_->give(bytes_);
    }

    std::size_t bytes_ = 0;
    memory_payer* payer_ = nullptr;
    std::atomic<std::byte*> kept_{nullptr};
    std::mutex mutex_;
    std::vector<std::byte*> others_;
};

} // namespace tenon::dense::detail
