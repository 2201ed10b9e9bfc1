#include <cuda/kernels/random/cub_sort.hpp>

#include <cub/device/device_radix_sort.cuh>

#include <cuda/device/error.hpp>

namespace tenon::cuda {

namespace {

template <class K>
void sort(void* scratch, std::size_t& scratch_bytes, const void* keys, void* sorted_keys, const std::int64_t* values,
          std::int64_t* sorted_values, std::int64_t count, int bits, void* stream) {
    (void)cudaGetLastError(); // CUB would take what others have left for its own
    check(cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, static_cast<const K*>(keys),
                                          static_cast<K*>(sorted_keys), values, sorted_values, count, 0, bits,
                                          static_cast<cudaStream_t>(stream)),
          "cub::DeviceRadixSort::SortPairs");
}

} // namespace

std::size_t sort_pairs_bytes(std::int64_t count, std::size_t key_bytes, int bits) {
    std::size_t bytes = 0;
    if (count == 0) return bytes;
    if (key_bytes == 8) sort<std::uint64_t>(nullptr, bytes, nullptr, nullptr, nullptr, nullptr, count, bits, nullptr);
    else sort<std::uint32_t>(nullptr, bytes, nullptr, nullptr, nullptr, nullptr, count, bits, nullptr);
    return bytes;
}

void sort_pairs(void* scratch, std::size_t scratch_bytes, const void* keys, void* sorted_keys,
                const std::int64_t* values, std::int64_t* sorted_values, std::int64_t count, std::size_t key_bytes,
                int bits, void* stream) {
    if (count == 0) return;
    if (key_bytes == 8)
        sort<std::uint64_t>(scratch, scratch_bytes, keys, sorted_keys, values, sorted_values, count, bits, stream);
    else sort<std::uint32_t>(scratch, scratch_bytes, keys, sorted_keys, values, sorted_values, count, bits, stream);
}

} // namespace tenon::cuda
