#pragma once

#include <cstddef>
#include <cstdint>

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

    /// Scratch memory begins at multiples of 64 bytes alone. What libraries work in, which suppose what cudaMalloc gives, is `slack` bytes
    /// longer, and begins here.
    static constexpr std::size_t slack = alignment - 64;
    static std::byte* aligned(std::byte* scratch) {
        const auto past = reinterpret_cast<std::uintptr_t>(scratch) % alignment;
        return past == 0 ? scratch : scratch + (alignment - past);
    }

private:
    std::byte* begin_;
    std::size_t taken_ = 0;
};

} // namespace tenon::cuda
