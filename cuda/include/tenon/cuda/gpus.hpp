#pragma once

#include <memory>

#include <tenon/runtime/device/gpu_backend.hpp>

/// The machine's NVIDIA GPUs. A program that links tenon::cuda has them without a word: sessions that are not given other GPUs use
/// these. Where there is no driver, or no GPU, there are none, and what asks for one is told why.

namespace tenon {

/// What session_options::gpus is where tenon::cuda is linked.
std::shared_ptr<const gpu_backend> cuda_gpus();

} // namespace tenon
