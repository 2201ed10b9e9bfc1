#pragma once

#include <cstddef>

/// How kernels share out their scratch memory.

namespace tenon::cuda {

/// Pieces of one stretch of memory, each where any type may lie.
class memory_pieces {
public:
    static constexpr std::size_t alignment = 256;
    explicit memory_pieces(std::byte* begin = nullptr) : begin_(begin) {}
    /// nullptr where there is no memory: it only counts.
    template <class T = void> T* take(std::size_t bytes) {
        std::byte* const piece = begin_ ? begin_ + taken_ : nullptr;
        taken_ += (bytes + alignment - 1) / alignment * alignment;
        return static_cast<T*>(static_cast<void*>(piece));
    }
    std::size_t taken() const { return taken_; }

private:
    std::byte* begin_;
    std::size_t taken_ = 0;
};

} // namespace tenon::cuda
