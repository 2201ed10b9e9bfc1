#pragma once

#include <cstdint>

/// Batches of matrices on a GPU: which of an operand's belongs to which of the result's, and how those are told for which there is no
/// result.

namespace tenon::cuda {

/// The matrices of an operand, some of whose dimensions are repeated to the result's.
struct repeated_batch {
    static constexpr int most_dimensions = 8;
    int rank = 0;
    std::int64_t sizes[most_dimensions]{}; ///< of the result
    std::int64_t steps[most_dimensions]{}; ///< of the operand, in matrices; 0 where it is repeated
    constexpr std::int64_t place(std::int64_t i) const {
        std::int64_t at = 0;
        for (int d = rank; d-- > 0; i /= sizes[d]) at += i % sizes[d] * steps[d];
        return at;
    }
};

/// *first (memory of the host that the device reaches) becomes the number of the first of `count` matrices whose failed[i] is not 0, where
/// there is one.
void report_first_failed(const std::int32_t* failed, std::int64_t count, std::int64_t* first, void* stream);

} // namespace tenon::cuda
