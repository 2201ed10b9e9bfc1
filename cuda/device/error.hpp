#pragma once

#include <string>

#include <cuda_runtime_api.h>

/// What CUDA answers, as exceptions of Tenon.

namespace tenon::cuda {

/// Throws unless `answer` is cudaSuccess; `call` is the function that gave it. Not enough memory: resource_exhausted_error; no driver, or
/// one that is too old, or no GPU: unavailable_error; what leaves the GPU unusable for this process (an illegal address,
/// say): internal_error, which says so.
void check(cudaError_t answer, const char* call);
/// The same as text: "cudaMalloc: out of memory (cudaErrorMemoryAllocation)".
std::string text_of(cudaError_t answer, const char* call);
/// True for those after which this process can use the GPU no more.
bool is_sticky(cudaError_t answer) noexcept;

} // namespace tenon::cuda
