#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

/// Arrays of random numbers, the same to the last bit as those of tenon/ops/random/random_numbers.hpp.

namespace tenon::cuda {

/// A stream of random numbers whose run the device reads when it makes them, and where in it the array begins: after `first`
/// numbers of its kind.
struct random_place {
    std::uint64_t key;
    const std::uint64_t* run;
    std::int64_t first;
};

// Of n elements of float, double, half or bfloat16; lo, hi, mean and deviation are as the CPU's functions have them.

void random_uniform(tenon::element_type e, void* to, std::int64_t n, const random_place& at, double lo, double hi,
                    void* stream);
void random_normal(tenon::element_type e, void* to, std::int64_t n, const random_place& at, double mean,
                   double deviation, void* stream);
void random_truncated_normal(tenon::element_type e, void* to, std::int64_t n, const random_place& at, double mean,
                             double deviation, void* stream);

/// lo + 0 .. range-1 in integers of so many bytes.
void random_integers(std::size_t bytes, void* to, std::int64_t n, const random_place& at, std::int64_t lo,
                     std::uint64_t range, void* stream);

/// Of bool: true with probability p; all true where `flag`, if given, is false.
void random_truths(bool* to, std::int64_t n, const random_place& at, double p, const bool* flag, void* stream);

} // namespace tenon::cuda
