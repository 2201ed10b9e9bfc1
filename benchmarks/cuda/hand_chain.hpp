#pragma once

#include <cstdint>

#include "cuda/by_hand.hpp"

namespace baseline {

/// tanh of an array, again and again: as many kernels one after another, in a CUDA graph that is launched and waited for.
class hand_chain {
public:
    hand_chain(int kernels, std::int64_t elements);
    void run() const { graph_.run(); }

private:
    gpu::buffer a_, b_;
    gpu::recorded graph_;
};

/// One of those kernels between two events.
class hand_tanh {
public:
    explicit hand_tanh(std::int64_t elements);
    ~hand_tanh();
    hand_tanh(hand_tanh&&) = delete;
    /// The seconds that the card took for it.
    double run() const;

private:
    std::int64_t elements_;
    gpu::buffer from_, to_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

} // namespace baseline
