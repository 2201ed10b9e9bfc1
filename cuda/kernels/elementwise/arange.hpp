#pragma once

#include <cstdint>

#include <tenon/core/element_type.hpp>

namespace tenon::cuda {

/// A rule for numbers: as integers, of which the lower bits count, and as floating numbers.
struct number_steps {
    std::uint64_t start, step;
    double real_start, real_step;
};

/// start + i step for i below n, of an element type of numbers; integers wrap around.
void arange(element_type e, void* to, std::int64_t n, const number_steps& numbers, void* stream);

} // namespace tenon::cuda
