#pragma once

#include <cstdint>

#include <cuda/kernels/shape/division.hpp>

namespace tenon::cuda {

/// Where the elements of two views lie, by the number of an element in row-major order. Numbers are below 2^31; places are not.
struct index_walk {
    static constexpr int most_dimensions = 16;

    /// The next dimension, from the innermost one on.
    void add(std::int64_t size, std::int64_t from_step, std::int64_t to_step) {
        sizes[rank] = divider(static_cast<std::uint32_t>(size));
        from_steps[rank] = from_step;
        to_steps[rank++] = to_step;
    }
    /// Adds the places of element i.
    __host__ __device__ void find(std::uint32_t i, std::int64_t& from, std::int64_t& to) const {
        for (int d = 0; d < rank; ++d) {
            std::uint32_t k = i;
            i = sizes[d].divide(k);
            from += k * from_steps[d];
            to += k * to_steps[d];
        }
    }

    int rank = 0;
    divider sizes[most_dimensions];
    std::int64_t from_steps[most_dimensions]{}, to_steps[most_dimensions]{};
};

} // namespace tenon::cuda
