#pragma once

#include <cstddef>
#include <utility>

#include <tenon/core/config.hpp>

/// Who is asked for the memory that a thread takes, where one process works for several: a server for its clients.

namespace tenon {

/// What it is asked for keeps it alive until it was given back. Thread-safe.
class memory_payer {
public:
    /// Throws resource_exhausted_error, saying who holds most, where there is no room for so many bytes.
    virtual void take(std::size_t bytes) = 0;
    virtual void give(std::size_t bytes) noexcept = 0;

protected:
    ~memory_payer() = default;
};

namespace detail {
inline constinit thread_local memory_payer* this_thread_pays = nullptr;
} // namespace detail

/// For this thread; nullptr: memory is taken as it comes.
inline memory_payer* current_payer() noexcept { return detail::this_thread_pays; }

/// While one exists, this payer is asked for the arrays that its thread makes, and for the memory of devices that know of payers.
/// The payer outlives the scope.
class payer_scope {
public:
    explicit payer_scope(memory_payer* p) noexcept : before_(std::exchange(detail::this_thread_pays, p)) {}
    ~payer_scope() { detail::this_thread_pays = before_; }
    payer_scope(payer_scope&&) = delete;

private:
    memory_payer* const before_;
};

/// Bytes that a payer was asked for, until this ends: of what is no array.
class memory_charge {
public:
    memory_charge() = default;
    /// p: nullptr, or one that is alive. Throws what take() throws.
    memory_charge(memory_payer* p, std::size_t bytes) {
        if (!p || bytes == 0) return; // nothing keeps it alive then
        p->take(bytes);
        payer_ = p;
        bytes_ = bytes;
    }
    memory_charge(memory_charge&& from) noexcept :
        payer_(std::exchange(from.payer_, nullptr)), bytes_(std::exchange(from.bytes_, 0)) {}
    memory_charge& operator=(memory_charge&& from) noexcept {
        std::swap(payer_, from.payer_);
        std::swap(bytes_, from.bytes_);
        return *this;
    }
    ~memory_charge() {
        if (payer_) payer_->give(bytes_);
    }
    std::size_t bytes() const noexcept { return bytes_; }
    /// What the other holds is this one's, too; of the same payer.
    void add(memory_charge&& more) noexcept {
        if (!payer_) payer_ = more.payer_;
        bytes_ += std::exchange(more.bytes_, 0);
        more.payer_ = nullptr;
    }

private:
    memory_payer* payer_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace tenon
