#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

/// The second half of a sum over many elements.

namespace tenon::cuda {

struct partial_sum {
    const double* parts; ///< [chunks][elements]
    void* to;            ///< nullptr: nobody reads it
    std::int64_t elements, chunks;
    element_type type; ///< of what is written: a floating one
};

/// Adds up the chunks of each of `count` (at most max_tape_outputs) sums, in an order that depends on the numbers of chunks and
/// elements only.
void add_partial_sums(const partial_sum* sums, int count, void* stream);

} // namespace tenon::cuda
