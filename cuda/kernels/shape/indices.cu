#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/shape/indices.hpp>

namespace tenon::cuda {

namespace {

constexpr unsigned long long nowhere = ~0ULL;

// Keys and places are written where they are asked for.
template <class I, class K>
__global__ void list_indices(const I* indices, std::int64_t n, std::int64_t size, K* keys, std::int64_t* places,
                             bad_index* found, unsigned* refused) {
    __shared__ unsigned long long first;
    if (threadIdx.x == 0) first = nowhere;
    __syncthreads();
    const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
    std::int64_t own = -1;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all) {
        const I index = indices[i];
        const bool bad = size != any_index && (index < 0 || std::int64_t{index} >= size);
        if (bad && own < 0) own = i;
        if (!keys) continue;
        keys[i] = bad ? static_cast<K>(size) : static_cast<K>(index);
        places[i] = i;
    }
    if (!found) return;
    if (own >= 0) atomicMin(&first, static_cast<unsigned long long>(own));
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (refused) refused[blockIdx.x] = first != nowhere ? 1 : 0;
    if (first != nowhere) {
        const auto place = static_cast<std::int64_t>(first);
        found[blockIdx.x] = {place, static_cast<std::int64_t>(indices[place])};
    }
}

template <class I, class K>
void list_as(const index_list& of, std::int64_t size, void* keys, std::int64_t* places, bad_index* found,
             unsigned* refused, void* stream) {
    const unsigned blocks = found ? static_cast<unsigned>(index_parts_of(of.count)) : blocks_for(of.count);
    launch(list_indices<I, K>, blocks, block_threads, 0, stream, static_cast<const I*>(of.data), of.count, size,
           static_cast<K*>(keys), places, found, refused);
}

} // namespace

void list_keys(const index_list& of, std::int64_t size, void* keys, std::int64_t* places, bad_index* found,
               unsigned* refused, void* stream) {
    if (of.count == 0) return;
    const bool wide_keys = key_bytes_of(size, of.wide) == 8;
    if (of.wide && wide_keys) list_as<std::int64_t, std::uint64_t>(of, size, keys, places, found, refused, stream);
    else if (of.wide) list_as<std::int64_t, std::uint32_t>(of, size, keys, places, found, refused, stream);
    else if (wide_keys) list_as<std::int32_t, std::uint64_t>(of, size, keys, places, found, refused, stream);
    else list_as<std::int32_t, std::uint32_t>(of, size, keys, places, found, refused, stream);
}

void check_indices(const index_list& of, std::int64_t size, bad_index* found, unsigned* refused, void* stream) {
    list_keys(of, size, nullptr, nullptr, found, refused, stream);
}

} // namespace tenon::cuda
