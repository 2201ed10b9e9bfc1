#pragma once

#include <cstdint>

#include <driver_types.h>

/// What decides, on the device, which parts of a graph run.

namespace tenon::cuda {

/// Gives the stream, which records: the condition's value is *flag. Where it is true, 1 is added to *count, if there is one.
void set_condition(cudaGraphConditionalHandle condition, const bool* flag, std::int64_t* count, void* stream);

} // namespace tenon::cuda
