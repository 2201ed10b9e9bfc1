#include "emulator/device.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <cuda/kernels/random/cub_sort.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

// The bytes that it needs are written all over, as a sort does.
template <class K>
__global__ void sort_serially(unsigned char* scratch, std::size_t scratch_bytes, const K* keys, K* sorted_keys,
                              const std::int64_t* values, std::int64_t* sorted_values, std::int64_t count, int bits) {
    std::fill_n(scratch, scratch_bytes, static_cast<unsigned char>(0xA5));
    const K mask = bits >= static_cast<int>(8 * sizeof(K)) ? static_cast<K>(~K{}) : static_cast<K>((K{1} << bits) - 1);
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return (keys[a] & mask) < (keys[b] & mask); });
    for (std::int64_t i = 0; i < count; ++i) {
        sorted_keys[i] = keys[order[static_cast<std::size_t>(i)]];
        sorted_values[i] = values[order[static_cast<std::size_t>(i)]];
    }
}

} // namespace

std::size_t sort_pairs_bytes(std::int64_t count, std::size_t key_bytes, int) {
    return count == 0 ? 0 : 1 + static_cast<std::size_t>(count) * (key_bytes + sizeof(std::int64_t));
}

void sort_pairs(void* scratch, std::size_t scratch_bytes, const void* keys, void* sorted_keys,
                const std::int64_t* values, std::int64_t* sorted_values, std::int64_t count, std::size_t key_bytes,
                int bits, void* stream) {
    if (count == 0) return;
    const auto sort = [&]<class K>(K) {
        launch(sort_serially<K>, 1, 1, 0, stream, static_cast<unsigned char*>(scratch), scratch_bytes,
               static_cast<const K*>(keys), static_cast<K*>(sorted_keys), values, sorted_values, count, bits);
    };
    if (key_bytes == 8) sort(std::uint64_t{});
    else sort(std::uint32_t{});
}

} // namespace tenon::cuda
