#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>
#include <tenon/core/float8.hpp>

/// Operands of products that are rounded to 8 bits.

namespace tenon::cuda {

/// Matrices [count, rows, columns] of float, half or bfloat16, one after another, and what becomes of them.
struct float8_operand {
    const void* from = nullptr;
    void* to = nullptr; ///< bytes, or floats that have the same numbers
    std::int64_t count = 0, rows = 0, columns = 0;
    bool transposed = false; ///< bytes: [count, columns, rows]
    float8_format format = float8_format::e4m3;
};

/// What the two operands of a product have on the GPU: bits of their largest magnitudes, and what their products are multiplied by.
struct float8_scales {
    std::uint32_t largest[2];
    float back[2];
};

/// Rounds both operands, each scaled by scale_of() its largest magnitude. `scales` is memory of the GPU; three commands of the stream.
void round_to_float8(element_type element, const float8_operand (&operands)[2], bool bytes, float8_scales* scales,
                     void* stream);

/// to = c scaled back, rounded to `element`. c is of floats, and may be `to`.
void scale_back(element_type element, const float* c, void* to, std::int64_t elements, const float8_scales* scales,
                void* stream);

} // namespace tenon::cuda
