#pragma once

#include <cstdint>

namespace tenon::cuda {

/// *to = value, where `to` is page-locked memory of the host: seen there before what the stream does next begins.
void mark(std::uint64_t* to, std::uint64_t value, void* stream);

} // namespace tenon::cuda
