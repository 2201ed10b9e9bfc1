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

} // namespace baseline
