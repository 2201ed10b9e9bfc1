#pragma once

#include <cstdint>

/// For device code: where the rows of one key end in a sorted list.

namespace tenon::cuda {

/// The end of the stretch of equal keys that begins at `first`. Short ones are found in few steps.
template <class K> __device__ std::int64_t end_of_equal(const K* keys, std::int64_t first, std::int64_t count) {
    const K key = keys[first];
    std::int64_t in = first, step = 1; // keys[in] is equal
    while (in + step < count && keys[in + step] == key) {
        in += step;
        step *= 2;
    }
    std::int64_t out = in + step < count ? in + step : count; // keys[out], if any, is not
    while (out - in > 1) {
        const std::int64_t middle = in + (out - in) / 2;
        if (keys[middle] == key) in = middle;
        else out = middle;
    }
    return out;
}

} // namespace tenon::cuda
